"""Minimise an objective with a solver.

Input: an objective, a solver, stopping rules. Output: the returned weights, the reason for the end,
the history, and what is proven about the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..data import Source
from ..data.feature_map import FeatureMap
from ..numeric.lazy import cached_property
from ..numeric.types import AnyArray, Array
from ..objective import Objective
from ..proofs.gap import GapTracker
from ..proofs.provable import provable
from ..proofs.training_scores import why_unbounded
from ..proofs.units import GivenUnits, canonical
from ..solvers import Solver, State, Step
from ..solvers.base import locked
from ..solvers.dual.proximal_point import reduced_run
from .certifying import Certifying
from .early_stopping import EarlyStopping
from .ending import CONVERGED, Ending, Passes, ending
from .loop import Callback, Info, Loop, history
from .no_minimum import Runaway
from .pocket import Pocket
from .progress import Progress
from .run import Run, settings_of
from .stopping import Stop, StoppingRules, WeightSpace
from .trace import Trace, original_step

KEEP = ("last", "best", "average", "auto")
NONE_HELD_OUT = (
    "Stop(validation=True): this source holds out no rows; read it with "
    "separatrix.read(..., validation=0.2), or pass the rows"
)
NOTHING_DRAWN = np.random.default_rng(0)
"""For solvers that draw nothing, and for runs that continue from a state, which contains all they
need: creating a generator can take as long as many passes over a few rows."""


@dataclass
class Result:
    """Result of a run.

    See Also
    --------
    minimize : returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import L2, ArraySource, Newton, Objective, Stop, get_loss, minimize
    >>> source = ArraySource(np.eye(2), np.array([-1.0, 1.0]), np.array([0, 1]))
    >>> objective = Objective(get_loss("logistic"), L2(0.1), source)
    >>> result = minimize(objective, Newton(), stop=Stop(tol=1e-6))
    >>> result.stop, result.weights.shape, sorted(result.history)[:2]
    ('optimal', (1, 3), ['mistakes', 'norm'])
    """

    weights: Array
    """The returned weights: the last, the best or the average."""
    last: Array
    """The last weights."""
    state: State
    """State from which the solver can continue."""
    stop: str
    """Why the run ended."""
    infos: Sequence[Info]
    """Values of every pass."""
    objective: float | None
    """J at ``weights``, as returned for the given features; None unless ``Stop.prove`` is set."""
    proof: GapTracker | None = None
    """Bounds for ``weights``, if they can be proven."""
    runaway: Runaway | None = None
    """Without a penalty: whether a minimum exists, if that is in doubt."""
    early: EarlyStopping | None = None
    """The losses of held-out rows, with ``Stop(validation=...)``."""

    @cached_property
    def history(self) -> dict[str, AnyArray]:
        """One entry per pass, by name; NaN for unknown values."""
        found = history(self.infos)
        return found if self.early is None else found | self.early.columns()


def minimize(
    objective: Objective,
    solver: Solver,
    *,
    stop: Stop = Stop(),  # noqa: B008 (frozen)
    callbacks: Sequence[Callback] = (),
    seed: int = 0,
    start: Array | None = None,
    state: State | None = None,
    keep: str = "last",
    trace: Trace | None = None,
    progress: Progress | None = None,
    drawn: Collection[str] = (),
    features: FeatureMap | None = None,
    given: Source | None = None,
) -> Result:
    """Run a solver on an objective until a rule stops it.

    A callback is called as ``callback(step, info)`` after every pass; a true result stops the
    run. The clock is paused meanwhile. ``keep`` is "last", "best" (fewest mistakes, counted at
    fixed weights), "average", or "auto": the last after a pass without mistakes, else the average
    or the best, whichever makes fewer (ties: average). If the objective has other ``features`` than
    those given, callbacks and proofs use weights of the given features, but the weights in the
    result are those of the objective.

    A callback with a method ``begin(run)`` is called before the first step with the
    :class:`~separatrix.training.run.Run`, whose state it may read or replace. ``drawn`` names which
    of "seed" and "start" were random: a resumed run uses its saved ones.

    Parameters
    ----------
    objective : Objective
        The function to minimise.
    solver : Solver
        The method.
    stop : Stop
        The stopping rules.
    callbacks : sequence of callables
        Called as ``callback(step, info)`` after every pass; a true result ends the run.
    seed : int
        Seed of all random numbers.
    start : array (k, d + 1), optional
        Initial weights, bias last; zeros by default.
    state : dict, optional
        State of an earlier step, from which the solver continues.
    keep : {"last", "best", "average", "auto"}
        Which weights to return.
    trace : Trace, optional
        Records which rows were updated.
    progress : callable, optional
        Called after every pass to show it.
    drawn : collection of str
        Which of "seed" and "start" were random.
    features : FeatureMap, optional
        Map from the given features to those of the objective.
    given : Source, optional
        The rows as given, if ``features`` standardises them.

    See Also
    --------
    LinearClassifier : the same as an estimator.
    Objective, Stop, Result : arguments and result.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import L2, ArraySource, GradientDescent, Objective, get_loss
    >>> source = ArraySource(np.eye(2), np.array([-1.0, 1.0]), np.array([0, 1]))
    >>> objective = Objective(get_loss("squared"), L2(0.0), source)
    >>> minimize(objective, GradientDescent(learning_rate=0.5), stop=Stop(max_iter=2)).stop
    'max_iter'
    """
    solver.check_penalty(objective.penalty)
    solver.check(objective)
    if keep not in KEEP:
        raise ValueError(f"keep must be one of {', '.join(map(repr, KEEP))}, got {keep!r}")
    if stop.max_iter < 1:
        raise ValueError(f"max_iter must be 1 or more, got {stop.max_iter!r}")
    if start is not None and start.shape != objective.shape:
        raise ValueError(f"start has shape {start.shape}, expected {objective.shape}")
    if keep in ("average", "auto") and not getattr(solver, "average", False):
        raise ValueError(f"keep={keep!r} needs a solver with average=True, got {solver!r}")
    start = objective.allowed(np.zeros(objective.shape) if start is None else start)
    cycles = stop.cycle and solver.is_deterministic_map(objective.penalty)
    pocket = Pocket(objective) if keep in ("best", "auto") else None

    def observe(step: Step, why: str | None) -> None:
        if trace is not None:
            trace.record(step)
        if pocket is not None and why != "no mistakes":
            pocket.offer(step.weights)

    gap, units = None, partial(GivenUnits, objective, features, given)
    if stop.prove and stop.tol is not None and provable(objective):
        gap = GapTracker(
            objective, stop.tol, reduced_run, of_average=keep == "average", units=units()
        )
    show = partial(original_step, features=features)
    early = _early_stopping(objective, stop, show)
    certifying = None if stop.certify is None else _certifying(units(), stop, gap)
    rules = StoppingRules(stop, start, WeightSpace(), gap, early, cycles, certifying)
    state_check = partial(solver.expected_state, objective)
    loop = Loop(rules, callbacks, [observe], progress, show, state_check)
    run = Run(
        loop, {"pocket": pocket, "trace": trace},
        lambda: settings_of(objective, solver, replace(stop, cycle=cycles), keep, state),
        seed, start, drawn,
    )  # fmt: skip
    with run.closing:
        resumed = run.begin()
        start, at = run.start, state if resumed is None else resumed
        draws = solver.draws and at is None
        rng = np.random.default_rng(run.seed) if draws else NOTHING_DRAWN
        step, why = loop.train(solver.steps(objective, start, rng, at))
    if trace is not None:
        trace.seed, trace.start = run.seed, locked(start)
    infos, n_iter = loop.infos, len(loop.infos)
    if why == "no mistakes" and not units().separates(step.weights):
        why = "no progress"
    kept, kept_at = kept_weights(objective, keep, step, n_iter, loop.rule, pocket)
    if early is not None and early.best is not None and why not in CONVERGED:
        kept, kept_at = early.best, None
    if why == "certified" and certifying is not None:
        kept, kept_at = _after_steps(certifying, gap, kept, kept_at)
    if not stop.prove:
        kept = canonical(objective, kept)
        return Result(kept, step.weights, step.saved, why, infos, None, early=early)
    moved = None
    if rules.earlier is not None and not solver.by_row:  # short online steps prove nothing
        moved = step.weights - rules.earlier.weights
    if certifying is not None and gap is not None:
        gap.tol = stop.tol or 0.0  # which the checks have lowered
    passes = Passes(solver, start, moved, np.array([info.norm for info in infos]), n_iter)
    with np.errstate(over="ignore", invalid="ignore"):  # an error names what overflowed
        end = ending(objective, passes, kept, kept_at, why, gap, units())
        if end.stop == "certified" and gap is not None and certifying is not None:
            end = _confirmed(end, gap, certifying)
    return Result(
        end.weights, step.weights, step.saved, end.stop, infos, end.value, gap, end.runaway, early
    )


def _early_stopping(
    objective: Objective, stop: Stop, show: Callable[[Step], Step]
) -> EarlyStopping | None:
    """The rule for held-out rows, if there is one."""
    if stop.validation is None or stop.patience is None:
        return None
    held_out = objective.source.validation if stop.validation is True else stop.validation
    if held_out is None:
        raise ValueError(NONE_HELD_OUT)
    if not isinstance(held_out, Source):
        raise TypeError(
            "minimize takes Stop(validation=...) as a source, such as an ArraySource; fit takes a "
            "pair (X, y)"
        )
    if not np.array_equal(held_out.classes, objective.source.classes):
        raise ValueError(
            f"the rows of Stop(validation=...) have the classes {held_out.classes.tolist()!r}; "
            f"expected those of the training rows, {objective.source.classes.tolist()!r}"
        )
    return EarlyStopping.of_weights(stop.patience, objective.loss, held_out, show, objective.shape)


def _certifying(units: GivenUnits, stop: Stop, gap: GapTracker | None) -> Certifying:
    """The rule for rows whose predictions are to be proven."""
    if not isinstance(stop.certify, Source):
        raise TypeError(
            "minimize takes Stop(certify=...) as a source, such as an ArraySource; fit takes rows "
            "as predict does"
        )
    loss, penalty = units.objective.loss, units.objective.penalty
    problem = why_unbounded(loss, penalty)
    if not problem and gap is None:
        problem = "the run makes no proof: set tol, and use a loss with a known conjugate"
    if problem:
        raise ValueError(f"Stop(certify=...): {problem}")
    return Certifying(units, stop.certify)


def _after_steps(
    certifying: Certifying, gap: GapTracker | None, kept: Array, kept_at: int | None
) -> tuple[Array, int | None]:
    """The weights that the steps of a check reached, with the gap there, if it took any."""
    ball = certifying.reached
    if ball is None or gap is None:
        return kept, kept_at
    gap.evaluate(ball.weights, ball.at)
    return ball.weights, gap.evaluated


def _confirmed(end: Ending, gap: GapTracker, certifying: Certifying) -> Ending:
    """The end of a run by ``certify``, checked for the weights that are returned."""
    if certifying.holds(end.weights, gap.gap):
        return end
    return replace(end, stop="optimal" if gap.proven else "no progress")


def kept_weights(
    objective: Objective, keep: str, step: Step, iteration: int, why: str, pocket: Pocket | None
) -> tuple[Array, int | None]:
    """The weights selected by ``keep``, and the pass that ended with them.

    None if the gap was never evaluated for them, as for averages when a pocket is kept.
    """
    if keep == "average" and step.average is not None:
        return step.average, iteration
    if pocket is None or why == "no mistakes":
        return step.weights, iteration
    best = pocket.best()
    if keep == "best" or step.average is None:
        return best.weights, best.iteration
    if objective.mistakes_of(step.average[None])[0] <= best.mistakes:
        return step.average, None
    return best.weights, best.iteration
