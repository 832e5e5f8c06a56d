"""Scores of all weights in a ball around the weights of a fit, including rounding.

Problem: the penalty gives J curvature, so a duality gap bounds the distance of the weights from the
minimum: with ``l2_j`` the factor of ``w_j^2`` in J, ``sum_j l2_j (w_j - w*_j)^2 <= gap``. Input:
weights, and rows x. Output: ``w.(x - c)`` for a centre c, its rounding error, and how far
``w*.(x - c)`` can be from it: ``sqrt(gap) |x - c|_*`` with ``|v|_*^2 = sum_j v_j^2 / l2_j``, by
Cauchy and Schwarz. Any c is allowed. Near the mean row, distances are short, and large means cost
no precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.feature_map import FeatureMap
from ..numeric.dot import SAFE_SQUARE
from ..numeric.tolerances import EPS, SMALLEST_NORMAL
from ..numeric.types import AnyArray, Array
from ..penalties import Penalty

OPERATIONS = 40
"""Roundings of a result besides one per added term, at most: EPS is two units of rounding."""
CHUNK = 1 << 20  # values of dense rows that are copied at a time


class NearbyScores(NamedTuple):
    """Centred scores of some rows."""

    values: Array  # ``w.(x - c)`` of every class, (n, k)
    rounding: Array  # bound on the rounding error of each, (n, k)
    spread: Array  # bound on ``(w - w*).(x - c)`` for weights of one class in the ball, (n,)


@dataclass(frozen=True)
class WeightBall:
    """Weights (k, d), and how far the exact minimum can be from them."""

    weights: Array
    centre: Array  # c, (d,)
    reach: Array  # ``1 / sqrt(l2_j)``, (d,); 0 for a weight that is known
    radius: float

    def scores(self, X: Any) -> NearbyScores:
        """Scores of rows in an array or a CSR matrix."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if sp.issparse(X):
                return self._finite(*self._of_sparse(X))
            step = max(1, CHUNK // max(1, X.shape[1]))
            starts = range(0, max(1, len(X)), step)
            parts = [self._of_dense(X[start : start + step]) for start in starts]
            return self._finite(*map(np.concatenate, zip(*parts, strict=True)))

    def _of_dense(self, X: AnyArray) -> tuple[Array, Array, Array]:
        D = X.astype(np.float64) - self.centre
        size = np.abs(D) @ np.abs(self.weights).T
        terms = OPERATIONS + D.shape[1]
        lengths = row_lengths(D * self.reach) * (1.0 + terms * EPS)
        return D @ self.weights.T, _rounding(terms, size), self.radius * lengths

    def _of_sparse(self, X: Any) -> tuple[Array, Array, Array]:
        X = sp.csr_array(X, dtype=np.float64)
        W, c = self.weights, self.centre
        terms = OPERATIONS + np.diff(X.indptr).astype(np.float64)
        size = abs(X) @ np.abs(W).T + np.sum(np.abs(W * c), axis=1)
        values = X @ W.T - np.sum(W * c, axis=1)
        return values, _rounding(terms[:, None], size), self.radius * self._sparse_lengths(X, terms)

    def _sparse_lengths(self, X: Any, terms: Array) -> Array:
        """Upper bounds on ``|x - c|_*`` from the stored values; cancellation makes them larger."""
        Z, origin = X.copy(), self.centre * self.reach
        Z.data = X.data * self.reach[X.indices]
        unit = float(max(np.max(np.abs(Z.data), initial=0.0), np.max(np.abs(origin), initial=0.0)))
        if not 0.0 < unit < np.inf:
            return np.full(len(terms), 0.0 if unit == 0.0 else np.inf)
        Z.data /= unit
        origin = origin / unit
        squares = Z.power(2) @ np.ones(len(origin)) + np.sum(origin * origin)
        crossed, added = Z @ origin, abs(Z) @ np.abs(origin)
        error = _rounding(terms, squares + 2.0 * added) + len(origin) * SMALLEST_NORMAL
        longest = np.sqrt(np.maximum(squares - 2.0 * crossed, 0.0) + error)
        upper: Array = unit * longest * (1.0 + OPERATIONS * EPS)
        return upper

    def _finite(self, values: Array, rounding: Array, spread: Array) -> NearbyScores:
        """Nothing is known about rows whose scores or distances overflow."""
        lost = ~(np.isfinite(values) & np.isfinite(rounding)).all(axis=1) | ~np.isfinite(spread)
        values[lost], rounding[lost], spread[lost] = 0.0, 0.0, np.inf
        return NearbyScores(values, rounding, spread)


def _rounding(terms: float | Array, size: Array) -> Array:
    """Error of a sum of products whose absolute values sum to ``size``."""
    return terms * (EPS * size + SMALLEST_NORMAL)


def row_lengths(Z: Array) -> Array:
    """Euclidean lengths of rows, also where squares overflow or underflow."""
    square = np.einsum("ij,ij->i", Z, Z)
    lengths: Array = np.sqrt(square)
    extreme = ~((square > SAFE_SQUARE) & (square < np.inf))
    if extreme.any():
        rows = Z[extreme]
        largest = np.max(np.abs(rows), axis=1, initial=0.0)
        unit = np.where((largest > 0.0) & (largest < np.inf), largest, 1.0)[:, None]
        lengths[extreme] = unit[:, 0] * np.sqrt(np.sum((rows / unit) ** 2, axis=1))
    return lengths


def reach_of(penalty: Penalty, n_features: int, features: FeatureMap | None) -> Array:
    """``1 / sqrt(l2_j)`` in the units of the given features, for the features of the objective.

    ``n_features`` is their number. The penalty is on the scaled weights if they are standardised.
    """
    strength = np.sqrt(penalty.l2) * np.sqrt(penalty.feature_weights)
    reach = 1.0 / np.broadcast_to(strength, (n_features,))
    if features is None or features.standardization is None:
        return reach
    scale = features.standardization.scale[:-1]
    return reach / (scale if features.occupied is None else scale[features.occupied])


def with_all_features(values: Array, features: FeatureMap | None) -> Array:
    """Numbers of the objective's features as numbers of all: 0 for those that no row stores."""
    if features is None or features.occupied is None or values.shape[-1] == features.n_features:
        return values
    found = np.zeros((*values.shape[:-1], features.n_features))
    found[..., features.occupied] = values
    return found
