"""Minimise an objective with a solver; or any function by gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..numeric import checks
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array
from ..objective import Objective
from ..schedules import Constant, LearningRate, as_schedule, step_sizes
from ..solvers import Solver, State, Step
from .ending import Run, canonical, ending
from .gap import GapTracker, provable
from .loop import Callback, Loop, Stop, StoppingRules, WeightSpace
from .no_minimum import Runaway
from .pocket import Pocket
from .progress import Progress
from .trace import Trace

KEEP = ("last", "best", "average", "auto")

# Of descent on any function. A point counts as met again if it is so near, as a share of how far
# the run went meanwhile, so many steps later at least; what moves less, in units of its rounding,
# stands still. Growth is told after so many steps; values that fall must have fallen so far, as
# the way down from a saddle grows at first like one without end.
SAME, PATIENT, STILL = 1e-13, 64, 64.0
FEWEST, FALLEN = 24, 1e32


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
    proof: GapTracker | None = None
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
    stop = replace(stop, cycle=stop.cycle and solver.is_deterministic_map())
    pocket = Pocket(objective) if keep in ("best", "auto") else None

    def observe(step: Step, why: str | None) -> None:
        if trace is not None:
            trace.record(step)
        if pocket is not None and why != "no mistakes":
            pocket.offer(step.weights)

    asked = stop.prove and stop.tol is not None
    prover = GapTracker(objective, stop.tol or 0.0) if asked and provable(objective) else None

    def proofs(step: Step, due: bool) -> tuple[bool, bool]:
        assert prover is not None
        kept = step.average if keep == "average" and step.average is not None else step.weights
        prover.look(step, kept, due)
        return prover.proven and prover.weights is kept, prover.stuck

    rules = StoppingRules(stop, start, WeightSpace(), None if prover is None else proofs)
    loop = Loop(rules, callbacks, [observe], progress)
    step, why = loop.train(steps)
    kept = kept_weights(objective, keep, step, loop.rule, pocket)
    history = loop.history()
    if not stop.prove:
        kept = canonical(objective, kept)
        return Result(kept, step.weights, step.state, why, history, None)
    moved = None
    if rules.earlier is not None and not solver.by_row:  # short steps by single rows are no rest
        moved = step.weights - rules.earlier.weights
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

    ``stop`` says how it ended:

    - ``"converged"``: the largest entry of the gradient is at most ``tol`` times the largest ever
      met. The point is stationary, if not always a minimum, let alone the lowest: it is that of
      the basin the run started in; a start at which the gradient is 0 stays.
    - ``"oscillating"``: with a constant step the run is back where it was, to the last bits, any
      number of steps ago, having been elsewhere: it goes round for ever.
    - ``"diverging"``: the point or the function grew beyond floating point; or ``max_iter`` steps
      are over, and the function still rises (or falls, far below -1e32) while the steps grow by a
      factor that does not fall.
    - ``"undefined"``: the function or its gradient is not a number at a point.
    - ``"max_iter"``: none of these. So ends what falls for ever at an even pace, as a linear
      function does: no run can tell it from a long way to a minimum.

    >>> def run(step):
    ...     return gradient_descent(lambda x: x**2, lambda x: 2 * x, -1, learning_rate=step)
    >>> run(1.0), run(0.4).stop, run(1.1).stop
    (Descent(x=-1.0, stop='oscillating'), 'converged', 'diverging')
    """
    if not checks.is_number(tol) or not tol >= 0.0:
        raise ValueError(f"tol must be a number and not negative, got {tol!r}")
    if not checks.is_integer(max_iter) or max_iter < 1:
        raise ValueError(f"max_iter must be a whole number of 1 or more, got {max_iter!r}")
    try:
        x = np.array(start, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"start must be a number or an array of numbers, got {start!r}") from None
    if not np.all(np.isfinite(x)):
        raise ValueError(f"start must be finite, got {start!r}")
    schedule = as_schedule(learning_rate)
    path, values = [x], [_value(function, x)]
    circle = _Circle(x) if isinstance(schedule, Constant) else None
    largest = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(1, int(max_iter) + 2):
            g = _gradient(gradient, x)
            size = float(np.max(np.abs(g), initial=0.0))
            largest = max(largest, size)
            stop = _end(x, values[-1], size, tol * largest)
            if stop is None and circle is not None and t > 1 and circle.closes(x):
                stop = "oscillating"
            if stop is None and t > max_iter:
                stop = "diverging" if _grows(np.array(path), np.array(values)) else "max_iter"
            if stop is not None:
                break
            x = x - step_sizes(schedule, t, 1)[0] * g
            path.append(x)
            values.append(_value(function, x) if np.all(np.isfinite(x)) else np.inf)
    assert stop is not None
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


