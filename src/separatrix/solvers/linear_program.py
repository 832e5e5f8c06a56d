"""The hinge without a penalty: a linear program.

Problem     min over W of sum_i p_i max(0, 1 - y_i (w.x_i + b)), p the rows' shares of all weight;
            for k classes Crammer and Singer's, the largest s_c + [c != d] - s_d of a row.
Input       Rows in memory, their labels and weights.
Output      A minimum W, and how far above the dual's value J is there.
Algorithm   The dual, which has an equation per weight instead of one per row, by the simplex of
            HiGHS, in standardised variables; of k classes with a working set of rivals that grows
            until none above its row's loss is missing.
Paper       Mangasarian, Linear and Nonlinear Separation of Patterns by Linear Programming,
            Operations Research 13 (1965); Crammer and Singer, JMLR 2 (2001); Huangfu and Hall,
            Mathematical Programming Computation 10 (2018), for HiGHS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from ..data import InMemory
from ..losses import Loss
from ..numeric.expected import Check, array, entries, real
from ..numeric.types import Array, Ints
from ..objective import Objective
from ..penalties import L2
from ..proofs.binary_dual import has_dual
from .base import Solver, State, Step, lowest
from .dual_ascent import DualAscent
from .thresholds import LINEAR_PROGRAM_VALUES

# For more classes, rivals within NEAR of a loss are included at first, at approximately optimal
# weights with a tiny penalty. Rivals that exceed it by more than ALLOWED are added later.
NEAR, HARDLY, ROUGHLY, MOST_STEPS, ALLOWED = 0.1, 1e-6, 1e-3, 60, 1e-9
EXACTLY = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
BEYOND = (1.0 + 1e-12, 1.0 + 1e-9, 1.0 + 1e-6)  # margins of 1, scaled so that none is smaller


@dataclass(frozen=True, repr=False)
class LinearProgram(Solver):
    """Minimise the mean hinge loss without a penalty, as a linear program solved by HiGHS.

    For two classes, or Crammer and Singer's loss for more. It solves the dual, which has one row
    per weight instead of one per sample:

        most of sum_ic alpha_ic   with   sum_ic alpha_ic ((x_i, 1) for d less that for c) = 0
        and, for every row, alpha_ic >= 0, sum_c alpha_ic <= p_i

    with p the rows' shares of all weight, d a row's class and c its rivals; the weights are the
    prices of the first conditions. Every step is the same; the optimality gap that HiGHS leaves is
    its predicted decrease.

    See Also
    --------
    DualAscent : the hinge with a penalty.
    separability : whether the smallest loss is 0.

    Examples
    --------
    >>> from separatrix import LinearClassifier, LinearProgram
    >>> clf = LinearClassifier("hinge", l2=0.0, solver=LinearProgram())
    >>> round(clf.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).objective_, 6)
    0.666667
    """

    name = "LinearProgram"
    draws = False

    def check(self, objective: Objective) -> None:
        """Only the hinge without a penalty, with rows in memory or few enough to copy."""
        loss, l2 = objective.loss, objective.penalty.l2
        if not is_hinge(loss) or l2 > 0.0:
            what = f"l2={l2:g}" if is_hinge(loss) else f"loss={loss.name!r}"
            raise ValueError(
                f"LinearProgram minimises loss='hinge' with l2=0 only, not {what}; use DualAscent()"
                " for the hinge with a penalty, LBFGS() for losses without kinks"
            )
        if not isinstance(objective.source, InMemory) and not is_small(objective):
            n, (k, d) = objective.source.n_rows, objective.shape
            raise ValueError(
                f"LinearProgram needs the rows in memory, and takes them there from a source of up "
                f"to {LINEAR_PROGRAM_VALUES} values; here {n} rows x {d} features x {k} classes "
                f"are {n * d * k}; use GradientDescent(batch_size=1)"
            )

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """Yield the minimum repeatedly; the start or zeros if none better was found."""
        if state is None:
            best, J, mistakes, _ = lowest(objective, W)
            remaining = J  # losses are not negative
            found = _solve(objective) if J > 0.0 else None
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
                predicted_decrease=state["remaining"],
            )  # fmt: skip

    def expected_state(self, objective: Objective) -> Check:
        known = dict.fromkeys(("J", "mistakes", "remaining"), real)
        return entries({"weights": array(*objective.shape), **known})


def is_hinge(loss: Loss) -> bool:
    """Whether a loss is the hinge, for two or more classes."""
    return has_dual(loss) and not loss.smooth


def is_small(objective: Objective) -> bool:
    """Whether the program is small enough to be solved in reasonable time."""
    k, d = objective.shape
    return objective.source.n_rows * d * k <= LINEAR_PROGRAM_VALUES


def solvable(objective: Objective) -> bool:
    """Whether ``LinearProgram`` supports the objective, and the program is small enough."""
    return is_small(objective) and is_hinge(objective.loss) and objective.penalty.l2 == 0.0


def _solve(objective: Objective) -> tuple[Array, float] | None:
    """Weights, and the lowest J that the dual proves; None if HiGHS finds no solution.

    In variables that are centred and scaled, because tolerances are absolute.
    """
    if not isinstance(objective.source, InMemory):
        objective = objective.on_rows(objective.source.sample(objective.source.n_rows))
    source, standardization, k = objective.in_memory, objective.standardization, objective.shape[0]
    present = np.arange(len(source.y)) if source.present is None else source.present
    weight = np.ones(len(present)) if source.weight is None else source.weight[present]
    some, y = source.take(present).block().rows, source.y[present]
    rows, offset = some.standardized(standardization), np.zeros((len(y), k))
    if some.offset is not None:
        offset = some.offset
    rows = rows if objective.intercept else rows[:, :-1]
    c = weight * (len(present) / source.weight_sum)  # about 1, like all other numbers
    found = (
        _two_classes(rows, y, c, offset)
        if k == 1
        else _crammer_singer(rows, y, c, offset, _nearly_unpenalised_scores(objective, present))
    )
    if found is None:
        return None
    u = np.zeros((k, len(standardization.scale)))
    u[:, : rows.shape[1]] = found[0]
    W = standardization.to_weights(u)
    if not objective.intercept:
        W[:, -1] = 0.0
    return _without_rounding(objective, W), found[1] / len(present)


def _two_classes(rows: Array, y: Array, c: Array, offset: Array) -> tuple[Array, float] | None:
    """Prices of the conditions, (1, d), and the dual's value: rows of weights c."""
    bounds = np.column_stack([np.zeros_like(c), c])
    return _program(y[:, None] * rows, 1.0 - y * offset[:, 0], 1, bounds=bounds)


