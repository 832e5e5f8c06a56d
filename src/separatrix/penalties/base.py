"""What every penalty offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..numeric.registry import Registered
from ..numeric.tolerances import EPS
from ..numeric.types import Array, Ints

REGISTRY: dict[str, type[Penalty]] = {}


class Penalty(Registered, ABC):
    """What large weights (k, d + 1) cost, bias last: never negative, 0 at 0, and convex.

    The bias is never penalised. A penalty is a smooth part, which has a gradient and a second
    derivative, and a rest that is known by its proximal operator (Parikh and Boyd, Proximal
    algorithms, 2014). The rest is the sum of ``thresholds`` times ``lengths``, those of blocks of
    weights that become 0 together; by default every weight is a block.

    Solvers and proofs ask a penalty what it can do, not which class it is. A smooth penalty
    defines ``value``, ``gradient``, ``diagonal``, ``coercive`` and ``conjugate``; one with a rest
    also ``rest``, ``thresholds``, ``prox``, ``violation``, ``dual_scale`` and ``largest``. A
    penalty with numbers of its own for each feature also defines ``on_features`` and
    ``check_features``.
    """

    _kind, _registry = "penalty", REGISTRY

    smooth: ClassVar[bool] = True
    """Whether the smooth part is all of it: then the gradient vanishes at a minimum."""

    l1: float = 0.0
    """Factor of the sum of absolute values, in which there is a kink."""
    l2: float = 0.0
    """Factor of the sum of ``p_j w_j^2`` in it, p the ``feature_weights``: how much it curves, at
    least."""
    weights: tuple[float, ...] | None = None
    """The p_j of the features, all 1 if None."""
    groups: tuple[int, ...] | str | None = None
    """The group of every feature, or "classes"; None if every weight is a block by itself."""
    numbers: Ints | None = None
    """The group of every feature, (d,); None if blocks do not join features."""

    def __getstate__(self) -> dict[str, Any]:
        """Without what is only remembered: a hash of a parameter must not change by a fit."""
        own = {field.name for field in fields(self)} if is_dataclass(self) else vars(self).keys()
        return {name: value for name, value in vars(self).items() if name in own}

    @abstractmethod
    def value(self, W: Array) -> float:
        """Penalty at W."""

    def rest(self, W: Array) -> Array:
        """What is not smooth of it, block by block: a weight, or several that become 0 together."""
        return np.zeros_like(W)

    @property
    def feature_weights(self) -> Array:
        """The p_j, (d,), or (1,) where all are 1."""
        return np.ones(1) if self.weights is None else np.array(self.weights)

    def lengths(self, V: Array) -> Array:
        """Of the blocks of V (k, d): (k, blocks of a class), or (1, blocks) over all classes."""
        return np.abs(V)

    def by_feature(self, of_blocks: Array) -> Array:
        """Numbers of blocks as those of the features in them."""
        return of_blocks

    @property
    def rounding_of_lengths(self) -> float:
        """How far a length may be off, in units of itself."""
        return EPS

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

    @property
    def absent(self) -> bool:
        """Whether no weight costs anything."""
        return False

    def free_features(self, d: int) -> Ints:
        """The numbers of the features that cost nothing, of d; all of them if it is not known."""
        return np.arange(0 if self.coercive else d)

    def check_features(self, n_features: int) -> None:
        """Refuse data with another number of features than the penalty has numbers for."""
        return

    @abstractmethod
    def gradient(self, W: Array) -> Array:
        """Derivative of the smooth part at W, zero for the biases."""

    @abstractmethod
    def diagonal(self, shape: tuple[int, int]) -> Array:
        """Diagonal of its second derivative, in the shape of the weights: the same everywhere."""

    def prox(self, W: Array, step: float | Array) -> Array:
        """The V with the least ``|V - W|^2 / (2 * step) + rest(V)``; W itself without a rest.

        A step for all weights, or (d + 1,), one for all features of a block.
        """
        return W

    @abstractmethod
    def conjugate(self, V: Array) -> float:
        """The largest ``sum(V * w) - penalty(w)`` over all w, for V (k, d): without biases."""

    def conjugates(self, V: Array, scales: Array) -> Array:
        """The conjugate of V times each of some numbers up to 1: (number of these,)."""
        return np.array([self.conjugate(s * V) for s in scales.tolist()])

    def dual_scale(self, V: Array, gain: float = np.inf) -> float:
        """The s up to 1 with the largest ``s * gain - conjugate(s * V)``, for V (k, d).

        As a rule the largest for which the conjugate is finite. Any s is right, but a good one
        proves more.
        """
        return 1.0 if np.isfinite(self.conjugate(V)) else 0.0

    def violation(self, W: Array, gradient: Array) -> Array:
        """How far each weight is from standing still, given the gradient of J's smooth part.

        The distance of ``-gradient`` from the subdifferential of the rest: 0 everywhere at a
        minimum of a convex J, and nowhere else.
        """
        return np.abs(gradient)

    def largest(self, gradient: Array) -> float:
        """The strength from which on only biases are not 0, given the gradient at their best.

        Infinite where no strength makes a weight 0 that the loss moves away from it.
        """
        return np.inf if gradient[:, :-1].any() else 0.0

    def with_l2(self, l2: float) -> Self:
        """The same with another quadratic part."""
        if l2 == self.l2:
            return self
        raise NotImplementedError(f"{type(self).__qualname__} has no l2 that could be another")

    def on_features(self, features: Ints) -> Penalty:
        """The same for some of the features alone."""
        return self
