"""The verdict on a classification, with the certificate that proves it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..numeric.lazy import cached_property
from ..numeric.types import Array
from . import text
from .bounds import mistake_bound
from .coefficients import infinite_coefficients, runs_away
from .margin import Margin, largest_margin
from .signed_rows import SignedRows
from .verify import verified
from .witness import PairWitness, Proof, Witness, named


@dataclass(frozen=True, eq=False, repr=False)
class Separability(Proof):
    """The result of :func:`separability`: the verdict, and the certificate that proves it.

    z below is the signed row ``y * (x, 1)``, or, for more than two classes, Kesler's pair of a row
    and a rival class. Without an intercept it is the signed x, and every bias b is 0. Attributes
    that belong to another verdict are None.

    See Also
    --------
    separability : computes it.
    CertificateDisplay : plots it.

    Examples
    --------
    >>> from separatrix import datasets, separability
    >>> found = separability(*datasets.logic("xor"))
    >>> found.verdict, found.witness.rows.tolist(), found.verify()
    ('overlapping', [0, 1, 2, 3], True)
    """

    @cached_property
    def _margin(self) -> Margin | None:
        if self.verdict != "separable" or self.direction is None:
            return None
        return largest_margin(self.signed, self.signed.own(self.direction))

    @property
    def coef(self) -> Array | None:
        """Weights (k, d) of norm 1 with their intercept: of the largest margin if separable.

        Computed on first access. They are rounded to floats: far from the origin the margin of the
        rounded weights can be smaller than ``margin``. Quasi-separable: the weights with as many
        rows as possible strictly correct and none wrong.
        """
        W = self._unit
        return None if W is None else W[:, :-1]

    @property
    def intercept(self) -> Array | None:
        """Biases (k,) of ``coef``."""
        W = self._unit
        return None if W is None else W[:, -1]

    @property
    def _unit(self) -> Array | None:
        if self._margin is not None:
            return self.signed.encoding.full(self._margin.direction.weights)
        return None if self.direction is None else self.direction / np.linalg.norm(self.direction)

    @property
    def margin(self) -> float | None:
        """Separable: the lower of the two ``margin_bounds``."""
        return None if self._margin is None else self._margin.lower

    @property
    def margin_bounds(self) -> tuple[float, float] | None:
        """Separable: lower and upper bound on the largest margin of any (w, b) of norm 1.

        ``min z.w / |w|`` for a direction w and ``|sum lambda z|`` for the shares lambda of
        ``support``, including rounding. They usually agree to 6 digits or more. Far from the
        origin, with more than about 20 features, they can be further apart.
        """
        return None if self._margin is None else (self._margin.lower, self._margin.upper)

    @property
    def support(self) -> Witness | PairWitness | None:
        """Separable: rows and their shares lambda, which prove the upper bound on the margin.

        If the bounds agree, these rows determine the margin.
        """
        if self._margin is None:
            return None
        return named(self.signed, self.classes, self._margin.ids, self._margin.share)

    @property
    def radius(self) -> float:
        """The largest ``|(x, 1)|``, or ``|x|`` without an intercept."""
        return self.signed.radius

    @property
    def mistake_bound(self) -> float | None:
        """Separable: upper bound on the mistakes of the online perceptron, rounded up.

        ``(radius / margin)^2``; twice that for more than two classes. Infinity if it overflows. It
        holds from zero weights, with a constant step, without a penalty and on rows of weight 1. A
        batch perceptron, which counts every row in the sum of a pass, can make more.
        """
        if self.margin is None:
            return None
        return mistake_bound(self.signed, self.margin)

    def margin_on(self, rows: SignedRows) -> float:
        """Lower bound on the margin of other rows, by the direction of ``margin``; or 0."""
        return 0.0 if self._margin is None else self._margin.on(rows)

    @property
    def infinite_coefficients(self) -> dict[str, str] | None:
        """The limit of each feature's coefficient in a logistic fit without penalty; two classes.

        ``"finite"``, ``"+inf"``, ``"-inf"``, ``"infinite, sign not determined"`` if weak separators
        of either sign exist, or ``"not identified"`` if features repeat each other, so that weights
        can be shifted between them without effect. For the intercept see ``infinite_intercept``.
        """
        words = self._infinite
        d = len(self.feature_names)
        return None if words is None else dict(zip(self.feature_names, words[:d], strict=True))

    @property
    def infinite_intercept(self) -> str | None:
        """The same for the intercept; None if there is none, or for more than two classes."""
        words = self._infinite
        return None if words is None or not self.signed.intercept else words[-1]

    @cached_property
    def runaway(self) -> dict[str, str]:
        """The coefficients that diverge in a logistic fit without penalty, and their limits.

        If features repeat each other (one column for every level of a category, and the intercept),
        several sets of coefficients may diverge: one with few features is returned. The intercept
        is ``"(intercept)"``. For more than two classes a feature is listed as ``"infinite"`` if the
        differences of its weights diverge. Empty if the classes overlap.
        """
        if self.direction is None:
            return {}
        direction = self.exact_direction or [Fraction(float(v)) for v in self.direction.ravel()]
        signs = runs_away(self.signed, direction)
        names = [*self.feature_names, "(intercept)"][: self.signed.width]
        words = self._infinite
        if words is None:
            return {name: "infinite" for name, s in zip(names, signs.T, strict=True) if s.any()}
        shared = {1: "+inf", -1: "-inf", 0: "finite"}
        words = [
            shared[int(sign)] if word == "not identified" else word
            for word, sign in zip(words, signs[0], strict=True)
        ]
        return {n: word for n, word in zip(names, words, strict=True) if word != "finite"}

    @cached_property
    def _infinite(self) -> list[str] | None:
        if len(self.classes) > 2:
            return None
        return infinite_coefficients(self.signed, self.direction, self.boundary)

    def verify(self, X: Any = None, y: Any = None, *, exact: bool = False) -> bool:
        """Whether the certificate holds, checked on the data alone: the original or the given data.

        In floating point a witness proves that no unit (w, b) has a margin above ``residual``.
        ``exact=True`` proves the verdict: weights are solved again as fractions on their rows.
        """
        return verified(self, X, y, exact)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and strings, ready for JSON; computes the margin."""
        quasi = self.verdict == "quasi-separable"
        pairs = None if self.pairs is None else self.pairs.items()
        return {
            "verdict": self.verdict,
            "exact": self.exact,
            "rounds": self.rounds,
            "n_rows": self.n_rows,
            "classes": self.classes.tolist(),
            "feature_names": self.feature_names,
            "coef": text.plain(self.coef),
            "intercept": text.plain(self.intercept),
            "margin": self.margin,
            "margin_bounds": text.plain(self.margin_bounds),
            "radius": self.radius,
            "mistake_bound": self.mistake_bound,
            "support": text.plain(self.support),
            "witness": text.plain(self.witness),
            "residual": self.residual,
            "interior": text.plain(self.interior),
            "boundary": text.plain(self.boundary),
            "infinite_coefficients": self.infinite_coefficients if quasi else None,
            "infinite_intercept": self.infinite_intercept if quasi else None,
            "runaway": self.runaway if quasi else None,
            "pairs": pairs and [[text.plain(a), text.plain(b), v] for (a, b), v in pairs],
        }

    def __str__(self) -> str:
        if self.verdict != "quasi-separable":
            return text.paragraph(self, self._margin)
        return text.paragraph(self, None, self.runaway, self.infinite_coefficients)

    def __repr__(self) -> str:
        d = len(self.feature_names)
        return f"<Separability: {self.verdict}, {self.n_rows} rows, {d} features>"

    def _repr_html_(self) -> str:
        return text.html(str(self), self.verdict)
