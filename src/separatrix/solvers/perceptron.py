"""The perceptron: online or batch updates on mistakes.

Problem     Weights W = (w, b) that put every row on its side: y (w.x + b) > 0.
Input       Rows, their labels and weights; step sizes; a start, zeros unless given.
Output      W after every pass, and the mistakes made in it, with their rows.
Algorithm   ``Rosenblatt``: (w, b) += step * y * (x, 1) at every row that is a mistake, in the
            order given or in a random one. ``BatchPerceptron``: the sum of these over all mistakes,
            once per pass. For k classes the true one gains what the best rival loses.
Paper       Rosenblatt, Psychological Review 65 (1958); Novikoff (1962) for when it ends; Crammer
            and Singer, JMLR 3 (2003), for more than two classes; Freund and Schapire, Machine
            Learning 37 (1999), for averages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..data import Block, Sum
from ..losses import Loss
from ..numeric.expected import Check, array, entries, positive, whole
from ..numeric.types import Array, Ints
from ..objective import Objective
from ..penalties import Penalty
from ..schedules import Constant, LearningRate, as_schedule, step_sizes
from .base import Solver, State, Step
from .online import OnlineRun
from .online_state import expected_online_state
from .rescaling import constant_step, is_perceptron, only_rescales, unit_step


@dataclass(frozen=True, repr=False)
class Rosenblatt(Solver):
    """The online perceptron: rows in order, ``(w, b) += step * y * (x, 1)`` on a mistake.

    With a penalty, ``w`` is first multiplied by ``1 - 2 * step * l2`` at every row. With shuffling,
    each pass is a permutation of all rows, or of those of each block if read block by block.

    Parameters
    ----------
    learning_rate : number, schedule or callable
        Step size, or ``t -> step size`` with t counting rows.
    shuffle : bool
        Shuffle the rows in every pass, from one seed; otherwise keep the given order.
    average : bool
        Keep the mean of the weights after every row.

    See Also
    --------
    Perceptron : the estimator that runs it.
    BatchPerceptron : updates with all mistakes of a pass at once.

    Examples
    --------
    >>> from separatrix import LinearClassifier, Rosenblatt
    >>> clf = LinearClassifier("perceptron", l2=0.0, solver=Rosenblatt(shuffle=False))
    >>> clf.fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]).coef_, clf.n_iter_
    (array([[3., 2.]]), 9)
    """

    name = "Rosenblatt"

    learning_rate: LearningRate = 1.0
    shuffle: bool = True
    average: bool = False
    """Keep the mean of the weights after every row."""

    def check(self, objective: Objective) -> None:
        """Only the perceptron loss is supported."""
        super().check(objective)
        if not is_perceptron(objective.loss):
            raise ValueError(
                f"Rosenblatt is the perceptron rule and knows no loss {objective.loss.name!r}; "
                "use GradientDescent(batch_size=1) to go row by row with it"
            )
        as_schedule(self.learning_rate, objective.penalty.l2)

    def is_deterministic_map(self, penalty: Penalty) -> bool:
        return not self.shuffle and constant_step(self.learning_rate)

    @property
    def by_row(self) -> bool:
        return True

    def _run(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None
    ) -> OnlineRun:
        rescales = state is None and only_rescales(objective, self.learning_rate, W)
        return OnlineRun.start(
            objective, self.learning_rate, W, rng, state, shuffle=self.shuffle,
            average=self.average, rescales=rescales,
        )  # fmt: skip

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        return self._run(objective, W, rng, state).epochs()

    def expected_state(self, objective: Objective) -> Check:
        return expected_online_state(objective.shape, self.average)

    def updates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """Yield one step per update; a step without ``rows`` ends a pass."""
        return self._run(objective, W, rng, state).epochs(max_updates=1)

    def visits(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        return self._run(objective, W, rng, state).visits()


@dataclass(frozen=True, repr=False)
class BatchPerceptron(Solver):
    """``(w, b) += step * (sum of y * (x, 1) over all mistakes)``, once per pass.

    Parameters
    ----------
    learning_rate : number, schedule or callable
        Step size, or ``t -> step size`` with t counting passes.
    average : bool
        Keep the mean of the weights after every pass.

    See Also
    --------
    Perceptron : ``update="batch"`` runs it.
    Rosenblatt : updates with one mistake after the other.

    Examples
    --------
    >>> from separatrix import BatchPerceptron, LinearClassifier
    >>> clf = LinearClassifier("perceptron", l2=0.0, solver=BatchPerceptron())
    >>> clf.fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]).stop_
    'no mistakes'
    """

    name = "BatchPerceptron"
    draws = False

    learning_rate: LearningRate = 1.0
    average: bool = False

    def check(self, objective: Objective) -> None:
        """Only the perceptron loss without a penalty is supported."""
        super().check(objective)
        if not is_perceptron(objective.loss):
            raise ValueError(
                f"BatchPerceptron is the perceptron rule and knows no loss "
                f"{objective.loss.name!r}; use GradientDescent() or LBFGS() with it"
            )
        if objective.penalty.l2:
            raise ValueError(
                "the batch perceptron takes no penalty: set l2=0, or go row by row "
                "(Perceptron(update='online'), Rosenblatt()), where each row shrinks the weights"
            )
        as_schedule(self.learning_rate)

    def is_deterministic_map(self, penalty: Penalty) -> bool:
        return constant_step(self.learning_rate)

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One step per pass; J and the mistakes are those at the weights before it."""
        if state is None:
            unit = unit_step(objective, self.learning_rate, W)
            state = {"weights": W / unit, "t": 0, "unit": unit, "sum": np.zeros(W.shape)}
        V, t, unit, total = (state[k] for k in ("weights", "t", "unit", "sum"))
        schedule = Constant(1.0) if unit != 1.0 else as_schedule(self.learning_rate)
        while True:
            loss_sum, mistakes, sums, rows = objective.source.total(Mistaken(objective.loss, V))
            if not objective.intercept:
                sums[:, -1] = 0.0
            t += 1
            V = V + step_sizes(schedule, t, 1)[0] * sums
            total = total + V
            state = {"weights": V, "t": t, "unit": unit, "sum": total}
            average = unit * total / t if self.average else None
            changed = np.concatenate(rows)
            value = unit * objective.mean(loss_sum, V)
            yield Step(unit * V, state, value, mistakes, changed, len(changed), average=average)

    def expected_state(self, objective: Objective) -> Check:
        W, t = array(*objective.shape), whole()
        return entries({"weights": W, "t": t, "unit": positive, "sum": W})


@dataclass(frozen=True)
class Mistaken(Sum[tuple[float, float, Array, list[Ints]]]):
    """Loss, weighted mistakes, their sum for the weights, and which rows they are."""

    loss: Loss
    W: Array

    def of(self, block: Block) -> tuple[float, float, Array, list[Ints]]:
        """In two reads of the block."""
        y, loss, scores = block.y, self.loss, block.rows.scores(self.W)
        weight = loss.mistakes(y, scores) * (1.0 if block.weight is None else block.weight)
        sums = np.zeros(self.W.shape)
        block.rows.transpose_product(-weight[:, None] * loss.gradient(y, scores), sums)
        rows = block.start + np.flatnonzero(weight)
        return float(weight @ loss.value(y, scores)), float(weight.sum()), sums, [rows]
