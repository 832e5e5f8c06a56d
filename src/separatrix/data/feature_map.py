"""The map from the given features to those that a solver uses.

Problem: sparse rows may have a feature for every possible word or hash and store few of them. A
feature that is 0 in every row has the weight 0 at a minimum, yet takes memory in every weight
vector. With ``standardize``, features are also brought to one scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric.dot import exact_product
from ..numeric.standardization import Standardization
from ..numeric.types import Array, Ints
from ..rows import CsrRows
from ..rows.exact_standardization import exact_bias
from .arrays import ArraySource
from .source import Source
from .standardized import standardized
from .thresholds import MOST_OCCUPIED


@dataclass(frozen=True)
class FeatureMap:
    """From given features to the solver's: standardised, or only the occupied ones."""

    n_features: int  # number of features of the given rows
    standardization: Standardization | None = None
    occupied: Ints | None = None  # the features that are kept; None: all

    def source(self, given: Source) -> Source:
        """The given rows with the solver's features."""
        seen = given if self.standardization is None else standardized(given, self.standardization)
        return seen if self.occupied is None else with_features(seen, self.occupied)

    def from_weights(self, W: Array) -> Array:
        """Convert weights of the given features to weights of the solver's features."""
        return self.exactly_from_weights(W)[0]

    def exactly_from_weights(self, W: Array) -> tuple[Array, Array]:
        """The same to twice the working precision: the nearest doubles, and the remainders."""
        if self.standardization is None:
            W = self.left(W)
            return W, np.zeros_like(W)
        high, low = exact_product(W, self.standardization.scale)
        high[:, -1], low[:, -1] = exact_bias(self.standardization.mean, W)
        return self.left(high), self.left(low)

    def left(self, W: Array) -> Array:
        """The weights of the kept features, and the bias."""
        return W if self.occupied is None else W[:, np.append(self.occupied, -1)]

    def to_weights(self, W: Array) -> Array:
        """Convert back to weights of the given features, with the same scores."""
        if self.occupied is not None:
            some, W = W, np.zeros((len(W), self.n_features + 1))
            W[:, self.occupied], W[:, -1] = some[:, :-1], some[:, -1]
        if self.standardization is None:
            return W
        W = W / self.standardization.scale
        W[:, -1] = exact_bias(-self.standardization.mean, W)[0]
        return W


def occupied_features(source: Source) -> Ints | None:
    """Features that some row stores; None if they are many, or rows are not in memory."""
    if not isinstance(source, ArraySource) or not isinstance(source.stored, CsrRows):
        return None
    found = source.stored.stored_features(int(MOST_OCCUPIED * source.n_features))
    if found is None:
        return None
    return np.flatnonzero(found) if found.any() else np.zeros(1, np.int64)  # one is needed


def with_features(source: Source, features: Ints) -> ArraySource:
    """The same sparse rows in memory, with only these features."""
    if not isinstance(source, ArraySource) or not isinstance(source.stored, CsrRows):
        raise TypeError(f"only sparse rows in memory can leave out features, got {source!r}")
    X = source.stored.own()
    number = np.zeros(X.n_features, dtype=X.indices.dtype)
    number[features] = np.arange(len(features))
    few = X._replace(indices=number[X.indices], n_features=len(features))
    return source.with_rows(few)
