"""What a certificate says: how far a model is above the least value of what it minimises."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import Any

from ...numeric.types import Array

MANY = 10.0  # times the minimum, above which percents are no help
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """How far a model can be above the minimum of the objective that it claims to minimise.

    Numbers are in the units of that objective, as ``formula`` states it.

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
    """Its class."""
    formula: str
    """What it claims to minimise."""
    objective: float
    """That, at the model's weights."""
    bound: float
    """No weights get below this; without a proof, none were found that do."""
    gap: float
    """``objective`` is at most so much above the minimum, rounding allowed for."""
    proven: bool
    """Whether ``bound`` is a proof, or only what a fit of our own came to."""
    tight: bool
    """Whether that fit came within 1e-6 of the minimum: if not, the model may be better."""
    minimum_exists: bool | None
    """Whether any weights reach the infimum; None where that was not settled."""
    infimum_is_zero: bool
    """Whether weights that have learned nothing, or that only grow, come down to 0."""
    verdict: str | None
    """On separability, without a penalty or for the perceptron's loss; of several problems, each
    class against the rest, that of the one that is hardest to separate."""
    mistakes: int
    """Rows that the model's ``predict`` gets wrong."""
    flips: int | None
    """Rows that ``predict`` at the minimum would put into another class; None where there is no
    minimum, or it is 0."""
    n_rows: int
    """Rows that it was asked about."""
    remedy: str | None
    """A line of Python, for names ``clf``, ``X`` and ``y``, that mends it; None if all is well."""
    optimum: tuple[Array, Array] | None = field(default=None)
    """``coef`` and ``intercept`` at the minimum, which ``flips`` counts against."""

    @property
    def relative_gap(self) -> float | None:
        """The model is at most this share of the minimum above it; None where that is 0."""
        if self.infimum_is_zero or not self.bound > 0.0:
            return None
        return self.gap / self.bound

    def __str__(self) -> str:
        parts = [
            f"{self.model} claims to minimise {self.formula}.",
            self._standing(),
            *self._of_rows(),
        ]
        if self.remedy is not None:
            parts.append(f"To mend it: {self.remedy}.")
        parts.append(
            "Whether these are the rows that it was trained on cannot be checked: if not, nothing "
            "is said of its training."
        )
        return " ".join(parts)

    def _standing(self) -> str:
        at = f"At its weights that is {self.objective:.6g}"
        if self.infimum_is_zero:
            return f"{at}, and {self._why_zero()}: how far it is above that says nothing."
        if self.relative_gap is None:
            return f"{at}, and no positive bound on its minimum was proven."
        share, bound = above(self.relative_gap), f"{self.bound:.6g}"
        if self.proven:
            loose = "" if self.tight else (
                " (it may be nearer: our own fit did not come within 1e-6 of the minimum)"
            )  # fmt: skip
            return (
                f"{at}, and no weights get below {bound} (proven by duality): it is at most "
                f"{share} its minimum{loose}."
            )
        why = {
            True: "The minimum exists, but without a penalty there is no proof of it",
            False: f"There is no minimum, for the rows are {self.verdict} and there is no penalty",
            None: "Whether there is a minimum was not settled",
        }[self.minimum_exists]
        return f"{at}, {share} the {bound} that our own fit reached. {why}."

    def _why_zero(self) -> str:
        if self.verdict == "separable" and self.minimum_exists is False:
            return (
                "there is no minimum: the rows are separable and there is no penalty, so it falls "
                "to 0 while the weights grow for ever"
            )
        if self.verdict == "separable" and "perceptron" not in self.formula:
            return "its minimum is 0, for the rows are separable and there is no penalty"
        return "its minimum is 0, at weights of 0, which have learned nothing"

    def _of_rows(self) -> list[str]:
        rows = f"{self.n_rows} row{'s' * (self.n_rows != 1)}"
        if self.flips is not None:
            return [f"At the minimum, predict would change for {self.flips} of {rows}."]
        told = [f"It gets {self.mistakes} of {rows} wrong."]
        if self.infimum_is_zero and self.verdict is not None:
            can = "can be got right by a plane" if self.verdict == "separable" else (
                "cannot all be got right by any plane")  # fmt: skip
            told.append(f"The rows are {self.verdict}: they {can}.")
        return told

    @property
    def summary(self) -> str:
        """In a few words."""
        if self.infimum_is_zero:
            word = "separable" if self.verdict == "separable" else self.verdict or "not settled"
            return f"infimum 0, rows {word}, {self.mistakes} of {self.n_rows} wrong"
        if self.relative_gap is None:
            return "no bound above 0"
        share = above(self.relative_gap)
        if self.proven:
            return f"at most {share} its minimum, {self.flips} of {self.n_rows} rows flip"
        return f"{share} what our own fit reached, not proven"

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
        """Plain values, ready for JSON."""
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
