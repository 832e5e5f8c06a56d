"""The sum of absolute values of the weights, which makes many of them 0, and their squares."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..numeric.dot import dot
from ..numeric.lazy import cached_property
from ..numeric.tolerances import EPS
from ..numeric.types import Array, Ints
from .base import Penalty


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """``sum of p_j * (l1 * |w_j| + l2 * w_j^2)`` for weights (k, d + 1), bias last.

    The lasso (Tibshirani, Regression shrinkage and selection via the lasso, 1996) and a square
    beside it (Zou and Hastie, Regularization and variable selection via the elastic net, 2005).

    See Also
    --------
    L2 : the squares alone.
    ProximalNewton : minimises with it.
    LinearClassifier : ``l1=...``.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ElasticNet
    >>> ElasticNet(1.0, 0.5).value(np.array([[1.0, -2.0, 100.0]]))
    5.5
    """

    name = "elastic_net"
    smooth = False

    l1: float = 0.0
    """Strength of the absolute values."""
    l2: float = 0.0
    """Strength of the squares."""
    weights: tuple[float, ...] | None = None
    """The p_j of the features, all 1 if None; a feature of weight 0 is free."""

    def __post_init__(self) -> None:
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(float(p) for p in self.weights))

    @cached_property
    def feature_weights(self) -> Array:
        """The p_j, (d,), or (1,) where all are 1."""
        return np.ones(1) if self.weights is None else np.array(self.weights)

    @property
    def thresholds(self) -> Array:
        """``l1 * p_j``: how far the loss must pull at a feature to move it away from 0."""
        return self.l1 * self.feature_weights

    def value(self, W: Array) -> float:
        """Penalty at W."""
        w = W[:, :-1]
        value = self.l1 * float(np.sum(self.feature_weights * np.abs(w)))
        return value + self.l2 * dot(self.feature_weights * w, w) if self.l2 else value

    def rest(self, W: Array) -> Array:
        """``l1 * p_j * |w_j|``."""
        rest = np.zeros_like(W)
        rest[:, :-1] = self.thresholds * np.abs(W[:, :-1])
        return rest

    @property
    def coercive(self) -> bool:
        """Unless some features are free."""
        return self.l1 + self.l2 > 0.0 and bool(np.all(self.feature_weights > 0.0))

    def gradient(self, W: Array) -> Array:
        """Derivative of the squares at W, zero for the biases."""
        gradient = np.zeros_like(W)
        gradient[:, :-1] = 2.0 * self.l2 * self.feature_weights * W[:, :-1]
        return gradient

    def diagonal(self, shape: tuple[int, int]) -> Array:
        """Diagonal of their second derivative, in the shape of the weights."""
        diagonal = np.zeros(shape)
        diagonal[:, :-1] = 2.0 * self.l2 * self.feature_weights
        return diagonal

    def prox(self, W: Array, step: float) -> Array:
        """Each weight nearer to 0 by ``step * l1 * p_j``, and no further than 0."""
        V = W.copy()
        V[:, :-1] = soft_threshold(W[:, :-1], step * self.thresholds)
        return V

    def conjugate(self, V: Array) -> float:
        """``sum of max(|v_j| - l1 p_j, 0)^2 / (4 l2 p_j)``; infinite where that divides by 0."""
        beyond = np.maximum(np.abs(V) - self.thresholds, 0.0)
        square = 4.0 * self.l2 * self.feature_weights
        if np.any((beyond > 0.0) & (square == 0.0)):
            return np.inf
        return float(np.sum(beyond**2 / np.where(square > 0.0, square, 1.0)))

    def dual_scale(self, V: Array, gain: float = np.inf) -> float:
        """Where the slope of the difference, which falls with s, meets 0 or the box ends."""
        size = np.abs(V)
        square = np.broadcast_to(2.0 * self.l2 * self.feature_weights, V.shape)
        outside = size > self.thresholds
        threshold = np.broadcast_to(self.thresholds, V.shape)[outside]
        size, square = size[outside], square[outside]
        boxed = square == 0.0
        most = float(np.min(threshold[boxed] / size[boxed], initial=1.0))
        if most < 1.0:  # rounding is not to leave it outside
            most *= 1.0 - EPS
        size, square, threshold = size[~boxed], square[~boxed], threshold[~boxed]
        begin = threshold / size  # of each feature's square
        order = np.argsort(begin, kind="stable")
        steep = np.cumsum((size**2 / square)[order])
        offset = np.cumsum((size * threshold / square)[order])
        # With the first i of them the slope at s is gain - s * steep[i] + offset[i].
        ends = np.append(begin[order][1:], np.inf)
        roots = np.maximum(gain + offset, 0.0) / steep
        inside = np.flatnonzero(roots <= ends)
        return min(most, float(roots[inside[0]])) if len(inside) else most

    def violation(self, W: Array, gradient: Array) -> Array:
        """``|g + l1 p_j sign(w_j)|`` away from 0, at 0 what exceeds ``l1 * p_j``."""
        violation = np.abs(gradient)
        w, g = W[:, :-1], gradient[:, :-1]
        at_zero = np.maximum(violation[:, :-1] - self.thresholds, 0.0)
        violation[:, :-1] = np.where(w == 0.0, at_zero, np.abs(g + self.thresholds * np.sign(w)))
        return violation

    def largest(self, gradient: Array) -> float:
        """The l1 at which no feature that is penalised pulls hard enough."""
        p = np.broadcast_to(self.feature_weights, gradient[:, :-1].shape)
        penalised = p > 0.0
        return float(np.max(np.abs(gradient[:, :-1])[penalised] / p[penalised], initial=0.0))

    def with_l2(self, l2: float) -> ElasticNet:
        """With other squares."""
        return replace(self, l2=l2)

    def on_features(self, features: Ints) -> ElasticNet:
        """With their weights."""
        if self.weights is None:
            return self
        return replace(self, weights=tuple(self.feature_weights[features].tolist()))


def soft_threshold(w: Array, threshold: Array) -> Array:
    """Nearer to 0 by the threshold, and no further than 0."""
    nearer: Array = np.copysign(np.maximum(np.abs(w) - threshold, 0.0), w) + 0.0  # not -0
    return nearer
