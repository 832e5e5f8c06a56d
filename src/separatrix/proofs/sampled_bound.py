"""A lower bound on the minimum of J that uses the curvature of some of the rows.

Problem     The slopes at W prove ``J(W) - |gradient|^2 / (4 l2)``, which only uses the curvature of
            the penalty. If it is weak, W reaches the minimum long before this bound does.
Input       J and its gradient at W, and a sample S of the rows.
Output      A number below ``min J``, and a bound on its rounding error.
Algorithm   Every row that is not in S is replaced by its tangent at W. The result is below J
            everywhere, because the loss is convex, and has the curvature of S: its minimum is
            below J(W) by about n / |S| times the remaining decrease. Newton's method with
            conjugate gradients minimises it, and the dual gives a bound wherever it stops.
Paper       Kelley, The Cutting-Plane Method for Solving Convex Programs, Journal of the SIAM 8
            (1960), for tangents in place of a function; Rockafellar, Convex Analysis (1970),
            section 31, for the dual.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..data.arrays import as_arrays
from ..numeric.dot import dot
from ..numeric.linear_systems import conjugate_gradients
from ..numeric.standardization import Variables
from ..numeric.tolerances import SMALLEST_NORMAL
from ..numeric.types import Array
from ..objective import Evaluation, Objective
from ..objective.curvature_sample import hessian_sample
from ..penalties import L2
from ..rows import HOST
from .balanced import gradient_without_bias, newton_in_bias
from .smooth_bound import (
    PenaltyAt,
    conjugate_rounding,
    feasible_lower_bound,
    mean_conjugate,
)
from .thresholds import (
    BOUND_PER_FEATURE,
    BOUND_ROWS,
    BOUND_SHARE,
    DEVICE_BYTES,
    DEVICE_SHARE,
    MOST_FEATURES,
)

DIFFERENCE = 1e-5  # of scores, between two gradients whose difference gives a Hessian product
RESIDUAL = 0.1, 1e-6  # of the squared gradient after a Newton step: at most, at least
NEAR_ENOUGH = 0.2  # of the tolerance: predicted decrease of a step at which to try it
READS_OF_SAMPLE = 10.0  # that a sampled bound usually costs
SPARE = 0.1  # of the tolerance: error left to Newton's method


def bound_sample(objective: Objective) -> Objective | None:
    """Rows that estimate the second derivative, if they are few among all."""
    sample, source = hessian_sample(objective, MOST_FEATURES), objective.source
    if sample is None:
        return None
    if source.vectors is HOST:
        few = sample.sample(max(BOUND_ROWS, BOUND_PER_FEATURE * source.n_features))
    else:
        size = min(DEVICE_SHARE * source.n_rows, DEVICE_BYTES / source.row_bytes)
        few = objective.sample(max(int(size), sample.source.n_rows))
    return few if few.source.n_rows <= BOUND_SHARE * source.n_rows else None


def promising_sample(
    objective: Objective, remains: float, enough: float, costly: bool
) -> Objective | None:
    """Rows for a bound within ``enough``, if J is expected to decrease by ``remains`` at most.

    None if the sample has too little curvature for that, or unless ``costly`` is allowed, if the
    bound costs more than a read of the data.
    """
    if not remains <= NEAR_ENOUGH * enough:
        return None
    sample = bound_sample(objective)
    if sample is None:
        return None
    share = share_of(sample, objective)
    cheap = costly or READS_OF_SAMPLE * share <= 1.0
    return sample if cheap and remains <= NEAR_ENOUGH * enough * share else None


def share_of(sample: Objective, objective: Objective) -> float:
    """Share of a sample's rows in the total weight."""
    return sample.source.weight_sum / objective.source.weight_sum


