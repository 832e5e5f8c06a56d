"""Stopping rules, with their state from pass to pass.

Input: the steps of a solver, one per pass. Output: the name of the first rule that holds.

- ``tol``: the duality gap is small enough (:mod:`separatrix.proofs.gap`) or, without a gap, the
  objective and the weights have converged.
- a cycle: weights that repeat bit for bit under a fixed map will repeat forever
  (:mod:`separatrix.training.cycles`).
- the others count: passes, mistakes, passes without fewer mistakes, the norm of the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..numeric.dot import dot
from ..numeric.expected import Check, array, entries, nothing, optional, real, whole
from ..numeric.types import Array
from ..proofs.gap import GapTracker
from ..solvers import State, Step
from .cycles import CycleFinder

TINY = 1e-12  # a smaller J counts as 0
LEAST_SQUARE = 1e-250  # smaller squares may have underflowed
ROUNDING = 4e-16  # relative precision of J
GAP_EVERY = 5  # passes, if a bound costs a read of the data
OPTIMISM = 1e-3  # a solver's estimate of the remaining decrease is trusted within this factor


@dataclass(frozen=True)
class Stop:
    """When to stop; None or False disables a rule.

    ``tol``: J is proven to be within ``tol * J`` of its minimum, if proofs exist (see
    :mod:`separatrix.proofs.gap`) and ``prove`` enables them, or the solver itself provides a bound.
    Otherwise J changed by no more than ``tol * |J|``, **and** the weights barely moved or the
    solver predicts little further decrease. A small change of J alone proves nothing: descent on
    x^2 with step 1 jumps between -1 and 1 forever and J never changes.

    See Also
    --------
    minimize : accepts it.

    Examples
    --------
    >>> from separatrix import Stop
    >>> Stop(max_iter=50, tol=1e-8).max_iter
    50
    """

    max_iter: int = 1000
    """Maximum number of passes."""
    no_mistakes: bool = False
    """Stop after a pass without mistakes."""
    tol: float | None = None
    """Stop when J is within this fraction of its minimum, see above."""
    max_norm: float | None = None
    """Stop when the norm of the weights exceeds this."""
    patience: int | None = None
    """Stop after this many passes without fewer mistakes."""
    cycle: bool = True
    """Stop at a proven cycle: only if every pass is the same function of the weights."""
    prove: bool = True
    """Whether to compute duality gaps."""


class WeightSpace:
    """Norm and distance of weights, and what repeats in a cycle."""

    what = "weights"
    remedy = "lower learning_rate"

    def norm(self, step: Step) -> float:
        """Norm of the weights, without overflow of their squares."""
        W = step.weights
        square = dot(W, W)
        if LEAST_SQUARE < square < np.inf:
            return math.sqrt(square)
        largest = float(np.abs(W).max())
        if not 0.0 < largest < np.inf:
            return largest
        shrunk = W / largest
        return largest * math.sqrt(dot(shrunk, shrunk))

    def distance(self, step: Step, before: Step) -> float:
        """Length of a step."""
        move = step.weights - before.weights
        return math.sqrt(dot(move, move))

    def position(self, step: Step) -> Array:
        """Value whose exact repetition proves a cycle."""
        return step.weights

    def seen(self, step: Step) -> Step:
        """The part of a step that later steps are compared with: the rest takes too much memory."""
        return Step(step.weights, {}, step.objective)

    def expected_state(self, shape: tuple[int, ...]) -> Check:
        """Checks for the result of ``seen`` for weights of this shape."""
        return entries({})


class StoppingRules:
    """The stopping rules with their state."""

    def __init__(
        self, stop: Stop, start: Array, space: WeightSpace, gap: GapTracker | None = None
    ) -> None:
        self.stop, self.space, self.gap, self.shape = stop, space, gap, start.shape
        self.before: Step | None = None
        self.earlier: Step | None = None
        self.fewest = np.inf
        self.stale = 0
        self.cycles = CycleFinder(start) if stop.cycle else None

    def reason(self, step: Step, iteration: int, norm: float) -> str | None:
        """Why to stop now, or None. The first rule that holds is reported."""
        stop, last = self.stop, iteration >= self.stop.max_iter
        cycle = self.cycles is not None and self._cycle(step, self.cycles)
        no_progress = stop.patience is not None and self._no_progress(step, stop.patience)
        optimal = converged = False
        if self.gap is None:
            converged = stop.tol is not None and self._converged(step, stop.tol)
        else:
            self.gap.update(step, iteration, iteration % GAP_EVERY == 0, last)
            optimal = self.gap.proven and self.gap.evaluated == iteration
            no_progress = no_progress or self.gap.stalled
        if stop.cycle or stop.tol is not None:
            self.earlier, self.before = self.before, self.space.seen(step)
        if stop.no_mistakes and step.mistakes == 0.0:
            return "no mistakes"
        if optimal:
            return "optimal"
        if step.solved:
            return "closed form"
        if cycle:
            return "cycle"
        if converged:
            return "tol"
        if stop.max_norm is not None and norm > stop.max_norm:
            return "max_norm"
        if no_progress:
            return "no progress"
        return "max_iter" if last else None

    def to_state(self) -> State:
        """The state, as arrays and numbers."""
        return {
            "before": _told(self.before), "earlier": _told(self.earlier), "fewest": self.fewest,
            "stale": self.stale, "cycles": None if self.cycles is None else self.cycles.to_state(),
            "gap": None if self.gap is None else self.gap.to_state(),
            "unforced": None if self.gap is None else self.gap.unforced,
        }  # fmt: skip

    def expected_state(self) -> Check:
        """Checks for the result of ``to_state``."""
        W, objective = array(*self.shape), optional(real)
        seen = {"weights": W, "state": self.space.expected_state(self.shape)}
        step = optional(entries({**seen, "objective": objective}))
        gap = nothing if self.gap is None else self.gap.expected_state()
        cycles = entries({"landmark": W, "distance": whole(), "power": whole(1, 2**62)})
        return entries({
            "stale": whole(), "before": step, "earlier": step, "fewest": real, "gap": gap,
            "cycles": nothing if self.cycles is None else cycles, "unforced": optional(gap),
        })  # fmt: skip

    def restore(self, state: State, goes_on: bool) -> None:
        """Restore the state of other rules of the same run; ``goes_on`` if passes follow."""
        self.before, self.earlier = _step(state["before"]), _step(state["earlier"])
        self.fewest, self.stale = state["fewest"], state["stale"]
        if self.cycles is not None:
            self.cycles.restore(state["cycles"])
        if self.gap is not None:
            # A run that continues must behave as if no proof had been requested at its old end.
            self.gap.restore(state["unforced"] if goes_on and state["unforced"] else state["gap"])

    def _converged(self, step: Step, tol: float) -> bool:
        J, before = step.objective, self.before
        if J is None or before is None or before.objective is None:
            return False
        size = max(abs(J), TINY)
        if step.lower_bound is not None:  # then J may well stall on the way
            return J - step.lower_bound <= max(tol, ROUNDING) * size
        if not abs(J - before.objective) <= max(tol, ROUNDING) * size:
            return False
        if step.predicted_decrease is not None:
            return step.predicted_decrease <= max(OPTIMISM * tol, ROUNDING) * size
        least = step.step_scale * np.sqrt(tol) * max(self.space.norm(step), TINY)
        return bool(self.space.distance(step, before) <= least)

    def _cycle(self, step: Step, cycles: CycleFinder) -> bool:
        here = self.space.position(step)
        before = None if self.before is None else self.space.position(self.before)
        if step.rows is None and before is not None and np.array_equal(here, before):
            return False  # a step over all rows that moves nothing has converged
        return cycles.closes(here)

    def _no_progress(self, step: Step, patience: int) -> bool:
        if step.mistakes is None:
            return False
        if step.mistakes < self.fewest:
            self.fewest, self.stale = step.mistakes, 0
        else:
            self.stale += 1
        return self.stale >= patience


def _told(step: Step | None) -> State | None:
    if step is None:
        return None
    return {"weights": step.weights, "state": step.state, "objective": step.objective}


def _step(saved: State | None) -> Step | None:
    return None if saved is None else Step(**saved)
