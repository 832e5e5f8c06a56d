"""Elastic net of single weights between bounds, and its conjugate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints
from .elastic_net import soft_threshold

ROUNDED = 2 * EPS  # of a weight: two roundings, as from one unit to another and back


@dataclass(frozen=True, eq=False)
class Box:
    """``t |w| + a w^2 / 2`` for low <= w <= high, else infinite, feature by feature.

    The conjugate takes the w at which V w less this is largest: that of the elastic net, clipped.
    """

    low: Array
    high: Array
    absolute: Array
    """t, not negative; (d,) as all of these, or (1,)."""
    curvature: Array
    """a, not negative."""

    @property
    def free(self) -> AnyArray:
        """Which weights have neither a penalty nor two finite bounds."""
        bounded = np.isfinite(self.low) & np.isfinite(self.high)
        free: AnyArray = (self.curvature + self.absolute == 0.0) & ~bounded
        return free

    @property
    def reach(self) -> Array:
        """Where there are no squares, the largest weight that the bounds allow; else 0."""
        largest = np.maximum(np.abs(self.low), np.abs(self.high))
        return np.where(self.curvature == 0.0, largest, 0.0)

    def clip(self, w: Array) -> Array:
        """The nearest weights between the bounds."""
        clipped: Array = np.clip(w, self.low, self.high) + 0.0  # avoid -0
        return clipped

    def snap(self, w: Array) -> Array:
        """Weights that rounding has moved from a bound are at the bound again."""
        for ends in (self.low, self.high):
            near = np.isfinite(ends) & (np.abs(w - ends) <= ROUNDED * np.abs(ends))
            w = np.where(near, ends, w)
        return self.clip(w)

    def allows(self, w: Array) -> AnyArray:
        """Which weights are between the bounds, apart from rounding."""
        low, high = self.low - ROUNDED * np.abs(self.low), self.high + ROUNDED * np.abs(self.high)
        allowed: AnyArray = (w >= low) & (w <= high)
        return allowed

    def inside(self, w: Array) -> AnyArray:
        """Which weights are at no bound."""
        inside: AnyArray = np.asarray((w > self.low) & (w < self.high))
        return inside

    def violation(self, w: Array, gradient: Array) -> Array:
        """What remains of the gradient where neither a bound nor the kink stops the weight."""
        t = self.absolute
        up = np.maximum(-(gradient + np.where(w >= 0.0, t, -t)), 0.0) * (w < self.high)
        down = np.maximum(gradient - np.where(w <= 0.0, t, -t), 0.0) * (w > self.low)
        found: Array = np.maximum(up, down)
        return found

    def maximiser(self, V: Array) -> Array:
        """The weights at which ``V w`` less the penalty is largest, which may be infinite."""
        pull, a = soft_threshold(V, self.absolute), self.curvature
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            w = np.where(a > 0.0, pull / a, np.copysign(np.inf, pull))
        return np.clip(np.where((pull == 0.0) & (a == 0.0), 0.0, w), self.low, self.high)

    def conjugate(self, V: Array) -> tuple[Array, Array]:
        """Conjugate of every weight, and the size of the terms that it was added from."""
        w, a = self.maximiser(V), self.curvature
        with np.errstate(over="ignore", invalid="ignore"):
            gained, absolute = V * w, self.absolute * np.abs(w)
            square = np.where(a > 0.0, 0.5 * a * w * w, 0.0)
            terms, sizes = gained - absolute - square, np.abs(gained) + absolute + square
        lost = np.isinf(w)
        return np.where(lost, np.inf, terms), np.where(lost, 0.0, sizes)

    def largest_scale(self, V: Array) -> float:
        """The largest s up to 1 for which the conjugate of ``s * V`` is finite."""
        pull, t = np.abs(V), np.broadcast_to(self.absolute, V.shape)
        end = np.where(V > 0.0, self.high, -self.low)
        limited = (self.curvature == 0.0) & np.isinf(end) & (pull > t)
        most = float(np.min(t[limited] / pull[limited], initial=1.0))
        return most if most == 1.0 else most * (1.0 - EPS)  # rounding must not make it infeasible

    def outward(self, V: Array, error: Array) -> Array:
        """V with each entry moved by its error to the end with the larger conjugate."""
        up, down = V + error, V - error
        return np.where(self.conjugate(up)[0] > self.conjugate(down)[0], up, down)

    def zero_within(self, V: Array, error: Array) -> AnyArray:
        """Where w = 0 is the maximiser for all V within the error."""
        t, allowed = self.absolute, (self.low <= 0.0) & (self.high >= 0.0)
        rises = (V + error >= t) & (self.high > 0.0)
        falls = (V - error <= -t) & (self.low < 0.0)
        zero: AnyArray = allowed & ~rises & ~falls
        return zero

    def recedes(self, direction: Array) -> bool:
        """Whether no bound ends a direction."""
        ended = (direction > 0.0) & (self.high < np.inf) | (direction < 0.0) & (self.low > -np.inf)
        return not ended.any()

    def of(self, features: Ints) -> Box:
        """The box of some features."""
        each = (self.low, self.high, self.absolute, self.curvature)
        return Box(*(values if len(values) == 1 else values[features] for values in each))
