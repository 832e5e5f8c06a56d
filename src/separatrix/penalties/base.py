"""Base class of penalties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..numeric.registry import Registered
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints

REGISTRY: dict[str, type[Penalty]] = {}


class Faces(NamedTuple):
    """Which weights (k, d) can move freely, and which of them only together."""

    labels: Ints
    """Equal for weights that move together; -1 for those that stay."""
    way: Array
    """How far each moves relative to the others of its label, (d,) or (1,)."""
    slope: Array
    """Derivative of the absolute values, (k, d)."""


class Penalty(Registered, ABC):
    """Penalty on weights (k, d + 1), bias last: convex, never negative, and 0 at 0.

    With constraints it is infinite at all other weights, which may include 0.

    The bias is never penalised. A penalty is the sum of a smooth part, which has a gradient and a
    second derivative, and a non-smooth rest, which has a proximal operator (Parikh and Boyd,
    Proximal algorithms, 2014). The rest is the sum of ``thresholds`` times the ``lengths`` of
    blocks of weights that become 0 together; by default every weight is a block.

    Solvers and proofs check what a penalty can do, not which class it is. A smooth penalty
    defines ``value``, ``gradient``, ``diagonal``, ``coercive`` and ``conjugate``; one with a rest
    also ``rest``, ``thresholds``, ``prox``, ``violation``, ``dual_scale`` and ``largest``. A
    penalty with parameters for each feature also defines ``on_features`` and ``check_features``,
    and one with constraints the methods below ``constrains``.
    """

    _kind, _registry = "penalty", REGISTRY

    smooth: ClassVar[bool] = True
    """Whether there is no rest, so that the gradient vanishes at a minimum."""

    l1: float = 0.0
    """Factor of the sum of absolute values, which has kinks."""
    l2: float = 0.0
    """Factor of the sum of ``p_j w_j^2``, with p the ``feature_weights``: a lower bound on the
    curvature."""
    weights: tuple[float, ...] | None = None
    """The p_j of the features, all 1 if None."""
    groups: tuple[int, ...] | str | None = None
    """The group of every feature, or "classes"; None if every weight is its own block."""
    numbers: Ints | None = None
    """The group of every feature, (d,); None if no block contains several features."""

    elastic: ClassVar[bool] = False
    """Whether it is the sum of ``p_j (l1 |w_j| + l2 w_j^2)``; a subclass says so itself."""
    constrains: bool = False
    """Whether some weights are not allowed."""

    def __getstate__(self) -> dict[str, Any]:
        """Drop cached values: fitting must not change the hash of a parameter."""
        own = {field.name for field in fields(self)} if is_dataclass(self) else vars(self).keys()
        return {name: value for name, value in vars(self).items() if name in own}

    @abstractmethod
    def value(self, W: Array) -> float:
        """Penalty at W."""

    def rest(self, W: Array) -> Array:
        """Value of the non-smooth part for each block."""
        return np.zeros_like(W)

    @property
    def feature_weights(self) -> Array:
        """The p_j, (d,), or (1,) where all are 1."""
        return np.ones(1) if self.weights is None else np.array(self.weights)

    def lengths(self, V: Array) -> Array:
        """Lengths of the blocks of V (k, d): (k, blocks per class), or (1, blocks) for all."""
        return np.abs(V)

    def by_feature(self, of_blocks: Array) -> Array:
        """Expand values of blocks to the features in them."""
        return of_blocks

    @property
    def rounding_of_lengths(self) -> float:
        """Relative rounding error of a length."""
        return EPS

    @property
    def thresholds(self) -> Array:
        """Gradient norm up to which a block stays at 0; broadcast against the blocks."""
        return np.zeros(1)

    def common_squares(self, squares: Array) -> Array:
        """Make squared scales of the features, (d,), equal within each block.

        In variables scaled like that, the rest has the same form.
        """
        return squares

    @property
    @abstractmethod
    def coercive(self) -> bool:
        """Whether the penalty grows without bound with every weight: only a bias could diverge."""

    @property
    def absent(self) -> bool:
        """Whether no weight is penalised."""
        return False

    def free_features(self, d: int) -> Ints:
        """Indices of the unpenalised features among d; all of them if unknown."""
        return np.arange(0 if self.coercive else d)

    def check_features(self, n_features: int) -> None:
        """Raise an error if the penalty has parameters for another number of features."""
        return

    @abstractmethod
    def gradient(self, W: Array) -> Array:
        """Derivative of the smooth part at W, zero for the biases."""

    @abstractmethod
    def diagonal(self, shape: tuple[int, int]) -> Array:
        """Diagonal of the constant second derivative of the smooth part, in the shape of W."""

    def prox(self, W: Array, step: float | Array) -> Array:
        """The V that minimises ``|V - W|^2 / (2 * step) + rest(V)``; W itself without a rest.

        ``step`` is a scalar or (d + 1,), with equal steps for all features of a block.
        """
        return W

    @abstractmethod
    def conjugate(self, V: Array) -> float:
        """The maximum of ``sum(V * w) - penalty(w)`` over all w, for V (k, d) without biases."""

    def conjugates(self, V: Array, scales: Array) -> Array:
        """Conjugates of V times each of the scales, which are at most 1, (n_scales,)."""
        return np.array([self.conjugate(s * V) for s in scales.tolist()])

    def dual_scale(self, V: Array, gain: float = np.inf) -> float:
        """The s up to 1 that maximises ``s * gain - conjugate(s * V)``, for V (k, d).

        Usually the largest s for which the conjugate is finite. Any s gives a valid bound; a better
        one gives a tighter bound.
        """
        return 1.0 if np.isfinite(self.conjugate(V)) else 0.0

    def violation(self, W: Array, gradient: Array) -> Array:
        """Violation of the optimality condition by each weight, given the smooth gradient of J.

        The distance of ``-gradient`` from the subdifferential of the rest: for a convex J it is 0
        everywhere exactly at a minimum.
        """
        return np.abs(gradient)

    def largest(self, gradient: Array) -> float:
        """Smallest strength at which all weights are 0, given the gradient at the best biases.

        Infinite if no strength makes a weight 0 that the loss moves away from it.
        """
        return np.inf if gradient[:, :-1].any() else 0.0

    def with_l2(self, l2: float) -> Self:
        """A copy with another ``l2``."""
        if l2 == self.l2:
            return self
        raise NotImplementedError(f"{type(self).__qualname__} has no l2 that could be another")

    def feasible(self, W: Array) -> Array:
        """Allowed weights near W; W itself if they are allowed."""
        return W

    def snapped(self, W: Array) -> Array:
        """W without the rounding of a conversion: weights next to a bound are at the bound."""
        return W

    def in_units(self, scale: Array) -> Penalty:
        """The penalty on weights that are larger by these factors, (d,).

        Only constraints change: the strengths are those of the larger weights already.
        """
        return self

    def faces(self, W: Array) -> Faces:
        """The weights that can move without a kink or a constraint in between."""
        raise NotImplementedError(f"{type(self).__qualname__} has no constraints")

    @property
    def reach(self) -> Array:
        """Size of the weights that a conjugate may have; 0 where squares keep them near W.

        Infinite where the conjugate is.
        """
        return np.array([0.0 if self.smooth or self.l2 > 0.0 else np.inf])

    def outward(self, V: Array, error: Array) -> tuple[Array, float]:
        """A point whose conjugate is the largest within the error of V, and what it may lack."""
        return V + np.copysign(error, V), 0.0

    def free_at(self, W: Array) -> Ints:
        """The unpenalised features whose weights are not at a bound at W."""
        return self.free_features(W.shape[1] - 1)

    def recedes(self, direction: Array) -> bool:
        """Whether weights may grow without end in a direction that has no penalty."""
        return True

    def zero_within(self, V: Array, error: Array) -> AnyArray:
        """Where w = 0 maximises ``sum(V * w) - penalty(w)``, as for all points within the error.

        Only asked of penalties with constraints.
        """
        return np.zeros(V.shape, dtype=np.bool_)

    def on_features(self, features: Ints) -> Penalty:
        """The penalty restricted to these features."""
        return self

    def without_feature(self, feature: int, n_features: int) -> Penalty | None:
        """A penalty with the same value where the weight of this feature is 0, and above elsewhere.

        So much above that the weight is 0 at every minimum; None if there is no such form.
        """
        return None
