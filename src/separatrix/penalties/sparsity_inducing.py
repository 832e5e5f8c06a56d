"""Base class of penalties whose rest is a sum of lengths of blocks of weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..numeric.dot import scaled_square
from ..numeric.lazy import cached_property
from ..numeric.types import Array, Ints
from .base import Penalty


@dataclass(frozen=True)
class SparsityInducing(Penalty):
    """``l1`` times the lengths of blocks of weights, which become 0 together, plus ``l2`` squares.

    Every weight is in one block, and all features of a block have the same weight p (Bach,
    Jenatton, Mairal and Obozinski, Optimization with sparsity-inducing penalties, 2012).
    """

    smooth = False

    l1: float = 0.0
    """Strength of the lengths."""
    l2: float = 0.0
    """Strength of the squares."""
    weights: tuple[float, ...] | None = None
    """The p_j of the features, all 1 if None; a feature of weight 0 is unpenalised."""

    def __post_init__(self) -> None:
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(float(p) for p in self.weights))

    @cached_property
    def feature_weights(self) -> Array:
        """The p_j, (d,), or (1,) where all are 1."""
        return np.ones(1) if self.weights is None else np.array(self.weights)

    @property
    def block_weights(self) -> Array:
        """Weights p of the blocks, (blocks,), or (1,) where all are 1; by default the p_j."""
        return self.feature_weights

    @property
    def length_factors(self) -> Array:
        """Factors of ``l1`` times the lengths of the blocks; by default their weights."""
        return self.block_weights

    @property
    def thresholds(self) -> Array:
        """Norm of the loss gradient above which a block becomes non-zero."""
        return self.l1 * self.length_factors

    def value(self, W: Array) -> float:
        """Penalty at W."""
        w = W[:, :-1]
        value = float(np.sum(self.thresholds * self.lengths(w)))
        if not self.l2:
            return value
        return value + scaled_square(np.sqrt(self.feature_weights) * w, by=self.l2)

    @property
    def coercive(self) -> bool:
        """Whether there is a penalty and no feature is unpenalised."""
        return self.l1 + self.l2 > 0.0 and bool(np.all(self.feature_weights > 0.0))

    @property
    def absent(self) -> bool:
        """Whether there is no penalty, or all features are unpenalised."""
        return self.l1 + self.l2 == 0.0 or not np.any(self.feature_weights)

    def free_features(self, d: int) -> Ints:
        """Indices of the features of weight 0."""
        weights = np.broadcast_to(self.feature_weights, d)
        return np.flatnonzero(weights * (self.l1 + self.l2) == 0.0)

    def check_features(self, n_features: int) -> None:
        """Check that weights and groups, if given, have one entry for each feature."""
        groups = None if isinstance(self.groups, str) else self.groups
        for name, given in (("penalty_weights", self.weights), ("groups", groups)):
            if given is not None and len(given) != n_features:
                raise ValueError(
                    f"{name} has {len(given)} entries, but there are {n_features} features: give "
                    "one for each"
                )

    def gradient(self, W: Array) -> Array:
        """Derivative of the squares at W, zero for the biases."""
        gradient = np.zeros_like(W)
        if self.l2:
            gradient[:, :-1] = 2.0 * self.l2 * self.feature_weights * W[:, :-1]
        return gradient

    def diagonal(self, shape: tuple[int, int]) -> Array:
        """Diagonal of the second derivative of the squares, in the shape of the weights."""
        diagonal = np.zeros(shape)
        diagonal[:, :-1] = 2.0 * self.l2 * self.feature_weights
        return diagonal

    def conjugate(self, V: Array) -> float:
        """``sum of max(|v_b| - t_b, 0)^2 / (4 l2 p_b)`` over blocks b, t_b their thresholds.

        Infinite where this divides by 0.
        """
        return float(self.conjugates(V, np.ones(1))[0])

    def conjugates(self, V: Array, scales: Array) -> Array:
        """Conjugates of V times each of the scales, which are at most 1, (n_scales,)."""
        size = self.lengths(V)
        outside = size > self.thresholds  # the others stay inside for all scales
        root = np.sqrt(np.broadcast_to(4.0 * self.l2 * self.block_weights, size.shape)[outside])
        threshold = np.broadcast_to(self.thresholds, size.shape)[outside]
        beyond = np.maximum(scales[:, None] * size[outside] - threshold, 0.0)
        # Divide before squaring: squares of a small gradient underflow, and l2 may be small too.
        found: Array = np.sum((beyond / np.where(root > 0.0, root, 1.0)) ** 2, axis=1)
        found[np.any((beyond > 0.0) & (root == 0.0), axis=1)] = np.inf
        return found

    def dual_scale(self, V: Array, gain: float = np.inf) -> float:
        """The s at which the derivative of the difference is 0, or the largest feasible s."""
        size = self.lengths(V)
        root = np.sqrt(np.broadcast_to(2.0 * self.l2 * self.block_weights, size.shape))
        outside = size > self.thresholds
        threshold = np.broadcast_to(self.thresholds, size.shape)[outside]
        size, root = size[outside], root[outside]
        bounded = root == 0.0
        most = float(np.min(threshold[bounded] / size[bounded], initial=1.0))
        if most < 1.0:  # rounding must not make it infeasible
            most *= 1.0 - self.rounding_of_lengths
        size, root, threshold = size[~bounded], root[~bounded], threshold[~bounded]
        begin = threshold / size  # scale from which on each block contributes its square
        order = np.argsort(begin, kind="stable")
        steep = np.cumsum(((size / root) ** 2)[order])
        offset = np.cumsum((size / root * (threshold / root))[order])
        # With the first i blocks, the derivative at s is gain - s * steep[i] + offset[i].
        ends = np.append(begin[order][1:], np.inf)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # squares may underflow
            roots = np.maximum(gain + offset, 0.0) / steep
        inside = np.flatnonzero(roots <= ends)
        return min(most, float(roots[inside[0]])) if len(inside) else most

    def largest(self, gradient: Array) -> float:
        """Smallest l1 at which every penalised block is 0."""
        lengths = self.lengths(gradient[:, :-1])
        factors = np.broadcast_to(self.length_factors, lengths.shape)
        penalised = factors > 0.0
        return float(np.max(lengths[penalised] / factors[penalised], initial=0.0))

    def with_l2(self, l2: float) -> Self:
        """A copy with another ``l2``."""
        return replace(self, l2=l2)