def _gradient(gradient: Callable[[Any], Any], x: Array) -> Array:
    """At x; where x or the gradient is beyond floating point, infinite."""
    if not np.all(np.isfinite(x)):
        return np.full(x.shape, np.inf)
    try:
        g = np.asarray(gradient(_point(x.copy())), dtype=float)
    except OverflowError:
        return np.full(x.shape, np.inf)
    if g.shape != x.shape:
        raise ValueError(
            f"gradient returned an array of shape {g.shape}, expected {x.shape}, the shape of start"
        )
    return g


def _end(x: Array, value: float, size: float, small: float) -> str | None:
    """What the point by itself says, with the size of its gradient, and what counts as small."""
    if not np.all(np.isfinite(x)) or np.isinf(value):
        return "diverging"
    if np.isnan(value) or np.isnan(size):
        return "undefined"
    return "converged" if size <= small else None


class _Circle:
    """Whether a run comes back: Brent's cycle finding, which finds circles of any length.

    Points are compared with one earlier point, renewed at powers of two. The same bits are proof.
    Rounding may let a circle drift: so a point that is nearly the same counts too, but only long
    after, when a run that slowly draws nearer would show. Circles as small as the rounding of
    their points are those of a run that has arrived, or cannot move.
    """

    def __init__(self, start: Array) -> None:
        self.landmark, self.extent = start, np.zeros(start.shape)
        self.distance, self.power = 0, 2

    def closes(self, x: Array) -> bool:
        """Whether this next point closes a circle."""
        self.distance += 1
        apart = np.abs(x - self.landmark)
        self.extent = np.maximum(self.extent, apart)
        if np.any(self.extent > STILL * EPS * np.abs(x)):
            near = SAME * self.extent.max() if self.distance >= PATIENT else 0.0
            if np.all(apart <= near):
                return True
        if self.distance == self.power:
            self.landmark, self.extent = x, np.zeros(x.shape)
            self.distance, self.power = 0, 2 * self.power
        return False


def _grows(path: Array, values: Array) -> bool:
    """Whether a run grows to its end, by a factor that does not fall.

    In its second half, and compared with two steps before, as every other step may be shorter.
    Where a function is quadratic the logarithm of its steps is convex, so that growth which slows
    down is that of another function, and may end.
    """
    if len(path) <= FEWEST:
        return False
    half = len(path) // 2
    late = values[half:]
    change = late[2:] - late[:-2]
    falls = np.all(change < 0.0) and late[-1] < -FALLEN * max(1.0, abs(values[0]))
    moves = np.abs(np.diff(path[half:], axis=0)).reshape(len(late) - 1, -1).max(axis=1)
    if not (falls or np.all(change > 0.0)) or not np.all(moves[2:] > moves[:-2]):
        return False
    quarter = 2 * ((len(moves) - 1) // 4)
    first, middle, last = np.log(moves[[-1 - 2 * quarter, -1 - quarter, -1]])
    return bool(last - middle >= (middle - first) * (1.0 - 1e-6))
