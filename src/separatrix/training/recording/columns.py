"""Values of every step of a fit, one column per quantity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ...data.arrays import as_arrays
from ...data.feature_map import FeatureMap
from ...losses.rivals import best_rival
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from ...rows import RowsLike, rows_of
from ...solvers import Step

MOST_ROWS = 2000  # points of a recording: a page cannot show more
MOST_STEPS = 20_000  # a page stays responsive
MOST_WEIGHTS = 30  # largest number of entries in the weights of a recording
MOST_NUMBERS = 1 << 24  # largest number of entries in the weights of all steps
SCORES_AT_ONCE = 1 << 20  # 8 MB


@dataclass(frozen=True)
class StepColumns:
    """Entry i describes the state after step i, and entry 0 the start; there are N steps."""

    visited: Sequence[Ints | None]  # (N,): visited rows; None: all
    updated: list[Ints]  # (N,): rows that moved the weights, if the solver distinguishes them
    margins: Sequence[Array | None]  # (N,): margins of the visited rows before the step
    sizes: Sequence[float | None]  # (N,): step sizes, if there are any
    weights: Array | None  # (N + 1, k, d + 1); None for kernels
    average: Array | None
    mistakes: Array  # (N + 1,)
    objective: Array
    norm: Array
    passes: list[int]  # the last step of every pass
    cut: bool
    coefficients: list[list[tuple[int, int, float]]] | None = None
    """(N,): for kernels, changes of coefficients: column, row and amount."""

    def __len__(self) -> int:
        return len(self.visited)

    @property
    def best(self) -> list[int | None]:
        """(N + 1,): the pocket, the earliest on ties."""
        found: list[int | None] = [None] * (len(self) + 1)
        best, ends = None, set(self.passes)
        for step in range(1, len(self) + 1):
            if step in ends and (best is None or self.mistakes[step] < self.mistakes[best]):
                best = step
            found[step] = best
        return found

    def at(self, kept: list[int]) -> StepColumns:
        """Only these steps, each merged with the omitted steps before it."""
        spans = list(zip([0, *kept[:-1]], kept, strict=True))
        states, ends = [0, *kept], set(self.passes)
        coefficients = self.coefficients
        return StepColumns(
            visited=[self.visited[step - 1] for step in kept],
            updated=[_joined(self.updated[begin:end]) for begin, end in spans],
            margins=[self.margins[step - 1] for step in kept],
            sizes=[self.sizes[step - 1] for step in kept],
            weights=None if self.weights is None else self.weights[states],
            average=None if self.average is None else self.average[states],
            mistakes=self.mistakes[states],
            objective=self.objective[states],
            norm=self.norm[states],
            passes=[number for number, step in enumerate(kept, 1) if step in ends],
            cut=self.cut,
            coefficients=None if coefficients is None else [
                [one for step in coefficients[begin:end] for one in step] for begin, end in spans
            ],
        )  # fmt: skip


def _joined(rows: list[Ints]) -> Ints:
    found: Ints = np.concatenate(rows) if rows else np.empty(0, np.int64)
    return found


def with_ones(X: RowsLike) -> Array:
    """(x, 1) of every row, dense."""
    dense = rows_of(X).to_dense()
    return np.column_stack([dense, np.ones(len(dense))])


def margins_of(y: AnyArray, scores: Array) -> Array:
    """``y * score``; for more classes, the lead of the true class over its best rival."""
    if scores.shape[1] == 1:
        margins: Array = y * scores[:, 0]
        return margins
    own, _, best = best_rival(y, scores)
    return own - best


def row_steps(steps: Iterator[Step]) -> Iterator[Step]:
    """Steps row by row; the end of a pass is merged with the step of its last row."""
    before: Step | None = None
    for step in steps:
        if step.ends_pass:
            # A pass of single rows ends with a step of its own, which moves nothing: its weights
            # are those of the last row except for what the solver adds at the end.
            joined = step if before is None else before._replace(
                weights=step.weights, average=step.average, ends_pass=True
            )  # fmt: skip
            yield joined
            before = None
        else:
            if before is not None:
                yield before
            before = step


def columns_of(
    objective: Objective, start: Array, steps: Iterator[Step], n_passes: int, most: int,
    features: FeatureMap | None = None,
) -> StepColumns:  # fmt: skip
    """Columns of a run on rows in memory; weights refer to the features as given."""
    most = min(most, max(1, MOST_NUMBERS // start.size))
    kept: list[Step] = []
    passes: list[int] = []
    for number, step in enumerate(islice(row_steps(steps), most), 1):
        # the state may be large and is not used here
        kept.append(step._replace(state={}, alpha=None, variables=None))
        if step.ends_pass:
            passes.append(number)
        if len(passes) == n_passes:
            break
    weights = np.stack([start, *(step.weights for step in kept)])
    mistakes, values = evaluated(objective, weights)
    visited = [step.visited for step in kept]
    margins, average = _margins(objective, weights, visited), _averages(kept, weights)
    if features is not None:
        weights = np.stack([features.to_weights(W) for W in weights])
        average = None if average is None else np.stack([features.to_weights(W) for W in average])
    none = np.empty(0, np.int64)
    return StepColumns(
        visited=visited,
        updated=[none if step.rows is None else step.rows for step in kept],
        margins=margins,
        sizes=[step.step_size for step in kept],
        weights=weights,
        average=average,
        mistakes=mistakes,
        objective=values,
        norm=np.sqrt(np.einsum("nkd,nkd->n", weights, weights)),
        passes=passes,
        cut=len(passes) < n_passes,
    )


def _averages(kept: list[Step], weights: Array) -> Array | None:
    """The mean after every step; the solver's own mean if it has one."""
    means = [step.average for step in kept]
    if not any(mean is not None for mean in means):
        return None
    counts = np.arange(1, len(kept) + 1)[:, None, None]
    found = np.concatenate([weights[:1], np.cumsum(weights[1:], axis=0) / counts])
    for step, mean in enumerate(means, 1):
        if mean is not None:
            found[step] = mean
    return found


