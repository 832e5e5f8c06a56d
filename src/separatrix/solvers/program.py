"""The hinge without a penalty: a linear program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from .. import layout
from ..data import ArraySource
from ..losses import CrammerSinger, Hinge, Loss
from ..objective import Objective
from ..typing import Array
from .base import Solver, State, Step, lowest

MOST_VALUES = 5_000_000  # of rows times rivals: more are not solved in sane time
EXACTLY = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
BEYOND = (1.0 + 1e-12, 1.0 + 1e-9, 1.0 + 1e-6)  # margins of 1, scaled so that none is below


@dataclass(frozen=True, repr=False)
class LinearProgram(Solver):
    """The least mean hinge loss, without a penalty: a linear program, solved by HiGHS.

    For two classes, or Crammer and Singer's for more. Solved in the dual, which has a row per
    weight and not one per row of the data:

        most of sum_ic alpha_ic   with   sum_ic alpha_ic ((x_i, 1) for d less that for c) = 0
        and, for every row, alpha_ic >= 0, sum_c alpha_ic <= p_i

    with p the rows' shares of all weight, d a row's class and c its rivals; the weights are the
    prices of the first conditions. Every step tells the same; what HiGHS leaves open is told as
    remaining.
    """

    def check(self, objective: Objective) -> None:
        """The hinge without a penalty, on rows in memory."""
        loss, strength = objective.loss, objective.penalty.strength
        if not is_hinge(loss) or strength > 0.0:
            what = f"l2={strength:g}" if is_hinge(loss) else f"loss={loss.name!r}"
            raise ValueError(
                f"LinearProgram minimises loss='hinge' with l2=0 only, not {what}; use DualAscent()"
                " for the hinge with a penalty, LBFGS() for losses without kinks"
            )
        if not isinstance(objective.source, ArraySource):
            raise ValueError(
                "LinearProgram needs the rows in memory; use GradientDescent(batch_size=1)"
            )

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """The minimum, again and again; the start or zeros, if none was found below."""
        if state is None:
            best, J, mistakes, _ = lowest(objective, W)
            remaining = J  # no loss is negative
            found = _solved(objective) if J > 0.0 else None
            if found is not None:
                there, least = found
                reached = objective.value(there)
                if reached[0] <= J:
                    best, (J, mistakes) = there, reached
                remaining = max(J - least, 0.0)
            state = {"weights": best, "J": J, "mistakes": mistakes, "remaining": remaining}
        while True:
            yield Step(
                state["weights"], state, state["J"], state["mistakes"],
                remaining=state["remaining"],
            )  # fmt: skip


def is_hinge(loss: Loss) -> bool:
    """Whether a loss is the hinge, for two classes or more; by type, as a subclass may differ."""
    return type(loss) in (Hinge, CrammerSinger)


def solvable(objective: Objective) -> bool:
    """Whether ``LinearProgram`` has nothing to refuse, and the program is not too large."""
    source, (k, d) = objective.source, objective.shape
    in_memory = isinstance(source, ArraySource) and source.n_rows * d * k <= MOST_VALUES
    return in_memory and is_hinge(objective.loss) and objective.penalty.strength == 0.0


def _solved(objective: Objective) -> tuple[Array, float] | None:
    """Weights, and the least J that the dual tells; None where HiGHS finds no end.

    In variables in which features are centred and of one scale: tolerances are absolute.
    """
    source, frame, k = objective.in_memory, objective.frame, objective.shape[0]
    present = np.arange(len(source.y)) if source.present is None else source.present
    weight = np.ones(len(present)) if source.weight is None else source.weight[present]
    mean_weight = source.weight_sum / len(present)
    rows, y = frame.rows(layout.pick(source.X, present)), source.y[present]
    rows = rows if objective.intercept else rows[:, :-1]
    c = weight / mean_weight  # about 1, as are all other numbers then
    each: dict[str, Any]
    if k == 1:
        conditions, each = y[:, None] * rows, {"bounds": np.column_stack([np.zeros_like(c), c])}
    else:
        conditions, of_row = _rivals(rows, y, k)
        each = {"A_ub": of_row, "b_ub": c, "bounds": (0.0, None)}
    result = linprog(
        np.full(conditions.shape[0], -1.0), A_eq=conditions.T, b_eq=np.zeros(conditions.shape[1]),
        method="highs", options=EXACTLY, **each,
    )  # fmt: skip
    if result.status != 0:
        return None
    u = np.zeros((k, len(frame.scale)))
    u[:, : rows.shape[1]] = -result.eqlin.marginals.reshape(k, -1)
    W = frame.direction(u)
    if not objective.intercept:
        W[:, -1] = 0.0
    least = -float(result.fun) / len(present)
    return _all_right(objective, W), least


def _rivals(rows: Array, y: Array, k: int) -> tuple[csr_array, csr_array]:
    """For every row and rival: the row for its own class less that for the rival; and whose.

    (n * (k - 1), k * d) and (n, n * (k - 1)).
    """
    n, d = rows.shape
    row, rival = np.nonzero(y[:, None] != np.arange(k))
    features = np.arange(d)
    at = np.column_stack([y[row][:, None] * d + features, rival[:, None] * d + features])
    values = np.column_stack([rows[row], -rows[row]])
    ends = np.arange(0, values.size + 1, 2 * d)
    conditions = csr_array((values.ravel(), at.ravel(), ends), shape=(len(row), k * d))
    one = np.ones(len(row))
    return conditions, csr_array((one, (row, np.arange(len(row)))), shape=(n, len(row)))


def _all_right(objective: Objective, W: Array) -> Array:
    """Rows that are all right up to rounding get margins of 1 and no less: J is then 0."""
    J, mistakes = objective.value(W)
    if mistakes > 0.0 or J == 0.0:
        return W
    for length in BEYOND:
        if objective.value(length * W)[0] == 0.0:
            return length * W
    return W
