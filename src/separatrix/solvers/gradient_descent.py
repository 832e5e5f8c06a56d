"""Gradient descent in its four forms: batch, sequential, stochastic and mini-batch.

Problem     min J(W), the weighted mean loss plus the penalty; of a loss with a kink as near as
            subgradients get.
Input       J and its gradient, or rows to visit; step sizes, unless they are to be found.
Output      W after every pass, J and the mistakes.
Algorithm   W <- W - step * gradient, of all rows, of one or of a few. Of all rows without a step
            given: Barzilai and Borwein's length, shortened until J falls below its recent values.
Paper       Cauchy (1847); Robbins and Monro, Annals of Mathematical Statistics 22 (1951); Barzilai
            and Borwein, IMA Journal of Numerical Analysis 8 (1988); Grippo, Lampariello and Lucidi,
            SIAM Journal on Numerical Analysis 23 (1986).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numeric import checks
from ..numeric.expected import Check, array, entries, real, whole
from ..numeric.types import Array
from ..objective import Objective
from ..penalties import L2, ElasticNet, GroupLasso, Penalty
from ..schedules import InverseScaling, LearningRate, as_schedule, step_sizes
from .base import Solver, State, Step
from .online import OnlineRun, expected_online_state, warn_slow
from .proximal_gradient import MOST_HALVINGS, proximal_gradient
from .rescaling import constant_step, is_perceptron
from .step_bounds import safe_step

STREAM_DELAY = 100.0  # updates for which the step of a stream stays nearly whole


@dataclass(frozen=True, repr=False)
class GradientDescent(Solver):
    """``W <- W - step * gradient`` of all rows, of one, or of a few at a time.

    Parameters
    ----------
    batch_size : None, 1 or int
        None: batch descent, one step per pass. 1: row by row, sequential with
        ``shuffle=False`` and stochastic with ``shuffle=True``. k: mini-batches of k rows, the
        mean over each; the last one of a block, where a source is read block by block, is short.
    shuffle : bool
        A fresh permutation every pass (without replacement), from one seed; of a source that is
        read block by block, one of the rows of each block. Batch descent does not look at it.
    learning_rate : "auto", number, schedule or callable
        "auto": in batch form a step found by a search that starts from the Barzilai-Borwein
        length (for a loss with a kink, falling with the square root of t); row by row a step
        after which no row's own loss, if it is smooth, can be higher, however long the row and
        whatever its weight (in batches as much is found on some of them); cut by a fifth after
        every pass that did not lower the objective. Anything else is taken as it is.
    average : bool
        Keep the mean of the weights after every update.

    See Also
    --------
    gradient_descent : on any function.
    InverseScaling, StepDecay, Pegasos, Constant : steps.

    Examples
    --------
    >>> from separatrix import GradientDescent, LinearClassifier
    >>> clf = LinearClassifier(l2=0.1, solver=GradientDescent())
    >>> clf.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).stop_, round(clf.objective_, 5)
    ('optimal', 0.43651)
    """

    name = "GradientDescent"
    any_penalty = True

    batch_size: int | None = None
    shuffle: bool = True
    learning_rate: LearningRate | str = "auto"
    average: bool = False

    def check_penalty(self, penalty: Penalty) -> None:
        """Row by row each weight is penalised alike, and no mean of weights is 0."""
        super().check_penalty(penalty)
        if not self.by_row:
            return
        # Row by row weights decay by l2 and receive l1 late; the loops know nothing else.
        if not isinstance(penalty, L2 | ElasticNet | GroupLasso):
            raise ValueError(
                f"GradientDescent(batch_size={self.batch_size!r}) goes row by row and takes l1 and "
                "l2 alone; fit all rows at once by GradientDescent() or ProximalNewton()"
            )
        if penalty.smooth:
            return
        given = "average=True"
        if not self.average:
            if penalty.groups is not None:
                given = "groups"
            elif penalty.weights is not None:
                given = "penalty_weights"
            else:
                return
        raise ValueError(
            f"GradientDescent(batch_size={self.batch_size!r}) goes row by row and takes l1 without "
            f"{given}; leave them out, or fit all rows at once by GradientDescent() or "
            "ProximalNewton()"
        )

    def check(self, objective: Objective) -> None:
        """Parameters in range; slow pairings are warned of."""
        if not objective.loss.smooth and not objective.penalty.smooth:
            raise ValueError(
                f"GradientDescent cannot minimise {objective.loss.name!r}, which has a kink, with "
                "l1 or penalty_weights; use loss='squared_hinge' or 'logistic'"
            )
        size: Any = self.batch_size
        if size is not None and not (checks.is_integer(size) and size >= 1):
            raise ValueError(
                f"batch_size must be None (all rows), 1 or a larger whole number, got {size!r}"
            )
        if isinstance(self.learning_rate, str):
            if self.learning_rate != "auto":
                raise ValueError(
                    f"learning_rate must be 'auto', a number, a schedule or a callable, "
                    f"got {self.learning_rate!r}"
                )
        else:
            as_schedule(self.learning_rate, objective.penalty.l2)
        if self.by_row:
            warn_slow(objective)

    def is_deterministic_map(self, penalty: Penalty) -> bool:
        """Constant step and, row by row, fixed order, and no penalty that weights receive late."""
        fixed = not isinstance(self.learning_rate, str) and constant_step(self.learning_rate)
        return fixed and (not self.by_row or not (self.shuffle or penalty.l1))

    @property
    def chooses_step(self) -> bool:
        """Whether the step was not given."""
        return isinstance(self.learning_rate, str)

    @property
    def by_row(self) -> bool:
        """Whether rows are visited in batches."""
        return self.batch_size is not None

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One pass after another."""
        if not self.by_row:
            if self.learning_rate == "auto" and objective.loss.smooth:
                return proximal_gradient(objective, W, state, self.average)
            if self.learning_rate == "auto":
                return subgradient_descent(objective, self._rate(objective), W, state, self.average)
            return self._batch(objective, W, state)
        return self._run(objective, W, rng, state).epochs()

    def expected_state(self, objective: Objective) -> Check:
        """That of a run over rows, or of one of the three over all rows at once."""
        if self.by_row:
            return expected_online_state(objective.shape, self.average)
        W = array(*objective.shape)
        state = {"weights": W, "t": whole(), "sum": W}
        if self.learning_rate == "auto" and objective.loss.smooth:
            state |= {"gradient": W, "step": real, "recent": array(None)}
        elif self.learning_rate == "auto":
            state |= {"gradient": W, "level": real, "short": real}
        return entries(state)

    def updates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One update after another."""
        if not self.by_row:
            return self.steps(objective, W, rng, state)
        return self._run(objective, W, rng, state).epochs(max_updates=1)

    def visits(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One row or batch after another."""
        if not self.by_row:
            return self.steps(objective, W, rng, state)
        return self._run(objective, W, rng, state).visits()

    def _run(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None
    ) -> OnlineRun:
        batch = min(self.batch_size or 1, objective.source.n_rows)
        return OnlineRun.start(
            objective, self._rate(objective), W, rng, state, batch=batch, shuffle=self.shuffle,
            average=self.average, adapts=self.learning_rate == "auto",
        )  # fmt: skip

    def _rate(self, objective: Objective) -> LearningRate:
        """The learning rate, with "auto" made from the data."""
        if not isinstance(self.learning_rate, str):
            return self.learning_rate
        step = safe_step(objective, self.batch_size, self.shuffle)
        return step if self.by_row else InverseScaling(step)

    def for_partial_fit(self, objective: Objective) -> Solver:
        """With a step that falls with the rows seen: chunks cannot be compared as passes can."""
        if self.learning_rate != "auto" or not self.by_row:
            return self
        rate = InverseScaling(safe_step(objective), power=0.75, delay=STREAM_DELAY)
        return replace(self, learning_rate=rate)

    def _batch(self, objective: Objective, W: Array, state: State | None) -> Iterator[Step]:
        schedule = as_schedule(self._rate(objective), objective.penalty.l2)
        state = {"weights": W, "t": 0, "sum": np.zeros(W.shape)} if state is None else state
        W, t, total = state["weights"], state["t"], state["sum"]
        while True:
            at = objective.value_and_gradient(W)
            t += 1
            step = step_sizes(schedule, t, 1)[0]
            W = objective.penalty.prox(W - step * at.gradient, float(step))
            total = total + W
            state = {"weights": W, "t": t, "sum": total}
            average = total / t if self.average else None
            yield Step(W, state, at.value, at.mistakes, average=average, step_size=float(step))


