"""A run of L-BFGS from iterate to iterate, in preconditioned variables.

Weights, gradients and curvature pairs live in the vector space of the source: nothing of their size
passes through the host, except for the weights and the gradient that a step reports.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from ..loops import CurvaturePair
from ..numeric.dot import dot
from ..numeric.standardization import Standardization
from ..numeric.tolerances import OBJECTIVE_ROUNDING, SMALLEST_NORMAL
from ..numeric.types import Array
from ..objective import Evaluation, Objective
from ..objective.curvature_sample import hessian_sample
from ..rows import HOST, VectorSpace
from .base import State, Step
from .line_search import MOST_TRIALS, strong_wolfe
from .preconditioning import CholeskyPreconditioner, hessian_cost, preconditioner
from .thresholds import AT_ONCE, MOST_PER_CLASS, SMALL_SAMPLE

FLOAT32_ROUNDING = 1e-7  # of J, from sums in float32: smaller differences mean nothing
REFRESH = 15  # steps after which a second derivative is out of date
NO_STEP = 3e-7  # of J: if no more remains, a step by exact sums is not worth it
# A Hessian that costs more than AT_ONCE evaluations is factored when steps without it prove so slow
# that PLACES decimal places take more of them than the factor costs; not before they have cost a
# share of that, for some steps are slow by chance.
PLACES, LOOK_BACK = 6.0, 6
MOST_STEPS_ON_SAMPLE = 30


class Settings(Protocol):
    """The hyper-parameters of ``LBFGS``."""

    @property
    def memory(self) -> int:
        """Number of curvature pairs."""

    @property
    def factored_features(self) -> int:
        """Maximum number of features for which a second derivative is factored."""


class LBFGSIterate(NamedTuple):
    """Where a run stands: all that it goes on from."""

    weights: Array
    at: Evaluation
    pairs: tuple[CurvaturePair, ...]  # of the last steps, in the preconditioned variables
    hessian_at: Array
    """Weights at which the preconditioner's Hessian was taken; no rows if none was."""
    age: int  # steps since
    recent_decrements: Array  # decreases that the last steps predicted
    renewed: bool  # whether it is not the first
    of_all: bool  # whether that is of all rows, not of a sample

    @classmethod
    def start(cls, W: Array, at: Evaluation, with_hessian: bool) -> LBFGSIterate:
        """At weights from which nothing is known yet."""
        hessian_at = W if with_hessian else W[:0]
        return cls(W, at, (), hessian_at, 0, np.empty(0), False, False)

    @classmethod
    def from_state(cls, state: State, vectors: VectorSpace) -> LBFGSIterate:
        """Where a step's state left off."""
        known = {name: state[name] for name in cls._fields if name not in ("at", "pairs")}
        for name in OF_THE_SPACE:
            known[name] = vectors.asarray(known[name])
        at = Evaluation(state["value"], vectors.asarray(state["gradient"]), state["mistakes"])
        s, y = (map(vectors.asarray, state[name]) for name in ("s", "y"))
        pairs = tuple(map(CurvaturePair, s, y, state["sy"], state["yy"]))
        return cls(at=at, pairs=pairs, **known)

    def to_state(self, vectors: VectorSpace) -> State:
        """Arrays in main memory and numbers alone, and lists of them."""
        known = {**self._asdict(), **self.at._asdict()}
        del known["at"], known["pairs"]
        for name in CurvaturePair._fields:
            known[name] = [getattr(pair, name) for pair in self.pairs]
        if vectors is HOST:
            return known
        for name in (*OF_THE_SPACE, "gradient"):
            known[name] = vectors.to_host(known[name])
        for name in ("s", "y"):
            known[name] = [vectors.to_host(v) for v in known[name]]
        return known


OF_THE_SPACE = ("weights", "hessian_at")
"""Fields of an iterate that are vectors of the space; so are the gradient, s and y."""


