"""Elastic net: absolute values of the weights, which make many of them 0, and squares."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..numeric.types import Array, Ints
from .sparsity_inducing import SparsityInducing

ENORMOUS = 1e100  # weight of a feature that keeps its weight at 0; its square does not overflow


@dataclass(frozen=True)
class ElasticNet(SparsityInducing):
    """``sum of p_j * (l1 * |w_j| + l2 * w_j^2)`` for weights (k, d + 1), bias last.

    The lasso (Tibshirani, Regression shrinkage and selection via the lasso, 1996) plus a squared
    term (Zou and Hastie, Regularization and variable selection via the elastic net, 2005).

    See Also
    --------
    L2 : only the squares.
    GroupLasso : makes groups of features 0 together.
    ProximalNewton : minimises objectives with it.
    LinearClassifier : ``l1=...``.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ElasticNet
    >>> ElasticNet(1.0, 0.5).value(np.array([[1.0, -2.0, 100.0]]))
    5.5
    """

    name = "elastic_net"
    elastic = True

    def rest(self, W: Array) -> Array:
        """``l1 * p_j * |w_j|``."""
        rest = np.zeros_like(W)
        rest[:, :-1] = self.thresholds * np.abs(W[:, :-1])
        return rest

    def prox(self, W: Array, step: float | Array) -> Array:
        """Move each weight towards 0 by ``step * l1 * p_j``, but not past 0."""
        V = W.copy()
        steps = np.broadcast_to(step, W.shape[1:])[:-1]
        V[:, :-1] = soft_threshold(W[:, :-1], steps * self.thresholds)
        return V

    def violation(self, W: Array, gradient: Array) -> Array:
        """``|g + l1 p_j sign(w_j)|`` if w_j is not 0, else what exceeds ``l1 * p_j`` in ``|g|``."""
        violation = np.abs(gradient)
        w, g = W[:, :-1], gradient[:, :-1]
        at_zero = np.maximum(violation[:, :-1] - self.thresholds, 0.0)
        violation[:, :-1] = np.where(w == 0.0, at_zero, np.abs(g + self.thresholds * np.sign(w)))
        return violation

    def on_features(self, features: Ints) -> ElasticNet:
        """The penalty on these features, with their weights."""
        if self.weights is None:
            return self
        return replace(self, weights=tuple(self.feature_weights[features].tolist()))

    def without_feature(self, feature: int, n_features: int) -> ElasticNet:
        """The penalty with an enormous weight of this feature."""
        weights = np.broadcast_to(self.feature_weights, n_features).copy()
        weights[feature] = ENORMOUS
        return replace(self, weights=tuple(weights.tolist()))


def soft_threshold(w: Array, threshold: Array) -> Array:
    """Move w towards 0 by the threshold, but not past 0."""
    nearer: Array = np.copysign(np.maximum(np.abs(w) - threshold, 0.0), w) + 0.0  # avoid -0
    return nearer