def subgradient_descent(
    objective: Objective, rate: LearningRate, W: Array, state: State | None, average: bool
) -> Iterator[Step]:
    """Batch descent on a loss with a kink, by a schedule that is shortened where J leaves it.

    Across a kink J may rise from step to step, but not above where it began. (The perceptron's
    begins at its trivial minimum: it may.)
    """
    schedule = as_schedule(rate, objective.penalty.l2)
    if state is None:
        at = objective.value_and_gradient(W)
        perceptron = is_perceptron(objective.loss)
        state = {
            "weights": W, "gradient": at.gradient, "level": np.inf if perceptron else at.value,
            "short": 1.0, "t": 0, "sum": np.zeros(W.shape),
        }  # fmt: skip
    W, gradient, level, short, t, total = (
        state[name] for name in ("weights", "gradient", "level", "short", "t", "sum")
    )
    first = step_sizes(schedule, 1, 1)[0]
    while True:
        t += 1
        step = step_sizes(schedule, t, 1)[0]
        for _ in range(MOST_HALVINGS):
            there = W - short * step * gradient
            at = objective.value_and_gradient(there)
            if at.value <= level:
                break
            short *= 0.5
        else:
            there, at = W, objective.value_and_gradient(W)
        W, gradient, total = there, at.gradient, total + there
        state = {
            "weights": W, "gradient": gradient, "level": level, "short": short, "t": t,
            "sum": total,
        }  # fmt: skip
        mean = total / t if average else None
        yield Step(W, state, at.value, at.mistakes, step_scale=short * step / first, average=mean)