@dataclass
class LBFGSRun:
    """A run from iterate to iterate, and the variables in which it works."""

    memory: int
    objective: Objective
    sample: Objective | None  # rows that tell the Hessian
    cost: float  # of their Hessian, in evaluations
    iterate: LBFGSIterate
    variables: Standardization | CholeskyPreconditioner = field(init=False)
    gradient: Array = field(init=False)
    direction: Array = field(init=False)
    slope: float = field(init=False)

    def __post_init__(self) -> None:
        self.vectors = self.objective.source.vectors
        self._take_variables()
        self._go_to(self.iterate)

    @classmethod
    def of(cls, solver: Settings, objective: Objective, iterate: LBFGSIterate) -> LBFGSRun:
        sample = hessian_sample(objective, solver.factored_features)
        return cls(solver.memory, objective, sample, hessian_cost(objective, sample), iterate)

    @classmethod
    def start(cls, solver: Settings, objective: Objective, W: Array) -> LBFGSRun:
        """From W, or from a better place that costs next to nothing."""
        W = objective.source.vectors.asarray(W)
        sample = hessian_sample(objective, solver.factored_features)
        cost = hessian_cost(objective, sample)
        W, at = warm_start_on_sample(solver, objective, sample, W)
        return cls(
            solver.memory, objective, sample, cost, LBFGSIterate.start(W, at, cost <= AT_ONCE)
        )

    @property
    def cost_of_all(self) -> float:
        """Of a Hessian of all rows, by the values that they store.

        (A sample costs as if it stored them all: it is less informative for sparse rows than for
        dense ones, and should not be used earlier.)
        """
        rows = self.objective if self.sample else None
        return hessian_cost(self.objective, rows, self.objective.source.row_values)

    @property
    def predicted_decrease(self) -> float:
        """Decrease of a quadratic with this slope."""
        return -0.5 * self.slope

    def step(self) -> Step:
        iterate, at, vectors = self.iterate, self.iterate.at, self.vectors
        state = partial(iterate.to_state, vectors)
        on_host = vectors is HOST
        return Step(
            vectors.to_host(iterate.weights), state() if on_host else state, at.value, at.mistakes,
            predicted_decrease=self.predicted_decrease, gradient=vectors.to_host(at.gradient),
            variables=self.variables,
        )  # fmt: skip

    def advance(self) -> None:
        """One step, from a line search."""
        self._renew_hessian()
        rounding = FLOAT32_ROUNDING if self.objective.float32_sums else OBJECTIVE_ROUNDING
        self._take(*self._search(rounding, MOST_TRIALS))

    def leave_float32(self, objective: Objective) -> None:
        """Exact sums from here: by one more step, or where that is not worth it by a read."""
        trials = int(self.predicted_decrease > NO_STEP * self.iterate.at.value)
        self._renew_hessian()
        self.objective = objective
        length, there, then = self._search(FLOAT32_ROUNDING, trials)
        if length > 0.0:
            self._take(length, there, then)
            return
        at = objective.value_and_gradient(self.iterate.weights)
        self._go_to(self.iterate._replace(at=at, age=self.iterate.age + 1))

    def _search(self, rounding: float, trials: int) -> tuple[float, Array, Evaluation]:
        W, at = self.iterate.weights, self.iterate.at
        direction = self.variables.to_weights(self.direction)
        return strong_wolfe(self.objective, W, at, direction, self.slope, rounding, trials)

    def _renew_hessian(self) -> None:
        """Take the Hessian here, where steps are slow with that of elsewhere, or without.

        Of all rows where they are slow with one that was taken anew, and it is worth its price: a
        sample hardly has the features that few rows have.
        """
        now = self.iterate
        known = len(now.hessian_at) > 0
        times = self.objective.shape[0] if known and self._by_class else 1
        of_all = now.renewed and is_slow(now.recent_decrements, times * self.cost_of_all)
        cost = times * (self.cost_of_all if of_all else self.cost)
        least = max(REFRESH, cost / 4) if known else cost / 8
        if now.age < least or not is_slow(now.recent_decrements, cost):
            return
        self.iterate = now._replace(
            hessian_at=now.weights, age=0, renewed=known, of_all=of_all, pairs=()
        )
        self._take_variables()
        self._go_to(self.iterate)

    @property
    def _by_class(self) -> bool:
        """Whether every class has a Hessian of its own, taken anew.

        Only where classes do not see each other: of the softmax such blocks are no second
        derivative, and may lead nowhere in a thousand steps.
        """
        W = self.iterate.weights
        several = len(W) > 1 and self.objective.loss.column_loss is not None
        return several and W.size * W.shape[1] <= MOST_PER_CLASS

    def _take_variables(self) -> None:
        standardization, now = self.objective.checked_standardization(), self.iterate
        self.variables = standardization  # first let go of a factor as large as the new one
        rows = self.objective if now.of_all else self.sample
        cheap = len(now.weights) * self.cost <= AT_ONCE
        per_class = self._by_class and (now.renewed or cheap)
        self.variables = preconditioner(
            standardization, rows, now.hessian_at, per_class, self.vectors
        )

    def _go_to(self, iterate: LBFGSIterate) -> None:
        """And look where to go from there: the gradient, a direction, the slope along it."""
        self.iterate = iterate
        self.gradient = self.variables.gradient(iterate.at.gradient)
        self.direction, self.slope = self._two_loop(iterate.pairs)

    def _two_loop(self, pairs: tuple[CurvaturePair, ...]) -> tuple[Array, float]:
        """The direction, and the slope along it.

        Classes or labels that do not see each other each have the curvature of their own steps. (On
        a device that would take too many calls.)
        """
        gradient = self.gradient
        coupled = self.objective.loss.column_loss is None
        if len(gradient) == 1 or coupled or self.vectors is not HOST:
            return self.vectors.two_loop(gradient, pairs)
        columns = [
            self.vectors.two_loop(gradient[c, None], column_pairs(pairs, c))
            for c in range(len(gradient))
        ]
        direction = np.concatenate([direction for direction, _ in columns])
        return direction, sum(slope for _, slope in columns)

    def _take(self, length: float, there: Array, then: Evaluation) -> None:
        """A step, of which the curvature along it is remembered."""
        now = self.iterate
        s, y = length * self.direction, self.variables.gradient(then.gradient) - self.gradient
        pairs, pair = now.pairs, CurvaturePair(s, y, dot(s, y), dot(y, y))
        if is_curved(pair):
            pairs = (*pairs, pair)[-self.memory :]
        elif length == 0.0:  # rounding stands in the way: forget, and go down the gradient
            pairs = ()
        decrements = np.append(now.recent_decrements, self.predicted_decrease)[-LOOK_BACK - 1 :]
        self._go_to(
            LBFGSIterate(
                there, then, pairs, now.hessian_at, now.age + 1, decrements, now.renewed, now.of_all
            )
        )


