"""The verdict on a classification, with the certificate that proves it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import hypot
from typing import Any, NamedTuple

import numpy as np

from ..numeric.lazy import cached_property
from ..numeric.types import AnyArray, Array, Ints
from . import text
from .coefficients import infinite_coefficients, runs_away
from .margin import Margin, largest_margin
from .signed_rows import SignedRows


class Witness(NamedTuple):
    """A few rows and their weights: an array of floats, or a tuple of fractions."""

    rows: Ints
    weights: Any


class PairWitness(NamedTuple):
    """Pairs of a row and the label of a rival of its class, and their weights."""

    rows: Ints
    weights: Any
    rivals: AnyArray


@dataclass(frozen=True, eq=False, repr=False)
class Separability:
    """What :func:`separability` returns: the verdict, and the certificate that proves it.

    z below is the signed row ``y * (x, 1)``, or, for more than two classes, Kesler's pair of a
    row and a rival class. Without an intercept it is that of x, and every bias b is 0. What
    belongs to another verdict is None.
    """

    verdict: str
    """``"separable"``, ``"quasi-separable"`` or ``"overlapping"``."""
    classes: AnyArray
    feature_names: list[str]
    n_rows: int
    exact: bool
    """Whether the verdict was settled in exact arithmetic."""
    rounds: int
    """Linear programs solved."""
    direction: Array | None
    """Weights (k, d + 1), bias last, with every margin > 0, or >= 0 if quasi-separable."""
    exact_direction: tuple[Fraction, ...] | None
    """The same as fractions, where floats would not do."""
    witness: Witness | PairWitness | None
    """Not separable: weights > 0 of sum 1 with which the z of a few rows cancel."""
    interior: Witness | PairWitness | None
    """Weights that, added to 1 for all rows (quasi-separable: all on the boundary), make z cancel:
    no (w, b) has all these margins >= 0 and one of them > 0."""
    boundary: Ints | AnyArray | None
    """Quasi-separable: rows that every such (w, b) leaves at 0; pairs (row, class number)."""
    pairs: dict[tuple[Any, Any], str] | None
    """More than two classes: the verdict for every two of them, where it was asked for."""
    signed: SignedRows = field(repr=False)

    @cached_property
    def _margin(self) -> Margin | None:
        if self.verdict != "separable" or self.direction is None:
            return None
        found = largest_margin(self.signed, self.signed.own(self.direction))
        return found._replace(weights=self.signed.kind.full(found.weights))

    @property
    def coef(self) -> Array | None:
        """Weights (k, d) of norm 1 with their intercept: of the largest margin if separable.

        Computed when first asked for. Quasi-separable: those that get as many rows as possible
        strictly right and none wrong.
        """
        W = self._unit
        return None if W is None else W[:, :-1]

    @property
    def intercept(self) -> Array | None:
        """Biases (k,) that belong to ``coef``."""
        W = self._unit
        return None if W is None else W[:, -1]

    @property
    def _unit(self) -> Array | None:
        if self._margin is not None:
            return self._margin.weights
        return None if self.direction is None else self.direction / np.linalg.norm(self.direction)

    @property
    def margin(self) -> float | None:
        """Separable: the largest margin of any (w, b) of norm 1: the lower of its two bounds."""
        return None if self._margin is None else self._margin.lower

    @property
    def margin_bounds(self) -> tuple[float, float] | None:
        """Separable: ``min z.w / |w|`` and ``|sum lambda z|``, between which the margin lies."""
        return None if self._margin is None else (self._margin.lower, self._margin.upper)

    @property
    def support(self) -> Witness | PairWitness | None:
        """Separable: the rows that pin the margin, and their shares lambda in the nearest point."""
        if self._margin is None:
            return None
        return self._named(self._margin.ids, self._margin.share)

    @property
    def radius(self) -> float:
        """The largest |(x, 1)|, or |x| without an intercept."""
        return self.signed.radius

    @property
    def mistake_bound(self) -> float | None:
        """Separable: no perceptron from zero makes more mistakes; infinity if it overflows."""
        if self.margin is None:
            return None
        if self.margin <= 0.0:  # too small for floating point
            return np.inf
        with np.errstate(over="ignore"):
            ratio = np.float64(self.radius) / self.margin
            return float(ratio**2 * (1 if len(self.classes) == 2 else 2))

    @property
    def infinite_coefficients(self) -> dict[str, str] | None:
        """What a logistic fit without penalty does to each feature's coefficient; two classes.

        ``"finite"``, ``"+inf"``, ``"-inf"``, ``"infinite, sign not determined"`` where weak
        separators of either sign exist, or ``"not identified"`` where features repeat each other,
        so that weights can be shifted between them at no cost. Of the intercept
        ``infinite_intercept`` tells.
        """
        words = self._infinite
        d = len(self.feature_names)
        return None if words is None else dict(zip(self.feature_names, words[:d], strict=True))

    @property
    def infinite_intercept(self) -> str | None:
        """The same word for the intercept; None if there is none, or for more than two classes."""
        words = self._infinite
        return None if words is None or not self.signed.intercept else words[-1]

    @cached_property
    def runaway(self) -> dict[str, str]:
        """The coefficients that a logistic fit without penalty lets run away, and where to.

        Features that repeat each other (one column for every level of a category, and the
        intercept) can share what runs away in many ways: of these, one of few features is told. The
        intercept is ``"(intercept)"``. Of more than two classes a feature is named, as
        ``"infinite"``, if its weights run away from each other. Empty if the classes overlap.
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
        return infinite_coefficients(self.signed, self.verdict, self.direction, self.boundary)

    @property
    def residual(self) -> float | None:
        """Not separable: |sum lambda z| of the witness; no unit (w, b) has a larger margin."""
        if self.witness is None:
            return None
        weights = np.array([float(w) for w in self.witness.weights])
        combined = weights @ self.signed.gather(self._numbers(self.witness))
        return hypot(*combined)  # without squares, which may overflow

    def _named(self, ids: Ints, weights: Any) -> Witness | PairWitness:
        return named(self.signed, self.classes, ids, weights)

    def _numbers(self, pairs: Witness | PairWitness) -> Ints:
        if isinstance(pairs, PairWitness):
            rivals = np.searchsorted(self.classes, pairs.rivals)
            return np.asarray(pairs.rows) * len(self.classes) + rivals
        return np.asarray(pairs.rows)

    def verify(self, X: Any = None, y: Any = None, *, exact: bool = False) -> bool:
        """Whether the certificate holds, from the data alone: those it is about, or those given.

        In floating point a witness proves that no unit (w, b) has a margin above ``residual``.
        ``exact=True`` proves the verdict: weights are solved again as fractions on their rows.
        """
        from .verify import verified

        return verified(self, X, y, exact)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and strings, ready for JSON; computes the margin."""
        return text.as_dict(self)

    def __str__(self) -> str:
        return text.paragraph(self)

    def __repr__(self) -> str:
        d = len(self.feature_names)
        return f"<Separability: {self.verdict}, {self.n_rows} rows, {d} features>"

    def _repr_html_(self) -> str:
        return text.html(self)


def named(rows: SignedRows, classes: AnyArray, ids: Ints, weights: Any) -> Witness | PairWitness:
    """Numbers of signed rows as rows, or as rows and rival labels."""
    k = rows.kind.stacked
    if k == 1:
        return Witness(ids, weights)
    return PairWitness(ids // k, weights, classes[ids % k])
