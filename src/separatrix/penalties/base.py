"""What every penalty offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np

from ..numeric.registry import Registered
from ..numeric.types import Array, Ints

REGISTRY: dict[str, type[Penalty]] = {}


class Penalty(Registered, ABC):
    """What large weights (k, d + 1) cost, bias last. The bias is never penalised.

    It is a smooth part, which has a gradient and a second derivative, and a rest that is known by
    its proximal operator (Parikh and Boyd, Proximal algorithms, 2014).
    """

    _kind, _registry = "penalty", REGISTRY

    smooth: ClassVar[bool] = True
    """Whether the smooth part is all of it: then the gradient vanishes at a minimum."""

    l1: float = 0.0
    """Factor of the sum of absolute values, in which there is a kink."""
    l2: float
    """Factor of ``|w|^2``: what curvature, decay of weights and the dual are made of."""

    @abstractmethod
    def value(self, W: Array) -> float:
        """Penalty at W."""

    @abstractmethod
    def rest(self, W: Array) -> Array:
        """What is not smooth of it, block by block: a weight, or several that become 0 together."""

    @property
    def thresholds(self) -> Array:
        """The norm of the gradient up to which a block stays at 0; broadcast against the blocks."""
        return np.zeros(1)

    def common_squares(self, squares: Array) -> Array:
        """Squared scales of the features (d,), made one for all features of a block.

        In variables of such scales the rest is one of the same kind.
        """
        return squares

    @property
    @abstractmethod
    def coercive(self) -> bool:
        """Whether it grows without bound with every weight: then only a bias could run off."""

    @abstractmethod
    def gradient(self, W: Array) -> Array:
        """Derivative of the smooth part at W, zero for the biases."""

    @abstractmethod
    def diagonal(self, shape: tuple[int, int]) -> Array:
        """Diagonal of its second derivative, in the shape of the weights."""

    @abstractmethod
    def prox(self, W: Array, step: float | Array) -> Array:
        """The V with the least ``|V - W|^2 / (2 * step) + rest(V)``; W itself without a rest.

        A step for all weights, or (d + 1,), one for all features of a block.
        """

    @abstractmethod
    def conjugate(self, V: Array) -> float:
        """The largest ``sum(V * w) - penalty(w)`` over all w, for V (k, d): without biases."""

    @abstractmethod
    def dual_scale(self, V: Array, gain: float = np.inf) -> float:
        """The s up to 1 with the largest ``s * gain - conjugate(s * V)``, for V (k, d).

        As a rule the largest for which the conjugate is finite.
        """

    @abstractmethod
    def violation(self, W: Array, gradient: Array) -> Array:
        """How far each weight is from standing still, given the gradient of J's smooth part.

        The distance of ``-gradient`` from the subdifferential of the rest: 0 everywhere at a
        minimum of a convex J, and nowhere else.
        """

    @abstractmethod
    def largest(self, gradient: Array) -> float:
        """The strength from which on only biases are not 0, given the gradient at their best."""

    @abstractmethod
    def with_l2(self, l2: float) -> Self:
        """The same with another quadratic part."""

    def on_features(self, features: Ints) -> Penalty:
        """The same for some of the features alone."""
        return self
