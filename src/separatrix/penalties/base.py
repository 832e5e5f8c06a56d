"""What every penalty offers."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..numeric.registry import Registered
from ..numeric.types import Array

REGISTRY: dict[str, type[Penalty]] = {}


class Penalty(Registered, ABC):
    """What large weights (k, d + 1) cost, bias last. The bias is never penalised."""

    _kind, _registry = "penalty", REGISTRY

    l2: float
    """Factor of ``|w|^2``: what curvature, decay of weights and the dual are made of."""

    @abstractmethod
    def value(self, W: Array) -> float:
        """Penalty at W."""

    @abstractmethod
    def gradient(self, W: Array) -> Array:
        """Derivative at W, zero for the biases."""

    @abstractmethod
    def diagonal(self, shape: tuple[int, int]) -> Array:
        """Diagonal of the second derivative, in the shape of the weights."""

    @abstractmethod
    def conjugate(self, V: Array) -> float:
        """The largest ``sum(V * w) - penalty(w)`` over all w, for V (k, d): without biases."""
