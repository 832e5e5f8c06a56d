"""Every loss, each a function of the margin ``m = y * (w.x + b)``.

================ ==================== ===========================================
name             value                slope
================ ==================== ===========================================
``zero_one``     1 if m <= 0 else 0   none: a measure, never a training loss
``perceptron``   max(0, -m)           -1 if m <= 0 else 0
``logistic``     log(1 + e^-m)        -1 / (1 + e^m)
``squared``      (1 - m)^2            -2 (1 - m)
``tanh_squared`` (1 - tanh m)^2       -2 (1 - tanh m) (1 - tanh^2 m)
``hinge``        max(0, 1 - m)        -1 if m < 1 else 0
``squared_hinge`` max(0, 1 - m)^2     -2 max(0, 1 - m)
================ ==================== ===========================================

The convention at the kinks: a margin of exactly 0 is a mistake, so the perceptron's slope
there is -1; a margin of exactly 1 satisfies the hinge, so its slope there is 0.

A subclass that sets ``name`` registers itself and can then be asked for by that name:

>>> import numpy as np, separatrix
>>> class Exponential(separatrix.MarginLoss):
...     name = "exponential"
...     def phi(self, m): return np.exp(-m)
...     def slope(self, m): return -np.exp(-m)
>>> "exponential" in separatrix.losses.names()
True
>>> del separatrix.losses.REGISTRY["exponential"]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .typing import AnyArray, Array

REGISTRY: dict[str, type[Loss]] = {}


class Loss:
    """What a wrong answer costs, given the true labels and the scores, row by row."""

    name: ClassVar[str] = ""
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    """Whether the gradient is continuous."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            return
        known = REGISTRY.get(cls.name)
        # The same class again (a notebook cell, @dataclass(slots=True)) replaces itself.
        same = known is not None and known.__qualname__ == cls.__qualname__
        if known is not None and not (same and known.__module__ == cls.__module__):
            raise ValueError(
                f"a loss named {cls.name!r} exists already ({known.__module__}."
                f"{known.__qualname__}); give {cls.__qualname__} another name"
            )
        REGISTRY[cls.name] = cls

    def value(self, y: AnyArray, scores: Array) -> Array:
        """Loss of each row, (n,), for scores (n, k)."""
        raise NotImplementedError

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        """Derivative by the scores, (n, k)."""
        raise NotImplementedError

    def mistakes(self, y: AnyArray, scores: Array) -> AnyArray:
        """Which rows count as mistakes, (n,) booleans."""
        raise NotImplementedError


class MarginLoss(Loss):
    """A loss for two classes: scalar functions of the margin, vectorised.

    A subclass defines ``phi`` and ``slope``; ``curvature`` only if Newton should take it.
    """

    max_curvature: ClassVar[float | None] = None
    """Largest second derivative, for the default step of gradient descent, where known."""

    def phi(self, m: Array) -> Array:
        """Value at the margin."""
        raise NotImplementedError

    def slope(self, m: Array) -> Array:
        """Derivative at the margin; at a kink, the one of the module's convention."""
        raise NotImplementedError

    def curvature(self, m: Array) -> Array:
        """Second derivative at the margin."""
        raise NotImplementedError

    @property
    def has_curvature(self) -> bool:
        """Whether the loss defines its second derivative."""
        return type(self).curvature is not MarginLoss.curvature

    def value(self, y: AnyArray, scores: Array) -> Array:
        """Loss of each row, (n,), for y in -1, +1 and scores (n, 1)."""
        return self.phi(y * scores[:, 0])

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        """Derivative by the scores, (n, 1)."""
        gradient: Array = (self.slope(y * scores[:, 0]) * y)[:, None]
        return gradient

    def mistakes(self, y: AnyArray, scores: Array) -> AnyArray:
        """Rows whose margin is not above 0."""
        return np.logical_not(y * scores[:, 0] > 0)


@dataclass(frozen=True)
class ZeroOne(MarginLoss):
    """1 for a mistake, 0 otherwise. Its slope is 0 wherever it exists: nothing to descend."""

    name = "zero_one"
    convex = False
    smooth = False

    def phi(self, m: Array) -> Array:
        """1 if m <= 0 else 0."""
        return np.where(m > 0, 0.0, 1.0)


