"""Columns of rows in memory, for solvers that update one feature at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data import InMemory
from ..numeric.types import Array, Ints
from ..rows import HostRows, host_rows_of


@dataclass(frozen=True)
class FeatureColumns:
    """Some features of the rows of non-zero weight, copied when they first enter a working set.

    Dense features are centred if there is a bias, which keeps more digits of features far from 0.
    Sparse ones are not centred.
    """

    X: HostRows  # the rows, (n, d)
    means: Array  # the subtracted mean of every feature
    features: Ints  # the feature numbers, in increasing order
    rows: HostRows  # one row per feature, (m, n)

    @classmethod
    def of(cls, source: InMemory, means: Array | None) -> FeatureColumns:
        """Start without features; dense ones will be centred at the means if given."""
        present = source.present
        X = host_rows_of((source if present is None else source.take(present)).block().X)
        if means is None or X.storage == "csr":
            means = np.zeros(source.n_features)
        none = np.zeros(0, np.int64)
        return cls(X, means, none, X.columns(none, means))

    def taking(self, features: Ints) -> FeatureColumns:
        """Exactly these features, given in increasing order."""
        if np.array_equal(features, self.features):
            return self
        at = np.searchsorted(self.features, features)
        held = np.zeros(len(features), dtype=np.bool_)
        inside = at < len(self.features)
        held[inside] = self.features[at[inside]] == features[inside]
        new = self.X.columns(features[~held], self.means)
        return replace(self, features=features, rows=self.rows.merged(at, held, new))

    @property
    def dense(self) -> bool:
        """Whether zeros are stored."""
        return self.rows.storage == "dense"

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    def n_values_of(self, some: Ints) -> int:
        """Number of stored values of some features, given by their positions."""
        return int(self.rows.row_sizes[some].sum())

    @property
    def epochs_a_read(self) -> float:
        """Number of reads of the columns that cost as much as one read of X."""
        return self.X.n_values / max(self.rows.n_values, 1)

    def scores(self, w: Array) -> Array:
        """The columns times weights (m,): (n,)."""
        out = np.zeros((1, self.n_rows + 1))
        self.rows.transpose_product(w[:, None], out)
        return out[0, :-1]
