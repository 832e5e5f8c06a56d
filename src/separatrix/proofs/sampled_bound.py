"""A lower bound on the minimum of J that knows the curvature of some of the rows.

Problem     The slopes at W prove ``J(W) - |gradient|^2 / (4 l2)``: all the curvature they know is
            the penalty's. Where that is weak, W is at the minimum long before they prove it.
Input       J and its gradient at W, and a sample S of the rows.
Output      A number below ``min J``; and how far rounding may have put it too high.
Algorithm   Every row that is not in S is replaced by its tangent at W. What that leaves is below J
            everywhere, for the loss is convex, and curves as S does: its minimum is below J(W) by
            about n / |S| times what remains to be gained. Newton's method by conjugate gradients
            goes there, and the dual proves how near it came, wherever it ends.
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
from .smooth_bound import (
    conjugate_rounding,
    feasible_lower_bound,
    gradient_without_bias,
    mean_conjugate,
    newton_in_bias,
)
from .thresholds import BOUND_PER_FEATURE, BOUND_ROWS, BOUND_SHARE

MOST_FEATURES = 5000  # of which a sample tells the curvature
DIFFERENCE = 1e-5  # of scores, between two gradients that tell a product with the Hessian
RESIDUAL = 0.1, 1e-6  # of the squared gradient that a Newton step leaves: at most, at least
SPARE = 0.1  # of what may be missing: what Newton's steps leave of it


def bound_sample(objective: Objective) -> Objective | None:
    """Some of the rows that tell the second derivative, if they are few among all."""
    sample, d = hessian_sample(objective, MOST_FEATURES), objective.source.n_features
    if sample is None:
        return None
    few = sample.sample(max(BOUND_ROWS, BOUND_PER_FEATURE * d))
    return few if few.source.n_rows <= BOUND_SHARE * objective.source.n_rows else None


def share_of(sample: Objective, objective: Objective) -> float:
    """Of a sample's rows in the weights of all."""
    return sample.source.weight_sum / objective.source.weight_sum


@dataclass
class SampledBound:
    """The problem of a sample, all other rows tangent to their loss at W, and where it is solved.

    It is told in units of the sample's share of the weights: an objective of the sample with a
    penalty so many times stronger, and a linear function.
    """

    objective: Objective
    sample: Objective
    W: Array
    at: Evaluation
    variables: Variables
    """In which J curves by about 1."""
    bound: float = 0.0
    allowance: float = 0.0
    reads: float = 0.0
    """Of the data, that it took."""
    U: Array = field(init=False)
    then: Evaluation = field(init=False)

    def __post_init__(self) -> None:
        objective, W = self.objective, self.W
        self.share = share_of(self.sample, objective)
        rows = as_arrays(self.sample.in_memory)  # copied, for they are read again and again
        self.part = replace(self.sample, source=rows, penalty=L2(objective.penalty.l2 / self.share))
        self._go_to(W)
        self.here = self.then
        # The penalty's gradient is in both.
        self.slope = self.at.gradient / self.share - self.here.gradient
        self.conjugate = mean_conjugate(objective, W, self.at) / self.share
        self.conjugate -= mean_conjugate(self.part, W, self.here)
        self.rounding = 2.0 * conjugate_rounding(objective, W, self.at)  # of all rows, of the rest
        self._prove()

    def climb(self, enough: float, most_reads: float) -> tuple[float, float]:
        """A bound no further below J(W) than enough, if reads and the sample allow; its rounding.

        No step is taken once it is seen that the sample does not allow it.
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
        """Whether no bound from this sample can be as near to J(W) as that."""
        return self._fall() > enough

    def _fall(self) -> float:
        """How far below J(W) the function with tangents is here: so far at least is its minimum."""
        change = self.then.value - self.here.value + dot(self.slope, self.U - self.W)
        return -self.share * change

    def _go_to(self, U: Array) -> None:
        self.U, self.then = U, self.part.value_and_gradient(U)
        self.reads += self.share

    def _newton_step(self, gradient: Array, residual: float, enough: float, most: int) -> None:
        """By conjugate gradients: three digits of a product with the Hessian will do."""
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
        """By the slopes of the sample where it stands, and of all other rows at W."""
        gradient = self.share * (self.then.gradient + self.slope)
        conjugate = self.share * (mean_conjugate(self.part, self.U, self.then) + self.conjugate)
        whole = Evaluation(self.at.value, gradient, 0.0)
        rounding = self.rounding + conjugate_rounding(self.objective, self.U, whole)
        found, allowance, _ = feasible_lower_bound(
            self.objective, self.U, gradient, conjugate, rounding
        )
        if found - allowance > self.bound - self.allowance:
            self.bound, self.allowance = found, allowance
