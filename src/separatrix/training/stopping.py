"""Stopping rules, with their state from pass to pass.

Input: the steps of a solver, one per pass. Output: the name of the first rule that holds.

- ``tol``: the duality gap is small enough (:mod:`separatrix.proofs.gap`) or, without a gap, the
  objective and the weights have converged.
- a cycle: weights that repeat bit for bit under a fixed map will repeat forever
  (:mod:`separatrix.training.cycles`).
- the loss of held-out rows (:mod:`separatrix.training.early_stopping`).
- the others count: passes, mistakes, passes without fewer mistakes, the norm of the weights, time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..data import Source
from ..numeric import checks
from ..numeric.dot import dot
from ..numeric.expected import Check, array, entries, nothing, optional, real, whole
from ..numeric.types import Array
from ..proofs.gap import LEAST, GapTracker
from ..solvers import State, Step
from .certifying import FURTHER, NEAR, SPARE, Certifying
from .cycles import CycleFinder
from .early_stopping import EarlyStopping

TINY = 1e-12  # a smaller J counts as 0
LEAST_SQUARE = 1e-250  # smaller squares may have underflowed
ROUNDING = 4e-16  # relative precision of J
GAP_EVERY = 5  # passes, if a bound costs a read of the data
SHORTEST = 1e-10  # length of a gradient, in standard errors, that counts as 0
OPTIMISM = 1e-3  # a solver's estimate of the remaining decrease is trusted within this factor

LIMITS = ("max_iter", "seconds", "validation", "certify")  # rows are compared by themselves


@dataclass(frozen=True)
class Stop:
    """When to stop; None or False disables a rule.

    ``tol``: J is proven to be within ``tol * J`` of its minimum, if proofs exist (see
    :mod:`separatrix.proofs.gap`) and ``prove`` enables them, or the solver itself provides a bound.
    If the solver knows the length of the gradient in standard errors (:class:`FisherScoring`), it
    is at most ``tol``. Otherwise J changed by no more than ``tol * |J|``, **and** the weights
    barely moved or the solver predicts little further decrease. A small change of J alone proves
    nothing: descent on x^2 with step 1 jumps between -1 and 1 forever and J never changes.

    With ``validation`` the run ends after ``patience`` passes without a smaller loss on these rows.
    It then returns the weights of the pass with the smallest loss, and so does a run that ends
    otherwise before it has converged, for example after ``seconds``. The estimators take these
    rules as ``stop=Stop(validation=..., patience=..., seconds=...)``.

    See Also
    --------
    minimize : accepts it.

    Examples
    --------
    >>> from separatrix import Stop
    >>> Stop(max_iter=50, tol=1e-8).max_iter
    50
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import GradientDescent, LinearClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stop = Stop(validation=(X[400:], y[400:]), patience=5)
    >>> clf = LinearClassifier(solver=GradientDescent(), standardize=True, stop=stop)
    >>> clf.fit(X[:400], y[:400]).stop_
    'validation'
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
    """Stop after this many passes without fewer mistakes; with ``validation``, without a smaller
    loss on these rows."""
    cycle: bool = True
    """Stop at a proven cycle: only if every pass is the same function of the weights."""
    prove: bool = True
    """Whether to compute duality gaps."""
    validation: Any = field(default=None, compare=False)
    """Rows for early stopping: a source, True for those that ``read(validation=...)`` held out, or
    in ``fit`` a pair (X, y)."""
    certify: Any = field(default=None, compare=False)
    """Rows, a source or in ``fit`` as for ``predict``: stop when the labels that the exact minimum
    gives to all of them are proven, and are those of the weights."""
    seconds: float | None = None
    """Stop after the pass in which the run has taken this time, without callbacks."""

    def __post_init__(self) -> None:
        checks.optional_number("seconds", self.seconds, strict=True)
        if self.validation is None:
            return
        checks.optional_whole("patience", self.patience)
        if self.patience is None:
            raise ValueError(
                "validation needs patience, the number of passes without a smaller loss after "
                "which the run ends, such as patience=5"
            )
        pair = isinstance(self.validation, tuple) and len(self.validation) == 2
        if not (pair or self.validation is True or isinstance(self.validation, Source)):
            raise ValueError(
                "validation must be a pair (X, y) of held-out rows, a source, True (the rows that "
                "separatrix.read(..., validation=0.2) holds out) or None, got "
                f"{self.validation!r}; split rows in memory by sklearn's train_test_split"
            )

    def settings(self) -> dict[str, Any]:
        """The rules that determine which steps are taken: without limits of passes and time."""
        names = [each.name for each in fields(self)]
        return {name: getattr(self, name) for name in names if name not in LIMITS}


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
        self,
        stop: Stop,
        start: Array,
        space: WeightSpace,
        gap: GapTracker | None = None,
        early: EarlyStopping | None = None,
        cycles: bool = False,
        certifying: Certifying | None = None,
    ) -> None:
        """``cycles``: whether weights that repeat prove a cycle of this run."""
        self.early, self.certifying = early, certifying
        self.stop, self.space, self.gap, self.shape = stop, space, gap, start.shape
        self.next_share = 0.0  # of the gap, for the next check
        self.before: Step | None = None
        self.earlier: Step | None = None
        self.fewest = np.inf
        self.stale = 0
        self.cycles = CycleFinder(start) if cycles else None

    def reason(self, step: Step, iteration: int, norm: float, seconds: float) -> str | None:
        """Why to stop now, or None. The first rule that holds is reported."""
        stop, last = self.stop, iteration >= self.stop.max_iter
        gap, early = self.gap, self.early
        cycle = self.cycles is not None and self._cycle(step, self.cycles)
        overfits = early is not None and early.ends(step)
        patience = None if early is not None else stop.patience
        no_progress = patience is not None and self._no_progress(step, patience)
        optimal = converged = False
        stationary, stuck = self._rests(step)
        if (gap is None or gap.waits) and step.gradient_length is None:
            converged = stop.tol is not None and self._converged(step, stop.tol)
        if gap is not None:
            optimal, certified = self._proven(step, gap, iteration, converged, last)
            if certified:
                return "certified"
            converged = converged and gap.exhausted
            no_progress = no_progress or gap.stalled
        no_progress = no_progress or stuck
        if self.cycles is not None or stop.tol is not None:
            self.earlier, self.before = self.before, self.space.seen(step)
        if stop.no_mistakes and step.mistakes == 0.0:
            return "no mistakes"
        if optimal:
            return "optimal"
        if stationary:
            return "stationary"
        if step.solved:
            return "closed form"
        if cycle:
            return "cycle"
        if converged:
            return "tol"
        if stop.max_norm is not None and norm > stop.max_norm:
            return "max_norm"
        if overfits:
            return "validation"
        if no_progress:
            return "no progress"
        if stop.seconds is not None and seconds >= stop.seconds:
            return "seconds"
        return "max_iter" if last else None

    def _proven(
        self, step: Step, gap: GapTracker, iteration: int, converged: bool, last: bool
    ) -> tuple[bool, bool]:
        """Whether the gap is small enough, and whether all labels are proven."""
        remains = self._remains(step, gap)
        if near := 0.0 < remains <= NEAR:
            if self._certified(step, gap):
                return False, True
            gap.tol = max(FURTHER * gap.tol, LEAST)
        if remains <= NEAR or last:
            due = converged if gap.waits else iteration % GAP_EVERY == 0
            gap.update(step, iteration, due, last)
        optimal = gap.evaluated == iteration and gap.proven
        if not optimal or self.certifying is None:
            return optimal, False
        if near:  # the run goes on: a later check may prove more
            return gap.gap <= LEAST * gap.value, False
        if self._certified(step, gap):
            return False, True
        self._set_next(gap)
        return gap.proven, False

    def _remains(self, step: Step, gap: GapTracker) -> float:
        """What J can still decrease by, as a share of what calls for a check, if one takes steps.

        Until then such a run needs no proof. 0 if that is not known.
        """
        if self.certifying is None or step.predicted_decrease is None or not step.objective:
            return 0.0
        if not self.certifying.takes_steps or not step.predicted_decrease > 0.0:
            return 0.0
        return step.predicted_decrease / (max(gap.tol, LEAST) * step.objective)

    def _certified(self, step: Step, gap: GapTracker) -> bool:
        """Whether all labels are proven."""
        certifying = self.certifying
        if certifying is None:
            return False
        if certifying.takes_steps:
            self.next_share = FURTHER
            return certifying.by_steps(step.weights, step.gradient)
        found = certifying.check(step.weights, SPARE * gap.gap)
        self.next_share = found.share
        return found.all_decided

    def _set_next(self, gap: GapTracker) -> None:
        """The gap has to be smaller before the next check."""
        if gap.tol > LEAST:
            gap.tol = self.next_share * gap.gap / gap.value if gap.value > 0.0 else 0.0

    def to_state(self) -> State:
        """The state, as arrays and numbers."""
        return {
            "before": _step_state(self.before), "earlier": _step_state(self.earlier),
            "fewest": self.fewest,
            "stale": self.stale, "cycles": None if self.cycles is None else self.cycles.to_state(),
            "gap": None if self.gap is None else self.gap.to_state(),
            "unforced": None if self.gap is None else self.gap.unforced,
            "early": None if self.early is None else self.early.to_state(),
            "certifying": None if self.gap is None or self.certifying is None else self.gap.tol,
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
            "early": nothing if self.early is None else self.early.expected_state(),
            "certifying": nothing if self.certifying is None else real,
        })  # fmt: skip

    def restore(self, state: State, goes_on: bool) -> None:
        """Restore the state of other rules of the same run; ``goes_on`` if passes follow."""
        self.before, self.earlier = _step(state["before"]), _step(state["earlier"])
        self.fewest, self.stale = state["fewest"], state["stale"]
        if self.cycles is not None:
            self.cycles.restore(state["cycles"])
        if self.early is not None:
            self.early.restore(state["early"])
        if self.gap is not None:
            if self.certifying is not None:
                self.gap.tol = state["certifying"]
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

    def _rests(self, step: Step) -> tuple[bool, bool]:
        """Whether a gradient of known length is as short as required; or the weights rest."""
        if step.gradient_length is None or self.stop.tol is None:
            return False, False
        if step.gradient_length <= max(self.stop.tol, SHORTEST):
            return True, False
        before = self.before
        return False, before is not None and np.array_equal(before.weights, step.weights)

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


def _step_state(step: Step | None) -> State | None:
    if step is None:
        return None
    return {"weights": step.weights, "state": step.saved, "objective": step.objective}


def _step(saved: State | None) -> Step | None:
    return None if saved is None else Step(**saved)
