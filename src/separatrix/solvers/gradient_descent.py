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

from .. import loops
from ..data import Block, Sum
from ..numeric import checks
from ..numeric.rows import take_rows, to_dense
from ..numeric.threads import one_blas_thread
from ..numeric.types import Array
from ..objective import Objective
from ..objective.objective import SAMPLE_ROWS
from ..penalties import L2, ElasticNet, Penalty, SparsityInducing
from ..schedules import InverseScaling, LearningRate, as_schedule, step_sizes
from .base import Solver, State, Step
from .line_search import SUFFICIENT_DECREASE
from .online import OnlineRun, warn_slow
from .proximal_gradient import proximal_gradient
from .rescaling import constant_step, is_perceptron
from .thresholds import EIGEN_FEATURES

MOST_HALVINGS = 60
NO_FURTHER = 2.0  # than the distance to a row's own minimum
LARGER = 1.2  # a sample's largest eigenvalue may fall short of the whole's
MEMORY = 10  # recent values of J that a searched step may not exceed
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
    penalties = (L2, SparsityInducing)

    batch_size: int | None = None
    shuffle: bool = True
    learning_rate: LearningRate | str = "auto"
    average: bool = False

    def check_penalty(self, penalty: Penalty) -> None:
        """Row by row each weight is penalised alike, and no mean of weights is 0."""
        super().check_penalty(penalty)
        if not self.by_row or penalty.smooth:
            return
        given = "average=True"
        if not self.average:
            if not isinstance(penalty, ElasticNet):
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
        """If it was not given."""
        return isinstance(self.learning_rate, str)

    @property
    def by_row(self) -> bool:
        """Unless all rows make one batch."""
        return self.batch_size is not None

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One pass after another."""
        if not self.by_row:
            if self.learning_rate == "auto" and not objective.penalty.smooth:
                return proximal_gradient(objective, W, state, self.average)
            if self.learning_rate == "auto" and objective.loss.smooth:
                return barzilai_borwein(objective, W, state, self.average)
            if self.learning_rate == "auto":
                return subgradient_descent(objective, self._rate(objective), W, state, self.average)
            return self._batch(objective, W, state)
        return self._run(objective, W, rng, state).epochs()

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


def safe_step(objective: Objective, batch: int | None = 1, shuffle: bool = True) -> float:
    """One over a bound on the curvature of the mean loss of a batch; None: of all rows.

    The mean of |x|^2 + 1 bounds the largest eigenvalue of the mean of (x, 1)(x, 1)'; in larger
    batches that eigenvalue itself takes over, found on a sample of the rows. Rows, and batches
    of a given order, may be longer or weigh more than the mean by far: none of them is left
    further beyond its own minimum than it came from.
    """
    curvature = objective.loss.max_curvature or 1.0
    objective.checked_standardization()  # refuses features that such a step would never move
    with np.errstate(over="ignore"):
        trace = objective.moments.mean_square + objective.intercept
    if not np.isfinite(trace):
        raise ValueError(
            "the features are too large: the mean of their squares overflows floating point; "
            "scale them, e.g. with sklearn.preprocessing.StandardScaler"
        )
    bound = row = trace if batch is None else max(trace, largest_row(objective) / NO_FURTHER)
    if batch is not None and batch > 1:
        largest = largest_second_moment(objective, trace, LARGER)
        bound = row / batch + (1.0 - 1.0 / batch) * largest
        if not shuffle and objective.source.n_features <= EIGEN_FEATURES:
            bound = max(bound, LARGER * largest_batch(objective, batch) / NO_FURTHER)
    bound = curvature * bound + 2.0 * objective.penalty.l2
    return 1.0 / bound if bound > 0.0 else 1.0


def largest_second_moment(objective: Objective, trace: float, larger: float = 1.0) -> float:
    """Bound on the largest eigenvalue of the mean of (x, 1)(x, 1)', whose trace is given.

    That of a sample, so much larger; of many features the trace itself.
    """
    if objective.source.n_features > EIGEN_FEATURES:
        return trace
    return min(trace, larger * objective.largest_eigenvalue())


def largest_row(objective: Objective) -> float:
    """Most that a row alone adds to the second derivative in units of ``max_curvature``.

    Its weight, as a share of the mean weight, times |x|^2 + 1.
    """
    source = objective.source
    (largest,) = source.total(LargestRow(objective.intercept))
    return float(max(largest)) * (source.n_rows / source.weight_sum)


@dataclass(frozen=True)
class LargestRow(Sum[tuple[list[float]]]):
    """Most that a row of each block adds: lists of several add up to the list of all."""

    intercept: bool

    def of(self, block: Block) -> tuple[list[float]]:
        """Its weight times |x|^2 + 1."""
        squares = loops.squared_norms(block.X) + self.intercept
        return ([float(np.max(squares if block.weight is None else block.weight * squares))],)


def largest_batch(objective: Objective, batch: int) -> float:
    """The same of batches in the order given, found on some of them from all over the rows."""
    source, ask = objective.source, LargestBatch(batch, objective.intercept)
    if source.parts is None:
        largest = max(max(ask.of(block)[0]) for block, _ in source.visits())
    else:
        largest = max(source.total(ask)[0])
    return largest * (source.n_rows / source.weight_sum)


@dataclass(frozen=True)
class LargestBatch(Sum[tuple[list[float]]]):
    """Most that one of some batches of each block adds."""

    batch: int
    intercept: bool

    @property
    def whole_parts(self) -> bool:
        """Batches follow each other without a gap."""
        return True

    def of(self, block: Block) -> tuple[list[float]]:
        """Of one block, whose rows that count are met as they stand."""
        X, y, weight, _ = block
        rows = np.arange(len(y)) if block.present is None else block.present
        count, largest = -(-len(rows) // self.batch), 0.0
        some = np.linspace(0, count - 1, min(count, max(2, SAMPLE_ROWS // self.batch)))
        for start in (self.batch * some.astype(np.int64)).tolist():
            at = rows[start : start + self.batch]
            x = np.column_stack(
                [to_dense(take_rows(X, at)), np.full(len(at), float(self.intercept))]
            )
            if weight is not None:
                x *= np.sqrt(weight[at])[:, None]
            with one_blas_thread(x.size * min(x.shape)):
                products = x @ x.T if len(x) < x.shape[1] else x.T @ x
                largest = max(largest, float(np.linalg.eigvalsh(products)[-1]) / len(at))
        return ([largest],)


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


def barzilai_borwein(
    objective: Objective, W: Array, state: State | None, average: bool
) -> Iterator[Step]:
    """Batch descent with the Barzilai-Borwein step, shortened until J falls enough.

    In variables in which features are centred and of one scale. Barzilai and Borwein (1988)
    take |s|^2 / s.y from the last step s and change of gradient y; J may rise for a moment, so
    the search compares with the largest of its recent values (Grippo, Lampariello and Lucidi,
    1986).
    """
    standardization = objective.checked_standardization()
    if state is None:
        at = objective.value_and_gradient(W)
        state = {
            "weights": W, "gradient": at.gradient, "step": 1.0, "recent": np.array([at.value]),
            "t": 0, "sum": np.zeros(W.shape),
        }  # fmt: skip
    W, gradient, step, recent, t, total = (
        state[name] for name in ("weights", "gradient", "step", "recent", "t", "sum")
    )
    g = standardization.gradient(gradient)
    while True:
        slope = float(np.vdot(g, g))
        for _ in range(MOST_HALVINGS):
            there = W - step * standardization.to_weights(g)
            at = objective.value_and_gradient(there)
            if at.value <= recent.max() - SUFFICIENT_DECREASE * step * slope:
                break
            step *= 0.5 if np.isfinite(at.value) else 0.01
        else:  # rounding leaves no way down, and to go on blindly might lead anywhere
            there, step = W, 1.0
            at = objective.value_and_gradient(W)
        remaining = 0.5 * step * slope
        then = standardization.gradient(at.gradient)
        along = step * float(np.vdot(g, g - then))  # s.y with s = -step * g
        longer = step * step * slope / along if along > 0.0 else step
        step = longer if 0.0 < longer < np.inf else 1.0
        W, g, recent = there, then, np.append(recent, at.value)[-MEMORY:]
        t, total = t + 1, total + W
        state = {
            "weights": W, "gradient": at.gradient, "step": step, "recent": recent, "t": t,
            "sum": total,
        }  # fmt: skip
        mean = total / t if average else None
        yield Step(
            W, state, at.value, at.mistakes, predicted_decrease=remaining, gradient=at.gradient,
            average=mean,
        )  # fmt: skip
