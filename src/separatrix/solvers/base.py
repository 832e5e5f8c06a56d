"""Base class of solvers: generators of steps, without stopping rules, clock or output."""

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
from ..penalties import Penalty, is_l2
from .online_state import expected_online_state

State = dict[str, Any]
REGISTRY: dict[str, type[Solver]] = {}


class Step(NamedTuple):
    """Result of one pass or iteration.

    See Also
    --------
    Info : the second argument of a callback.
    Trace : replays the steps of a fit.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> seen = []
    >>> def watch(step, info):
    ...     seen.append(step.weights.copy())
    >>> clf = Perceptron(shuffle=False, callbacks=[watch]).fit(X, y)
    >>> len(seen) == clf.n_iter_, seen[-1]
    (True, array([[ 3.,  2., -4.]]))
    """

    weights: Array
    """(k, d + 1), bias last."""
    state: State | Callable[[], State]
    """Arrays and numbers, or lists of them, from which ``steps`` continues, bit for bit.

    A function that returns them if they are on a device: see ``saved``."""
    objective: float | None = None
    """J if known without another read: online, measured during the pass, or at its start."""
    mistakes: float | None = None
    """Weighted mistakes, measured likewise."""
    rows: Ints | None = None
    """Updated rows in order, for online solvers."""
    updates: int = 1
    """Number of rows (online, batch perceptron) or iterations that changed the weights."""
    predicted_decrease: float | None = None
    """The solver's estimate of how much J can still decrease, if it has one."""
    lower_bound: float | None = None
    """A proven lower bound on the minimum of J, if the solver computes one."""
    gradient_length: float | None = None
    """Length of the gradient in standard errors, for an objective that need not be convex."""
    alpha: Callable[[], Array] | None = None
    """Dual variables behind the bound, (n, columns), valid until the next step."""
    gradient: Array | None = None
    """Gradient of J at the weights if known without another read; ``objective`` is then J there."""
    solved: bool = False
    """Whether the weights come from a closed form, which cannot be improved."""
    step_scale: float = 1.0
    """The step size relative to the first one, if the solver reduced it: weights that move little
    because steps are short have not converged."""
    ends_pass: bool = True
    """False for the steps within a pass that ``updates`` yields."""
    reads: int = 1
    """Number of reads of the data for this step, at least."""
    variables: Variables | None = None
    """Variables in which the curvature of J is about 1, if the solver uses such."""
    average: Array | None = None
    """Mean of the weights after every update so far, if the solver computes it."""
    visited: Ints | None = None
    """Rows visited, in steps of ``Solver.visits``."""
    step_size: float | None = None
    """Factor of the gradient, likewise, and for batch solvers with a given step size."""
    n_visited: int = 0
    """Rows visited since the step before, in steps of ``Solver.updates``."""

    @property
    def saved(self) -> State:
        """The state in main memory."""
        return self.state() if callable(self.state) else self.state

    def read_only(self) -> Step:
        """A read-only view: callbacks cannot change what the solver continues from."""
        step = self._replace(state=self.saved)
        shown = (locked(getattr(step, name)) for name in self._fields)
        return Step(*shown)


IMMUTABLE = frozenset({bool, int, float, str, type(None)})


