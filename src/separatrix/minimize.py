"""Minimise an objective with a solver; or any function by gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .ending import Run, canonical, ending
from .gap import Prover, provable
from .loop import Callback, Geometry, Loop, Rules, Stop
from .no_minimum import Runaway
from .objective import Objective
from .pocket import Pocket
from .progress import Progress
from .schedules import LearningRate, as_schedule, step_sizes
from .solvers import Solver, State, Step
from .trace import Trace
from .typing import AnyArray, Array

KEEP = ("last", "best", "average", "auto")

# Steps in a row, each longer than the last, on which the function rose, or whichever way it went:
# it will not come back.
RISING, GROWING = 25, 200


@dataclass
class Result:
    """How a run ended."""

    weights: Array
    """Those kept: the last, the best or the average."""
    last: Array
    state: State
    stop: str
    history: dict[str, AnyArray]
    objective: float | None
    """J at the weights kept; None where nobody asked what the run came to (``Stop.prove``)."""
    proof: Prover | None = None
    """What is proven of the weights kept, where there are proofs."""
    runaway: Runaway | None = None
    """Without a penalty: what is known of a minimum, if there may be none."""


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
) -> Result:
    """Run a solver on an objective until a rule stops it.

    A callback is called as ``callback(step, info)`` after every pass; true stops the run. The
    clock stands still meanwhile. ``keep`` is "last", "best" (fewest mistakes, counted at fixed
    weights), "average", or "auto": the last after a pass without mistakes, else whichever of
    average and best makes fewer (ties: average).

    >>> import numpy as np
    >>> from separatrix import L2, ArraySource, GradientDescent, Objective, get_loss
    >>> source = ArraySource(np.eye(2), np.array([-1.0, 1.0]), np.array([0, 1]))
    >>> objective = Objective(get_loss("squared"), L2(0.0), source)
    >>> minimize(objective, GradientDescent(learning_rate=0.5), stop=Stop(max_iter=2)).stop
    'max_iter'
    """
    solver.check(objective)
    if keep not in KEEP:
        raise ValueError(f"keep must be one of {', '.join(map(repr, KEEP))}, got {keep!r}")
    if stop.max_iter < 1:
        raise ValueError(f"max_iter must be 1 or more, got {stop.max_iter!r}")
    if start is not None and start.shape != objective.shape:
        raise ValueError(f"start has shape {start.shape}, expected {objective.shape}")
    if keep in ("average", "auto") and not getattr(solver, "average", False):
        raise ValueError(f"keep={keep!r} needs a solver with average=True, got {solver!r}")
    start = np.zeros(objective.shape) if start is None else start
    steps = solver.steps(objective, start, np.random.default_rng(seed), state)
    stop = replace(stop, cycle=stop.cycle and solver.repeats())
    pocket = Pocket(objective) if keep in ("best", "auto") else None

    def observe(step: Step, why: str | None) -> None:
        if trace is not None:
            trace.record(step)
        if pocket is not None and why != "no mistakes":
            pocket.offer(step.weights)

    asked = stop.prove and stop.tol is not None
    prover = Prover(objective, stop.tol or 0.0) if asked and provable(objective) else None

    def proofs(step: Step, due: bool) -> tuple[bool, bool]:
        assert prover is not None
        kept = step.average if keep == "average" and step.average is not None else step.weights
        prover.look(step, kept, due)
        return prover.proven and prover.weights is kept, prover.stuck

    rules = Rules(stop, start, Geometry(), None if prover is None else proofs)
    loop = Loop(rules, callbacks, [observe], progress)
    step, why = loop.train(steps)
    kept = kept_weights(objective, keep, step, loop.rule, pocket)
    history = loop.history()
    if not stop.prove:
        kept = canonical(objective, kept)
        return Result(kept, step.weights, step.state, why, history, None)
    moved = None if rules.earlier is None else step.weights - rules.earlier.weights
    run = Run(solver, start, moved, history["norm"], len(history["pass"]))
    with np.errstate(over="ignore", invalid="ignore"):  # it is told what overflowed
        end = ending(objective, run, kept, why, prover)
    return Result(
        end.weights, step.weights, step.state, end.stop, history, end.value, prover, end.runaway
    )


def kept_weights(
    objective: Objective, keep: str, step: Step, why: str, pocket: Pocket | None
) -> Array:
    """The weights that ``keep`` asks for."""
    if keep == "average" and step.average is not None:
        return step.average
    if pocket is None or why == "no mistakes":
        return step.weights
    best, fewest = pocket.best()
    if keep == "best" or step.average is None:
        return best
    return step.average if objective.mistakes_of(step.average[None])[0] <= fewest else best


# ---- any function ------------------------------------------------------------------------


@dataclass(frozen=True)
class Descent:
    """Where gradient descent went, and how it ended."""

    x: Any
    stop: str
    path: Array = field(repr=False)
    """Every point from the start on, one per row."""
    values: Array = field(repr=False)
    """The function at each of them."""


def gradient_descent(
    function: Callable[[Any], float],
    gradient: Callable[[Any], Any],
    start: Any,
    *,
    learning_rate: LearningRate = 0.1,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Descent:
    """Follow ``x <- x - step * gradient(x)`` from ``start``, a number or an array.

    ``stop`` says how it ended: ``"converged"`` (the function changes by no more than
    ``tol * max(1, |f|)`` and the point barely moves), ``"oscillating"`` (it is back where it
    was two steps ago), ``"diverging"`` (its steps grow longer and longer while the function
    rises, or for very long, or the function is no longer finite) or ``"max_iter"``. What it
    converges to is a stationary point of the basin
    it started in, not always the lowest.

    >>> def run(step):
    ...     return gradient_descent(lambda x: x**2, lambda x: 2 * x, -1, learning_rate=step)
    >>> run(1.0), run(0.4).stop, run(1.1).stop
    (Descent(x=-1.0, stop='oscillating'), 'converged', 'diverging')
    """
    if isinstance(tol, bool) or not isinstance(tol, (int, float)) or not tol >= 0.0:
        raise ValueError(f"tol must be a number and not negative, got {tol!r}")
    if isinstance(max_iter, bool) or not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise ValueError(f"max_iter must be a whole number of 1 or more, got {max_iter!r}")
    try:
        x = np.array(start, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"start must be a number or an array of numbers, got {start!r}") from None
    if not np.all(np.isfinite(x)):
        raise ValueError(f"start must be finite, got {start!r}")
    schedule = as_schedule(learning_rate)
    path, values = [x], [_value(function, x)]
    rising = growing = 0
    stop = "max_iter"
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(1, int(max_iter) + 1):
            g = np.asarray(gradient(_point(x.copy())), dtype=float)
            if g.shape != x.shape:
                raise ValueError(
                    f"gradient returned an array of shape {g.shape}, expected {x.shape}, "
                    "the shape of start"
                )
            x = x - step_sizes(schedule, t, 1)[0] * g
            path.append(x)
            values.append(_value(function, x) if np.all(np.isfinite(x)) else np.inf)
            growing = growing + 1 if len(path) > 2 and _length(path) > _length(path, 1) else 0
            rising = rising + 1 if growing and values[-1] > values[-2] else 0
            if rising >= RISING or growing >= GROWING or not np.isfinite(values[-1]):
                stop = "diverging"
            elif _oscillates(path, tol):
                stop = "oscillating"
            elif _settled(path, values, tol):
                stop = "converged"
            else:
                continue
            break
    return Descent(_point(x), stop, np.array(path), np.array(values))


def _point(x: Array) -> Any:
    """A number if the start was one."""
    return float(x) if x.ndim == 0 else x


def _value(function: Callable[[Any], float], x: Array) -> float:
    try:
        value = np.asarray(function(_point(x.copy())), dtype=float)
    except OverflowError:  # Python's numbers raise where NumPy's become infinite
        return np.inf
    if value.size != 1:
        raise ValueError(
            f"function returned an array of shape {value.shape}, expected a single number"
        )
    return float(value.reshape(()))


def _length(path: list[Array], steps_ago: int = 0) -> float:
    end = len(path) - steps_ago
    return float(np.linalg.norm(path[end - 1] - path[end - 2]))


def _oscillates(path: list[Array], tol: float) -> bool:
    """Back at the point of two steps ago, having been elsewhere."""
    if len(path) < 3:
        return False
    moved, back = _length(path), float(np.linalg.norm(path[-1] - path[-3]))
    return moved > 0.0 and back <= min(tol, 1e-8) * moved


def _settled(path: list[Array], values: list[float], tol: float) -> bool:
    """A small change of the function alone is no convergence: it must hardly move either.

    Nor while steps grow: near the start of a slow escape both are small.
    """
    if len(path) < 3 or _length(path) > _length(path, 1):
        return False
    flat = abs(values[-1] - values[-2]) <= tol * max(1.0, abs(values[-1]))
    return flat and _length(path) <= np.sqrt(tol) * max(1.0, float(np.linalg.norm(path[-1])))
