"""Step sizes: plain callables of the step number t = 1, 2, 3, ...

A step is a row for solvers that process rows one by one, a batch for mini-batches, a pass for batch
descent. Any callable ``t -> step size`` works; the ones here accept arrays of t too.

>>> InverseScaling(1.0, power=0.5)(4)
0.5
>>> StepDecay(1.0, factor=0.1, every=10)(11)
0.1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .numeric import checks, registry
from .numeric.registry import Registered
from .numeric.types import Array

REGISTRY: dict[str, type[Schedule]] = {}


class Schedule(Registered):
    """A step size for every t, vectorised over t.

    A subclass that sets ``name`` registers itself, and ``to_dict`` can then describe it.
    """

    _kind, _registry = "schedule", REGISTRY

    def __call__(self, t: Any) -> Any:
        """Step size at t."""
        raise NotImplementedError

    def bind(self, l2: float) -> Schedule:
        """The schedule for a given penalty."""
        return self


LearningRate = float | Schedule | Callable[[int], float]


@dataclass(frozen=True)
class Constant(Schedule):
    """A constant step size.

    Parameters
    ----------
    step : float
        The step size.

    See Also
    --------
    InverseScaling, StepDecay, Pegasos : decreasing step sizes.

    Examples
    --------
    >>> Constant(0.5)(1), Constant(0.5)(100)
    (0.5, 0.5)
    """

    name = "constant"

    step: float = 1.0

    def __call__(self, t: Any) -> Any:
        return self.step + 0.0 * t


@dataclass(frozen=True)
class InverseScaling(Schedule):
    """``step / (1 + (t - 1) / delay)^power``: with delay 1, ``step / t^power``.

    Parameters
    ----------
    step : float
        The first step size.
    power : float
        How fast it decreases; 0.5 to 1 for online methods.
    delay : float
        After this many steps it is ``2^-power`` times the first.

    See Also
    --------
    Constant, StepDecay, Pegasos : other schedules.

    Examples
    --------
    >>> InverseScaling(step=2.0)(1), InverseScaling(step=2.0)(4)
    (2.0, 1.0)
    """

    name = "inverse_scaling"

    step: float = 1.0
    power: float = 0.5
    delay: float = 1.0

    def __call__(self, t: Any) -> Any:
        """Step / (1 + (t - 1) / delay)^power."""
        return self.step / (1.0 + (t - 1) / self.delay) ** self.power


@dataclass(frozen=True)
class StepDecay(Schedule):
    """``step * factor^floor((t - 1) / every)``.

    Parameters
    ----------
    step : float
        The first step size.
    factor : float
        Factor by which the step size is multiplied.
    every : int
        Number of steps between two multiplications.

    See Also
    --------
    Constant, InverseScaling, Pegasos : other schedules.

    Examples
    --------
    >>> halved = StepDecay(1.0, factor=0.5, every=10)
    >>> halved(10), halved(11), halved(21)
    (1.0, 0.5, 0.25)
    """

    name = "step_decay"

    step: float = 1.0
    factor: float = 0.5
    every: int = 1000

    def __call__(self, t: Any) -> Any:
        """Step, cut by `factor` every `every` steps."""
        if self.every < 1:
            raise ValueError(f"every must be 1 or more, got {self.every!r}")
        return self.step * self.factor ** ((t - 1) // self.every)


@dataclass(frozen=True)
class Pegasos(Schedule):
    """``1 / (2 * l2 * t)``, with the l2 of the objective unless given.

    Parameters
    ----------
    l2 : float or None
        Strength of the penalty; None: that of the objective.

    See Also
    --------
    Constant, InverseScaling, StepDecay : other schedules.

    Examples
    --------
    >>> Pegasos().bind(0.5)(1), Pegasos().bind(0.5)(4)
    (1.0, 0.25)
    """

    name = "pegasos"

    l2: float | None = None

    def __call__(self, t: Any) -> Any:
        """1 / (2 * l2 * t)."""
        if not self.l2:
            raise ValueError("the Pegasos step 1 / (2 * l2 * t) needs l2 > 0")
        return 1.0 / (2.0 * self.l2 * t)

    def bind(self, l2: float) -> Schedule:
        return replace(self, l2=l2) if self.l2 is None else self


def from_dict(data: Mapping[str, Any]) -> Schedule:
    """Create the schedule that ``to_dict`` described as plain data.

    >>> InverseScaling(0.5).to_dict()
    {'schedule': 'inverse_scaling', 'step': 0.5, 'power': 0.5, 'delay': 1.0}
    >>> from_dict({"schedule": "inverse_scaling", "step": 0.5})
    InverseScaling(step=0.5, power=0.5, delay=1.0)
    """
    return registry.from_dict(Schedule, data)


def as_schedule(learning_rate: LearningRate, l2: float = 0.0) -> Schedule | Callable[[int], float]:
    """Turn a number into a constant schedule; keep a callable; refuse anything else."""
    if isinstance(learning_rate, Schedule):
        schedule = learning_rate.bind(l2)
        if not 0.0 < float(schedule(1)) < np.inf:
            step_sizes(schedule, 1, 1)  # raises for any wrong step but 0
            raise ValueError(f"{schedule!r} begins with a step of 0; the first must be positive")
        return schedule
    if callable(learning_rate):
        return learning_rate
    if not checks.is_number(learning_rate):
        raise TypeError(
            f"learning_rate must be a number, a schedule or a callable t -> step size, "
            f"got {learning_rate!r}"
        )
    if not 0.0 < float(learning_rate) < np.inf:
        raise ValueError(f"learning_rate must be positive and finite, got {learning_rate!r}")
    return Constant(float(learning_rate))


def all_in_range(sizes: Array) -> bool:
    """Whether all are finite and not negative; NaN is neither."""
    if len(sizes) == 1:
        return 0.0 <= float(sizes[0]) < np.inf
    return not sizes.size or bool(sizes.min() >= 0.0 and sizes.max() < np.inf)


def step_sizes(schedule: Schedule | Callable[[int], float], first: int, count: int) -> Array:
    """Steps first, first + 1, ...; a single one if the schedule is constant."""
    if isinstance(schedule, Constant) and 0.0 <= schedule.step < np.inf:
        return np.array([float(schedule.step)])
    if isinstance(schedule, Schedule) and count > 1:
        sizes = np.asarray(schedule(np.arange(first, first + count)), dtype=float)
    else:
        sizes = np.array([float(schedule(t)) for t in range(first, first + count)])
    if not all_in_range(sizes):
        bad = int(np.argmin(np.isfinite(sizes) & (sizes >= 0.0)))
        raise ValueError(
            f"{schedule!r} gives the step size {sizes[bad]} at t = {first + bad}; "
            "step sizes must be finite and not negative"
        )
    return sizes