def locked(value: Any) -> Any:
    """Read-only view of an array, or of the arrays in a dictionary; other values unchanged."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.setflags(write=False)
        return view
    if not isinstance(value, dict):
        return value
    # Checked by class: isinstance would be called for every entry after every pass.
    return {
        name: entry if entry.__class__ in IMMUTABLE else locked(entry)
        for name, entry in value.items()
    }


@dataclass(frozen=True, repr=False)
class Solver(Registered, ABC):
    """A frozen set of hyper-parameters with a method to minimise an objective.

    A subclass that sets ``name`` registers itself and can be serialised (``to_dict``).

    See Also
    --------
    minimize : runs one.
    LBFGS, Newton, LeastSquares, DualAscent, GradientDescent : some solvers.

    Examples
    --------
    >>> from separatrix import LBFGS, Solver
    >>> isinstance(LBFGS(), Solver), LBFGS(memory=5).to_dict()["memory"]
    (True, 5)
    """

    _kind, _registry = "solver", REGISTRY

    reason: str = field(default="", kw_only=True, compare=False)
    """Why ``solver="auto"`` chose this solver, if it did."""

    @abstractmethod
    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """Yield steps from W, or continue from ``state``, without end.

        With a state, nothing is drawn from ``rng``: the state contains the seed if one is needed.
        """

    def updates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """Yield every intermediate weight vector; same as ``steps`` unless a step has several."""
        return self.steps(objective, W, rng, state)

    def visits(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """Yield the weights after every visited row (or batch), whether they changed or not.

        Same as ``updates`` for solvers that use all rows at once.
        """
        return self.updates(objective, W, rng, state)

    any_penalty: ClassVar[bool] = False
    """Whether it supports every penalty through its methods; else only ``l2 * |w|^2``."""

    draws: ClassVar[bool] = True
    """Whether it draws from ``rng``. Else no generator is created for a run, which would take as
    long as some fits to a few hundred rows."""

    def check(self, objective: Objective) -> None:
        """Raise an error if this objective is not supported; the message names alternatives."""
        if self.needs_visits and not objective.source.visitable:
            raise TypeError(
                f"{type(self).__name__} visits rows one after another, and their storage offers "
                "sums alone: use a batch solver such as LBFGS() or Newton(), or pass a NumPy array "
                "or a SciPy sparse matrix"
            )

    @property
    def needs_visits(self) -> bool:
        """Whether it visits single rows or features: see ``Rows.visits``."""
        return self.by_row

    def takes(self, penalty: Penalty) -> bool:
        """Whether it supports this penalty."""
        return self.any_penalty or is_l2(penalty)

    def check_penalty(self, penalty: Penalty) -> None:
        """Raise an error for a penalty that it would ignore or misinterpret."""
        if not self.takes(penalty):
            raise ValueError(
                f"{type(self).__name__} takes l2 alone, no l1, no penalty_weights and no bounds; "
                "use ProximalNewton(), CoordinateDescent() or GradientDescent(), or solver='auto', "
                "which means one of them then"
            )

    def is_deterministic_map(self, penalty: Penalty) -> bool:
        """Whether each pass is the same function of the weights: fixed order and step size."""
        return False

    @property
    def chooses_step(self) -> bool:
        """Whether it chooses its step sizes: then it must not end above its start."""
        return True

    @property
    def monotone(self) -> bool:
        """Whether no step raises J above its start, so that this need not be checked."""
        return False

    @property
    def by_row(self) -> bool:
        """Whether it visits rows one after another, as ``partial_fit`` requires."""
        return False

    def for_partial_fit(self, objective: Objective) -> Solver:
        """The solver for ``partial_fit``; ``objective`` has the first chunk."""
        return self

    def expected_state(self, objective: Objective) -> Check:
        """Checks for a state read from a file: names, types, shapes, ranges.

        By default nothing is checked.
        """
        return anything

    def expected_stream_state(self, shape: tuple[int, int]) -> Check:
        """Checks for a state from which ``partial_fit`` continues, for weights of this shape."""
        return expected_online_state(shape, bool(getattr(self, "average", False)))

    def handed_on(self, state: State) -> State | None:
        """Warm-start state for the next penalty on the same rows.

        It complements the weights; None if they are enough.
        """
        return None

    def after(self, state: State) -> Solver:
        """A copy that records information from the final state of a run."""
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Hyper-parameters by name, as in scikit-learn."""
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
    """The start of a run or zeros, whichever has the lower J."""

    weights: Array
    objective: float
    mistakes: float
    start: float  # J at the start; not finite if the start is too far away


def finite_start(objective: Objective, W: Array) -> Array:
    """W, or zeros if J overflows at W: the solver could not recover from there.

    With constraints: the allowed weights nearest to these.
    """
    W = objective.allowed(W)
    finite = not W.any() or np.isfinite(objective.value(W)[0])
    return W if finite else objective.allowed(np.zeros_like(W))


def lowest(objective: Objective, W: Array) -> Lowest:
    """The weights that a solver with its own step sizes must not end above."""
    at_zeros, total = objective.value_at_zeros, objective.source.weight_sum
    if not W.any():
        return Lowest(W, at_zeros, total, at_zeros)
    J, mistakes = objective.value(W)
    if at_zeros >= J:
        return Lowest(W, J, mistakes, J)
    return Lowest(np.zeros_like(W), at_zeros, total, J)