@dataclass
class SampledBound:
    """The sampled problem, with all other rows replaced by tangents at W, and its solution.

    Its unit is the sample's share of the weights: an objective of the sample with a penalty that is
    stronger by the same factor, plus a linear function.
    """

    objective: Objective
    sample: Objective
    W: Array
    at: Evaluation
    variables: Variables  # variables in which J has curvature about 1
    bound: float = 0.0
    allowance: float = 0.0
    reads: float = 0.0  # reads of the data that it took
    U: Array = field(init=False)
    then: Evaluation = field(init=False)

    def __post_init__(self) -> None:
        objective, W = self.objective, self.W
        self.share = share_of(self.sample, objective)
        rows = as_arrays(self.sample.in_memory)  # copied, because they are read repeatedly
        self.part = replace(self.sample, source=rows, penalty=L2(objective.penalty.l2 / self.share))
        self._go_to(W)
        self.here = self.then
        # The penalty's gradient is in both terms.
        self.slope = self.at.gradient / self.share - self.here.gradient
        penalty = PenaltyAt.of(objective, W)
        conjugate = mean_conjugate(W, self.at, penalty)
        self.conjugate = conjugate / self.share
        self.conjugate -= mean_conjugate(W, self.here, PenaltyAt.of(self.part, W))
        # Of all rows, and of the rest.
        self.rounding = 2.0 * conjugate_rounding(objective, W, self.at, penalty, conjugate)
        self._prove()

    def climb(self, enough: float, most_reads: float) -> tuple[float, float]:
        """A bound within ``enough`` of J(W), if reads and sample permit, and its rounding error.

        No further step is taken once the sample turns out not to permit it.
        """
        objective = self.objective
        while self.at.value - self.bound > enough and not self.hopeless(enough):
            gradient = self.then.gradient + self.slope
            without = gradient_without_bias(objective, self.share * gradient)
            rest = objective.penalty.conjugate(without)
            left = (most_reads - self.reads) / self.share
            if left < 2.0 or not np.isfinite(rest):
                break
            if objective.intercept and rest <= SPARE * enough:
                self.reads += self.share
                self._go_to(newton_in_bias(self.part, self.U, gradient[:, -1]))
            else:
                residual = float(np.clip(SPARE * SPARE * enough / rest, *RESIDUAL[::-1]))
                self._newton_step(gradient, residual, enough, int(left))
            self._prove()
        return self.bound, self.allowance

    def hopeless(self, enough: float) -> bool:
        """Whether no bound from this sample can be that close to J(W)."""
        return self._fall() > enough

    def _fall(self) -> float:
        """Decrease of the function with tangents from J(W); its minimum is at least as low."""
        change = self.then.value - self.here.value + dot(self.slope, self.U - self.W)
        return -self.share * change

    def _go_to(self, U: Array) -> None:
        self.U, self.then = U, self.part.value_and_gradient(U)
        self.reads += self.share

    def _newton_step(self, gradient: Array, residual: float, enough: float, most: int) -> None:
        """Newton step by conjugate gradients; three digits of a Hessian product are enough."""
        variables, U, then = self.variables, self.U, self.then

        def product(u: Array) -> Array:
            self.reads += self.share
            length = DIFFERENCE / max(np.sqrt(dot(u, u)), SMALLEST_NORMAL)
            there = self.part.value_and_gradient(U + length * variables.to_weights(u))
            return variables.gradient((there.gradient - then.gradient) / length)

        most_gain = (enough - self._fall()) / self.share
        right = -variables.gradient(gradient)
        u, _ = conjugate_gradients(product, right, residual, most=most, most_gain=most_gain)
        self._go_to(U + variables.to_weights(u))

    def _prove(self) -> None:
        """Bound from the sample's slopes at the current point and those of all other rows at W."""
        objective, U = self.objective, self.U
        gradient = self.share * (self.then.gradient + self.slope)
        of_part = mean_conjugate(U, self.then, PenaltyAt.of(self.part, U))
        conjugate = self.share * (of_part + self.conjugate)
        whole, penalty = Evaluation(self.at.value, gradient, 0.0), PenaltyAt.of(objective, U)
        own = mean_conjugate(U, whole, penalty)
        rounding = self.rounding + conjugate_rounding(objective, U, whole, penalty, own)
        found, allowance, _ = feasible_lower_bound(
            objective, gradient, conjugate, penalty, rounding
        )
        if found - allowance > self.bound - self.allowance:
            self.bound, self.allowance = found, allowance
