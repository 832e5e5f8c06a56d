"""Columns of rows in memory, for solvers that move one feature after another."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data import InMemory
from ..numeric.types import Array, Ints
from ..rows import HostRows, host_rows_of


@dataclass(frozen=True)
class FeatureColumns:
    """Some features of the rows that count, each copied when it first enters a working set.

    Dense ones are centred, if there is a bias to make up for it: of a feature that is far from 0
    more digits are left. Sparse ones stay as they are.
    """

    X: HostRows
    """The rows, (n, d)."""
    means: Array
    """What was taken away, of all features."""
    features: Ints
    """Which they are, in increasing order."""
    rows: HostRows
    """A row for each of these, (m, n)."""

    @classmethod
    def of(cls, source: InMemory, means: Array | None) -> FeatureColumns:
        """None of them yet; dense ones are to be centred at the means, if there are any."""
        present = source.present
        X = host_rows_of((source if present is None else source.take(present)).block().X)
        if means is None or X.storage == "csr":
            means = np.zeros(source.n_features)
        none = np.zeros(0, np.int64)
        return cls(X, means, none, X.columns(none, means))

    def taking(self, features: Ints) -> FeatureColumns:
        """These, in increasing order, and no others."""
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
        """Of X."""
        return self.X.shape[0]

    def n_values_of(self, some: Ints) -> int:
        """How many values are stored of some of the features, told by their places."""
        return int(self.rows.row_sizes[some].sum())

    @property
    def epochs_a_read(self) -> float:
        """How often they are read for as many values as X stores."""
        return self.X.n_values / max(self.rows.n_values, 1)

    def scores(self, w: Array) -> Array:
        """Sums of the columns by weights (m,): (n,)."""
        out = np.zeros((1, self.n_rows + 1))
        self.rows.transpose_product(w[:, None], out)
        return out[0, :-1]
