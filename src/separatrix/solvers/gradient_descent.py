"""Gradient descent in its four forms: batch, sequential, stochastic and mini-batch.

Problem     min J(W), the weighted mean loss plus the penalty; for a loss with a kink, as closely as
            subgradients allow.
Input       J and its gradient, or rows to visit; step sizes, unless they are to be chosen.
Output      W after every pass, J and the mistakes.
Algorithm   W <- W - step * gradient, of all rows, of one or of a few. Of all rows without a step
            given: Barzilai and Borwein's length, shortened until J falls below its recent values.
Paper       Cauchy (1847); Robbins and Monro, Annals of Mathematical Statistics 22 (1951); Barzilai
            and Borwein, IMA Journal of Numerical Analysis 8 (1988); Grippo, Lampariello and Lucidi,
            SIAM Journal on Numerical Analysis 23 (1986).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import loops
from ..numeric import checks
from ..numeric.expected import Check, array, entries, real, whole
from ..numeric.lazy import cached_property
from ..numeric.types import Array
from ..objective import Objective
from ..penalties import L2, ElasticNet, GroupLasso, Penalty
from ..schedules import InverseScaling, LearningRate, as_schedule, step_sizes
from .base import Solver, State, Step
from .online import OnlineRun
from .online_state import expected_online_state
from .proximal_gradient import MOST_HALVINGS, proximal_gradient
from .rescaling import constant_step, is_perceptron
from .step_bounds import safe_step

STREAM_DELAY = 100.0  # updates for which the step size of a stream stays nearly constant


@dataclass(frozen=True, repr=False)
class GradientDescent(Solver):
    """``W <- W - step * gradient`` for all rows, single rows, or small batches.

    Parameters
    ----------
    batch_size : None, 1 or int
        None: batch descent, one step per pass. 1: row by row, sequential with
        ``shuffle=False`` and stochastic with ``shuffle=True``. k: mini-batches of k rows with
        the mean gradient; if a source is read block by block, the last batch of a block is short.
    shuffle : bool
        A new permutation every pass (without replacement), from one seed; if a source is read
        block by block, of the rows of each block. Ignored by batch descent.
    learning_rate : "auto", number, schedule or callable
        "auto": for batch descent, a line search that starts from the Barzilai-Borwein length (for
        a loss with a kink, decreasing with the square root of t); row by row, a step size for which
        no update increases the loss of its row, if that is smooth, for any length and weight of the
        row (for batches, estimated on some of them), reduced by a fifth after every pass that did
        not lower the objective. Any other value is used as given.
    average : bool
        Average the weights over all updates.

    See Also
    --------
    gradient_descent : minimises any function.
    InverseScaling, StepDecay, Pegasos, Constant : learning rate schedules.

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
        """Row by row, penalties must be equal for all weights, and averages are never sparse."""
        super().check_penalty(penalty)
        if not self.by_row:
            return
        # Row by row weights decay by l2 and receive l1 late; the loops know nothing else.
        if not isinstance(penalty, (L2, ElasticNet, GroupLasso)):
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
        """Validate parameters, and warn about slow combinations."""
        super().check(objective)
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
            _warn_slow(objective)

    def is_deterministic_map(self, penalty: Penalty) -> bool:
        """Whether the step is constant and, row by row, the order fixed and no penalty lazy."""
        fixed = not isinstance(self.learning_rate, str) and constant_step(self.learning_rate)
        return fixed and (not self.by_row or not (self.shuffle or penalty.l1))

    @property
    def chooses_step(self) -> bool:
        return isinstance(self.learning_rate, str)

    @cached_property
    def by_row(self) -> bool:
        return self.batch_size is not None

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        if not self.by_row:
            if self.learning_rate == "auto" and objective.loss.smooth:
                return proximal_gradient(objective, W, state, self.average)
            if self.learning_rate == "auto":
                return subgradient_descent(objective, self._rate(objective), W, state, self.average)
            return self._batch(objective, W, state)
        return self._run(objective, W, rng, state).epochs()

    def expected_state(self, objective: Objective) -> Check:
        """Checks for the state of a run over rows, or of one of the three batch methods."""
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
        if not self.by_row:
            return self.steps(objective, W, rng, state)
        return self._run(objective, W, rng, state).epochs(max_updates=1)

    def visits(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
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
        """Use a decreasing step, because chunks cannot be compared like passes."""
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
    """Batch subgradient descent with a schedule that is shortened if J diverges.

    At a kink J may rise from step to step, but not above its start. (For the perceptron it may,
    because the start is its trivial minimum.)
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


def _warn_slow(objective: Objective) -> None:
    """A user's own loss goes row by row in Python."""
    if loops.compiled(objective.loss) is None:
        warnings.warn(
            f"{objective.loss!r} is not compiled: row-by-row training calls it once per row in "
            "Python; a batch solver such as LBFGS() or GradientDescent() calls it once per block",
            UserWarning,
            stacklevel=2,
        )
