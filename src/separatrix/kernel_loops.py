"""The compiled loops of kernels, each beside its plain-Python twin: see :mod:`separatrix.loops`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .compiled import _loops
from .typing import AnyArray, Array, Ints

PANEL = _loops.panel


# ---- Gaussian kernel ---------------------------------------------------------------------


@dataclass(frozen=True)
class Panels:
    """Reference rows, ``PANEL`` of them side by side, zeros at the end, and |z|^2 of each."""

    values: Array
    """(panels, features, PANEL)."""
    squares: Array
    count: int

    @classmethod
    def of(cls, rows: Array) -> Panels:
        """A copy of the rows (n, features)."""
        n, d = rows.shape
        padded = np.zeros((-(-n // PANEL), PANEL, d))
        padded.reshape(-1, d)[:n] = rows
        values = np.ascontiguousarray(padded.transpose(0, 2, 1))
        squares = np.empty(len(values) * PANEL)
        _loops.panel_squares(values, squares)
        return cls(values, squares, n)

    def rows(self) -> Array:
        """The rows again."""
        rows: Array = self.values.transpose(0, 2, 1).reshape(-1, self.values.shape[1])
        return rows[: self.count]


def gaussian_rows(rows: Array, panels: Panels, gamma: float, places: Ints, out: Array) -> None:
    """``out[places[i]]`` becomes exp(-gamma |x_i - z|^2) for all reference rows z.

    Bits do not depend on which other rows are asked for.
    """
    _loops.gaussian_rows(
        rows, panels.values, panels.squares, np.empty(len(rows)), gamma, places, out
    )


def gaussian_rows_twin(rows: Array, panels: Panels, gamma: float, places: Ints, out: Array) -> None:
    """``gaussian_rows`` in NumPy."""
    differences = rows[:, None] - panels.rows()[None]
    out[places] = np.exp(-gamma * (differences**2).sum(axis=2))


def gaussian_sums(rows: Array, panels: Panels, gamma: float, coefficients: Array) -> Array:
    """Sums (rows, k) over the reference of coefficients (k, reference) times kernel values."""
    k = len(coefficients)
    padded = np.zeros((k, len(panels.squares)))
    padded[:, : panels.count] = coefficients
    sums = np.zeros((len(rows), k, PANEL))
    _loops.gaussian_sums(
        rows, panels.values, panels.squares, np.empty(len(rows)), gamma, padded, sums
    )
    total: Array = sums.sum(axis=2)
    return total


def gaussian_sums_twin(rows: Array, panels: Panels, gamma: float, coefficients: Array) -> Array:
    """``gaussian_sums`` in NumPy."""
    values = np.empty((len(rows), panels.count))
    gaussian_rows_twin(rows, panels, gamma, np.arange(len(rows)), values)
    total: Array = values @ coefficients.T
    return total


def decay(values: Array, rate: float) -> Array:
    """exp(-rate * max(values, 0)) in the place of the values, which are contiguous."""
    _loops.decay_all(values, -rate)
    return values


def decay_twin(values: Array, rate: float) -> Array:
    """``decay`` in NumPy."""
    values[:] = np.exp(-rate * np.maximum(values, 0.0))
    return values


# ---- the perceptron in the dual ----------------------------------------------------------


@dataclass(frozen=True)
class DualState:
    """What a pass changes, all (columns, n)."""

    scores: Array
    coefficients: Array
    late: Array
    """Every change times the number of visits before it."""
    counts: Ints
    """Updates by each row, signed."""

    @classmethod
    def zero(cls, columns: int, n: int) -> DualState:
        """Before the first pass."""
        scores, coefficients, late = np.zeros((3, columns, n))
        return cls(scores, coefficients, late, np.zeros((columns, n), dtype=np.int64))


@dataclass(frozen=True)
class KeptRows:
    """Those rows of the kernel matrix that are at hand."""

    values: Array
    """(capacity, n)."""
    place: Ints
    """(n,): where a row stands there, or -1."""
    used: Ints
    """(capacity,): the visit that last used it."""


def kernel_pass(
    y: AnyArray,
    state: DualState,
    kept: KeptRows,
    order: Ints,
    position: int,
    *,
    weight: Array,
    factor: Array,
    steps: Array,
    visits: int,
    max_updates: int,
    totals: Array,
    log: Ints,
) -> tuple[int, int]:
    """Visit rows from a position of the order on, and update at every mistake.

    ``y`` has signs, or numbers of more than two classes. A row's step is one of ``steps`` (one
    per position, or a single one) times its factor. Loss and mistakes are added to ``totals``,
    position, row and rival (or -1) of every update written to ``log``. It ends after
    ``max_updates``, or at a mistake whose kernel row is not at hand.

    Returns the position of the next row to visit, and the number of updates.
    """
    return _loops.kernel_pass(
        y, weight, factor, order, steps, kept.values, kept.place, kept.used, state.scores,
        state.coefficients, state.late, state.counts, visits, position, max_updates, totals, log,
    )  # fmt: skip


def kernel_pass_twin(
    y: AnyArray,
    state: DualState,
    kept: KeptRows,
    order: Ints,
    position: int,
    *,
    weight: Array,
    factor: Array,
    steps: Array,
    visits: int,
    max_updates: int,
    totals: Array,
    log: Ints,
) -> tuple[int, int]:
    """``kernel_pass`` in Python."""
    updates = 0
    while position < len(order) and updates < max_updates:
        i = int(order[position])
        rival = -1
        changes: tuple[tuple[int, int], ...]
        if y.dtype == np.float64:
            violation = -y[i] * state.scores[0, i]
            changes = ((0, int(y[i])),)
        else:
            rivals = state.scores[:, i].copy()
            rivals[y[i]] = -np.inf
            rival = int(rivals.argmax())
            violation = rivals[rival] - state.scores[y[i], i]
            changes = (int(y[i]), 1), (rival, -1)
        if not violation < 0.0:
            if kept.place[i] < 0:
                return position, updates
            totals += weight[i] * violation, weight[i]
            size = steps[0 if len(steps) == 1 else position] * factor[i]
            for column, sign in changes:
                state.scores[column] += sign * size * kept.values[kept.place[i]]
                state.coefficients[column, i] += sign * size
                state.late[column, i] += (visits + position) * sign * size
                state.counts[column, i] += sign
            kept.used[kept.place[i]] = visits + position + 1
            log[updates] = position, i, rival
            updates += 1
        position += 1
    return position, updates
