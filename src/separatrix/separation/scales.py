"""Scaling of extreme features by powers of two, without rounding.

Combinations of rows that cancel, verdicts and boundaries are the same for the given features; the
weights of a separator are those of the scaled features times the same powers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..data import Block, Source, Sum
from ..data.wrapped import BlockMap, MappedSource
from ..numeric.types import Array, Ints
from ..rows import host_rows_of
from .rational import Fractions, common_denominator, lowest_bits
from .settled import rounded
from .signed_blocks import CHUNK
from .signed_rows import SignedRows

EXTREME_POWER = 200  # of two, of a feature's largest value: above it the feature is scaled
LEAST_POWER = -1074  # of two: every float is a multiple of it


class ScaledSource(MappedSource):
    """A source whose features are divided by powers of two while they are read."""

    def __init__(self, source: Source, powers: Ints) -> None:
        super().__init__(source, Division(powers))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Double precision, whatever the precision of the source."""
        return np.dtype(np.float64)


@dataclass(frozen=True)
class Division(BlockMap):
    """Features divided by powers of two."""

    powers: Ints

    def __call__(self, block: Block) -> Block:
        return block._replace(X=host_rows_of(block.X).per_feature(np.ldexp, -self.powers).X)


def rescaled(rows: SignedRows) -> tuple[SignedRows, Ints]:
    """The signed rows with no extreme features, and the powers they were divided by.

    A feature with numbers of all sizes is scaled as close to 1 as its smallest values allow.
    """
    d = rows.source.n_features
    powers = np.frexp(rows.largest[:d])[1].astype(np.int64)
    powers = np.where((np.abs(powers) > EXTREME_POWER) & (rows.largest[:d] > 0.0), powers, 0)
    if np.any(powers > 0):
        (lowest,) = rows.source.total(LowestBits())
        powers = np.minimum(powers, np.maximum(0, np.min(lowest, axis=0) - LEAST_POWER))
    if not powers.any():
        return rows, powers
    return replace(rows, source=ScaledSource(rows.source, powers)), powers


@dataclass(frozen=True)
class LowestBits(Sum[tuple[list[Ints]]]):
    """The lowest bit of any value of each feature, as a power of two."""

    def of(self, block: Block) -> tuple[list[Ints]]:
        """A list of one entry: the lowest of all is taken later."""
        rows = block.rows
        n, d = rows.shape
        lowest = np.full(d, np.iinfo(np.int64).max)
        for start in range(0, n, CHUNK):
            x = rows.part(start, start + CHUNK).to_dense()
            lowest = np.minimum(lowest, lowest_bits(x)[1].min(axis=0))
        return ([lowest],)


def as_given(
    rows: SignedRows, powers: Ints, W: Array | None, exact: Fractions | None
) -> tuple[Array | None, Fractions | None]:
    """Convert weights of scaled features to the given features; fractions if floats fail."""
    if W is None or not powers.any():
        return W, exact
    powers = np.append(powers, np.zeros(rows.width - len(powers), np.int64))
    if exact is None:
        with np.errstate(over="ignore", under="ignore"):
            moved = np.ldexp(W, -powers)
            if np.array_equal(np.ldexp(moved, powers), W):
                return moved, None
    each = exact.each() if exact is not None else [Fraction(float(v)) for v in W.ravel()]
    over = np.tile(powers, len(W)).tolist()
    given = common_denominator(v / Fraction(2) ** p for v, p in zip(each, over, strict=True))
    return rounded(given, rows.shape), given
