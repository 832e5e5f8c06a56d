"""Elastic net with bounds on the weights, and with weights in increasing order.

Problem: the penalty is ``sum of p_j (l1 |w_j| + l2 w_j^2)`` if every weight is within its bounds
and the weights along each chain do not decrease, else infinite. Without chains it is a sum over the
weights: proximal operator and conjugate are those of the elastic net, clipped. Weights of a chain
are coupled, and l1 is 0: both follow from isotonic regression, which is then clipped, as the bounds
of a chain are equal. The multipliers of the order turn the conjugate into one without chains.

Barlow and Brunk, The isotonic regression problem and its dual, JASA 67 (1972).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..numeric.lazy import cached_property
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints
from .base import Faces, Penalty
from .box import Box
from .chains import UNORDERED, Chains
from .elastic_net import soft_threshold
from .sparsity_inducing import SparsityInducing

TERMS = 10 * EPS  # of the terms of a conjugate: what rounding may take from their sum
SCALE = 1e-12  # accuracy of a scale: a bound hardly changes near the best one

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
        low, high = np.broadcast_arrays(self._box.low, self._box.high)
        wrong = np.flatnonzero(~((low <= high) & (low < np.inf) & (high > -np.inf)))
        for j in wrong[:1].tolist():
            raise ValueError(
                f"the bounds of feature {j} are {low[j]:g} and {high[j]:g}: expected low <= high, "
                "with a finite number between them"
            )
        if self.chains:
            self._check_chains()

    def _check_chains(self) -> None:
        members = [j for chain in self.chains for j in chain]
        d = 0 if self.low is None else len(self.low)
        each = (self.weights, self.high, self.units)
        if d == 0 or any(values is not None and len(values) != d for values in each):
            raise ValueError(
                "chains need low, with an entry for each feature (None: no bound), and as many "
                "entries in weights, high and units if they are given"
            )
        if len(set(members)) < len(members) or not 0 <= min(members) <= max(members) < d:
            raise ValueError(f"chains must name each feature once, by a number below {d}")
        if self.l1:
            raise ValueError(
                f"weights in order (monotone) need l1=0, got l1={self.l1:g}: use l2 alone"
            )
        if not self._curvature[members].all():
            raise ValueError(
                "weights in order (monotone) need l2 > 0, and penalty_weights > 0 on their features"
            )
        box, units = self._box.of(np.array(members)), self._chains.units[members]
        for ends in (box.low / units, box.high / units):
            place = 0
            for chain in self.chains:
                own = np.broadcast_to(ends, len(members))[place : place + len(chain)]
                place += len(chain)
                if not np.allclose(own, own[0], rtol=UNORDERED, atol=0.0):
                    raise ValueError(
                        f"the features {list(chain)} are in order (monotone) and have different "
                        "bounds: give all of them the same bounds"
                    )

    @cached_property
    def _box(self) -> Box:
        low, high = _ends(self.low, -np.inf), _ends(self.high, np.inf)
        return Box(low, high, self.l1 * self.feature_weights, 2.0 * self.l2 * self.feature_weights)

    @cached_property
    def _curvature(self) -> Array:
        """Second derivative of the squares of every feature; for penalties with chains."""
        return np.broadcast_to(self._box.curvature, len(self._box.low))

    @cached_property
    def _chains(self) -> Chains:
        each = tuple(np.array(chain, dtype=np.int64) for chain in self.chains)
        units = np.ones(len(self._box.low)) if self.units is None else np.array(self.units)
        return Chains(each, units)

    # ---- blocks ------------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> Ints | None:
        """The block of every feature, a chain being one; None without chains."""
        return self._chains.blocks() if self.chains else None

    @property
    def thresholds(self) -> Array:
        """Factors of the absolute values; 0 for all blocks if there are chains."""
        if self.numbers is None:
            return self._box.absolute
        return np.zeros(int(self.numbers.max()) + 1)

    def lengths(self, V: Array) -> Array:
        """Largest absolute value in each block."""
        if self.numbers is None:
            return np.abs(V)
        found = np.zeros((len(V), int(self.numbers.max()) + 1))
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
        return not self._box.free.any()

    def free_features(self, d: int) -> Ints:
        """Indices of the features without a penalty and without two finite bounds."""
        return np.flatnonzero(np.broadcast_to(self._box.free, d))

    def free_at(self, W: Array) -> Ints:
        """Those of them that are not at a bound in every class."""
        free = self.free_features(W.shape[1] - 1)
        inside: AnyArray = np.any(self._box.inside(W[:, :-1]), axis=0)
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

    def value(self, W: Array) -> float:
        """Penalty at W; violations within rounding count as none."""
        w = W[:, :-1]
        allowed = bool(self._box.allows(w).all()) and self._chains.in_order(w)
        return super().value(W) if allowed else np.inf

    def rest(self, W: Array) -> Array:
        """``l1 * p_j * |w_j|``."""
        rest = np.zeros_like(W)
        rest[:, :-1] = self._box.absolute * np.abs(W[:, :-1])
        return rest

    def feasible(self, W: Array) -> Array:
        """The nearest allowed weights."""
        V = W.copy()
        self._chains.restrict(V[:, :-1], np.ones(1))
        V[:, :-1] = self._box.clip(V[:, :-1])
        return W if np.array_equal(V, W) else V

    def snapped(self, W: Array) -> Array:
        """W with weights at their bounds if they are next to them, and in order."""
        V = W.copy()
        V[:, :-1] = self._box.snap(V[:, :-1])
        self._chains.snap(V[:, :-1])
        return V

    def in_units(self, scale: Array) -> ConstrainedElasticNet:
        """The same constraints on weights that are larger by these factors."""
        with np.errstate(invalid="ignore", over="ignore"):
            low, high = scale * self._box.low, scale * self._box.high
        units = tuple((scale * self._chains.units).tolist()) if self.chains else None
        return replace(self, low=tuple(low.tolist()), high=tuple(high.tolist()), units=units)

    def recedes(self, direction: Array) -> bool:
        """Whether no bound ends it."""
        return self._box.recedes(direction[:, :-1])

    def on_features(self, features: Ints) -> ConstrainedElasticNet:
        """The penalty on these features; chains keep those that are among them."""
        at = features.tolist()

        def some(given: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
            return None if given is None else tuple(given[j] for j in at)

        place = {j: number for number, j in enumerate(at)}
        chains = [tuple(place[j] for j in chain if j in place) for chain in self.chains]
        return replace(
            self, weights=some(self.weights), low=some(self.low), high=some(self.high),
            units=some(self.units), chains=tuple(chain for chain in chains if len(chain) > 1),
        )  # fmt: skip

    # ---- steps -------------------------------------------------------------------------------

    def prox(self, W: Array, step: float | Array) -> Array:
        """Move each weight towards 0 by ``step * l1 * p_j``, not past 0, and into the bounds."""
        V, steps = W.copy(), np.broadcast_to(step, W.shape[1:])[:-1]
        V[:, :-1] = soft_threshold(W[:, :-1], steps * self._box.absolute)
        self._chains.restrict(V[:, :-1], steps)
        V[:, :-1] = self._box.clip(V[:, :-1])
        return V

    def violation(self, W: Array, gradient: Array) -> Array:
        """What remains of the gradient where nothing stops the weight.

        In a chain: how far a step with the gradient moves the weight.
        """
        violation = np.abs(gradient)
        violation[:, :-1] = self._box.violation(W[:, :-1], gradient[:, :-1])
        if self.chains:
            chained = self._chains.members
            violation[:, chained] = np.abs(W - self.prox(W - gradient, 1.0))[:, chained]
        return violation

    def faces(self, W: Array) -> Faces:
        """Weights at a bound, or at a kink, stay; equal ones of a chain move together."""
        w, box = W[:, :-1], self._box
        fixed = ~box.inside(w) | ((w == 0.0) & (box.absolute > 0.0))
        labels = np.arange(w.size).reshape(w.shape)
        self._chains.join(labels, fixed, w)
        labels[fixed] = -1
        units = self._chains.units if self.chains else np.ones(1)
        return Faces(labels, units, box.absolute * np.sign(w))

    # ---- duality -----------------------------------------------------------------------------

    @property
    def reach(self) -> Array:
        """Where there are no squares, the largest weight that the bounds allow; else 0."""
        return self._box.reach

    def conjugate(self, V: Array) -> float:
        """The sum over the weights, each between its bounds; with rounding no less than that."""
        terms, sizes = self._box.conjugate(self._without_order(V))
        return float(np.sum(terms) + TERMS * np.sum(sizes))

    def conjugates(self, V: Array, scales: Array) -> Array:
        """Conjugates of V times each of the scales."""
        return np.array([self.conjugate(s * V) for s in scales.tolist()])

    def _without_order(self, V: Array) -> Array:
        """V with multipliers of the order: its conjugate without chains is that with chains."""
        return self._chains.with_multipliers(V, self._curvature) if self.chains else V

    def dual_scale(self, V: Array, gain: float = np.inf) -> float:
        """The s at which the derivative of the difference is 0, or the largest feasible s."""

        def rises(s: float) -> float:
            return gain - float(np.sum(V * self._box.maximiser(self._without_order(s * V))))

        most = self._box.largest_scale(V)
        if gain == np.inf or most == 0.0 or not rises(most) < 0.0:
            return most
        return float(brentq(rises, 0.0, most, xtol=SCALE)) if rises(0.0) > 0.0 else 0.0

    def outward(self, V: Array, error: Array) -> tuple[Array, float]:
        """For each weight the end with the larger conjugate; for chains a Taylor bound."""
        found = self._box.outward(V, error)
        if not self.chains:
            return found, 0.0
        chained = self._chains.members
        found[:, chained] = V[:, chained]
        w = self._box.maximiser(self._without_order(V))[:, chained]
        e = error[..., chained]
        lacking = np.sum(e * np.abs(w) + 0.5 * e * e / self._curvature[chained])
        return found, float((1.0 + TERMS) * lacking)

    def zero_within(self, V: Array, error: Array) -> AnyArray:
        """Where neither end of the error moves the weight from 0; not for chains."""
        found = self._box.zero_within(V, error)
        found[:, self._chains.members] = False
        return found


def constrained(penalty: Penalty, **constraints: Any) -> ConstrainedElasticNet:
    """The penalty with constraints, which are the fields of ``ConstrainedElasticNet``."""
    if not vars(type(penalty)).get("elastic", False):  # a subclass may have another formula
        raise ValueError(
            f"bounds and monotone cannot be combined with {type(penalty).__qualname__}(...), "
            "which is given by groups or penalty: use l1, l2 and penalty_weights"
        )
    return ConstrainedElasticNet(penalty.l1, penalty.l2, penalty.weights, **constraints)


def _ends(given: Ends | None, none: float) -> Array:
    """Bounds as numbers, (d,) or (1,)."""
    return (
        np.full(1, none) if given is None else np.array([none if e is None else e for e in given])
    )
