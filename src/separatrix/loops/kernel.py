"""The compiled loops of kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric.types import AnyArray, Array, Ints
from ._compiled import _loops

PANEL = _loops.panel
MOST_UPDATES = _loops.most_updates


# ---- Gaussian kernel ---------------------------------------------------------------------


@dataclass(frozen=True)
class ShiftedRows:
    """Reference rows, minus a shift that is subtracted when they are read."""

    rows: AnyArray  # (n, features), contiguous, float64 or float32
    shift: Array  # (features,)

    def shifted(self, rows: AnyArray) -> Array:
        """Other rows minus the same shift."""
        shifted: Array = np.ascontiguousarray(rows - self.shift)
        return shifted

    def take(self, rows: Ints) -> Array:
        taken: Array = self.rows[rows].astype(np.float64, copy=False)
        taken -= self.shift
        return taken


def gaussian_rows(
    rows: Array, reference: ShiftedRows, gamma: float, slots: Ints, out: Array
) -> None:
    """Write exp(-gamma |x_i - z|^2), x_i shifted, for all reference rows z to ``out[slots[i]]``.

    Each result has the same bits whichever other rows are computed with it.
    """
    _loops.gaussian_rows(rows, reference.rows, reference.shift, gamma, slots, out)


def gaussian_sums(rows: Array, reference: ShiftedRows, gamma: float, coefficients: Array) -> Array:
    """Sums (rows, k) over the reference of coefficients (k, reference) times kernel values."""
    k, n = coefficients.shape
    padded = np.zeros((k, -(-n // PANEL) * PANEL))
    padded[:, :n] = coefficients
    sums = np.zeros((len(rows), k, PANEL))
    _loops.gaussian_sums(rows, reference.rows, reference.shift, gamma, padded, sums)
    total: Array = sums.sum(axis=2)
    return total


def exp_neg(values: Array, rate: float) -> Array:
    """Replace contiguous values by exp(-rate * max(values, 0))."""
    _loops.exp_neg_all(values, -rate)
    return values


# ---- kernel perceptron -------------------------------------------------------------------


@dataclass(frozen=True)
class KernelPerceptronState:
    """What a pass changes, all (columns, n)."""

    scores: Array
    coefficients: Array
    late: Array  # every change times the number of visits before it
    counts: Ints  # updates by each row, signed

    @classmethod
    def zero(cls, columns: int, n: int) -> KernelPerceptronState:
        """Before the first pass."""
        scores, coefficients, late = np.zeros((3, columns, n))
        return cls(scores, coefficients, late, np.zeros((columns, n), dtype=np.int64))


@dataclass(frozen=True)
class CacheLines:
    """The cached rows of the kernel matrix."""

    values: Array  # (capacity, n)
    slot: Ints  # (n,): a row's slot, or -1
    last_used: Ints  # (capacity,): the visit that last used it


@dataclass
class KernelPerceptronPass:
    """One pass: the order of the visits and the results so far."""

    y: AnyArray  # signs, or numbers of more than two classes
    weight: Array
    factor: Array  # a row's step is one of the steps times its factor
    order: Ints
    steps: Array  # one per position in the order, or a single one
    visits: int  # number of visits before this pass
    state: KernelPerceptronState

    def __post_init__(self) -> None:
        self.totals = np.zeros(2)  # weighted loss and mistakes, each row before its update
        self.log = np.empty((len(self.order), 3), dtype=np.int64)
        self.position = self.updates = 0

    @property
    def ended(self) -> bool:
        return self.position >= len(self.order)

    def sizes(self, log: Ints) -> Array:
        steps: Array = self.steps[log[:, 0] % len(self.steps)]
        return steps * self.factor[log[:, 1]]

    def arrays(self) -> tuple[AnyArray, ...]:
        """The arguments of the compiled loops, in their order."""
        state = self.state
        return (
            self.y, self.weight, self.factor, self.order, self.steps, state.scores,
            state.coefficients, state.late, state.counts, self.totals, self.log[self.updates :],
        )  # fmt: skip

    def advance(self, position: int, updates: int) -> Ints:
        """Advance to a position; returns position, row and rival (or -1) of the new updates."""
        before = self.updates
        self.position, self.updates = position, before + updates
        new: Ints = self.log[before : self.updates]
        return new


def kernel_pass(run: KernelPerceptronPass, kept: CacheLines, max_updates: int) -> Ints:
    """Visit rows and update at every mistake; returns the new updates.

    It ends after ``max_updates``, or before a mistake whose kernel row is not cached.
    """
    return run.advance(
        *_loops.kernel_pass(
            run.arrays(), kept.values, kept.slot, kept.last_used, run.visits, run.position,
            len(run.order), max_updates,
        )
    )  # fmt: skip


def gaussian_scan(
    run: KernelPerceptronPass, reference: ShiftedRows, gamma: float, bias: float, width: int
) -> Ints:
    """Visit up to ``width`` rows like ``kernel_pass``, but leave the scores to ``gaussian_update``.

    Among the visited rows each mistake takes effect at once, so no update is missed. It ends after
    ``MOST_UPDATES``.
    """
    next_rows = reference.take(run.order[run.position : run.position + width])
    return run.advance(
        *_loops.gaussian_scan(
            run.arrays(), next_rows, gamma, bias, run.visits, run.position, MOST_UPDATES
        )
    )  # fmt: skip


@dataclass(frozen=True)
class Changes:
    """What some mistakes change in the scores of all rows."""

    rows: Ints  # (m,)
    columns: Ints  # (m, 2), -1 for none
    factors: Array  # (m, 2)
    slots: Ints  # (m,): the slot of the kernel row, or -1
    ready: Ints  # (m,): 1 if the slot is filled, 0 if the row must be computed


def gaussian_update(
    reference: ShiftedRows, gamma: float, bias: float, changes: Changes, kept: Array, scores: Array,
    part: slice,
) -> None:  # fmt: skip
    """Add the changes, in order, to the scores (k, n) of the rows in some panels.

    A panel is ``PANEL`` rows. A kernel row with a slot in ``kept`` is read from it if ready, else
    computed and stored there.
    """
    fresh = reference.take(changes.rows[changes.ready == 0])
    _loops.gaussian_update(
        fresh, reference.rows, reference.shift, gamma, bias, changes.columns, changes.factors,
        changes.slots, changes.ready, kept, scores, part.start, part.stop,
    )  # fmt: skip
