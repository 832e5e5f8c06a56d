"""How well a classifier does on labelled rows, as numbers, text and one HTML file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...numeric.replaced import check_file_path, replaced
from ..displays.classifiers import last_step
from .measures import measures
from .page import page
from .scored import scored_rows
from .words import decision_sentence, shown

__all__ = ["Report"]


class Report:
    """How well a classifier does on labelled rows that it was not fitted to.

    All measures are weighted. What is undefined on these rows, such as the recall of a class that
    has none, is None, and ``figures["undefined"]`` says why.

    Parameters
    ----------
    model : fitted classifier, or a pipeline that ends in one
        Of this package, or of scikit-learn with ``decision_function`` or ``predict_proba``. One
        label per row.
    X, y
        Labelled rows; or a source as X alone, which is read block by block.
    sample_weight : array (n,), optional
        Rows of weight 0 are left out. For a source, it replaces the weights of its rows.
    title : str
        Title of the HTML file.

    Attributes
    ----------
    figures : dict
        The measures, as plain data: ``accuracy``, ``balanced_accuracy``, ``auc``,
        ``average_precision``, ``log_loss``, ``brier``, ``calibration_error``, ``mean_cost`` (if the
        model decides by costs), ``macro`` and ``classes`` (``precision``, ``recall``, ``f1``),
        ``confusion``, ``calibration``, ``decision`` and ``undefined``.

    See Also
    --------
    Decision : how a classifier decides.
    diagnose : what is wrong with a fit.
    certify : how far a model is from its optimum.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from separatrix import LinearClassifier, Report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> clf = LinearClassifier(l2=1e-3, standardize=True).fit(X_train, y_train)
    >>> report = Report(clf, X_test, y_test)
    >>> round(report.figures["auc"], 3), report.figures["undefined"]
    (0.991, [])
    >>> report.save("report.html")  # doctest: +SKIP
    """

    figures: dict[str, Any]

    def __init__(
        self, model: Any, X: Any, y: Any = None, *, sample_weight: Any = None, title: str = "Report"
    ) -> None:
        self.model, self.title = model, title
        self._rows = scored_rows(model, X, y, sample_weight)
        self.figures = measures(self._rows, getattr(last_step(model), "decision_", None))

    @property
    def decision(self) -> str:
        """How the model decides, as a sentence."""
        return decision_sentence(self.model)

    def to_dict(self) -> dict[str, Any]:
        """The measures as plain data."""
        return dict(self.figures)

    def to_html(self) -> str:
        """One self-contained page with tables and plots; needs matplotlib."""
        return page(self.model, self._rows, self.figures, self.title)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, completely or not at all."""
        check_file_path(path, "a report")
        text = self.to_html()
        with replaced(Path(path)) as file:
            file.write(text.encode())

    def __str__(self) -> str:
        found = self.figures
        names = (
            "accuracy", "balanced_accuracy", "auc", "average_precision", "log_loss", "brier",
            "calibration_error", "mean_cost",
        )  # fmt: skip
        lines = [f"{found['rows']:,} rows. {self.decision}"]
        lines += [f"{name}: {shown(found[name])}" for name in names if found[name] is not None]
        for one in (*found["classes"], {"label": "mean of the classes"} | found["macro"]):
            each = ", ".join(f"{name} {shown(one[name])}" for name in ("precision", "recall", "f1"))
            lines.append(f"{shown(one['label'])}: {each}")
        lines += [f"undefined: {text}" for text in found["undefined"]]
        return "\n".join(lines)
