"""The loops of kernels in Python."""

from __future__ import annotations

import numpy as np

from separatrix.loops.kernel import PANEL, CacheLines, Changes, KernelPerceptronPass, ShiftedRows
from separatrix.losses.rivals import best_rival
from separatrix.numeric.types import Array, Ints


def gaussian_rows(
    rows: Array, reference: ShiftedRows, gamma: float, slots: Ints, out: Array
) -> None:
    differences = rows[:, None] - reference.shifted(reference.rows)[None]
    out[slots] = np.exp(-gamma * (differences**2).sum(axis=2))


def gaussian_sums(rows: Array, reference: ShiftedRows, gamma: float, coefficients: Array) -> Array:
    values = np.empty((len(rows), len(reference.rows)))
    gaussian_rows(rows, reference, gamma, np.arange(len(rows)), values)
    total: Array = values @ coefficients.T
    return total


def exp_neg(values: Array, rate: float) -> Array:
    values[:] = np.exp(-rate * np.maximum(values, 0.0))
    return values


def kernel_pass(run: KernelPerceptronPass, kept: CacheLines, max_updates: int) -> Ints:
    position, before = run.position, run.updates
    scores = run.state.scores
    while position < len(run.order) and run.updates - before < max_updates:
        i = int(run.order[position])
        violation, rival = _violation(run, scores[:, i], i)
        if not violation < 0.0:
            if kept.slot[i] < 0:
                break
            for column, change in _record_update(run, position, i, violation, rival):
                scores[column] += change * kept.values[kept.slot[i]]
            kept.last_used[kept.slot[i]] = run.visits + position + 1
        position += 1
    run.position = position
    new: Ints = run.log[before : run.updates]
    return new


def _violation(run: KernelPerceptronPass, scores: Array, i: int) -> tuple[float, int]:
    """How wrong row i is, and its best rival."""
    if run.y.dtype == np.float64:
        return float(-run.y[i] * scores[0]), -1
    own, rival, best = best_rival(run.y[i : i + 1], scores[None])
    return float(best[0] - own[0]), int(rival[0])


def _record_update(
    run: KernelPerceptronPass, position: int, i: int, violation: float, rival: int
) -> list[tuple[int, float]]:
    """Columns and changes of an update that is now recorded, except in the scores."""
    run.totals += run.weight[i] * violation, run.weight[i]
    run.log[run.updates] = position, i, rival
    size = float(run.sizes(run.log[run.updates : run.updates + 1])[0])
    run.updates += 1
    signs = [(0, int(run.y[i]))] if rival < 0 else [(int(run.y[i]), 1), (rival, -1)]
    for column, sign in signs:
        run.state.coefficients[column, i] += sign * size
        run.state.late[column, i] += (run.visits + position) * sign * size
        run.state.counts[column, i] += sign
    return [(column, sign * size) for column, sign in signs]


def gaussian_update(
    reference: ShiftedRows, gamma: float, bias: float, changes: Changes, kept: Array, scores: Array,
    part: slice,
) -> None:  # fmt: skip
    n = len(reference.rows)
    at = slice(part.start * PANEL, min(part.stop * PANEL, n))
    values = np.empty((len(changes.rows), n))
    rows = reference.take(changes.rows)
    gaussian_rows(rows, reference, gamma, np.arange(len(rows)), values)
    for u, slot in enumerate(changes.slots):
        row = kept[slot, at] if changes.ready[u] else values[u, at] + bias
        if slot >= 0:
            kept[slot, at] = row
        for column, factor in zip(changes.columns[u], changes.factors[u], strict=True):
            if column >= 0:
                scores[column, at] += factor * row
