"""Certificates: how far a model is above the minimum of its objective."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import Any

from ...numeric.types import Array

MANY = 10.0  # times the minimum, above which percentages are hard to read
ROUNDING = 1e-12  # a number that was printed is not rounded up again
UNCHECKED = (
    "Whether these are the rows that it was trained on cannot be checked: if not, this says "
    "nothing about its training."
)


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """Upper bound on how far a model is above the minimum of the objective that it claims to
    minimise.

    Numbers are in the units of that objective, which ``formula`` states.

    See Also
    --------
    certify : returns it.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from separatrix import certify
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> found = certify(RidgeClassifier(alpha=2.0).fit(X, y), X, y)
    >>> found.proven, found.gap < 1e-9 * found.objective, found.flips, found.n_rows
    (True, True, 0, 4)
    """

    model: str
    """Class of the model."""
    formula: str
    """The objective that the model claims to minimise."""
    objective: float
    """The objective at the model's weights."""
    bound: float
    """A lower bound for all weights; if not ``proven``, the lowest value found."""
    gap: float
    """``objective`` is at most this much above the minimum, including rounding."""
    proven: bool
    """Whether ``bound`` is proven, or only the result of another fit."""
    tight: bool
    """Whether that fit came within 1e-6 of the minimum: if not, the model may be better."""
    minimum_exists: bool | None
    """Whether any weights reach the infimum; None if this was not decided."""
    infimum_is_zero: bool
    """Whether the infimum is 0, at weights that have learned nothing or that only grow."""
    verdict: str | None
    """Separability, without a penalty or for the perceptron's loss; if each class against the rest
    is a problem, of the one that is hardest to separate."""
    mistakes: int
    """Number of rows that the model's ``predict`` classifies incorrectly."""
    flips: int | None
    """Number of rows that ``predict`` at the minimum would classify differently; None if there is
    no minimum, or it is 0."""
    n_rows: int
    """Number of rows."""
    remedy: str | None
    """A line of Python, for names ``clf``, ``X`` and ``y``, as a remedy; None if none is needed."""
    optimum: tuple[Array, Array] | None = field(default=None)
    """``coef`` and ``intercept`` at the minimum, with which ``flips`` is computed."""

    @property
    def relative_gap(self) -> float | None:
        """``gap`` as a share of the minimum; None if the minimum is 0."""
        if self.infimum_is_zero or not self.bound > 0.0:
            return None
        return self.gap / self.bound

    def __str__(self) -> str:
        parts = [self.finding]
        if self.remedy is not None:
            parts.append(f"Remedy: {self.remedy}.")
        return " ".join([*parts, UNCHECKED])

    @property
    def finding(self) -> str:
        """What was found, without remedy and caveat."""
        claim = f"{self.model} claims to minimise {self.formula}."
        return " ".join([claim, self._standing(), *self._of_rows()])

    def _standing(self) -> str:
        at = f"At its weights that is {self.objective:.6g}"
        if self.infimum_is_zero:
            return f"{at}, and {self._why_zero()}: the distance from 0 is not informative."
        if self.relative_gap is None:
            return f"{at}, and no positive bound on its minimum was proven."
        share, bound = above(self.relative_gap), f"{self.bound:.6g}"
        if self.proven:
            loose = "" if self.tight else (
                " (it may be closer: the fit for comparison did not come within 1e-6 of the "
                "minimum)"
            )  # fmt: skip
            return (
                f"{at}, and no weights get below {bound} (proven by duality): it is at most "
                f"{share} its minimum{loose}."
            )
        why = {
            True: "The minimum exists, but without a penalty there is no proof of it",
            False: f"There is no minimum: the rows are {self.verdict} and there is no penalty",
            None: "Whether there is a minimum was not decided",
        }[self.minimum_exists]
        return f"{at}, {share} the {bound} that the fit for comparison reached. {why}."

    def _why_zero(self) -> str:
        if self.verdict == "separable" and self.minimum_exists is False:
            return (
                "there is no minimum: the rows are separable and there is no penalty, so it "
                "decreases to 0 while the weights grow forever"
            )
        if self.verdict == "separable" and "perceptron" not in self.formula:
            return "its minimum is 0, because the rows are separable and there is no penalty"
        return "its minimum is 0, at weights of 0, which have learned nothing"

    def _of_rows(self) -> list[str]:
        rows = f"{self.n_rows} row{'s' * (self.n_rows != 1)}"
        if self.flips is not None:
            return [f"At the minimum, predict would change for {self.flips} of {rows}."]
        sentences = [f"It classifies {self.mistakes} of {rows} incorrectly."]
        if self.infimum_is_zero and self.verdict is not None:
            can = "can be classified correctly by a plane" if self.verdict == "separable" else (
                "cannot all be classified correctly by a plane")  # fmt: skip
            sentences.append(f"The rows are {self.verdict}: they {can}.")
        return sentences

    @property
    def summary(self) -> str:
        """A summary in a few words."""
        if self.infimum_is_zero:
            word = "separable" if self.verdict == "separable" else self.verdict or "not settled"
            return f"infimum 0, rows {word}, {self.mistakes} of {self.n_rows} wrong"
        if self.relative_gap is None:
            return "no bound above 0"
        share = above(self.relative_gap)
        if self.proven:
            return f"at most {share} its minimum, {self.flips} of {self.n_rows} rows flip"
        return f"{share} what the fit for comparison reached, not proven"

    def __repr__(self) -> str:
        return f"<Certificate: {self.model}, {self.summary}>"

    def _repr_html_(self) -> str:
        words = escape(str(self))
        if self.relative_gap is not None:
            share = escape(above(self.relative_gap))
            words = words.replace(share, f"<strong>{share}</strong>", 1)
        if self.remedy is not None:
            line = escape(self.remedy)
            words = words.replace(f"{line}.", f"<code>{line}</code>.", 1)
        return f"<p>{words}</p>"

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, ready for JSON."""
        names = (
            "model", "formula", "objective", "bound", "gap", "relative_gap", "proven", "tight",
            "minimum_exists", "infimum_is_zero", "verdict", "mistakes", "flips", "n_rows", "remedy",
        )  # fmt: skip
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        optimum = self.optimum
        found["optimum"] = optimum and {
            "coef": optimum[0].tolist(), "intercept": optimum[1].tolist()
        }  # fmt: skip
        return found


def above(share: float) -> str:
    """How far above something, rounded up: ``3.2 % above``, or ``240 times`` if it is very far."""
    if share >= MANY:
        times = math.ceil(share + 1.0)
        return f"{times:,} times" if times < 10**6 else f"{times:.2g} times"
    value = 100.0 * share
    if value > 0.0:
        unit = 10.0 ** (math.floor(math.log10(value)) - 1)
        value = unit * math.ceil(value / unit * (1.0 - ROUNDING))
    return f"{value:.3g} % above"
