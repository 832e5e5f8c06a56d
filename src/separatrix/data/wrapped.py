"""A source that gives the rows of another in a way of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .source import Source, Storage


class WrappedSource(Source):
    """What it does not say otherwise is that of the source it wraps; ``blocks`` is its own.

    Sums, visits and samples are then made of its own blocks.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.n_features, self.classes = source.n_features, source.classes

    @property
    def n_rows(self) -> int:
        """Number of rows whose weight is not zero."""
        return self.source.n_rows

    @property
    def length(self) -> int:
        """Number of all rows."""
        return self.source.length

    @property
    def weight_sum(self) -> float:
        """Sum of the weights."""
        return self.source.weight_sum

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the rows."""
        return self.source.dtype

    @property
    def row_bytes(self) -> float:
        """Bytes of a row, on average."""
        return self.source.row_bytes

    @property
    def row_values(self) -> float:
        """Values stored in a row, on average."""
        return self.source.row_values

    @property
    def storage(self) -> Storage:
        """How the rows of its blocks are stored."""
        return self.source.storage

    @property
    def threads(self) -> int:
        """How many threads may work on its rows."""
        return self.source.threads
