"""Columns of rows in memory, for solvers that move one feature after another."""

from __future__ import annotations

import numpy as np

from .. import loops
from ..numeric.rows import CsrRows, Rows, concatenate_rows, take_rows
from ..numeric.types import Array, Ints
from ..objective import Objective


class Columns:
    """Some features of the rows that count, copied when they first enter a working set.

    Dense ones are centred, if there is a bias to make up for it: of a feature that is far from 0
    more digits are left. Sparse ones stay as they are.
    """

    def __init__(self, objective: Objective) -> None:
        self.source = objective.in_memory
        present = self.source.present
        self._X = (self.source if present is None else self.source.take(present)).block().X
        self.dense = not isinstance(self._X, CsrRows)
        self.n_rows = self.source.n_rows
        centred = self.dense and objective.intercept
        d = self.source.n_features
        self.means = objective.moments.mean if centred else np.zeros(d)
        """What was taken away, of all features."""
        self.features: Ints = np.zeros(0, np.int64)
        self.rows: Rows = self._copied(self.features)
        """A row for each of these features, in increasing order."""

    def take(self, features: Ints) -> None:
        """Hold these, in increasing order, and no others."""
        new = np.setdiff1d(features, self.features, assume_unique=True)
        held = np.flatnonzero(np.isin(self.features, features, assume_unique=True))
        numbers = np.concatenate([self.features[held], new])
        kept = self.rows if len(held) == len(self.features) else take_rows(self.rows, held)
        both = concatenate_rows([kept, self._copied(new)]) if len(new) else kept
        order = np.argsort(numbers)
        self.rows = both if np.all(np.diff(order) == 1) else take_rows(both, order)
        self.features = features

    def _copied(self, features: Ints) -> Rows:
        if not isinstance(self._X, CsrRows):
            taken = self._X.take(features, axis=1).T.astype(np.float64, order="C")
            taken -= self.means[features, None]
            return taken
        return loops.csr_columns(self._X, features)

    def scores(self, w: Array) -> Array:
        """Sums of the columns by weights (m,): (n,)."""
        out = np.zeros((1, self.n_rows + 1))
        loops.transpose_product(self.rows, w[:, None], out)
        return out[0, :-1]
