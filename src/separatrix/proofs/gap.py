"""How far a fit can be from its minimum: the duality gap, followed along a run.

Problem: min J is not known, but every dual feasible alpha gives D(alpha) <= min J. So the duality
gap J(W) - D(alpha) says how far W can be from the minimum, whatever solver led there. Input: the
steps of a run. Output: the gap of the weights that it would leave, rounding included. The formulas
of the lower bounds, with their papers, are in :mod:`separatrix.proofs.smooth_bound`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..data import InMemory
from ..numeric.expected import MOST_COUNT, Check, array, entries, optional, real, row, whole
from ..numeric.standardization import Variables
from ..numeric.types import Array
from ..objective import Evaluation, Objective
from ..penalties import L2, Penalty
from . import free_features
from .binary_dual import has_dual
from .iterates import Iterate, StartAscent
from .nonsmooth_bound import nonsmooth_lower_bound
from .rounding import EXACT, SUMS, lost_loss, rounding, rounding_apart, underflow
from .sampled_bound import SampledBound, bound_sample, share_of
from .smooth_bound import (
    feasible_lower_bound,
    gap_without_bias,
    newton_in_bias,
    smooth_lower_bound,
)
from .units import GivenUnits, canonical

LEAST = 1e-14  # no smaller gap is asked for: J itself is not known much better
MOST_BIAS_STEPS = 3  # of Newton, to raise a bound
BIAS_STEP_READS = EXACT_READS = 2
EXACT_EVERY = 3  # steps, where rounding stands in the way
NEAR_ENOUGH = 0.2  # of what a sample may miss: what a step may expect to gain, for its bound
SAMPLED_READS = 5.0  # at most, for a bound by a sample
READS_OF_SAMPLE = 10.0  # that such a bound costs, as a rule
LITTLE = 0.01  # of what is asked for: rounding that is no more need not be known better
STALLED = 10  # proofs without progress after which there will be none
CRAWLING, CRAWLED = 100, 0.99  # proofs, one a step, that leave so much of a gap: there is no end
CREEPING, CREPT = 100, 1e-7  # passes, and the share of J by which it fell: rounding is all there is


def provable(objective: Objective) -> bool:
    """Whether there are bounds: a penalty on every weight, and a loss whose conjugate is known.

    Where it has a kink, one whose dual is: a proof then keeps a number beside every row. (Of each
    class against the rest that is done for rows in memory alone.) And the loss says how steep it
    is: else rounding could not be allowed for.
    """
    loss, rows = objective.loss, isinstance(objective.source, InMemory)
    own = loss.column_loss
    coupled = own is None and not loss.log_likelihood  # with tangents of which nothing is known
    columns = own is not None and has_dual(own) and rows
    known = loss.has_conjugate and not coupled if loss.smooth else has_dual(loss) or columns
    # For a loss with a kink the proof climbs a dual, which is written for l2 * |w|^2.
    if not known or not loss.has_steepness or not (loss.smooth or _is_plain(objective.penalty)):
        return False
    return objective.penalty.coercive or free_features.is_bounded(objective)


def _is_plain(penalty: Penalty) -> bool:
    # Duals and the problem of a sample are written for l2 * |w|^2.
    return isinstance(penalty, L2)


@dataclass
class GapTracker:
    """Bounds met along a run: the best of them counts, whichever weights it came from.

    Proofs read the data at most as often as the steps do, and once more at the end.
    """

    objective: Objective
    tol: float
    """The gap asked for, as a share of J."""
    ascent: StartAscent
    """For a loss with a kink: climbs the dual over some rows."""
    of_average: bool = False
    """Whether the averages of a run are asked about, where it has them, and not its weights."""
    lower_bound: float = 0.0
    """A number that no weights get below; at first, that no loss here is negative."""
    unrounded_bound: float = 0.0
    """The same, if there were no rounding."""
    dual: Array | None = None
    """Where the lower bound was found, for a penalty that makes weights 0: see ``LowerBound``."""
    iteration: int = 0
    """The pass that was looked at last."""
    evaluated: int = 0
    """The pass whose weights were evaluated last, and J there."""
    value: float = np.inf
    error: float = 0.0
    """How far J there may be from that by rounding."""
    stale: int = 0
    """Proofs in a row that brought neither a lower J nor a smaller gap."""
    best: tuple[float, float] = (np.inf, np.inf)
    mark: tuple[int, float] = (0, np.inf)
    """The pass since which steps have told bounds but the gap has hardly fallen, and that gap."""
    halt: tuple[int, float, float] = (0, np.inf, np.inf)
    """The pass since which neither J nor the gap has fallen noticeably, and both there."""
    reads: int = 0
    """Of the data that proofs may still make."""
    due: int = 0
    """The pass from which on a proof for a loss with a kink, which is dear, is worth its price."""
    hopeful: float = np.inf
    """What a step may still expect to gain for a bound by a sample to be tried."""
    exact_due: int = 0
    """And the one from which on sums of twice the working precision are."""
    unforced: dict[str, Any] | None = None
    """What was known before a proof that was made only because no pass was to follow."""
    units: GivenUnits | None = None
    """Of the weights that the run will return; None: those of the objective."""
    of_sums: float = 0.0
    """How far sums over all rows at the weights evaluated last may be off, by their own rounding"""
    of_rows: float = 0.0
    """and by that of rows that were standardised."""
    exactly: bool = False
    """Whether those sums were made in twice the working precision."""

    def __post_init__(self) -> None:
        self.given = GivenUnits(self.objective) if self.units is None else self.units

    @property
    def gap(self) -> float:
        """The duality gap: the weights evaluated last are at most this far from the minimum."""
        return max(self.value - self.lower_bound, 0.0) + self.error

    @property
    def proven(self) -> bool:
        """Whether that is as near as was asked for; J is not known beyond its rounding."""
        return self.gap <= max(self.tol, LEAST) * self.value

    @property
    def stalled(self) -> bool:
        """Whether rounding, or the solver, allows no more."""
        crawls = self.iteration - self.mark[0] >= CRAWLING
        return self.stale >= STALLED or crawls or self.iteration - self.halt[0] >= CREEPING

    def to_state(self) -> dict[str, Any]:
        """What is known so far, as numbers."""
        return {name: getattr(self, name) for name in _KNOWN}

    def expected_state(self) -> Check:
        """Checks what ``to_state`` gives."""
        k, width = self.objective.shape
        known: dict[str, Check] = dict.fromkeys(_KNOWN, real)
        known |= dict.fromkeys(("iteration", "evaluated", "stale", "due", "exact_due"), whole())
        known |= {"reads": whole(-MOST_COUNT), "dual": optional(array(k, width - 1))}
        return entries(
            known
            | {
                "best": row(real, real),
                "mark": row(whole(), real),
                "halt": row(whole(), real, real),
            }
        )

    def restore(self, state: dict[str, Any]) -> None:
        """Know what another tracker of the same run knew."""
        for name in _KNOWN:
            setattr(self, name, state[name])
        self.best, self.mark = tuple(state["best"]), tuple(state["mark"])
        self.halt = tuple(state["halt"])

    def update(self, step: Iterate, iteration: int, due: bool, last: bool = False) -> None:
        """Take up what the step of a pass proves of the weights that it would leave.

        Free where the step tells a bound or the gradient; else a read of the data when due, or
        after the last pass.
        """
        self.reads, self.iteration = self.reads + step.reads, iteration
        if step.lower_bound is None:
            self.mark = iteration, np.inf
        kept, J = step.weights, step.objective
        if self.of_average and step.average is not None:
            kept, J = step.average, None  # what the step tells is told of its weights
        if J is not None and step.lower_bound is not None:
            self._at(kept, J)
            self._raise(step.lower_bound, self.of_sums)
        elif J is not None and step.gradient is not None:
            at = Evaluation(J, step.gradient, 0.0)
            self.evaluate(kept, at, step.predicted_decrease, step.variables)
        elif (due or last or step.solved) and iteration >= self.due:
            self.unforced = None if due or step.solved else self.to_state()
            self.evaluate(kept)
        else:
            return
        if not self.proven and self._near and iteration >= self.exact_due:
            self.exact_due = iteration + EXACT_EVERY
            told = canonical(self.objective, kept)
            self.evaluate_exactly(told, None if step.alpha is None else step.alpha())
        value, gap = self.best
        self.stale = 0 if self.value < value or self.gap < gap else self.stale + 1
        self.best = min(self.value, value), min(self.gap, gap)
        if self.gap <= CRAWLED * self.mark[1]:
            self.mark = iteration, self.gap
        _, value, gap = self.halt
        if self.value <= (1.0 - CREPT) * value or self.gap <= CRAWLED * gap:
            self.halt = iteration, self.value, self.gap

    def _at(self, W: Array, value: float) -> None:
        self.evaluated, self.value, self.exactly = self.iteration, value, False
        self.of_sums = rounding(self.objective, W, value, LITTLE * self.tol * value)
        self.of_rows = self.given.rounding_of_rows(self.of_sums, value)
        self.error = self.of_sums + self.of_rows + self.given.rounding_of_weights(W, value)

    def _raise(self, bound: float, allowance: float, dual: Array | None = None) -> None:
        """A bound that the rounding of sums may have put too high by so much.

        That was told for the weights evaluated last. The bound belongs to weights of its own, and
        J curves by the penalty between the two: ``J - bound >= l2 |difference|^2``.
        """
        allowance += self.of_rows
        if bound < self.value and not self.exactly:
            allowance += rounding_apart(self.objective, self.value, self.value - bound)
        self.unrounded_bound = max(self.unrounded_bound, bound)
        if bound - allowance > self.lower_bound:
            self.lower_bound = bound - allowance
            self.dual = None if self.objective.penalty.smooth else dual

    @property
    def _near(self) -> bool:
        """Whether nothing but rounding stands between the gap and what is asked for."""
        return self.value - self.unrounded_bound <= max(self.tol, LEAST) * self.value

    def evaluate(
        self,
        W: Array,
        at: Evaluation | None = None,
        remains: float | None = None,
        variables: Variables | None = None,
    ) -> None:
        """A bound from W, and from J and its gradient there if they are known already.

        ``remains`` is how much lower J is expected to get; in the variables it curves by about 1.
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
        self._at(W, at.value)
        if not objective.penalty.coercive:
            self._raise_with_free_features(W, at)
            return
        self._raise(*smooth_lower_bound(objective, W, at))
        if remains is not None and _is_plain(objective.penalty) and not self._near:
            self._raise_by_sample(W, at, remains, variables or objective.standardization)
        for _ in range(MOST_BIAS_STEPS if objective.intercept else 0):
            # The bound loses in proportion to the gradient by the biases, but only to the square
            # of that by w: if nothing else is in the way, take the biases to their best place.
            if self._near or self.reads < BIAS_STEP_READS:
                return
            rest = gap_without_bias(objective, W, at)
            if not rest <= 0.5 * max(self.tol, LEAST) * self.value:
                return
            self.reads -= BIAS_STEP_READS
            W = newton_in_bias(objective, W, at.gradient[:, -1])
            at = objective.value_and_gradient(W)
            self._raise(*smooth_lower_bound(objective, W, at))

    def _raise_with_free_features(self, W: Array, at: Evaluation) -> None:
        """Where some features cost nothing, for which the alphas must balance."""
        if self.reads < free_features.READS:
            return
        self.reads -= free_features.READS
        found = free_features.corrected_lower_bound(self.objective, W, at, self.given.rounds_rows)
        if found is not None:
            self._raise(*found)

    def _raise_by_sample(
        self, W: Array, at: Evaluation, remains: float, variables: Variables
    ) -> None:
        """A bound that knows more curvature than the penalty's, where W is near enough for it.

        Tried again only when half as much remains, and never after it took too many reads; nor
        where it costs more than a step, and another one like the last will do.
        """
        enough = max(self.tol, LEAST) * at.value
        if not remains <= min(self.hopeful, NEAR_ENOUGH * enough) or self.reads < SAMPLED_READS:
            return
        sample = bound_sample(self.objective)
        if sample is None:
            return
        share, before = share_of(sample, self.objective), self.best[1]
        if remains > NEAR_ENOUGH * enough * share:
            return
        if READS_OF_SAMPLE * share > 1.0 and self.gap**2 <= enough * before < np.inf:
            return
        problem = SampledBound(self.objective, sample, W, at, variables)
        self._raise(*problem.climb(enough, SAMPLED_READS))
        self.reads -= math.ceil(problem.reads)
        self.hopeful = 0.5 * remains if problem.hopeless(enough) else 0.0

    def evaluate_exactly(self, W: Array, alpha: Array | None = None) -> None:
        """J at the weights returned for W, from sums of twice the working precision.

        And a bound from tangents there, for losses of margins. At a kink W does not tell the
        alphas: they are found anew if not known.
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
        told = self.given.tangents(self.given.weights(W), alpha)
        self._at_returned(told.value)
        loss_mean = told.value - objective.penalty.value(W)
        allowance = SUMS * (loss_mean + abs(told.conjugate)) + underflow(objective, W)
        self._raise(*feasible_lower_bound(objective, W, told.gradient, told.conjugate, allowance))

    def _at_returned(self, value: float) -> None:
        """J at the returned weights, exactly."""
        self.value, self.of_rows, self.exactly = value, 0.0, True
        self.error = self.of_sums = SUMS * value + lost_loss(self.objective)

    def close(self, W: Array, told: Array, at: int | None) -> None:
        """A last proof, of the weights kept, and J as exactly as it is told.

        At what is returned for the weights told, which differ from those kept by rounding. ``at``
        is the pass that ended with them, None if none did that was looked at.
        """
        self.reads += 1
        if at is None or self.evaluated != at:
            self.evaluate(W)
        if not self.proven and self._near:
            self.evaluate_exactly(told)
        if self.error > EXACT * self.value:
            self._at_returned(self.given.value(self.given.weights(told)))


_NOT_KEPT = (
    "objective", "tol", "ascent", "of_average", "unforced", "units", "of_sums", "of_rows",
    "exactly",
)  # fmt: skip
_KNOWN = [f.name for f in fields(GapTracker) if f.name not in _NOT_KEPT]
