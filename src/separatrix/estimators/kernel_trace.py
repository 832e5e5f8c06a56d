"""Replaying a fit of the kernel perceptron step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length

from ..data import Shuffle, Source
from ..data.blocks import random_order
from ..data.labels import check_labels, class_numbers, numbers
from ..data.validation import sound_rows, weighed_classes
from ..kernels import Kernel, KernelCache, Matrix
from ..kernels.perceptron import KernelPerceptronRun
from ..kernels.update_rules import update_rule
from ..kernels.votes import Update
from ..losses import PerceptronLoss
from ..numeric.lazy import cached_property
from ..numeric.types import AnyArray, Array
from ..schedules import as_schedule
from ..training.recording import Recording
from ..training.recording.columns import MOST_ROWS, MOST_STEPS, StepColumns, margins_of
from ..training.recording.recording import MOST_ENTRIES
from ..training.recording.words import end_of_pass, number
from .kernel_expansion import rows_labels_weights
from .sources import refuse_labels_beside


@dataclass(frozen=True)
class KernelTrace:
    """The recipe of a run in the dual, sufficient to reproduce it bit for bit."""

    kernel: Kernel
    learning_rate: Any
    shuffle: bool
    fit_intercept: bool
    class_weight: Any
    budget: int | None
    classes: AnyArray
    seed: int
    n_rows: int
    n_iter: int
    stop: str
    weight_sum: float | None = None
    """Sum of the weights of the rows; None in models of earlier versions, which had none."""

    def recording(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, max_steps: int = MOST_STEPS
    ) -> Recording:
        """Record the fit step by step, for viewing: see :class:`Recording`.

        The fit is repeated on the same data, at most 2,000 rows: X and y with the sample weights of
        the fit, or a source in memory.
        One step processes one row, correct or not; steps after ``max_steps`` are left out.
        """
        if self.n_rows > MOST_ROWS:
            raise ValueError(
                f"the fit had {self.n_rows:,} rows, but a recording has at most {MOST_ROWS:,}; "
                "fit to fewer rows"
            )
        if self.budget is not None:
            raise ValueError("a recording cannot show the removal of supports: set budget=None")
        if isinstance(X, Source):
            refuse_labels_beside(y, sample_weight)
            X, y, sample_weight = rows_labels_weights(X)
        rows = check_array(sound_rows(X)[0], accept_sparse="csr", dtype=np.float64, order="C")
        labels = check_labels(y)
        check_consistent_length(rows, labels)
        if len(labels) != self.n_rows:
            raise ValueError(
                f"X has {len(labels)} rows, but the fit had {self.n_rows}; a recording needs the "
                "data of the fit"
            )
        weight = weighed_classes(labels, None, sample_weight, self.class_weight)[1]
        run = self._run(rows, labels, np.ones(len(labels)) if weight is None else weight)
        if self.weight_sum is not None and run.weight_sum != self.weight_sum:
            raise ValueError(
                f"the weights of the rows sum to {run.weight_sum:g}, but in the fit to "
                f"{self.weight_sum:g}; pass the same sample_weight to recording"
            )
        columns = columns_of(run, self._kernel_matrix(rows, rows), self.n_iter, max_steps)
        signs = np.asarray(run.rule.y)
        story = KernelStory(columns, self.classes.tolist(), signs, self.fit_intercept)
        x = None if rows.shape[0] * rows.shape[1] > MOST_ENTRIES else _dense(rows)
        method = {
            "solver": None, "loss": PerceptronLoss.name, "l2": 0.0,
            "fit_intercept": self.fit_intercept, "kernel": self.kernel.to_dict(rows),
            "seed": int(self.seed),
        }  # fmt: skip
        return Recording(
            method, self.classes.tolist(), x, numbers(labels, self.classes), columns,
            {"updates": None, "objective": None}, story.arithmetic, story.sentence, self.stop,
            lambda points: self._kernel_matrix(rows, points),
        )  # fmt: skip

    def _run(self, rows: Matrix, labels: AnyArray, weight: Array) -> KernelPerceptronRun:
        rule = update_rule(numbers(labels, self.classes), len(self.classes))
        cache = KernelCache(self.kernel, rows, float(self.fit_intercept), 8.0 * len(labels) ** 2)
        schedule = as_schedule(self.learning_rate)
        return KernelPerceptronRun(
            rule, cache, weight, schedule, self.shuffle, self.seed, logs=True
        )  # fmt: skip

    def _kernel_matrix(self, rows: Matrix, points: Matrix) -> Array:
        """The kernel (points, rows), with the 1 of the bias."""
        values = self.kernel.between(points, self.kernel.prepare(rows))
        return np.asarray(values) + float(self.fit_intercept)


def _dense(rows: Matrix) -> Array:
    found: Array = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
    return found


def columns_of(run: KernelPerceptronRun, K: Array, n_iter: int, most: int) -> StepColumns:
    """Every visit of a row, from a run that is repeated now."""
    present = np.flatnonzero(run.weight)
    wanted = min(n_iter, -(-most // len(present)))
    for _ in islice(run.steps(), wanted):
        pass
    orders = [present] * wanted
    if run.shuffle:
        orders = [
            present[random_order(len(present), Shuffle(run.seed, at))] for at in range(wanted)
        ]
    visits = np.concatenate(orders)[:most]
    updates = {update.visit: update for update in run.log}
    scores = _Scores(run, K)
    margins, coefficients, updated, states = [], [], [], [scores.now]
    none = np.empty(0, np.int64)
    for visit, row in enumerate(visits, 1):
        margins.append(scores.margin(int(row)))
        update = updates.get(visit)
        coefficients.append([] if update is None else scores.add(update))
        updated.append(none if update is None else np.array([update.row]))
        states.append(scores.now)
    mistakes, values, norms = np.array(states).T
    ends = np.cumsum([len(order) for order in orders])
    passes = [int(end) for end in ends if end <= len(visits)]
    return StepColumns(
        visited=[np.array([row]) for row in visits], updated=updated, margins=margins,
        sizes=[None] * len(visits), weights=None, average=None,
        mistakes=mistakes, objective=values, norm=norms, passes=passes,
        cut=len(passes) < n_iter, coefficients=coefficients,
    )  # fmt: skip


class _Scores:
    """The scores of all rows after each update, with the resulting loss and mistakes."""

    def __init__(self, run: KernelPerceptronRun, K: Array) -> None:
        self.run, self.K, self.y = run, K, np.asarray(run.rule.y)
        self.scores = np.zeros((len(K), run.rule.columns))
        self.loss: Any = PerceptronLoss()
        if run.rule.columns > 1:
            self.loss = self.loss.multiclass()
        self.squared = 0.0
        self.now = self._evaluated()

    def margin(self, row: int) -> Array:
        return margins_of(self.y[row : row + 1], self.scores[row : row + 1])

    def add(self, update: Update) -> list[tuple[int, int, float]]:
        """Apply an update, and return the changes."""
        found = []
        for column, sign in update.changes:
            amount = self.run.unit * sign * update.size
            own, length = self.scores[update.row, column], self.K[update.row, update.row]
            self.squared += 2.0 * amount * own + amount * amount * length
            self.scores[:, column] += amount * self.K[update.row]
            found.append((column, update.row, amount))
        self.now = self._evaluated()
        return found

    def _evaluated(self) -> tuple[float, float, float]:
        """Weighted mistakes, mean loss, and the length of the weights in feature space."""
        weight = self.run.weight
        mistakes = float(weight @ self.loss.mistakes(self.y, self.scores))
        value = float(weight @ self.loss.value(self.y, self.scores)) / self.run.weight_sum
        return mistakes, value, float(np.sqrt(max(self.squared, 0.0)))


@dataclass(frozen=True)
class KernelStory:
    """The sentences for the steps of a run in the dual."""

    columns: StepColumns
    classes: Sequence[Any]
    y: AnyArray
    intercept: bool

    def arithmetic(self, step: int) -> str:
        """The calculation of the update in a step, counted from 1."""
        assert self.columns.coefficients is not None
        changes = self.columns.coefficients[step - 1]
        if not changes:
            return "no coefficient changes"
        each = []
        for column, row, amount in changes:
            before = self._before(step, column, row)
            name, sign = f"a_{row}", "-" if amount < 0.0 else "+"
            gain = f"{sign} {number(abs(amount))}"
            if len(self.classes) > 2:
                name += f"[{self.classes[column]}]"
            elif abs(amount) == 1.0:
                gain = "+ y"
            rule = f"{name} <- {name} {gain}"
            after = number(before + amount)
            each.append(f"{rule}: {number(before)} {sign} {number(abs(amount))} = {after}")
        kernel = "(K(x_i, x) + 1)" if self.intercept else "K(x_i, x)"
        return f"{'; '.join(each)}, in s(x) = sum of a_i {kernel}"

    def _before(self, step: int, column: int, row: int) -> float:
        return self._totals.get((step, column, row), 0.0)

    @cached_property
    def _totals(self) -> dict[tuple[int, int, int], float]:
        """The coefficient before each change."""
        now: dict[tuple[int, int], float] = {}
        found = {}
        for step, changes in enumerate(self.columns.coefficients or (), 1):
            for column, row, amount in changes:
                found[step, column, row] = now.get((column, row), 0.0)
                now[column, row] = found[step, column, row] + amount
        return found

    def sentence(self, step: int) -> str:
        """What happened, for readers who are new to the algorithm."""
        visited, margins = self.columns.visited[step - 1], self.columns.margins[step - 1]
        assert visited is not None
        assert margins is not None
        row, margin = int(visited[0]), float(margins[0])
        label = self.classes[int(class_numbers(self.y, len(self.classes))[row])]
        who = f"Row {row} (class {label})"
        if not len(self.columns.updated[step - 1]):
            text = f"{who} is on its side, margin {number(margin)}: nothing changes."
        else:
            where = f"is on the wrong side, margin {number(margin)}"
            if margin == 0.0:
                where = "lies on the boundary, which counts as wrong"
            text = f"{who} {where}: its strength grows by one, and its kernel bends the scores."
        return text + (end_of_pass(self.columns, step, True) if step in self._ends else "")

    @cached_property
    def _ends(self) -> frozenset[int]:
        return frozenset(self.columns.passes)
