"""The perceptron in the dual: weights as sums over rows, seen only through a kernel.

The weights of column c are ``sum_i a[c, i] * phi(x_i)`` with the features phi of the kernel
(K + 1: with a constant feature, the bias). One column for two classes, k for k > 2. Beside the
coefficients ``a`` a run keeps the score of every training row, so that an update costs one row
of the kernel matrix, whatever the number of supports. A compiled loop goes from mistake to
mistake and comes back for the rows of the kernel matrix that are not at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from ..data import Shuffle
from ..data.blocks import random_order
from ..loops.kernel import KernelPerceptronPass, KernelPerceptronState, kernel_pass
from ..losses.rivals import best_rival
from ..numeric.tolerances import SAFE_DIVISOR
from ..numeric.types import AnyArray, Array, Ints
from ..schedules import Constant, Schedule, step_sizes
from ..solvers import Step
from ..solvers.rescaling import near_power
from . import Gaussian, Kernel, KernelCache, Matrix
from .gaussian import GaussianPasses

LOOKAHEAD = 64  # rows looked at per kernel row that a block has room for


class Rule(Protocol):
    """What is a mistake, and which columns then gain or lose the row."""

    columns: int
    y: AnyArray
    """Signs, or numbers of classes, as the compiled pass wants them."""

    def violations(self, scores: Array, rows: Ints) -> Array:
        """How wrong each row is, (m,), for scores (columns, m); a mistake unless below 0."""

    def changes(self, row: int, rival: int) -> tuple[tuple[int, int], ...]:
        """Column and sign of each change by a mistaken row with this best rival."""


class TwoClasses:
    """``y * score <= 0`` is a mistake; the one column gains ``y`` times the row."""

    columns: int = 1

    def __init__(self, signs: Array) -> None:
        self.y = signs

    def violations(self, scores: Array, rows: Ints) -> Array:
        """Minus the margin."""
        violations: Array = -self.y[rows] * scores[0]
        return violations

    def changes(self, row: int, rival: int) -> tuple[tuple[int, int], ...]:
        """The label."""
        return ((0, int(self.y[row])),)


class ManyClasses:
    """A rival that reaches the true class is a mistake: that one gains, the best rival loses."""

    def __init__(self, labels: Ints, columns: int) -> None:
        self.y, self.columns = labels, columns

    def violations(self, scores: Array, rows: Ints) -> Array:
        """Score of the best rival minus that of the true class."""
        own, _, best = best_rival(self.y[rows], scores.T)
        violations: Array = best - own
        return violations

    def changes(self, row: int, rival: int) -> tuple[tuple[int, int], ...]:
        """True class and best rival, of equal ones the first."""
        return (int(self.y[row]), 1), (rival, -1)


class Update(NamedTuple):
    """One mistake: when (counting visits of rows from 1), which row, and what it changed."""

    visit: int
    row: int
    size: float
    changes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Votes:
    """Every weight vector there was, each with the number of rows that it survived."""

    columns: int
    updates: tuple[Update, ...]
    survived: tuple[int, ...]

    @classmethod
    def of(cls, columns: int, updates: list[Update], visits: int) -> Votes:
        """A vector lives from the visit that made it to the one before the next update."""
        ends = [update.visit for update in updates[1:]] + [visits + 1]
        survived = [end - update.visit for update, end in zip(updates, ends, strict=True)]
        return cls(columns, tuple(updates), tuple(survived))

    def count(self, kernel: Array, place: dict[int, int]) -> Array:
        """Votes (columns, m) at m points, by kernel rows: row i is ``kernel[place[i]]``, (m,).

        Two classes: the sum of the signs, a score of 0 for the larger; more: those for each.
        """
        m = kernel.shape[1]
        scores, votes = np.zeros((self.columns, m)), np.zeros((self.columns, m))
        everyone = np.arange(m)
        for update, survived in zip(self.updates, self.survived, strict=True):
            row = kernel[place[update.row]]
            for column, sign in update.changes:
                add(scores[column], sign * update.size, row)
            if self.columns == 1:
                np.add(votes, survived, out=votes, where=scores >= 0.0)
            else:
                votes[scores.argmax(axis=0), everyone] += survived
        return 2.0 * votes - sum(self.survived) if self.columns == 1 else votes


@dataclass(frozen=True)
class EpochEnd:
    """Where a run stood at the end of a pass; step sizes not yet multiplied in."""

    coefficients: Array
    """(columns, n): the last weights."""
    sums: Array
    """(columns, n): the weights after each visit, summed up."""
    counts: Ints
    """(columns, n): updates by each row, signed."""
    best: Array
    """(columns, n): with a budget, the weights of the pass end with the fewest mistakes."""
    visits: int = 0
    updates: int = 0


@dataclass
class KernelPerceptronRun:
    """A run from zero over rows in the dual, pass by pass.

    With a ``budget``, a row that is one support too many makes another one leave: the one whose
    part of the weights is the smallest, ``|a|^2 K(x, x)``, of equal ones the oldest. Its part is
    projected on the most similar remaining support, which costs two more kernel rows. Errors of
    the weights show as mistakes and are mended; those of a sum of past weights would only
    add up, so that with a budget there is no average. Instead the pass end with the fewest
    mistakes is remembered: the scores of all rows are at hand, so that counting is free.
    """

    rule: Rule
    rows: KernelCache
    weight: Array
    """Weight of each row; rows of weight 0 are as if absent."""
    schedule: Schedule | Callable[[int], float]
    shuffle: bool = True
    seed: int = 0
    budget: int | None = None
    logs: bool = False
    """Keep every update, for the votes."""
    averages: bool = False
    """Give the average with every step."""
    log: list[Update] = field(default_factory=list)
    passes: int = 0

    def __post_init__(self) -> None:
        self.weight_sum = float(self.weight.sum())
        # A constant step only rescales, and so does the mean of the weights: they are multiplied
        # in at the end, away from rounding, but for a power of two. Equal weights count as 1.
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
        self.blocks: GaussianPasses | None = None
        kernel, dense = self.rows.kernel, self.rows.reference.dense
        if goes_by_blocks(kernel, self.rows.rows, self.budget):
            assert isinstance(kernel, Gaussian)
            assert dense is not None
            self.blocks = GaussianPasses(self.rows, dense, kernel.gamma)
        self.supports: dict[int, float] = {}  # in the order of their coming, with K(x, x)
        self.repeats = constant and not self.shuffle and self.budget is None
        self.fewest = np.inf
        self.ended = EpochEnd(
            self.coefficients, self.state.late, self.state.counts, self.coefficients
        )

    def steps(self) -> Iterator[Step]:
        """One pass after another."""
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
            self._note(run, log)
        self.passes += 1
        loss_sum, mistakes = run.totals.tolist()
        return self._step(visits + len(order), loss_sum, mistakes, log[:, 1].copy())

    def _visit(self, run: KernelPerceptronPass) -> None:
        """All rows, with the rows of the kernel matrix as they are needed."""
        most = len(run.order) if self.budget is None else 1
        while not run.ended:
            log = kernel_pass(run, self.rows.lines, most)
            if len(log) and self.budget is not None:
                self._support(int(log[0, 1]))
            elif not run.ended:
                likely = partial(self._likely, run.order, run.position)
                self.rows.row(int(run.order[run.position]), likely)

    def _note(self, run: KernelPerceptronPass, log: Ints) -> None:
        for (position, row, rival), size in zip(log.tolist(), run.sizes(log), strict=True):
            changes = self.rule.changes(row, rival)
            self.log.append(Update(run.visits + position + 1, row, float(size), changes))

    def _support(self, row: int) -> None:
        """A row that was just a mistake is a support; if one too many, another one leaves."""
        self.supports.setdefault(row, float(self.rows.row(row, _nothing_likely)[row]))
        if len(self.supports) > (self.budget or 0):
            self._hand_on_one_but(row)

    def _likely(self, order: Ints, position: int) -> Ints:
        """Rows that will be mistakes soon if nothing changes, in the order of the pass."""
        ahead = np.concatenate([order[position:], order[:position]])
        ahead = ahead[: LOOKAHEAD * self.rows.block]
        wrong = np.logical_not(self.rule.violations(self.scores[:, ahead], ahead) < 0.0)
        likely: Ints = ahead[wrong]
        return likely

    def _hand_on_one_but(self, newest: int) -> None:
        """The support with the smallest part leaves it to the one most similar to it."""
        rows = np.array([row for row in self.supports if row != newest])
        squares = np.array([self.supports[row] for row in rows.tolist()])
        leaving = int(rows[((self.coefficients[:, rows] ** 2).sum(axis=0) * squares).argmin()])
        del self.supports[leaving]
        kernel = self.rows.row(leaving, _nothing_likely)
        heirs = np.array(list(self.supports))
        squares = np.array(list(self.supports.values()))
        cosines = np.abs(kernel[heirs]) / np.sqrt(np.maximum(squares, SAFE_DIVISOR))
        heir = int(heirs[cosines.argmax()])
        share = float(kernel[heir] / max(self.supports[heir], SAFE_DIVISOR))
        part = self.coefficients[:, leaving].copy()
        columns = np.flatnonzero(part).tolist()
        for column in columns:
            add(self.scores[column], -part[column], kernel)
        self.coefficients[:, heir] += share * part
        self.coefficients[:, leaving] = 0.0
        kernel = self.rows.row(heir, _nothing_likely)
        for column in columns:
            add(self.scores[column], share * part[column], kernel)

    def _step(self, visits: int, loss_sum: float, mistakes: float, updated: Ints) -> Step:
        """The end of a pass, and what an interrupted pass after it falls back to."""
        coefficients = self.coefficients.copy()
        self.ended = EpochEnd(
            coefficients, visits * coefficients - self.state.late, self.state.counts.copy(),
            self._best(coefficients), visits, self.ended.updates + len(updated),
        )  # fmt: skip
        return Step(
            self.unit * coefficients,
            {"scores": self.unit * self.scores},
            self.unit * loss_sum / self.weight_sum,
            mistakes,
            updated,
            len(updated),
            average=self.unit * self.ended.sums / visits if self.averages else None,
        )

    def _best(self, coefficients: Array) -> Array:
        """These, or those of an earlier pass end with no more mistakes."""
        if self.budget is None:
            return coefficients
        violations = self.rule.violations(self.scores, np.arange(len(self.weight)))
        mistakes = float(self.weight @ np.logical_not(violations < 0.0))
        if mistakes < self.fewest:
            self.fewest = mistakes
            return coefficients
        return self.ended.best

    def votes(self) -> Votes:
        """The ballot at the end of the last whole pass."""
        return Votes.of(self.rule.columns, self.log[: self.ended.updates], self.ended.visits)


def goes_by_blocks(kernel: Kernel, rows: Matrix, budget: int | None) -> bool:
    """Whether passes compute kernel rows many at a time, so that to keep them hardly pays."""
    return isinstance(kernel, Gaussian) and not sp.issparse(rows) and budget is None


def _nothing_likely() -> Ints:
    """No other rows are worth computing along."""
    return np.empty(0, dtype=np.int64)


def add(total: Array, factor: float, row: Array) -> None:
    """``total += factor * row``; the usual factors 1 and -1 without a product in between."""
    if factor == 1.0:
        total += row
    elif factor == -1.0:
        total -= row
    else:
        total += factor * row
