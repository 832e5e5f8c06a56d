"""Lines of Python that improve a classifier, for the names ``clf``, ``X`` and ``y``.

The classifier may be the last step of a pipeline.
"""

from __future__ import annotations

from keyword import iskeyword
from typing import Any


class Line(str):
    """A line of Python, and the parameters that it sets."""

    changes: dict[str, Any]

    def __new__(cls, text: str, **changes: Any) -> Line:
        line = super().__new__(cls, text)
        line.changes = changes
        return line


def is_piped(estimator: Any) -> bool:
    """Whether other steps come before the classifier."""
    return hasattr(estimator, "steps")


def setting(estimator: Any, **parameters: Any) -> Line:
    """The line that sets parameters of the classifier and fits again."""
    prefix = f"{estimator.steps[-1][0]}__" if is_piped(estimator) else ""
    text = ", ".join(_argument(prefix + name, repr(value)) for name, value in parameters.items())
    return Line(f"clf.set_params({text}).fit(X, y)", **parameters)


def _argument(name: str, value: str) -> str:
    """A keyword argument. The name of a pipeline step may be any text, even code."""
    if name.isidentifier() and not iskeyword(name):
        return f"{name}={value}"
    return f"**{{{name!r}: {value}}}"


def deciding(estimator: Any, threshold: float) -> Line:
    """The line that moves the threshold of the classifier."""
    clf = "clf[-1]" if is_piped(estimator) else "clf"
    return Line(f"{clf}.set_decision(threshold={threshold!r})", threshold=threshold)


def replacing(estimator: Any, classifier: str) -> str:
    """The line that replaces the classifier by another one."""
    if is_piped(estimator):
        return f"clf.set_params({_argument(estimator.steps[-1][0], classifier)}).fit(X, y)"
    return f"clf = {classifier}.fit(X, y)"


def scaling(estimator: Any, sparse: bool) -> Line:
    """The line that scales the features, directly before the classifier."""
    step = "StandardScaler(with_mean=False)" if sparse else "StandardScaler()"
    inner = f"*clf[:-1], {step}, clf[-1]" if is_piped(estimator) else f"{step}, clf"
    return Line(f"clf = make_pipeline({inner}).fit(X, y)", standardize=True)