def evaluated(objective: Objective, weights: Array) -> tuple[Array, Array]:
    """Weighted mistakes and J at each of these weights, computed once where they repeat."""
    moved = np.ones(len(weights), dtype=bool)
    moved[1:] = np.any(weights[1:] != weights[:-1], axis=(1, 2))
    of = np.cumsum(moved) - 1
    different = weights[moved]
    source, loss = objective.in_memory, objective.loss
    k, n = weights.shape[1], len(source.y)
    share = np.ones(n) if source.weight is None else source.weight
    mistakes, values = np.empty(len(different)), np.empty(len(different))
    each = max(1, SCORES_AT_ONCE // (n * k))
    for first in range(0, len(different), each):
        some = different[first : first + each]
        count = len(some)
        with np.errstate(over="ignore", invalid="ignore"):  # a diverging run overflows
            scores = source.scores(np.ascontiguousarray(some.reshape(count * k, -1)))
            by_row = scores.reshape(n, count, k).transpose(1, 0, 2).reshape(count * n, k)
            y = np.tile(source.y, count)
            wrong = loss.mistakes(y, by_row).reshape(count, n)
            losses = np.asarray(loss.value(y, by_row)).reshape(count, n)
            at = slice(first, first + count)
            mistakes[at] = wrong @ share
            penalties = [objective.penalty.value(W) for W in some]
            values[at] = losses @ share / source.weight_sum + penalties
    return mistakes[of], values[of]


def _margins(
    objective: Objective, weights: Array, visited: list[Ints | None]
) -> list[Array | None]:
    """Margins of the visited rows, with the weights before each step."""
    source = objective.in_memory
    lengths = [0 if rows is None else len(rows) for rows in visited]
    if not any(lengths):
        return [None] * len(visited)
    rows = np.concatenate([rows for rows in visited if rows is not None]).astype(np.int64)
    step = np.repeat(np.arange(len(visited)), lengths)
    found = np.empty(len(rows))
    each = max(1, SCORES_AT_ONCE // weights[0].size)
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(rows), each):
            at = slice(first, first + each)
            x = with_ones(as_arrays(source.take(rows[at])).X)
            scores = np.einsum("nd,nkd->nk", x, weights[step[at]])
            found[at] = margins_of(source.y[rows[at]], scores)
    ends = np.cumsum(lengths)
    return [
        None if rows is None else found[end - length : end]
        for rows, length, end in zip(visited, lengths, ends, strict=True)
    ]
