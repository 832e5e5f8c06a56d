"""Row by row: what every solver that visits rows one after another runs on.

Problem     min J(W), the weighted mean loss plus l1 |w|_1 + l2 |w|^2, or the perceptron's rule on
            its loss.
Input       A source whose rows can be visited in the order given or in random ones; step sizes.
Output      W after every epoch (or every update), and J and the mistakes measured on the way.
Algorithm   W <- W - step * (gradient of the next row or batch), for the perceptron only after a
            mistake; a fresh permutation every epoch. Averaged over all updates if asked for.
            With l1 every weight is then due step * l1 nearer to 0, and no further: it receives
            that when it is next read.
Paper       Robbins and Monro, Annals of Mathematical Statistics 22 (1951); Shalev-Shwartz et al.,
            Pegasos, Mathematical Programming 127 (2011), for the penalty in every step; Polyak and
            Juditsky, SIAM Journal on Control and Optimization 30 (1992), for averages; Tsuruoka,
            Tsujii and Ananiadou, Stochastic gradient descent training for L1-regularized log-linear
            models with cumulative penalty, ACL 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import loops
from ..data import Block, InMemory, Shuffle, Visit
from ..data.row_state import RowState
from ..losses import Loss
from ..numeric.lazy import cached_property
from ..numeric.types import Array, Ints
from ..objective import Objective
from ..schedules import Constant, LearningRate, Schedule, as_schedule, step_sizes
from .base import State, Step
from .parameter_mixing import PartPass, Passed
from .rescaling import common_weight, is_perceptron, near_power, weight_scale
from .thresholds import MOST_AHEAD, VALUES_AHEAD

STEP_CUT = 0.8  # of a step after an epoch that did not lower J
LOG_ROWS = 1 << 17  # that a log of updated rows holds
NUMBERS = ("seed", "passes", "batches", "unit", "rows_before", "weight_before")


class Look(NamedTuple):
    """Report of a step: the visited rows and the step size."""

    visited: Ints
    step_size: float


@dataclass
class OnlineRun:
    """A run over rows, pass by pass or update by update with the same bits.

    Each pass uses the permutation of (seed, pass number), so the state is a few numbers and the
    weights.

    With ``adapts`` the step size is kept while the objective measured in a pass is the lowest so
    far, and is reduced after a pass for which it is not.
    """

    objective: Objective
    schedule: Schedule | Callable[[int], float]
    batch: int
    shuffle: bool
    weights: loops.OnlineWeights
    seed: int
    passes: int = 0
    batches: int = 0
    unit: float = 1.0
    rows_before: int = 0
    weight_before: float = 0.0
    weight_scale: float = 1.0
    """Factor of the weights of rows: they are 1 in the mean, or a power of two."""
    common: float | None = None  # the weight of every row, if that is why they count as 1
    adapts: bool = False
    step_scale: float = 1.0
    least: float = np.inf

    @cached_property
    def screening(self) -> RowState[loops.ScreeningState | None]:
        """What screening remembers of every row."""
        # A function that knew this run would keep it, and its rows, until Python looks for circles.
        begin = partial(begin_screening, loss=self.objective.loss, k=len(self.weights.v))
        return self.objective.source.row_state(begin)

    @classmethod
    def start(
        cls,
        objective: Objective,
        learning_rate: LearningRate,
        W: Array,
        rng: np.random.Generator,
        state: State | None,
        *,
        batch: int = 1,
        shuffle: bool = True,
        average: bool = False,
        rescales: bool = False,
        adapts: bool = False,
    ) -> OnlineRun:
        """At W, or where ``state`` left off.

        With ``rescales`` the step, and by how much weights differ from 1 in the mean, only
        rescale a run from W: they are left to its ``unit``, but for a power of two.
        """
        schedule = as_schedule(learning_rate, objective.penalty.l2)
        common = common_weight(objective.source)
        scale = weight_scale(objective.source, state, common)
        if state is None:
            unit = schedule(1) * scale / near_power(scale) if rescales else 1.0
            state = {
                "weights": W / unit, "seed": int(rng.integers(2**62)), "passes": 0, "batches": 0,
                "unit": unit, "rows_before": 0, "weight_before": 0.0,
            }  # fmt: skip
            if average:
                state["sum"] = np.zeros(W.shape)
        numbers = {name: state[name] for name in NUMBERS}
        factor = 1.0
        step_matters = objective.penalty.l2 or objective.source.has_offset
        if isinstance(schedule, Constant) and not step_matters:
            if numbers["unit"] != 1.0:
                schedule, scale = Constant(schedule.step * scale / numbers["unit"]), 1.0
        else:  # the step no longer only rescales: a run that began so goes on as it is
            factor, numbers["unit"] = numbers["unit"], 1.0
        begun, total = state["weights"], state["sum"] if average else None
        if factor != 1.0:
            begun, total = factor * begun, None if total is None else factor * total
        received = state.get("received", np.zeros(W.shape)) if objective.penalty.l1 else None
        work = loops.OnlineWeights.start(begun, total, received, state.get("cumulative", 0.0))
        if adapts:
            numbers |= {
                "step_scale": state.get("step_scale", 1.0),
                "least": state.get("least", np.inf),
            }
        return cls(
            objective, schedule, batch, shuffle, work, **numbers, weight_scale=scale,
            common=common, adapts=adapts,
        )  # fmt: skip

    def epochs(self, max_updates: int = loops.EVERY_UPDATE) -> Iterator[Step]:
        """One pass after another, in pieces with a limited number of updates."""
        ahead, most = 1, self._most_ahead() if max_updates == loops.EVERY_UPDATE else 1
        while True:
            if self.objective.source.parts is not None:
                yield self._mixed_pass()
            else:
                yield from self.one_pass(max_updates) if ahead == 1 else self._several_epochs(ahead)
            ahead = min(2 * ahead, most)

    def _most_ahead(self) -> int:
        """Number of passes that may be made in one call before the first is inspected."""
        source, loss = self.objective.source, self.objective.loss
        alike = isinstance(self.schedule, Constant) and not self.adapts
        alike = alike and self.weights.received is None  # else reported for each pass
        if not alike or not isinstance(source, InMemory) or loops.compiled(loss) is None:
            return 1
        return max(1, min(MOST_AHEAD, VALUES_AHEAD // (source.n_rows * self.weights.v.size)))

    def _several_epochs(self, count: int) -> Iterator[Step]:
        """Several passes in one call, each reported as if it had been made alone."""
        source, V = self.objective.source, self.weights.v
        shuffle = Shuffle(self.seed, self.passes, count) if self.shuffle else None
        ((block, order),) = source.visits(shuffle)
        if shuffle is None:
            order = np.tile(np.arange(source.n_rows) if order is None else order, count)
        log = np.empty(count * source.n_rows, dtype=np.int64)
        ends = np.empty((count, 3 + V.size * (1 if self.weights.sum is None else 2)))
        steps = step_sizes(self.schedule, 1, 1)
        result = self._advance(block, True, steps=steps, order=order, log=log, ends=ends)
        made = ends[: result.position // source.n_rows]
        each = made[:, 3:].reshape(len(made), -1, *V.shape)
        smooth = self.objective.loss.smooth
        changed = None if smooth else block.numbers(log[: int(made[:, 2].sum())])
        if changed is not None:
            changed.setflags(write=False)  # for all of the passes at once
        last = 0
        for (loss_sum, mistakes, updates), kept in zip(made[:, :3].tolist(), each, strict=True):
            first, last = last, last + int(updates)
            rows = None if changed is None else changed[first:last]
            self.passes += 1
            self.batches += -(-source.n_rows // self.batch)
            total = None if len(kept) == 1 else kept[1]
            yield self._step(kept[0], total, loss_sum, mistakes, int(updates), rows)

    def visits(self) -> Iterator[Step]:
        """One row, or batch, after another, whether it moves the weights or not."""
        while True:
            yield from self.one_pass(1, self.batch)

    def one_pass(self, max_updates: int, most_rows: int | None = None) -> Iterator[Step]:
        """One pass in pieces of limited updates; with ``most_rows``, of limited visited rows."""
        shuffle = Shuffle(self.seed, self.passes) if self.shuffle else None
        self.passes += 1
        loss_sum = mistakes = 0.0
        updates = seen = 0
        rows: list[Ints] = []
        stepwise = max_updates < loops.EVERY_UPDATE
        for visit in self.objective.source.visits(shuffle):
            for piece, changed, look in self._visit(visit, max_updates, most_rows):
                loss_sum += piece.loss_sum
                mistakes += piece.mistakes
                updates += piece.updates
                seen += piece.position
                if stepwise:
                    if piece.updates or look is not None:
                        # Between two passes there is nothing to go on from: no state.
                        at = Step(
                            self._plain(), {}, rows=changed, updates=piece.updates,
                            ends_pass=False, n_visited=seen,
                        )  # fmt: skip
                        seen = 0
                        yield at if look is None else at._replace(**look._asdict())
                elif changed is not None:
                    rows.append(changed)
        self.weights.fold()
        total = None if self.weights.sum is None else self.weights.sum.copy()
        whole = np.concatenate(rows) if len(rows) > 1 else rows[0] if rows else None
        yield self._step(
            self.weights.weights, total, loss_sum, mistakes, updates, whole, visited=seen
        )

    def _visit(
        self, visit: Visit, max_updates: int, most_rows: int | None = None
    ) -> Iterator[tuple[loops.PassResult, Ints | None, Look | None]]:
        block, order = visit
        count = len(block.y) if order is None else len(order)
        # Where every row moves the weights, the log would only repeat the order.
        log = None
        if not self.objective.loss.smooth or max_updates < loops.EVERY_UPDATE:
            max_updates = min(max_updates, LOG_ROWS)  # a long pass goes in pieces: a short log
            log = np.empty(min(count, max_updates + self.batch), dtype=np.int64)
        # Of one row, or one update at a time, screening would not pay.
        screens = max_updates > 1 and count > 1
        steps = step_sizes(self.schedule, self.batches + 1, -(-count // self.batch))
        if self.adapts:
            steps = self.step_scale * steps
        position = 0
        while position < count:
            taken = 0 if len(steps) == 1 else -(-position // self.batch)
            if order is None and (position or most_rows is not None):
                order = np.arange(count)
            end = count if most_rows is None else position + most_rows
            result = self._advance(
                block,
                screens,
                steps=steps[taken:],
                order=None if order is None else order[position:end],
                max_updates=max_updates,
                log=log,
            )
            look = None
            if order is not None and most_rows is not None:
                seen = block.numbers(order[position : position + result.position])
                look = Look(seen, float(steps[taken]))
            position += result.position
            self.batches += -(-result.position // self.batch)
            changed = None if log is None else block.numbers(log[: result.updates])
            yield result, changed, look

    def _mixed_pass(self) -> Step:
        """One pass over each part where it lies, from the same weights, which are then mixed."""
        objective, work = self.objective, self.weights
        ask = PartPass(
            objective.loss, work.v, self.schedule, self.batches + 1, self.step_scale,
            Shuffle(self.seed, self.passes) if self.shuffle else None,
            row_bytes=objective.source.row_bytes, batch=self.batch, l1=objective.penalty.l1,
            l2=objective.penalty.l2, intercept=objective.intercept,
            weight_scale=self.weight_scale, weighted=not self.common,
            average=work.sum is not None, received=work.received, cumulative=work.cumulative,
            by_mistakes=is_perceptron(objective.loss) and not objective.penalty.l2,
            tells_start=self.adapts,
        )  # fmt: skip
        found = Passed(*objective.source.total(ask))
        self.passes += 1
        self.batches += found.longest
        total = None if work.sum is None else work.sum + found.summed()
        self.weights = found.mixed(work, total)
        rows = None if objective.loss.smooth else np.concatenate(found.rows)
        # Parts that go by themselves meet less loss with longer steps: that says nothing of J.
        value = objective.mean(found.at_start, work.v) if self.adapts else None
        return self._step(
            self.weights.v, total, found.loss_sum, found.mistakes, found.updates, rows, value
        )

    def _advance(self, block: Block, screens: bool, **given: Any) -> loops.PassResult:
        """One call of the loop; what screening notes of the rows stays with their source."""
        objective = self.objective
        run = partial(
            block.rows.visits.online_pass, block.y, objective.loss, self.weights,
            weight=None if self.common else block.weight, weight_scale=self.weight_scale,
            l1=objective.penalty.l1, l2=objective.penalty.l2, batch=self.batch,
            intercept=objective.intercept, **given,
        )  # fmt: skip
        return self.screening.advance(block, run) if screens else run()

    def _plain(self) -> Array:
        W = self.weights.weights
        return W if self.unit == 1.0 else self.unit * W

    def _step(
        self,
        weights: Array,
        total: Array | None,
        loss_sum: float,
        mistakes: float,
        updates: int,
        rows: Ints | None,
        value: float | None = None,
        visited: int = 0,
    ) -> Step:
        """The end of a pass; J as measured during the pass, unless a better value is known."""
        if self.common is not None:
            loss_sum, mistakes = self.common * loss_sum, self.common * mistakes
        W = weights if self.unit == 1.0 else self.unit * weights
        if value is None:
            value = self.objective.mean(self.unit * loss_sum, W)
        state: State = {
            "seed": self.seed, "passes": self.passes, "batches": self.batches, "unit": self.unit,
            "rows_before": self.rows_before, "weight_before": self.weight_before,
            "weights": weights,
        }  # fmt: skip
        if self.weights.received is not None:
            received, cumulative = self.weights.received.copy(), self.weights.cumulative
            state |= {"received": received, "cumulative": cumulative}
        if self.adapts:
            if not value < self.least:
                # Not faster than 1 / passes, whose sum has no bound: it gets anywhere in the end.
                self.step_scale = max(
                    STEP_CUT * self.step_scale, min(self.step_scale, 1.0 / self.passes)
                )
            self.least = min(self.least, value)
            state |= {"step_scale": self.step_scale, "least": self.least}
        average = None
        if total is not None:
            state["sum"] = total
            average = self.unit * total / self.batches
        return Step(
            W, state, value, mistakes, rows, updates, step_scale=self.step_scale, average=average,
            n_visited=visited,
        )  # fmt: skip


def begin_screening(block: Block, loss: Loss, k: int) -> loops.ScreeningState | None:
    """Only the perceptron leaves rows alone whose margin is large enough."""
    return block.rows.visits.screening_state(k) if is_perceptron(loss) else None
