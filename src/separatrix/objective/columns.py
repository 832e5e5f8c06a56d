"""Columns of rows in memory, for solvers that move one feature after another."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import loops
from ..data import InMemory
from ..numeric.rows import CsrRows, Rows, concatenate_rows, n_values, shape_of, take_rows
from ..numeric.types import Array, Ints


@dataclass(frozen=True)
class FeatureColumns:
    """Some features of the rows that count, each copied when it first enters a working set.

    Dense ones are centred, if there is a bias to make up for it: of a feature that is far from 0
    more digits are left. Sparse ones stay as they are.
    """

    X: Rows
    """The rows, (n, d)."""
    means: Array
    """What was taken away, of all features."""
    features: Ints
    """Which they are, in increasing order."""
    rows: Rows
    """A row for each of these, (m, n)."""

    @classmethod
    def of(cls, source: InMemory, means: Array | None) -> FeatureColumns:
        """None of them yet; dense ones are to be centred at the means, if there are any."""
        present = source.present
        X = (source if present is None else source.take(present)).block().X
        if means is None or isinstance(X, CsrRows):
            means = np.zeros(source.n_features)
        none = np.zeros(0, np.int64)
        return cls(X, means, none, _copied(X, means, none))

    def taking(self, features: Ints) -> FeatureColumns:
        """These, in increasing order, and no others."""
        if np.array_equal(features, self.features):
            return self
        at = np.searchsorted(self.features, features)
        held = np.zeros(len(features), dtype=np.bool_)
        inside = at < len(self.features)
        held[inside] = self.features[at[inside]] == features[inside]
        new = _copied(self.X, self.means, features[~held])
        if isinstance(new, CsrRows):
            order = np.argsort(np.concatenate([np.flatnonzero(held), np.flatnonzero(~held)]))
            both = concatenate_rows([take_rows(self.rows, at[held]), new])
            return replace(self, features=features, rows=take_rows(both, order))
        rows = np.empty((len(features), new.shape[1]))
        if held.any() and not isinstance(self.rows, CsrRows):
            self.rows.take(at, axis=0, out=rows, mode="clip")
        rows[~held] = new
        return replace(self, features=features, rows=rows)

    @property
    def dense(self) -> bool:
        """Whether zeros are stored."""
        return not isinstance(self.rows, CsrRows)

    @property
    def n_rows(self) -> int:
        """Of X."""
        return shape_of(self.X)[0]

    def n_values_of(self, some: Ints) -> int:
        """How many values are stored of some of the features, told by their places."""
        if isinstance(self.rows, CsrRows):
            return int(np.diff(self.rows.indptr)[some].sum())
        return len(some) * self.n_rows

    @property
    def epochs_a_read(self) -> float:
        """How often they are read for as many values as X stores."""
        return n_values(self.X) / max(n_values(self.rows), 1)

    def scores(self, w: Array) -> Array:
        """Sums of the columns by weights (m,): (n,)."""
        out = np.zeros((1, self.n_rows + 1))
        loops.transpose_product(self.rows, w[:, None], out)
        return out[0, :-1]


def _copied(X: Rows, means: Array, features: Ints) -> Rows:
    if isinstance(X, CsrRows):
        return loops.csr_columns(X, features)
    taken = X.take(features, axis=1).T.astype(np.float64, order="C")
    taken -= means[features, None]
    return taken
