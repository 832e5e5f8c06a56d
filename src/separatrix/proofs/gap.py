"""The duality gap: a bound on the distance of a fit from its minimum, tracked during a run.

Problem: min J is unknown, but every dual feasible alpha gives D(alpha) <= min J. The duality gap
J(W) - D(alpha) therefore bounds how far J(W) is from the minimum, for any solver. Input: the steps
of a run. Output: the gap of the weights it would return, including rounding. For the formulas of
the lower bounds and references, see :mod:`separatrix.proofs.smooth_bound`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..data import InMemory
from ..numeric.dot import scaled_square
from ..numeric.expected import MOST_COUNT, Check, array, entries, optional, real, row, whole
from ..numeric.standardization import Variables
from ..numeric.tolerances import SMALLEST_NORMAL
from ..numeric.types import Array
from ..objective import Evaluation, Objective
from ..penalties import is_l2
from ..rows import HOST
from . import free_features
from .balanced import gap_without_bias, newton_in_bias
from .iterates import Iterate, StartAscent
from .nonsmooth_bound import nonsmooth_lower_bound
from .rounding import EXACT, SUMS, lost_loss, rounding, rounding_apart, underflow
from .sampled_bound import SampledBound, promising_sample
from .smooth_bound import (
    PenaltyAt,
    feasible_lower_bound,
    smooth_lower_bound,
)
from .units import GivenUnits, canonical

LEAST = 1e-14  # smallest gap to aim for: J itself is not known much better
MOST_BIAS_STEPS = 3  # Newton steps to improve a bound
BIAS_STEP_READS = EXACT_READS = 2  # of the data
EXACT_EVERY = 3  # steps, if rounding limits the gap
SAMPLED_READS = 5.0  # at most, for a sampled bound
FAR = 2.0  # times the target gap: a decrease still to come that no rounding hides
LITTLE = 0.01  # of the target gap: smaller rounding need not be known better
STALLED = 10  # proofs without progress after which no more is expected
CRAWLING, CRAWLED = 100, 0.99  # proofs, one per step, that leave this share of the gap: stop
ANOTHER = 5  # passes after an insufficient proof, if a proof takes a second derivative
CREEPING, CREPT = 100, 1e-7  # passes, and the share of J by which it fell: only rounding is left


@dataclass
class GapTracker:
    """Tracks the best bound found during a run, regardless of which weights gave it.

    Proofs read the data at most as often as the steps do, and once more at the end.
    """

    objective: Objective
    tol: float  # the gap to reach, relative to J
    ascent: StartAscent  # for a loss with a kink: maximises the dual over some rows
    of_average: bool = False  # whether to track the averaged weights of a run, if it has them
    lower_bound: float = 0.0  # lower bound on J; initially 0, because no loss here is negative
    unrounded_bound: float = 0.0  # the same bound without an allowance for rounding
    dual: Array | None = None
    """Where the lower bound was found, for a sparse penalty: see ``LowerBound``."""
    iteration: int = 0  # the last pass seen
    evaluated: int = 0  # the last pass whose weights were evaluated, and J there
    value: float = np.inf
    error: float = 0.0  # rounding error of J there
    stale: int = 0  # consecutive proofs that lowered neither J nor the gap
    best: tuple[float, float] = (np.inf, np.inf)
    mark: tuple[int, float] = (0, np.inf)
    """The pass since which solver bounds have hardly reduced the gap, and that gap."""
    halt: tuple[int, float, float] = (0, np.inf, np.inf)
    """The pass since which neither J nor the gap has fallen noticeably, and both there."""
    reads: int = 0  # remaining reads of the data that proofs may make
    due: int = 0  # the pass from which an expensive proof for a loss with a kink pays off
    bias_miss: float = 1.0
    """By how much the last step in the biases alone left a larger gap than was expected."""
    hopeful: float = np.inf  # largest predicted decrease at which a sampled bound is tried
    exact_due: int = 0
    """Largest predicted decrease at which sums in twice the working precision are used."""
    unforced: dict[str, Any] | None = None
    """The state before a proof that was made only because no pass was to follow."""
    units: GivenUnits | None = None  # units of the returned weights; None: those of the objective
    of_sums: float = 0.0
    """Rounding error of sums over all rows at the last evaluated weights: of the sums themselves"""
    of_rows: float = 0.0  # and of standardised rows
    exactly: bool = False  # whether those sums used twice the working precision

    def __post_init__(self) -> None:
        self.given = GivenUnits(self.objective) if self.units is None else self.units
        free = free_features.free_features(self.objective)
        self.waits = len(free) == self.objective.source.n_features
        """Whether no feature is penalised. Then a bound takes a second derivative in all variables,
        and is computed when the steps have converged, not during the run."""
        self.exhausted = False
        """With ``waits``: whether the last proof failed, or hardly improved on the previous one."""
        self.attained = False
        """Whether J is proven to have a minimum although some features are not penalised."""

    @property
    def gap(self) -> float:
        """The duality gap, a bound on the distance of J from its minimum."""
        return max(self.value - self.lower_bound, 0.0) + self.error

    @property
    def proven(self) -> bool:
        """Whether the gap is small enough, as far as rounding of J permits."""
        return self.gap <= max(self.tol, LEAST) * self.value

    @property
    def stalled(self) -> bool:
        """Whether rounding or the solver prevents further progress."""
        if self.waits:
            return False
        crawls = self.iteration - self.mark[0] >= CRAWLING
        return self.stale >= STALLED or crawls or self.iteration - self.halt[0] >= CREEPING

    def to_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _KNOWN}

    def expected_state(self) -> Check:
        k, width = self.objective.shape
        known: dict[str, Check] = dict.fromkeys(_KNOWN, real)
        known |= dict.fromkeys(("iteration", "evaluated", "stale", "due", "exact_due"), whole())
        known |= {"reads": whole(-MOST_COUNT), "dual": optional(array(k, width - 1))}
        known |= {"best": row(real, real), "mark": row(whole(), real)}
        known["halt"] = row(whole(), real, real)
        return entries(known)

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the state of another tracker of the same run."""
        for name in _KNOWN:
            setattr(self, name, state[name])
        self.best, self.mark = tuple(state["best"]), tuple(state["mark"])
        self.halt = tuple(state["halt"])

    def update(self, step: Iterate, iteration: int, due: bool, last: bool = False) -> None:
        """Process a step, and improve the bound if a proof is due.

        This is free if the step has a bound or the gradient; otherwise it takes a read of the data
        when due, or after the last pass.
        """
        self.reads, self.iteration, self.exhausted = self.reads + step.reads, iteration, False
        if self.waits and not ((due and iteration >= self.due) or step.solved):
            if not last:
                return
            self.unforced = self.to_state()
        if step.lower_bound is None:
            self.mark = iteration, np.inf
        kept, J = step.weights, step.objective
        if self.of_average and step.average is not None:
            kept, J = step.average, None  # the step's J is that of its weights
        if J is not None and step.lower_bound is not None:
            self._at(kept, J)
            self._raise(step.lower_bound, self.of_sums)
        elif J is not None and step.gradient is not None:
            at = Evaluation(J, step.gradient, 0.0)
            if not (last or step.solved) and self._is_far(kept, at):
                self.value = J
                self._note_progress(iteration, J, max(J - self.lower_bound, 0.0))
                return
            self.evaluate(kept, at, step.predicted_decrease, step.variables)
        elif (due or last or step.solved) and iteration >= self.due:
            self.unforced = None if due or step.solved else self.to_state()
            self.evaluate(kept)
        else:
            return
        if not self.proven and self._near and iteration >= self.exact_due:
            self.exact_due = iteration + EXACT_EVERY
            returned = canonical(self.objective, kept)
            self.evaluate_exactly(returned, None if step.alpha is None else step.alpha())
        self._note_progress(iteration, self.value, self.gap)

    def _note_progress(self, iteration: int, value: float, gap: float) -> None:
        """Note how far J and the gap have fallen."""
        least, smallest = self.best
        if self.waits:
            self.due = iteration + ANOTHER
            self.exhausted = self.lower_bound == 0.0 or gap > 0.5 * smallest
        self.stale = 0 if value < least or gap < smallest else self.stale + 1
        self.best = min(value, least), min(gap, smallest)
        if gap <= CRAWLED * self.mark[1]:
            self.mark = iteration, gap
        _, before, gap_before = self.halt
        if value <= (1.0 - CREPT) * before or gap <= CRAWLED * gap_before:
            self.halt = iteration, value, gap

    def _at(self, W: Array, value: float) -> None:
        self.evaluated, self.value, self.exactly = self.iteration, value, False
        self.of_sums = rounding(self.objective, W, value, LITTLE * self.tol * value)
        self.of_rows = self.given.rounding_of_rows(self.of_sums, value)
        self.error = self.of_sums + self.of_rows + self.given.rounding_of_weights(W, value)

    def _raise(self, bound: float, allowance: float, dual: Array | None = None) -> None:
        """Raise the bound, given the rounding error of the sums behind it.

        The error refers to the last evaluated weights. The bound belongs to its own weights, and J
        has the penalty's curvature between the two: ``J - bound >= l2 |difference|^2``.
        """
        allowance += self.of_rows
        if bound < self.value and not self.exactly:
            allowance += rounding_apart(self.objective, self.value, self.value - bound)
        self.unrounded_bound = max(self.unrounded_bound, bound)
        if bound - allowance > self.lower_bound:
            self.lower_bound = bound - allowance
            self.dual = None if self.objective.penalty.smooth else dual

    def _is_far(self, W: Array, at: Evaluation) -> bool:
        """Whether the gradient shows that J is too large for any bound to be close enough.

        With L the largest curvature of J, ``J - min J`` is at least ``|gradient|^2 / (2 L)``. No
        bound is computed then: only later ones can end the run, and ``close`` makes up for it.
        """
        objective, most = self.objective, self.objective.loss.max_curvature
        if most is None or len(W) > 1 or not is_l2(objective.penalty):
            return False
        if not isinstance(objective.source, InMemory) or objective.source.vectors is not HOST:
            return False  # ``close`` would read a file once more
        if not objective.penalty.coercive:
            return False
        curvature = most * (objective.mean_square + 1.0) + 2.0 * objective.penalty.l2
        enough = FAR * max(self.tol, LEAST) * at.value
        return scaled_square(at.gradient, 0.5, curvature) > enough

    @property
    def _near(self) -> bool:
        """Whether only rounding prevents the gap from being small enough."""
        return self.value - self.unrounded_bound <= max(self.tol, LEAST) * self.value

    def evaluate(
        self,
        W: Array,
        at: Evaluation | None = None,
        remains: float | None = None,
        variables: Variables | None = None,
    ) -> None:
        """Compute a bound from W, and from J and its gradient there if known.

        ``remains`` is the expected decrease of J; J has curvature about 1 in ``variables``.
        """
        objective = self.objective
        if not objective.loss.smooth:
            self.due = 2 * self.iteration
            value, bound, reads, _ = nonsmooth_lower_bound(objective, W, self.ascent, self.reads)
            self.reads -= reads
            self._at(W, value)
            self._raise(bound, self.of_sums)
            return
        if at is None:
            self.reads -= 1
            at = objective.value_and_gradient(W)
        penalty = objective.penalty
        on_device = is_l2(penalty) and penalty.coercive and objective.source.vectors is not HOST
        if on_device:  # the bound takes some twenty vectors of the size of the weights
            asarray = objective.source.vectors.asarray
            W, at = asarray(W), at._replace(gradient=asarray(at.gradient))
        self._at(W, at.value)
        if not objective.penalty.coercive:
            self._raise_with_free_features(W, at)
            return
        self._raise(*smooth_lower_bound(objective, W, at))
        if remains is not None and is_l2(penalty) and not on_device and not self._near:
            self._raise_by_sample(W, at, remains, variables or objective.standardization)
        self._raise_by_biases(W, at)
        if remains is None or variables is None or not on_device or self._near:
            return
        # Other biases take fewer reads there, and with a weak penalty the sample too many.
        if gap_without_bias(objective, W, at) <= max(self.tol, LEAST) * self.value:
            self._raise_by_sample(W, at, remains, variables)

    def _raise_by_biases(self, W: Array, at: Evaluation) -> None:
        """A bound from W with other biases."""
        objective = self.objective
        for _ in range(MOST_BIAS_STEPS if objective.intercept else 0):
            # The bound's error is linear in the gradient with respect to the biases, but quadratic
            # in that of w: if nothing else is in the way, move the biases to their optimum.
            if self._near or self.reads < BIAS_STEP_READS:
                return
            rest = gap_without_bias(objective, W, at)
            if not max(2.0, self.bias_miss) * rest <= max(self.tol, LEAST) * self.value:
                return
            self.reads -= BIAS_STEP_READS
            W = newton_in_bias(objective, W, at.gradient[:, -1])
            at = objective.value_and_gradient(W)
            found = smooth_lower_bound(objective, W, at)
            self._raise(*found)
            self.bias_miss = (at.value - found.value) / max(rest, SMALLEST_NORMAL)

    def _raise_with_free_features(self, W: Array, at: Evaluation) -> None:
        """For problems with unpenalised features, for which the alphas must balance."""
        enough = self.reads >= free_features.READS
        if not (free_features.affordable(self.objective, self.iteration) if self.waits else enough):
            return
        self.reads -= free_features.READS
        found = free_features.correction(self.given, W, at)
        if found is not None and found.is_feasible:
            stays = free_features.stays_at_bounds(self.objective, found)
            self.attained = self.attained or (found.proves_minimum and stays)
            self._raise(*free_features.lower_bound(self.objective, found))

    def _raise_by_sample(
        self, W: Array, at: Evaluation, remains: float, variables: Variables
    ) -> None:
        """A bound with the curvature of the loss on a sample, if W is close enough for it.

        It is retried only when half as much remains, never after it took too many reads, and not
        where it costs more than a step if one more step like the last is enough.
        """
        enough = max(self.tol, LEAST) * at.value
        if not remains <= self.hopeful or self.reads < SAMPLED_READS:
            return
        soon = self.gap * self.gap <= enough * self.best[1] < np.inf
        sample = promising_sample(self.objective, remains, enough, costly=not soon)
        if sample is None:
            return
        problem = SampledBound(self.objective, sample, W, at, variables)
        self._raise(*problem.climb(enough, SAMPLED_READS))
        self.reads -= math.ceil(problem.reads)
        self.hopeful = 0.5 * remains if problem.hopeless(enough) else 0.0

    def evaluate_exactly(self, W: Array, alpha: Array | None = None) -> None:
        """J at the weights returned for W, from sums in twice the working precision.

        For margin losses, also a bound from tangents there. At a kink W does not determine the
        alphas: they are recomputed if unknown.
        """
        objective = self.objective
        if objective.loss.column_loss is None or not objective.penalty.coercive:
            if self.reads >= 1:
                self.reads -= 1
                self._at_returned(self.given.value(self.given.weights(W)))
            return
        if alpha is None and not objective.loss.smooth:
            enough = 0.1 * max(self.tol, LEAST)
            most_reads = self.reads - EXACT_READS
            found = nonsmooth_lower_bound(objective, W, self.ascent, most_reads, enough)
            self.reads -= found.reads + 1
            alpha = found.alpha()
        if self.reads < EXACT_READS:
            return
        self.reads -= EXACT_READS
        exact = self.given.tangents(self.given.weights(W), alpha)
        self._at_returned(exact.value)
        penalty = PenaltyAt.of(objective, W)
        loss_mean = exact.value - penalty.value
        allowance = SUMS * (loss_mean + abs(exact.conjugate)) + underflow(objective, W)
        bound = feasible_lower_bound(objective, exact.gradient, exact.conjugate, penalty, allowance)
        self._raise(*bound)

    def _at_returned(self, value: float) -> None:
        """Exact J at the returned weights."""
        self.value, self.of_rows, self.exactly = value, 0.0, True
        self.error = self.of_sums = SUMS * value + lost_loss(self.objective)

    def close(self, W: Array, returned: Array, at: int | None) -> None:
        """A last proof for the returned weights, with J as exact as it is reported.

        The returned weights differ from those kept by rounding. ``at`` is the pass that ended with
        them, or None if no pass that was evaluated did.
        """
        self.reads += 1
        if at is None or self.evaluated != at:
            self.evaluate(W)
        if not self.proven and self._near:
            self.evaluate_exactly(returned)
        if self.error > EXACT * self.value:
            self._at_returned(self.given.value(self.given.weights(returned)))


_NOT_KEPT = (
    "objective", "tol", "ascent", "of_average", "unforced", "units", "of_sums", "of_rows",
    "exactly",
)  # fmt: skip
_KNOWN = [f.name for f in fields(GapTracker) if f.name not in _NOT_KEPT]
