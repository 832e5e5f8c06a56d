"""Elastic net with bounds on the weights, and with weights in increasing order.

Problem: the penalty is ``sum of p_j (l1 |w_j| + l2 w_j^2)`` if every weight is within its bounds
and the weights along each chain do not decrease, else infinite. Without chains it is a sum over the
weights: proximal operator and conjugate are those of the elastic net, clipped. Weights of a chain
are coupled, and l1 is 0: both follow from isotonic regression, which is then clipped, as the bounds
of a chain are equal. The multipliers of the order turn the conjugate into one without chains.

Barlow and Brunk, The isotonic regression problem and its dual, JASA 67 (1972).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq, isotonic_regression

from ..numeric.lazy import cached_property
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints
from .base import Faces, Penalty
from .elastic_net import ElasticNet, soft_threshold
from .l2 import is_l2
from .sparsity_inducing import SparsityInducing

ROUNDED = 2 * EPS  # of a weight: two roundings, as from one unit to another and back
UNORDERED = 4 * EPS  # of neighbours in a chain: weights that are equal apart from rounding
TERMS = 10 * EPS  # of the terms of a conjugate: what rounding may take from their sum
SCALE = 1e-12  # accuracy of a scale: the bound is flat around the best one

Ends = tuple[float | None, ...]


@dataclass(frozen=True)
class ConstrainedElasticNet(SparsityInducing):
    """Elastic net on weights with bounds, and in increasing order along chains of features.

    ``sum of p_j * (l1 * |w_j| + l2 * w_j^2)`` for weights (k, d + 1), bias last, that satisfy all
    constraints; else infinite. ``LinearClassifier(bounds=..., monotone=...)`` makes this penalty.

    See Also
    --------
    ElasticNet : without constraints.
    ProximalNewton : minimises objectives with it.
    LinearClassifier : ``bounds=...``, ``monotone=...``.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import ConstrainedElasticNet
    >>> penalty = ConstrainedElasticNet(l2=0.5, low=(0.0, None), high=(None, 1.0))
    >>> penalty.value(np.array([[1.0, -2.0, 100.0]])), penalty.value(np.array([[-1.0, 0.0, 0.0]]))
    (2.5, inf)
    >>> penalty.feasible(np.array([[-1.0, 3.0, 100.0]]))
    array([[  0.,   1., 100.]])
    """

    name = "constrained_elastic_net"
    constrains = True

    low: Ends | None = None
    """Smallest weight of each feature; None: no bound."""
    high: Ends | None = None
    """Largest weight of each feature; None: no bound."""
    chains: tuple[tuple[int, ...], ...] = ()
    """Sequences of features along which the weights do not decrease."""
    units: tuple[float, ...] | None = None
    """What chains compare are the weights divided by these factors; None: the weights."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, none in (("low", -np.inf), ("high", np.inf)):
            given = getattr(self, name)
            if given is not None:
                ends = tuple(None if e is None or e == none else float(e) for e in given)
                object.__setattr__(self, name, ends)
        if self.units is not None:
            object.__setattr__(self, "units", tuple(float(u) for u in self.units))
        chains = tuple(tuple(int(j) for j in chain) for chain in self.chains)
        object.__setattr__(self, "chains", chains)
        low, high = np.broadcast_arrays(self._low, self._high)
        wrong = np.flatnonzero(~((low <= high) & (low < np.inf) & (high > -np.inf)))
        if len(wrong):
            j = int(wrong[0])
            raise ValueError(f"the bounds of feature {j} are {low[j]:g} and {high[j]:g}: expected "
                             "a finite interval, or infinite ends")  # fmt: skip
        self._check_chains()

    def _check_chains(self) -> None:
        members = [j for chain in self.chains for j in chain]
        if len(set(members)) < len(members) or min(members, default=0) < 0:
            raise ValueError("a feature is twice in chains, or its number is negative")
        if not members:
            return
        if any(len(values) not in (1, self._width) for values in self._per_feature):
            raise ValueError("weights, low, high and units must have one entry for each feature")
        if self.l1:
            raise ValueError(
                f"weights in order (monotone) need l1=0, got l1={self.l1:g}: use l2 alone"
            )
        p, low, high, units = (self._of(values) for values in self._per_feature)
        if not self.l2 or not p[members].all():
            raise ValueError(
                "weights in order (monotone) need l2 > 0, and penalty_weights > 0 on their features"
            )
        for chain in map(list, self.chains):
            for ends in (low[chain] / units[chain], high[chain] / units[chain]):
                if not np.allclose(ends, ends[0], rtol=UNORDERED, atol=0.0):
                    raise ValueError(
                        f"the features {chain} are in order (monotone) and have different bounds: "
                        "give all of them the same bounds"
                    )

    @property
    def _per_feature(self) -> tuple[Array, Array, Array, Array]:
        return self.feature_weights, self._low, self._high, self._units

    @cached_property
    def _width(self) -> int:
        """Number of features, as far as the constraints know."""
        most = max((j + 1 for chain in self.chains for j in chain), default=1)
        return max(most, *(len(values) for values in self._per_feature))

    def _of(self, values: Array) -> Array:
        return np.broadcast_to(values, self._width) if len(values) == 1 else values

    @cached_property
    def _low(self) -> Array:
        return _ends(self.low, -np.inf)

    @cached_property
    def _high(self) -> Array:
        return _ends(self.high, np.inf)

    @cached_property
    def _units(self) -> Array:
        return np.ones(1) if self.units is None else np.array(self.units)

    @cached_property
    def _curvature(self) -> Array:
        return 2.0 * self.l2 * self.feature_weights

    @cached_property
    def _absolute(self) -> Array:
        """Factors of the absolute values."""
        return self.l1 * self.feature_weights

    # ---- blocks ------------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> Ints | None:
        """The block of every feature, a chain being one; None without chains."""
        if not self.chains:
            return None
        first = np.arange(self._width)
        for chain in self.chains:
            first[list(chain)] = min(chain)
        return np.unique(first, return_inverse=True)[1].astype(np.int64)

    @property
    def thresholds(self) -> Array:
        """Factors of the absolute values; 0 for all blocks if there are chains."""
        return self._absolute if self.numbers is None else np.zeros(self.numbers.max() + 1)

    def lengths(self, V: Array) -> Array:
        """Largest absolute value in each block."""
        if self.numbers is None:
            return np.abs(V)
        found = np.zeros((len(V), self.numbers.max() + 1))
        for row, values in zip(found, np.abs(V), strict=True):
            np.maximum.at(row, self.numbers, values)
        return found

    def by_feature(self, of_blocks: Array) -> Array:
        """Value of each feature's block."""
        return of_blocks if self.numbers is None else of_blocks[..., self.numbers]

    # ---- constraints -------------------------------------------------------------------------

    @property
    def absent(self) -> bool:
        """Never: constraints are a penalty."""
        return False

    @property
    def coercive(self) -> bool:
        """Whether every weight has a penalty or two finite bounds."""
        return not len(self.free_features(self._width))

    def free_features(self, d: int) -> Ints:
        """Indices of the features without a penalty and without two finite bounds."""
        bounded = np.isfinite(self._low) & np.isfinite(self._high)
        free = (self._curvature + self._absolute == 0.0) & ~bounded
        return np.flatnonzero(np.broadcast_to(free, d))

    def free_at(self, W: Array) -> Ints:
        """Those of them that are not at a bound in every class."""
        free, w = self.free_features(W.shape[1] - 1), W[:, :-1]
        inside = np.any((w > self._low) & (w < self._high), axis=0)
        return free[inside[free]]

    def check_features(self, n_features: int) -> None:
        """Check that what is given for each feature has one entry for each."""
        super().check_features(n_features)
        for name in ("low", "high", "units"):
            given = getattr(self, name)
            if given is not None and len(given) != n_features:
                raise ValueError(
                    f"{name} has {len(given)} entries, but there are {n_features} features: give "
                    "one for each"
                )
        if self._width > n_features:
            raise ValueError(f"chains name feature {self._width - 1} of {n_features} features")

    def value(self, W: Array) -> float:
        """Penalty at W; violations within rounding count as none."""
        return super().value(W) if self._allows(W[:, :-1]) else np.inf

    def _allows(self, w: Array) -> bool:
        low, high = self._low, self._high
        inside = (w >= low - ROUNDED * np.abs(low)) & (w <= high + ROUNDED * np.abs(high))
        if not inside.all():
            return False
        for chain in map(list, self.chains):
            v = w[:, chain] / self._of(self._units)[chain]
            if np.any(np.diff(v) < -UNORDERED * np.maximum(np.abs(v[:, 1:]), np.abs(v[:, :-1]))):
                return False
        return True

    def rest(self, W: Array) -> Array:
        """``l1 * p_j * |w_j|``."""
        rest = np.zeros_like(W)
        rest[:, :-1] = self._absolute * np.abs(W[:, :-1])
        return rest

    def feasible(self, W: Array) -> Array:
        """The nearest allowed weights."""
        V = W.copy()
        self._restrict(V, np.ones(1))
        return W if np.array_equal(V, W) else V

    def _restrict(self, V: Array, step: Array) -> None:
        """Move V to the nearest allowed weights, distances divided by the steps, in place."""
        for chain in map(list, self.chains):
            units = self._of(self._units)[chain]
            weights = np.broadcast_to(units**2 / step[chain if len(step) > 1 else [0]], len(chain))
            for row in V:
                v = row[chain] / units
                ordered = isotonic(v, weights)
                if ordered is not v:
                    row[chain] = units * ordered
        V[:, :-1] = np.clip(V[:, :-1], self._low, self._high) + 0.0  # avoid -0

    def snapped(self, W: Array) -> Array:
        """W with weights at their bounds if they are next to them, and in order."""
        V = W.copy()
        w = V[:, :-1]
        for ends in (self._low, self._high):
            near = np.abs(w - ends) <= ROUNDED * np.abs(ends)
            np.copyto(w, np.broadcast_to(ends, w.shape), where=near)
        np.clip(w, self._low, self._high, out=w)
        for chain in map(list, self.chains):
            w[:, chain] = np.maximum.accumulate(w[:, chain], axis=1)
        w += 0.0
        return V

    def in_units(self, scale: Array) -> ConstrainedElasticNet:
        """The same constraints on weights that are larger by these factors."""
        with np.errstate(invalid="ignore", over="ignore"):
            low, high = (tuple((scale * ends).tolist()) for ends in (self._low, self._high))
        units = tuple((scale * self._units).tolist()) if self.chains else None
        return replace(self, low=low, high=high, units=units)

    def on_features(self, features: Ints) -> ConstrainedElasticNet:
        """The penalty on these features; chains keep those that are among them."""
        def some(given: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
            return None if given is None else tuple(given[j] for j in at)

        at = features.tolist()
        place = {j: number for number, j in enumerate(at)}
        chains = [tuple(place[j] for j in chain if j in place) for chain in self.chains]
        return replace(
            self, weights=some(self.weights), low=some(self.low), high=some(self.high),
            units=some(self.units), chains=tuple(chain for chain in chains if len(chain) > 1),
        )  # fmt: skip

    # ---- steps -------------------------------------------------------------------------------

    def prox(self, W: Array, step: float | Array) -> Array:
        """Move each weight towards 0 by ``step * l1 * p_j``, not past 0, and into the bounds."""
        V, steps = W.copy(), np.atleast_1d(np.asarray(step, dtype=np.float64))
        steps = steps if len(steps) == 1 else steps[:-1]
        V[:, :-1] = soft_threshold(W[:, :-1], steps * self._absolute)
        self._restrict(V, steps)
        return V

    def violation(self, W: Array, gradient: Array) -> Array:
        """What remains of the gradient where neither a bound nor a threshold stops the weight.

        In a chain: how far a step with the gradient moves the weight.
        """
        violation = np.abs(gradient)
        w, g, t = W[:, :-1], gradient[:, :-1], self._absolute
        up = np.maximum(-(g + np.where(w >= 0.0, t, -t)), 0.0) * (w < self._high)
        down = np.maximum(g - np.where(w <= 0.0, t, -t), 0.0) * (w > self._low)
        violation[:, :-1] = np.maximum(up, down)
        if self.chains:
            chained = [j for chain in self.chains for j in chain]
            moved = np.abs(W - self.prox(W - gradient, 1.0))
            violation[:, chained] = moved[:, chained]
        return violation

    def faces(self, W: Array) -> Faces:
        """Weights at a bound, or at a kink, stay; equal ones of a chain move together."""
        w = W[:, :-1]
        fixed = (w <= self._low) | (w >= self._high) | ((w == 0.0) & (self._absolute > 0.0))
        labels = np.arange(w.size).reshape(w.shape)
        for chain in map(list, self.chains):
            v = w[:, chain] / self._of(self._units)[chain]
            size = np.maximum(np.abs(v[:, 1:]), np.abs(v[:, :-1]))
            apart = np.diff(v) > UNORDERED * size
            first = np.zeros(v.shape, dtype=np.int64)
            first[:, 1:] = np.maximum.accumulate(np.arange(1, len(chain)) * apart, axis=1)
            labels[:, chain] = np.take_along_axis(labels[:, chain], first, axis=1)
            stays = np.isin(labels[:, chain], labels[:, chain][fixed[:, chain]])
            fixed[:, chain] |= stays
        labels[fixed] = -1
        return Faces(labels, self._units, self._absolute * np.sign(w))

    # ---- duality -----------------------------------------------------------------------------

    @property
    def reach(self) -> Array:
        """Where there are no squares, the largest weight that the bounds allow."""
        if self._curvature.all():
            return np.zeros(1)
        largest = np.maximum(np.abs(self._low), np.abs(self._high))
        return np.where(self._curvature == 0.0, largest, 0.0)

    def conjugate(self, V: Array) -> float:
        """The sum over the weights, each between its bounds; no less than that, with rounding."""
        terms, sizes = self._terms(self._without_order(V))
        return float(np.sum(terms) + TERMS * np.sum(sizes))

    def conjugates(self, V: Array, scales: Array) -> Array:
        """Conjugates of V times each of the scales."""
        return np.array([self.conjugate(s * V) for s in scales.tolist()])

    def _maximiser(self, V: Array) -> Array:
        """The weights at which ``sum(V * w)`` less the penalty is largest, without chains."""
        pull, a = soft_threshold(V, self._absolute), self._curvature
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            w = np.where(a > 0.0, pull / a, np.copysign(np.inf, pull))
        w = np.where((pull == 0.0) & (a == 0.0), 0.0, w)
        found: Array = np.clip(w, self._low, self._high)
        return found

    def _terms(self, V: Array) -> tuple[Array, Array]:
        """Conjugate of each weight, without chains, and the size of what was added for it."""
        w, a = self._maximiser(V), self._curvature
        with np.errstate(over="ignore", invalid="ignore"):
            gained, absolute = V * w, self._absolute * np.abs(w)
            square = np.where(a > 0.0, 0.5 * a * w * w, 0.0)
            terms, sizes = gained - absolute - square, np.abs(gained) + absolute + square
        lost = np.isinf(w)
        return np.where(lost, np.inf, terms), np.where(lost, 0.0, sizes)

    def _without_order(self, V: Array) -> Array:
        """V plus multipliers of the order: conjugates without chains are then as small as with."""
        if not self.chains:
            return V
        V = V.copy()
        p, units = self._of(self.feature_weights), self._of(self._units)
        for chain in map(list, self.chains):
            u = units[chain]
            squares = 2.0 * self.l2 * p[chain] * u
            for row in V:
                v = isotonic(row[chain] / squares, squares * u)
                multipliers = np.maximum(np.cumsum(u * (row[chain] - squares * v)), 0.0)
                multipliers[-1] = 0.0  # none after the last
                row[chain] -= np.diff(multipliers, prepend=0.0) / u
        return V

    def dual_scale(self, V: Array, gain: float = np.inf) -> float:
        """The s at which the derivative of the difference is 0, or the largest feasible s."""
        pull, t = np.abs(V), np.broadcast_to(self._absolute, V.shape)
        end = np.where(V > 0.0, self._high, -self._low)
        limited = (self._curvature == 0.0) & np.isinf(end) & (pull > t)
        most = float(np.min(t[limited] / pull[limited], initial=1.0))
        if most < 1.0:
            most *= 1.0 - EPS
        excess = self._excess(V, gain)
        if gain == np.inf or most == 0.0 or not excess(most) < 0.0:
            return most
        if not excess(0.0) > 0.0:
            return 0.0
        return float(brentq(excess, 0.0, most, xtol=SCALE))

    def _excess(self, V: Array, gain: float) -> Callable[[float], float]:
        """The derivative of ``s * gain - conjugate(s * V)`` by s."""

        def excess(s: float) -> float:
            return gain - float(np.sum(V * self._maximiser(self._without_order(s * V))))

        return excess

    def outward(self, V: Array, error: Array) -> tuple[Array, float]:
        """For each weight the end with the larger conjugate; for chains a Taylor bound."""
        up, down = V + error, V - error
        found = np.where(self._terms(up)[0] > self._terms(down)[0], up, down)
        if not self.chains:
            return found, 0.0
        chained = [j for chain in self.chains for j in chain]
        found[:, chained] = V[:, chained]
        w = self._maximiser(self._without_order(V))[:, chained]
        e, a = error[..., chained], self._of(self._curvature)[chained]
        return found, float((1.0 + TERMS) * np.sum(e * np.abs(w) + 0.5 * e * e / a))

    def zero_within(self, V: Array, error: Array) -> AnyArray:
        """Where neither end of the error moves the weight from 0; not for chains."""
        t, allowed = self._absolute, (self._low <= 0.0) & (self._high >= 0.0)
        rises, falls = (V + error >= t) & (self._high > 0.0), (V - error <= -t) & (self._low < 0.0)
        found: AnyArray = allowed & ~rises & ~falls
        found[:, [j for chain in self.chains for j in chain]] = False
        return found


def constrained(penalty: Penalty, **constraints: Any) -> ConstrainedElasticNet:
    """The penalty with constraints, which are the fields of ``ConstrainedElasticNet``."""
    if not (is_l2(penalty) or type(penalty) is ElasticNet):
        raise ValueError(
            f"bounds and monotone cannot be combined with {type(penalty).__qualname__}(...), "
            "which is given by groups or penalty: use l1, l2 and penalty_weights"
        )
    return ConstrainedElasticNet(penalty.l1, penalty.l2, penalty.weights, **constraints)


def isotonic(values: Array, weights: Array) -> Array:
    """The nearest values that do not decrease, squares of distances weighted."""
    if np.all(values[1:] >= values[:-1]):
        return values
    if not np.all(np.isfinite(values)):  # an overflow, which J reports
        return values
    share = weights / weights.max()
    usable = np.where((share > 0.0) & np.isfinite(share), share, EPS)
    found: Array = isotonic_regression(values, weights=usable).x
    return found


def _ends(given: Ends | None, none: float) -> Array:
    """Bounds as numbers, (d,) or (1,)."""
    return np.full(1, none) if given is None else np.array([none if e is None else e for e in given])
