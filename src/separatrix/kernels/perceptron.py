"""The perceptron in the dual: weights as sums over rows, seen only through a kernel.

Problem: a separator ``w.phi(x)`` in the space of the features phi of a kernel. The weights of
column c are ``sum_i a[c, i] * phi(x_i)`` (K + 1: with a constant feature, the bias); one column for
two classes, k for k > 2. Input: a kernel with the training rows, their labels and weights, step
sizes. Output: the coefficients ``a`` after every pass, their mean, and optionally every update.

Algorithm: Rosenblatt's rule, which needs only inner products. M. A. Aizerman, E. M.
Braverman and L. I. Rozonoer, Theoretical foundations of the potential function method in pattern
recognition learning, Automation and Remote Control 25 (1964); averaged as in Y. Freund and R. E.
Schapire, Large margin classification using the perceptron algorithm, Machine Learning 37 (1999).
Besides ``a``, a run keeps the score of every training row, so that an update costs one row of the
kernel matrix, whatever the number of supports. A compiled loop goes from mistake to mistake and
returns when it needs a row of the kernel matrix that is not cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..data import Shuffle
from ..data.blocks import random_order
from ..loops.kernel import KernelPerceptronPass, KernelPerceptronState, kernel_pass
from ..numeric.expected import Check, array, each, entries, indices, real, row, whole
from ..numeric.types import Array, Ints
from ..schedules import Constant, Schedule, step_sizes
from ..solvers import State, Step
from ..solvers.rescaling import near_power
from .budget import SupportBudget
from .cache import KernelCache
from .gaussian import GaussianPasses
from .update_rules import UpdateRule
from .votes import Update, Votes, updates_of

LOOKAHEAD = 64  # rows examined per kernel row that fits in a block


@dataclass(frozen=True)
class EpochEnd:
    """State of a run at the end of a pass, without the factor of the step sizes."""

    coefficients: Array  # (columns, n): the last weights
    scores: Array  # (columns, n): score of every row with these weights
    late: Array  # (columns, n): every change times the number of visits before it
    counts: Ints  # (columns, n): signed number of updates by each row
    best: Array  # (columns, n): with a budget, the weights of the pass end with the fewest mistakes
    visits: int = 0
    updates: int = 0
    supports: tuple[tuple[int, float], ...] = ()
    """With a budget, in the order they were added, with K(x, x)."""

    @property
    def sums(self) -> Array:
        """(columns, n): the weights after each visit, summed up."""
        sums: Array = self.visits * self.coefficients - self.late
        return sums


@dataclass
class KernelPerceptronRun:
    """A run from zero over rows in the dual, pass by pass.

    With a ``budget``, a row that is one support too many removes another one
    (:mod:`separatrix.kernels.budget`). Errors in the weights show up as mistakes and are corrected;
    errors in a sum of past weights would only accumulate, so with a budget there is no average.
    Instead the weights at the pass end with the fewest mistakes are kept: the scores of all rows
    are available, so counting mistakes costs nothing.
    """

    rule: UpdateRule
    rows: KernelCache
    weight: Array  # weight of each row; rows of weight 0 are ignored
    schedule: Schedule | Callable[[int], float]
    shuffle: bool = True
    seed: int = 0
    budget: int | None = None
    logs: bool = False  # whether to keep every update, for the votes
    averages: bool = False  # whether every step contains the average
    log: list[Update] = field(default_factory=list)
    passes: int = 0

    def __post_init__(self) -> None:
        self.weight_sum = float(self.weight.sum())
        # A constant step size only rescales, and so does the mean of the weights: except for a
        # power of two they are factored out and multiplied in at the end, to avoid rounding. Equal
        # weights count as 1.
        constant = isinstance(self.schedule, Constant)
        self.step = self.unit = float(self.schedule(1)) if constant else 1.0
        present = self.weight[self.weight != 0.0]
        scale = len(present) / self.weight_sum
        if np.all(present == present[0]):
            self.factors = np.where(self.weight != 0.0, 1.0, 0.0)
        elif constant:
            self.factors = near_power(scale) * self.weight
            self.unit = self.step * scale / near_power(scale)
        else:
            self.factors = scale * self.weight
        self.state = KernelPerceptronState.zero(self.rule.columns, len(self.weight))
        self.scores, self.coefficients = self.state.scores, self.state.coefficients
        # Compute many kernel rows at a time if there is a loop for that, else one by one.
        self.blocks, self.supports = None, None
        if self.budget is None:
            self.blocks = GaussianPasses.of(self.rows)
        else:
            self.supports = SupportBudget(self.budget, self.rows, self.state)
        self.repeats = constant and not self.shuffle and self.budget is None
        self.fewest = np.inf
        self.ended = EpochEnd(
            self.coefficients, self.scores, self.state.late, self.state.counts, self.coefficients
        )

    def steps(self) -> Iterator[Step]:
        while True:
            yield self._one_pass()

    def _one_pass(self) -> Step:
        order = np.flatnonzero(self.weight)
        if self.shuffle:
            order = order[random_order(len(order), Shuffle(self.seed, self.passes))]
        visits = self.ended.visits
        steps = step_sizes(self.schedule, visits + 1, len(order)) / self.step
        run = KernelPerceptronPass(
            self.rule.y, self.weight, self.factors, order, steps, visits, self.state
        )  # fmt: skip
        if self.blocks is not None:
            self.blocks.visit(run)
        else:
            self._visit(run)
        log = run.log[: run.updates]
        if self.logs:
            self.log += updates_of(run, self.rule, log)
        self.passes += 1
        loss_sum, mistakes = run.totals.tolist()
        return self._step(visits + len(order), loss_sum, mistakes, log[:, 1].copy())

    def _visit(self, run: KernelPerceptronPass) -> None:
        """Visit all rows, fetching rows of the kernel matrix as needed."""
        most = len(run.order) if self.supports is None else 1
        while not run.ended:
            log = kernel_pass(run, self.rows.lines, most)
            if len(log) and self.supports is not None:
                self.supports.admit(int(log[0, 1]))
            elif not run.ended:
                likely = partial(self._likely, run.order, run.position)
                self.rows.row(int(run.order[run.position]), likely)

    def _likely(self, order: Ints, position: int) -> Ints:
        """Rows that will be mistakes soon if nothing changes, in the order of the pass."""
        ahead = np.concatenate([order[position:], order[:position]])
        ahead = ahead[: LOOKAHEAD * self.rows.block]
        wrong = np.logical_not(self.rule.violations(self.scores[:, ahead], ahead) < 0.0)
        likely: Ints = ahead[wrong]
        return likely

    def _step(self, visits: int, loss_sum: float, mistakes: float, updated: Ints) -> Step:
        """The end of a pass, to which an interrupted next pass falls back."""
        coefficients = self.coefficients.copy()
        supports = () if self.supports is None else tuple(self.supports.supports.items())
        self.ended = EpochEnd(
            coefficients, self.scores.copy(), self.state.late.copy(), self.state.counts.copy(),
            self._best(coefficients), visits, self.ended.updates + len(updated), supports,
        )  # fmt: skip
        return Step(
            self.unit * coefficients,
            {"scores": self.unit * self.ended.scores},
            self.unit * loss_sum / self.weight_sum,
            mistakes,
            updated,
            len(updated),
            average=self.unit * self.ended.sums / visits if self.averages else None,
        )

    def _best(self, coefficients: Array) -> Array:
        """These, or the coefficients at an earlier pass end with no more mistakes."""
        if self.budget is None:
            return coefficients
        violations = self.rule.violations(self.scores, np.arange(len(self.weight)))
        mistakes = float(self.weight @ np.logical_not(violations < 0.0))
        if mistakes < self.fewest:
            self.fewest = mistakes
            return coefficients
        return self.ended.best

    def to_state(self) -> State:
        """State at the end of the last complete pass, as arrays and numbers."""
        ended = self.ended
        rows, norms = zip(*ended.supports, strict=True) if ended.supports else ((), ())
        log = self.log[: ended.updates]
        return {
            "coefficients": ended.coefficients, "scores": ended.scores, "late": ended.late,
            "counts": ended.counts, "best": ended.best, "visits": ended.visits,
            "updates": ended.updates, "passes": self.passes, "seed": self.seed,
            "fewest": self.fewest, "supports": np.array(rows, dtype=np.int64),
            "norms": np.array(norms, dtype=np.float64),
            "log": [[*update[:3], [list(change) for change in update.changes]] for update in log],
        }  # fmt: skip

    def expected_state(self) -> Check:
        """Checks for the result of ``to_state``: numbers of every row, supports, and updates."""
        columns, n = shape = self.scores.shape
        arrays = dict.fromkeys(("coefficients", "scores", "late", "best"), array(*shape))
        counts = dict.fromkeys(("visits", "updates", "passes"), whole())
        change = row(whole(0, columns - 1), whole(-1, 1))
        update = row(whole(1), whole(0, n - 1), real, each(change, columns))
        known = entries({
            **arrays, **counts, "counts": array(*shape, dtype=np.int64), "fewest": real,
            "seed": whole(0, 2**63 - 1), "supports": indices(n), "norms": array(None),
            "log": each(update),
        })  # fmt: skip

        def check(name: str, state: State) -> None:
            known(name, state)
            supports, most = state["supports"], self.budget or 0
            array(len(supports))(f"{name}.norms", state["norms"])
            if len(supports) > most or len(set(supports.tolist())) < len(supports):
                raise ValueError(f"{name} has a support twice, or more than the budget of {most}")
            if len(state["log"]) != (state["updates"] if self.logs else 0):
                raise ValueError(f"{name} does not contain the number of updates that it states")

        return check

    def restore(self, state: State) -> None:
        """Restore the state of another run over the same rows at the end of a pass."""
        for name in ("coefficients", "scores", "late", "counts"):
            getattr(self.state, name)[:] = state[name]
        for name in ("passes", "seed", "fewest"):
            setattr(self, name, state[name])
        self.log = [
            Update(visit, row, size, tuple((column, sign) for column, sign in changes))
            for visit, row, size, changes in state["log"]
        ]
        supports = tuple(zip(state["supports"].tolist(), state["norms"].tolist(), strict=True))
        if self.supports is not None:
            self.supports.supports = dict(supports)
        self.ended = EpochEnd(
            state["coefficients"], state["scores"], state["late"], state["counts"], state["best"],
            state["visits"], state["updates"], supports,
        )  # fmt: skip

    def votes(self) -> Votes:
        """The votes at the end of the last complete pass."""
        return Votes.of(self.rule.columns, self.log[: self.ended.updates], self.ended.visits)