@dataclass(frozen=True)
class PerceptronLoss(MarginLoss):
    """How far a mistake is on the wrong side.

    Its infimum 0 is reached at (w, b) = 0, which has learned nothing: see
    :class:`separatrix.LinearClassifier` on what is returned instead.
    """

    name = "perceptron"
    smooth = False

    def phi(self, m: Array) -> Array:
        """max(0, -m)."""
        return np.maximum(0.0, -m)

    def slope(self, m: Array) -> Array:
        """-1 for a mistake, m = 0 included."""
        return np.where(m > 0, 0.0, -1.0)


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """Negative log-likelihood of the logistic model."""

    name = "logistic"
    max_curvature = 0.25

    def phi(self, m: Array) -> Array:
        """log(1 + e^-m), without overflow."""
        return np.logaddexp(0.0, -m)

    def slope(self, m: Array) -> Array:
        """-1 / (1 + e^m)."""
        e = np.exp(-np.abs(m))
        return -np.where(m > 0, e, 1.0) / (1.0 + e)

    def curvature(self, m: Array) -> Array:
        """e^m / (1 + e^m)^2."""
        e = np.exp(-np.abs(m))
        curvature: Array = e / (1.0 + e) ** 2
        return curvature

    def probability(self, scores: Array) -> Array:
        """P(larger class) at each score."""
        e = np.exp(-np.abs(scores))
        return np.where(scores > 0, 1.0, e) / (1.0 + e)

    def log_probability(self, scores: Array) -> Array:
        """Its logarithm, without underflow."""
        return -self.phi(scores)


@dataclass(frozen=True)
class Squared(MarginLoss):
    """Linear mean squared error, since y^2 = 1: it punishes very good rows as very bad ones."""

    name = "squared"
    max_curvature = 2.0

    def phi(self, m: Array) -> Array:
        """(1 - m)^2."""
        phi: Array = (1.0 - m) ** 2
        return phi

    def slope(self, m: Array) -> Array:
        """-2 (1 - m)."""
        return -2.0 * (1.0 - m)

    def curvature(self, m: Array) -> Array:
        """2."""
        return np.full_like(m, 2.0)


@dataclass(frozen=True)
class TanhSquared(MarginLoss):
    """Squared error of tanh(a). Not convex: the slope vanishes for very wrong rows."""

    name = "tanh_squared"
    convex = False
    max_curvature = 2.465  # the maximum is 2.46493..., at m = 0.2328

    def phi(self, m: Array) -> Array:
        """(1 - tanh m)^2."""
        miss, _ = self._parts(m)
        phi: Array = miss**2
        return phi

    def slope(self, m: Array) -> Array:
        """-2 (1 - tanh m) (1 - tanh^2 m)."""
        miss, bend = self._parts(m)
        return -2.0 * miss * bend

    def curvature(self, m: Array) -> Array:
        """2 s (s + 2 t (1 - t)) with t = 1 - tanh m and s = 1 - tanh^2 m."""
        miss, bend = self._parts(m)
        return 2.0 * bend * (bend + 2.0 * miss * (1.0 - miss))

    @staticmethod
    def _parts(m: Array) -> tuple[Array, Array]:
        """1 - tanh m and 1 - tanh^2 m, without cancellation for large |m|."""
        e = np.exp(-2.0 * np.minimum(np.abs(m), 400.0))
        return 2.0 * np.where(m > 0, e, 1.0) / (1.0 + e), 4.0 * e / (1.0 + e) ** 2


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """The support vector machine's loss."""

    name = "hinge"
    smooth = False

    def phi(self, m: Array) -> Array:
        """max(0, 1 - m)."""
        return np.maximum(0.0, 1.0 - m)

    def slope(self, m: Array) -> Array:
        """-1 below a margin of 1, 0 from there."""
        return np.where(m >= 1, 0.0, -1.0)


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """The hinge squared: smooth, and it leaves very good rows in peace."""

    name = "squared_hinge"
    max_curvature = 2.0

    def phi(self, m: Array) -> Array:
        """max(0, 1 - m)^2."""
        phi: Array = np.maximum(0.0, 1.0 - m) ** 2
        return phi

    def slope(self, m: Array) -> Array:
        """-2 max(0, 1 - m)."""
        return -2.0 * np.maximum(0.0, 1.0 - m)

    def curvature(self, m: Array) -> Array:
        """2 below a margin of 1, 0 from there (the generalised second derivative)."""
        return np.where(m >= 1, 0.0, 2.0)


def names() -> tuple[str, ...]:
    """All losses by name.

    >>> names()[:3]
    ('zero_one', 'perceptron', 'logistic')
    """
    return tuple(REGISTRY)


def get_loss(loss: str | Loss) -> Loss:
    """A loss by name, or the object itself, if one can be trained with it.

    >>> get_loss("hinge")
    Hinge()
    """
    if isinstance(loss, str):
        if loss not in REGISTRY:
            known = ", ".join(name for name in REGISTRY if name != ZeroOne.name)
            raise ValueError(f"unknown loss {loss!r}; choose one of {known}, or pass a Loss object")
        loss = REGISTRY[loss]()
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be a name or a Loss object, got {loss!r} of type {type(loss).__name__}"
        )
    if isinstance(loss, ZeroOne):
        raise ValueError(
            "loss='zero_one' counts mistakes and has no slope to descend; train with 'logistic' "
            "or 'hinge', or use separatrix.Perceptron, and measure the zero-one loss as "
            "1 - score(X, y)"
        )
    return loss
