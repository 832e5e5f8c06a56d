"""Standardised rows: copied once if in memory, else standardised while they are read.

Problem: compute the rows ``z = (x - mean) / scale``. With a free bias, centring does not change the
minimum. Dense rows are centred anyway: online solvers then converge faster, and float32 rounds
less. Sparse rows are not centred, so they stay sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from ..numeric.lazy import cached_property
from ..numeric.standardization import Standardization
from ..numeric.tolerances import VANISHING
from ..numeric.types import AnyArray, Ints
from ..rows import (
    HostRows,
    Rows,
    StandardizedRows,
    Standardizer,
    host_rows_of,
    with_offset,
)
from .arrays import as_arrays
from .blocks import Block
from .class_moments import ClassMoments
from .fingerprint import DIGEST_BYTES
from .source import InMemory, Source
from .thresholds import MOST_DEVIATIONS_OFF
from .wrapped import BlockMap, MappedSource


def standardized(source: Source, standardization: Standardization) -> Source:
    """The same rows standardised: a copy if in memory, else while they are read."""
    if not isinstance(source, InMemory):
        return StandardizedSource(source, standardization)
    given, rows = as_arrays(source), Standardizer(standardization)
    stored = given.stored.without_offset
    if isinstance(stored, HostRows):
        changed: Rows = rows.copied(stored, given.weight, given.threads)
    else:  # they stay where they are
        changed = StandardizedRows(stored, rows, given.weight)
    return given.with_rows(with_offset(changed, given.stored.offset).X)


class StandardizedSource(MappedSource):
    """Rows that are standardised while they are read."""

    map: Standardize

    def __init__(self, source: Source, standardization: Standardization) -> None:
        super().__init__(source, Standardize(standardization, may_copy=source.visitable))
        self.standardization = standardization
        self.validation = source.validation  # not standardised: evaluated with raw weights

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of its values: float32 only if rows of float32 are copied for its sums."""
        return self.source.dtype if self.map.copies else np.dtype(np.float64)

    @property
    def cancelling(self) -> AnyArray | float:
        """See :attr:`separatrix.rows.StandardizedRows.cancelling`; 0 if rows are copied."""
        if self.map.copies:
            return 0.0
        mean, scale = self.standardization.mean, self.standardization.scale[:-1]
        cancelling: AnyArray = 2.0 * np.abs(mean / scale) + self.source.cancelling / scale
        return cancelling

    def take(self, rows: Ints) -> InMemory:
        return self._copied(self.source.take(rows))

    def class_moments(self) -> ClassMoments | None:
        known = self.source.class_moments()
        return None if known is None else known.standardized(self.standardization)

    def fingerprint(self) -> str:
        """A hash of the source's fingerprint and the standardization."""
        whole = blake2b(self.source.fingerprint().encode(), digest_size=DIGEST_BYTES)
        whole.update(self.standardization.mean.tobytes() + self.standardization.scale.tobytes())
        return whole.hexdigest()


@dataclass(frozen=True)
class Standardize(BlockMap):
    """Standardises blocks: products are those of the given rows where that is accurate enough.

    Else rows are copied, in their precision.
    """

    standardization: Standardization
    may_copy: bool = True  # not if rows are on a device, where weights are, too

    @cached_property
    def copies(self) -> bool:
        """Whether a mean is too far from 0, or a scale too extreme to be squared."""
        if not self.may_copy:
            return False
        mean, scale = self.standardization.mean, self.standardization.scale[:-1]
        near = np.abs(mean / scale) <= MOST_DEVIATIONS_OFF
        return not bool(np.all(near & (scale > VANISHING) & (scale < 1.0 / VANISHING)))

    @cached_property
    def _standardizer(self) -> Standardizer:
        return Standardizer(self.standardization)

    def __call__(self, block: Block) -> Block:
        rows: Rows = block.rows.without_offset
        if self.copies:
            rows = self._standardizer.copied(host_rows_of(rows), block.weight)
        else:
            rows = StandardizedRows(rows, self._standardizer, block.weight)
        return block._replace(X=with_offset(rows, block.rows.offset).X)
