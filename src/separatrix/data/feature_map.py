"""The features that a solver works with, made from those that were given.

Problem: sparse rows may have a feature for every word, or every hash of one, that there could be,
and store few of them: a feature that is 0 in every row has the weight 0 at a minimum, yet every
vector of weights has room for it. With ``standardize`` features are of one scale besides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import loops
from ..numeric.rows import CsrRows
from ..numeric.standardization import Standardization
from ..numeric.types import Array, Ints
from .arrays import ArraySource
from .source import Source
from .standardized import standardized
from .thresholds import MOST_OCCUPIED


@dataclass(frozen=True)
class FeatureMap:
    """From features as given to those of the solver: standardised, or the occupied ones alone."""

    n_features: int
    """Of the rows as given."""
    standardization: Standardization | None = None
    occupied: Ints | None = None
    """The features that are left; None: all."""

    def source(self, given: Source) -> Source:
        """Rows as given, as the solver sees them."""
        seen = given if self.standardization is None else standardized(given, self.standardization)
        return seen if self.occupied is None else with_features(seen, self.occupied)

    def from_weights(self, W: Array) -> Array:
        """Weights of the features as given as weights of those of the solver."""
        return self.left(
            W if self.standardization is None else self.standardization.from_weights(W)
        )

    def left(self, W: Array) -> Array:
        """Of weights of all features, those of the ones that are left, and the bias."""
        return W if self.occupied is None else W[:, np.append(self.occupied, -1)]

    def to_weights(self, W: Array) -> Array:
        """The way back: the same scores for the features as they were given."""
        if self.occupied is not None:
            some, W = W, np.zeros((len(W), self.n_features + 1))
            W[:, self.occupied], W[:, -1] = some[:, :-1], some[:, -1]
        return W if self.standardization is None else self.standardization.to_weights(W)


def occupied_features(source: Source) -> Ints | None:
    """Those that some row stores, if there are few; None also where rows are not at hand."""
    if not isinstance(source, ArraySource) or not isinstance(source.X, CsrRows):
        return None
    found = loops.stored_features(source.X, int(MOST_OCCUPIED * source.n_features))
    if found is None:
        return None
    return np.flatnonzero(found) if found.any() else np.zeros(1, np.int64)  # one is needed


def with_features(source: Source, features: Ints) -> ArraySource:
    """The same sparse rows in memory without features that none of them stores."""
    if not isinstance(source, ArraySource) or not isinstance(source.X, CsrRows):
        raise TypeError(f"sparse rows in memory can leave out features, {source!r} cannot")
    X = source.X
    stored = slice(X.indptr[0], X.indptr[-1])
    number = np.zeros(X.n_features, dtype=X.indices.dtype)
    number[features] = np.arange(len(features))
    indices = number[X.indices[stored]]
    offsets = X.indptr - stored.start
    return source.with_rows(CsrRows(X.data[stored], indices, offsets, len(features)))