def is_curved(pair: CurvaturePair) -> bool:
    """Whether the gradient changed along the step, by more than rounding."""
    least = max(1e-14 * np.sqrt(dot(pair.s, pair.s)) * np.sqrt(pair.yy), SMALLEST_NORMAL)
    return bool(pair.sy > least and pair.yy > SMALLEST_NORMAL)


def column_pairs(pairs: tuple[CurvaturePair, ...], column: int) -> list[CurvaturePair]:
    """The pairs of one class or label."""
    parts = [(pair.s[column, None], pair.y[column, None]) for pair in pairs]
    own = [CurvaturePair(s, y, dot(s, y), dot(y, y)) for s, y in parts]
    return list(filter(is_curved, own))


def warm_start_on_sample(
    solver: Settings, objective: Objective, sample: Objective | None, W: Array
) -> tuple[Array, Evaluation]:
    """Warm-start from the minimum of a subsample, recursively; also J there.

    Minima of m random rows and of all are about d / m of J apart: no nearer than that is the
    sample worth following.
    """
    if W.any():
        at = objective.value_and_gradient(W)
        if np.isfinite(at.value) and np.all(np.isfinite(at.gradient)):
            return W, at
        W = np.zeros_like(W)  # from so far away there is no way back
    source = objective.source
    quick = source.n_rows * source.row_bytes <= source.start_bytes  # as quick as any sample
    too_many = sample is not None and sample.source.n_rows > SMALL_SAMPLE * source.n_rows
    # With more weights than rows, a sample of many classes has hardly a loss at its minimum.
    if sample is None or too_many or quick or W.size > sample.source.n_rows:
        return W, _at_zeros(objective)
    noise = W.shape[1] / sample.source.n_rows
    run = LBFGSRun.start(solver, sample, W)
    for _ in range(MOST_STEPS_ON_SAMPLE - 1):
        if run.predicted_decrease <= noise * run.iterate.at.value:
            break
        run.advance()
    there = run.iterate.weights
    at = objective.value_and_gradient(there)
    alike = objective if objective.source.has_offset else sample  # J at 0 is that of all rows
    if at.value <= alike.at_zeros().value:
        return there, at
    return W, _at_zeros(objective)  # few rows may be separable where all are not


def _at_zeros(objective: Objective) -> Evaluation:
    at = objective.at_zeros()
    return at._replace(gradient=objective.source.vectors.asarray(at.gradient))


def mean_pace(recent_decrements: Array) -> float:
    """Decimal places that a step came nearer, over the last six steps; infinite if unknown."""
    if len(recent_decrements) <= LOOK_BACK or not recent_decrements.min() > 0:
        return np.inf
    return float(np.log10(recent_decrements[0] / recent_decrements[-1])) / LOOK_BACK


def is_slow(recent_decrements: Array, cost: float) -> bool:
    """Whether as many steps as something costs would not get far, at the pace of the last ones.

    Of the last six or, if they were faster, of the last two: near the minimum steps gain more.
    """
    pace = mean_pace(recent_decrements)
    if not cost < np.inf or not pace < np.inf:
        return False
    last_two = float(np.log10(recent_decrements[-3] / recent_decrements[-1])) / 2
    return cost * max(pace, last_two) < PLACES