def _crammer_singer(
    rows: Array, y: Ints, c: Array, offset: Array, scores: Array
) -> tuple[Array, float] | None:
    """The same for k classes, (k, d), with a growing set of rivals.

    A rival that is nowhere above its row's loss does not change the minimum: leaving it out
    drops constraints of the primal, which are checked again at the resulting weights.
    """
    each, k = np.arange(len(y)), offset.shape[1]
    above = _rival_losses(scores, y)
    working = above > above.max(axis=1, keepdims=True) - NEAR
    while True:
        working[each, y] = False
        row, rival = np.nonzero(working)
        several = np.flatnonzero(working.sum(axis=1) > 1)
        of_row = csr_array(
            (np.ones(len(row)), (row, np.arange(len(row)))), shape=(len(y), len(row))
        )
        found = _program(
            _differences(rows, y, row, rival, k), _rival_losses(offset, y)[row, rival], k,
            bounds=np.column_stack([np.zeros(len(row)), c[row]]),
            A_ub=of_row[several], b_ub=c[several],
        )  # fmt: skip
        if found is None:
            return None
        above = _rival_losses(rows @ found[0].T + offset, y)
        loss = np.maximum(np.where(working, above, 0.0).max(axis=1), 0.0)
        missing = ~working & (above > loss[:, None] + ALLOWED)
        if not missing.any():
            return found
        working |= missing


def _program(conditions: Any, gains: Array, k: int, **each: Any) -> tuple[Array, float] | None:
    """``gains`` are the losses of the conditions at weights of 0."""
    d = conditions.shape[1]
    result = linprog(
        -gains, A_eq=conditions.T, b_eq=np.zeros(d), method="highs", options=EXACTLY, **each
    )
    if result.status != 0:
        return None
    return -result.eqlin.marginals.reshape(k, -1), -float(result.fun)


def _rival_losses(scores: Array, y: Ints) -> Array:
    """Loss of each row against each rival; 0 for its own class."""
    each = np.arange(len(y))
    above = scores + 1.0 - scores[each, y][:, None]
    above[each, y] = 0.0
    return above


def _nearly_unpenalised_scores(objective: Objective, present: Ints) -> Array:
    """Scores of the rows with a tiny penalty, which decide the initial rivals."""
    some = objective.with_penalty(L2(HARDLY))
    W = np.zeros(objective.shape)
    for step in islice(DualAscent().steps(some, W, np.random.default_rng(0)), MOST_STEPS):
        W, gap = step.weights, (step.objective or 0.0) - (step.lower_bound or 0.0)
        if gap <= ROUGHLY * (step.objective or 0.0):
            break
    return objective.in_memory.scores(W)[present]


def _differences(rows: Array, y: Ints, row: Ints, rival: Ints, k: int) -> csr_array:
    """For every pair the row for its own class less that for the rival, (pairs, k * d)."""
    d = rows.shape[1]
    features = np.arange(d)
    at = np.column_stack([y[row][:, None] * d + features, rival[:, None] * d + features])
    values = np.column_stack([rows[row], -rows[row]])
    ends = np.arange(0, values.size + 1, 2 * d)
    return csr_array((values.ravel(), at.ravel(), ends), shape=(len(row), k * d))


def _without_rounding(objective: Objective, W: Array) -> Array:
    """Scale W so that rows correct up to rounding have margins of at least 1: J is then 0."""
    J, mistakes = objective.value(W)
    if mistakes > 0.0 or J == 0.0:
        return W
    for length in BEYOND:
        if objective.value(length * W)[0] == 0.0:
            return length * W
    return W
