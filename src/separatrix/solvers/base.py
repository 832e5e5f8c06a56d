"""The contract of a solver: a generator of steps that owns no stopping, clock or printing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..numeric.expected import Check, anything
from ..numeric.registry import Registered
from ..numeric.standardization import Variables
from ..numeric.types import Array, Ints
from ..objective import Objective
from ..penalties import L2, Penalty

State = dict[str, Any]
REGISTRY: dict[str, type[Solver]] = {}


class Step(NamedTuple):
    """What one pass or iteration produced.

    See Also
    --------
    Info : what a callback gets beside it.
    Trace : gives them again.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> met = []
    >>> def watch(step, info):
    ...     met.append(step.weights.copy())
    >>> clf = Perceptron(shuffle=False, callbacks=[watch]).fit(X, y)
    >>> len(met) == clf.n_iter_, met[-1]
    (True, array([[ 3.,  2., -4.]]))
    """

    weights: Array
    """(k, d + 1), bias last."""
    state: State
    """Arrays and numbers, or lists of them, from which ``steps`` goes on, bit for bit."""
    objective: float | None = None
    """J, where known without another read: online, as met during the pass, or at its start."""
    mistakes: float | None = None
    """Weighted mistakes, likewise."""
    rows: Ints | None = None
    """Updated rows in order, online solvers."""
    updates: int = 1
    """How many rows (online, batch perceptron) or iterations moved the weights."""
    predicted_decrease: float | None = None
    """The solver's estimate of how much lower J can get, where it has one."""
    lower_bound: float | None = None
    """A proven lower bound on the minimum of J, if the solver carries one."""
    alpha: Callable[[], Array] | None = None
    """The dual variables behind it, (n, columns), until the next step."""
    gradient: Array | None = None
    """Of J at the weights, where known without another read; then ``objective`` is J there."""
    solved: bool = False
    """Whether the weights come from a closed form, which has no more to give."""
    step_scale: float = 1.0
    """The step as a share of the one the run began with, if the solver itself cut it: weights
    that move little because steps are short have not settled."""
    ends_pass: bool = True
    """False for the steps inside a pass, of which ``updates`` tells."""
    reads: int = 1
    """How often the data was read for it, at least."""
    variables: Variables | None = None
    """In which J curves by about 1 at the weights, if the solver works in such."""
    average: Array | None = None
    """Mean of the weights after every update so far, if the solver keeps it."""
    visited: Ints | None = None
    """Rows looked at, where each look is told (``Solver.visits``)."""
    step_size: float | None = None
    """What the gradient was multiplied by, likewise, and by batch solvers that are given it."""

    def read_only(self) -> Step:
        """The same for others to look at: what a solver goes on from, they cannot change."""
        shown = (locked(getattr(self, name)) for name in self._fields)
        return Step(*shown)


def locked(value: Any) -> Any:
    """A view of an array that cannot be written to, also inside a dictionary; else the value."""
    if isinstance(value, dict):
        return {
            name: locked(entry) if isinstance(entry, (np.ndarray, dict)) else entry
            for name, entry in value.items()
        }
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.setflags(write=False)
    return view


@dataclass(frozen=True, repr=False)
class Solver(Registered, ABC):
    """A frozen set of hyper-parameters that knows how to descend an objective.

    A subclass that sets ``name`` registers itself, and can then be written down (``to_dict``).

    See Also
    --------
    minimize : runs one.
    LBFGS, Newton, LeastSquares, DualAscent, GradientDescent : some of them.

    Examples
    --------
    >>> from separatrix import LBFGS, Solver
    >>> isinstance(LBFGS(), Solver), LBFGS(memory=5).to_dict()["memory"]
    (True, 5)
    """

    _kind, _registry = "solver", REGISTRY

    reason: str = field(default="", kw_only=True, compare=False)
    """Why this solver was chosen, if ``solver="auto"`` chose it."""

    @abstractmethod
    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """Steps from W, or on from ``state``, for ever.

        With a state nothing is drawn from ``rng``: a seed that is still needed is in the state.
        """

    def updates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """Every intermediate weight vector; the same as ``steps`` unless a step has several."""
        return self.steps(objective, W, rng, state)

    def visits(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """The weights after every row (or batch) looked at, whether it moved them or not.

        The same as ``updates`` for solvers that look at all rows at once.
        """
        return self.updates(objective, W, rng, state)

    any_penalty: ClassVar[bool] = False
    """Whether it takes every penalty by what that defines; else ``l2 * |w|^2`` alone."""

    def check(self, objective: Objective) -> None:
        """Refuse early what cannot work, and name the remedy; nothing to refuse by default."""
        return

    def takes(self, penalty: Penalty) -> bool:
        """Whether it minimises with this penalty."""
        # Decay of weights, factored systems and duals are written for l2 * |w|^2.
        return self.any_penalty or isinstance(penalty, L2)

    def check_penalty(self, penalty: Penalty) -> None:
        """Refuse a penalty that it would ignore or misread."""
        if not self.takes(penalty):
            raise ValueError(
                f"{type(self).__name__} takes l2 alone, no l1 and no penalty_weights; use "
                "ProximalNewton(), CoordinateDescent() or GradientDescent(), or solver='auto', "
                "which means one of them then"
            )

    def is_deterministic_map(self, penalty: Penalty) -> bool:
        """Whether each pass is the same function of the weights: order and step fixed."""
        return False

    @property
    def chooses_step(self) -> bool:
        """Whether the length of its steps is its own: then it must not end above its start."""
        return True

    @property
    def monotone(self) -> bool:
        """Whether no step leads above J at the start, so that nobody need look."""
        return False

    @property
    def by_row(self) -> bool:
        """Whether rows are visited one after another, so that ``partial_fit`` makes sense."""
        return False

    def for_partial_fit(self, objective: Objective) -> Solver:
        """The solver for rows that come in chunks, of which ``objective`` has the first."""
        return self

    def expected_state(self, objective: Objective) -> Check:
        """Checks a state from a file before a run goes on from it: names, types, shapes, ranges.

        A solver that does not define it checks nothing.
        """
        return anything

    def handed_on(self, state: State) -> State | None:
        """What a run that ended in this state tells one on the same rows with another penalty.

        A state to begin with, beside the weights; None if these say it all.
        """
        return None

    def after(self, state: State) -> Solver:
        """Itself, with what a run that ended in this state tells of it."""
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Hyper-parameters by name, as scikit-learn asks for them."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "reason"}

    def __repr__(self) -> str:
        defaults = {f.name: f.default for f in fields(self)}
        given = ", ".join(
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name] and value != defaults[name]
        )
        text = f"{type(self).__name__}({given})"
        return f"{text}  # {self.reason}" if self.reason else text


class Lowest(NamedTuple):
    """Of the start of a run and zeros the one where J is lower."""

    weights: Array
    objective: float
    mistakes: float
    start: float
    """J at the start; not finite where the start is too far away."""


def finite_start(objective: Objective, W: Array) -> Array:
    """W, or zeros if J overflows there: from so far away there is no way back."""
    return W if not W.any() or np.isfinite(objective.value(W)[0]) else np.zeros_like(W)


def lowest(objective: Objective, W: Array) -> Lowest:
    """What a solver that chooses its own steps need never fall behind."""
    at_zeros, total = objective.value_at_zeros, objective.source.weight_sum
    if not W.any():
        return Lowest(W, at_zeros, total, at_zeros)
    J, mistakes = objective.value(W)
    if at_zeros >= J:
        return Lowest(W, J, mistakes, J)
    return Lowest(np.zeros_like(W), at_zeros, total, J)
