"""Proofs of a verdict, in terms of the rows of the data.

By the lemma of Farkas (1902) exactly one of two things exists: a direction with the margins that a
verdict claims, or weights with which rows cancel, so that no such direction exists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..numeric.types import AnyArray, Array, Ints
from .bounds import upper_bound
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
class Proof:
    """A verdict and its proof.

    z below is the signed row ``y * (x, 1)``, or, for more than two classes, Kesler's pair of a row
    and a rival class. Without an intercept it is the signed x, and every bias b is 0. Attributes
    that belong to another verdict are None.
    """

    verdict: str
    """``"separable"``, ``"quasi-separable"`` or ``"overlapping"``."""
    classes: AnyArray
    """The labels, in order."""
    feature_names: list[str]
    """x0, x1, ... if there are no other names."""
    n_rows: int
    """Number of rows."""
    exact: bool
    """Whether the verdict was decided in exact arithmetic."""
    rounds: int
    """Number of linear programs solved."""
    direction: Array | None
    """Weights (k, d + 1), bias last, with every margin > 0, or >= 0 if quasi-separable."""
    exact_direction: tuple[Fraction, ...] | None
    """The same as fractions, if floats do not suffice."""
    witness: Witness | PairWitness | None
    """Not separable: weights > 0 of sum 1 with which the z of a few rows cancel."""
    interior: Witness | PairWitness | None
    """Weights that, added to 1 for all rows (quasi-separable: all on the boundary), make z cancel:
    no (w, b) has all these margins >= 0 and one of them > 0."""
    boundary: Ints | AnyArray | None
    """Quasi-separable: rows that every such (w, b) leaves at 0; pairs (row, class number)."""
    pairs: dict[tuple[Any, Any], str] | None
    """More than two classes: the verdict for every two of them, if requested."""
    signed: SignedRows = field(repr=False)
    """The rows z themselves, with which :meth:`verify` checks again."""

    @property
    def residual(self) -> float | None:
        """Not separable: ``|sum lambda z|`` of the witness, rounded up.

        No (w, b) of norm 1 has a larger margin.
        """
        if self.witness is None:
            return None
        weights = np.array([float(w) for w in self.witness.weights])
        with np.errstate(all="ignore"):
            return upper_bound(self.signed.gather(self.numbers_of(self.witness)), weights)

    def numbers_of(self, pairs: Witness | PairWitness) -> Ints:
        """The numbers of the signed rows in a witness."""
        if isinstance(pairs, PairWitness):
            rivals = np.searchsorted(self.classes, pairs.rivals)
            return np.asarray(pairs.rows) * len(self.classes) + rivals
        return np.asarray(pairs.rows)


def named(rows: SignedRows, classes: AnyArray, ids: Ints, weights: Any) -> Witness | PairWitness:
    """Convert numbers of signed rows to rows, or to rows and rival labels."""
    k = rows.encoding.stacked
    if k == 1:
        return Witness(ids, weights)
    return PairWitness(ids // k, weights, classes[ids % k])
