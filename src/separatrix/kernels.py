"""Mercer kernels: inner products in a space of features that is never written down.

============ =====================================
name         K(x, z)
============ =====================================
``linear``   x.z
``poly``     (gamma x.z + coef0)^degree
``rbf``      exp(-gamma |x - z|^2)
``laplacian`` exp(-gamma sum_j |x_j - z_j|)
``sigmoid``  tanh(gamma x.z + coef0)
============ =====================================

The sigmoid is no inner product for most of its parameters: with it the theorems about the
perceptron do not hold. Beside the names there are ``"precomputed"``, where the rows are rows of
the kernel matrix, and any callable ``f(A, B) -> (len(A), len(B))``.

A kernel is computed in two steps: ``begin``, which compares rows with rows and is left to BLAS,
and ``finish``, a function of each number by itself. So whoever prefetches rows that may never
be used (:class:`KernelRows`) pays for their powers only when they are. The Gaussian of dense
rows has a compiled loop that does both at once.

>>> import numpy as np
>>> X = np.array([[0.0, 1.0], [2.0, 1.0]])
>>> kernel = get_kernel("poly", X, gamma=1.0, degree=2, coef0=1.0)
>>> kernel.between(X, kernel.prepare(X))
array([[ 4.,  4.],
       [ 4., 36.]])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .data.pool import n_threads, one_blas_thread, ordered_sum
from .loops import kernel as kernel_loops
from .loops.kernel import KeptRows, Panels
from .typing import Array, Ints

Matrix = Any  # a float64 array, or scipy CSR: scipy carries no types
KernelFunction = Callable[[Matrix, Matrix], Any]

NAMES = ("rbf", "poly", "linear", "sigmoid", "laplacian", "precomputed")
SMALL = 2 << 20  # bytes of rows that stay in a processor's cache: no need to read them for many
MOST_AT_ONCE = 64 << 20  # bytes of a block of kernel rows
WORTH_A_THREAD = 200_000  # kernel values
ROWS_AT_ONCE = 128  # which stay in a processor's cache, with their sums, beside the reference
WORTH_A_CALL = 16_000  # kernel values that cost as much as the call that computes them


@dataclass(frozen=True)
class Reference:
    """Rows with which others are compared, and what kernels need of them, computed once."""

    rows: Matrix
    transposed: Matrix
    squares: Array | float = 0.0
    """|x|^2 of each row, if the kernel asks for it."""
    shift: Array | None = None
    """What was taken from each row."""
    panels: Panels | None = None
    """The rows for the compiled loop, if the kernel has one."""


@dataclass(frozen=True)
class Kernel:
    """Something that can stand for an inner product."""

    two_steps: ClassVar[bool] = False
    """Whether ``finish`` has anything to do."""

    def prepare(self, rows: Matrix) -> Reference:
        """Rows to compare others with."""
        return Reference(rows, rows.T.tocsr() if sp.issparse(rows) else rows.T)

    def begin(self, rows: Matrix, reference: Reference) -> Array:
        """A new array (rows, reference rows) from which ``finish`` makes kernel values."""
        return products(rows, reference)

    def finish(self, values: Array) -> Array:
        """Kernel values, in the place of what ``begin`` gave."""
        return values

    def between(self, rows: Matrix, reference: Reference) -> Array:
        """Block of the kernel matrix, (rows, reference rows)."""
        return self.finish(self.begin(rows, reference))

    def fill(self, rows: Matrix, reference: Reference, out: Array, places: Ints) -> None:
        """``out[places]`` becomes what ``begin`` gives for the first of the rows."""
        out[places] = self.begin(rows, reference)[: len(places)]

    def sums(self, rows: Matrix, reference: Reference, coefficients: Array) -> Array:
        """Sums (rows, k) over the reference of coefficients (k, reference) times the kernel."""
        values: Array = self.between(rows, reference) @ coefficients.T
        return values


@dataclass(frozen=True)
class Linear(Kernel):
    """The inner product itself."""


@dataclass(frozen=True)
class Polynomial(Kernel):
    """All monomials up to a degree (of exactly that degree if coef0 = 0)."""

    two_steps = True
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    def finish(self, values: Array) -> Array:
        """Products instead of a general power: many times faster, and exact on integers."""
        values *= self.gamma
        values += self.coef0
        base = values.copy() if self.degree > 1 else values
        for _ in range(self.degree - 1):
            values *= base
        return values


@dataclass(frozen=True)
class Gaussian(Kernel):
    """Near 1 for near rows, 0 for far ones."""

    gamma: float = 1.0

    def prepare(self, rows: Matrix) -> Reference:
        """Dense rows are moved near the origin, for the sake of the cancellation in |x - z|^2.

        By whole numbers, so that integer rows stay integer, and dense and sparse the same.
        """
        if sp.issparse(rows):
            return Reference(rows, rows.T.tocsr(), squares(rows))
        shift = np.rint(rows.mean(axis=0))
        return Reference(rows, None, shift=shift, panels=Panels.of(rows - shift))

    def begin(self, rows: Matrix, reference: Reference) -> Array:
        """exp(-gamma |x - z|^2), with |x - z|^2 as |x|^2 + |z|^2 - 2 x.z; below 0 is rounding."""
        if reference.panels is not None:
            values = np.empty((rows.shape[0], reference.panels.count))
            self.fill(rows, reference, values, np.arange(len(values)))
            return values
        values = products(rows, reference)
        values *= -2.0
        values += squares(rows)[:, None]
        values += reference.squares
        return kernel_loops.decay(values, self.gamma)

    def fill(self, rows: Matrix, reference: Reference, out: Array, places: Ints) -> None:
        """The same, without a copy of dense rows."""
        if reference.panels is None:
            super().fill(rows, reference, out, places)
        else:
            moved = _moved(rows, reference)
            kernel_loops.gaussian_rows(moved, reference.panels, self.gamma, places, out)

    def sums(self, rows: Matrix, reference: Reference, coefficients: Array) -> Array:
        """The same sums, in dense rows without writing the kernel down."""
        panels = reference.panels
        if panels is None:
            return super().sums(rows, reference, coefficients)
        sums = np.empty((rows.shape[0], len(coefficients)))

        def some(start: int) -> tuple[()]:
            at = slice(start, start + ROWS_AT_ONCE)
            moved = _moved(rows[at], reference)
            sums[at] = kernel_loops.gaussian_sums(moved, panels, self.gamma, coefficients)
            return ()

        starts = list(range(0, len(sums), ROWS_AT_ONCE))
        threads = n_threads(None) if sums.shape[0] * panels.count >= WORTH_A_THREAD else 1
        ordered_sum(some, starts, threads)
        return sums


def _moved(rows: Matrix, reference: Reference) -> Array:
    """Dense rows, moved as those of the reference."""
    moved: Array = (rows.toarray() if sp.issparse(rows) else rows) - reference.shift
    return np.ascontiguousarray(moved)


@dataclass(frozen=True)
class Laplacian(Kernel):
    """As the Gaussian with the sum of absolute differences; no product, so without BLAS."""

    two_steps = True
    gamma: float = 1.0

    def begin(self, rows: Matrix, reference: Reference) -> Array:
        """sum_j |x_j - z_j|."""
        from sklearn.metrics.pairwise import manhattan_distances  # slow to import

        values: Array = manhattan_distances(rows, reference.rows)
        return values

    def finish(self, values: Array) -> Array:
        """exp(-gamma distance)."""
        return kernel_loops.decay(values, self.gamma)


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """tanh(gamma x.z + coef0)."""

    two_steps = True
    gamma: float = 1.0
    coef0: float = 1.0

    def finish(self, values: Array) -> Array:
        """Tanh(gamma x.z + coef0)."""
        values *= self.gamma
        values += self.coef0
        return np.tanh(values, out=values)


@dataclass(frozen=True)
class Custom(Kernel):
    """A user's function."""

    function: KernelFunction

    def begin(self, rows: Matrix, reference: Reference) -> Array:
        """What the function gives, if it is a kernel matrix."""
        values = np.array(self.function(rows, reference.rows), dtype=np.float64)
        expected = (rows.shape[0], reference.rows.shape[0])
        if values.shape != expected:
            raise ValueError(
                f"the kernel {self.function!r} returned an array of shape {values.shape} for "
                f"{expected[0]} and {expected[1]} rows; it must return shape {expected}"
            )
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"the kernel {self.function!r} returned NaN or infinity; every value must be finite"
            )
        return values


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The rows are rows of the kernel matrix already."""

    def prepare(self, rows: Matrix) -> Reference:
        """Nothing is compared."""
        return Reference(rows, None)

    def begin(self, rows: Matrix, reference: Reference) -> Array:
        """The rows themselves."""
        return rows.toarray() if sp.issparse(rows) else np.array(rows)


def products(rows: Matrix, reference: Reference) -> Array:
    """Inner products (rows, reference rows), dense; the same bits on any number of threads."""
    multiplications = rows.shape[0] * rows.shape[1] * reference.transposed.shape[1]
    with one_blas_thread(multiplications):
        result = rows @ reference.transposed
    values: Array = np.ascontiguousarray(result.toarray() if sp.issparse(result) else result)
    return values


def squares(rows: Matrix) -> Array:
    """|x|^2 of each row."""
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    result: Array = np.einsum("ij,ij->i", rows, rows)
    return result


def get_kernel(
    kernel: str | KernelFunction,
    rows: Matrix,
    *,
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 1.0,
) -> Kernel:
    """A kernel by name, or around a callable, with gamma found from the training rows."""
    if callable(kernel):
        return Custom(kernel)
    if kernel not in NAMES:
        raise ValueError(
            f"kernel must be one of {', '.join(map(repr, NAMES))} or a callable "
            f"f(A, B) -> array (len(A), len(B)), got {kernel!r}"
        )
    if kernel == "precomputed":
        return Precomputed()
    if kernel == "linear":
        return Linear()
    number = resolve_gamma(gamma, rows)
    if kernel == "poly":
        return Polynomial(number, degree, coef0)
    if kernel == "sigmoid":
        return Sigmoid(number, coef0)
    return Gaussian(number) if kernel == "rbf" else Laplacian(number)


def resolve_gamma(gamma: str | float, rows: Matrix) -> float:
    """The number that gamma means for these rows, by the rules of scikit-learn's SVC.

    "scale": 1 / (features * variance of all entries), 1 if that is 0; "auto": 1 / features.
    """
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / int(rows.shape[1])
    if isinstance(gamma, str) and gamma == "scale":
        if sp.issparse(rows):
            variance = float(rows.multiply(rows).mean() - rows.mean() ** 2)
        else:
            variance = float(rows.var())
        return 1.0 / (int(rows.shape[1]) * variance) if variance > 0.0 else 1.0
    number = isinstance(gamma, (int, float, np.number)) and not isinstance(gamma, bool)
    if not (number and 0.0 < float(gamma) < np.inf):
        raise ValueError(f"gamma must be 'scale', 'auto' or a finite number above 0, got {gamma!r}")
    return float(gamma)


class KernelRows:
    """Rows of the training kernel matrix, the lately used ones kept.

    They are computed in blocks, of the row that is needed and of those that may be needed soon.
    For BLAS a block always has the same number of rows, filled up if need be: with one shape it
    gives a row the same bits in whatever company, so that a result does not depend on the cache.
    """

    def __init__(self, kernel: Kernel, rows: Matrix, bias: float, cache_bytes: float) -> None:
        n = rows.shape[0]
        self.kernel, self.rows, self.bias = kernel, rows, bias
        self.reference = kernel.prepare(rows)
        if self.reference.panels is not None:
            self.block = int(np.clip(WORTH_A_CALL // n, 4, 32))
        else:
            self.block = 8 if rows.size * 8 <= SMALL or 32 * 8 * n > MOST_AT_ONCE else 32
        self.capacity = max(1, min(n, int(cache_bytes // (8 * n))))
        self.kept = KeptRows(
            np.empty((self.capacity, n)),  # pages that are never used cost nothing
            np.full(n, -1),
            np.zeros(self.capacity, dtype=np.int64),
        )
        self._holders = np.full(self.capacity, -1)  # the row at each place
        self._filled = 0
        self._begun: dict[int, int] = {}  # places of rows that are not finished
        self.computed = 0
        """Rows computed so far, some of them twice if the cache was too small."""

    def row(self, number: int, likely: Callable[[], Ints]) -> Array:
        """K(x_number, x_j) + bias for all j, a view that is valid until the next call.

        ``likely`` is asked, if the row is not at hand, which others may be needed soon.
        """
        if self.kept.place[number] < 0 and number not in self._begun:
            self._compute(number, likely())
        if number in self._begun:
            place = self._begun.pop(number)
            self.kernel.finish(self.kept.values[place])
            self._ready(number, place)
        place = int(self.kept.place[number])
        self.kept.used[place] = self.kept.used.max() + 1
        row: Array = self.kept.values[place]
        return row

    def _ready(self, number: int, place: int) -> None:
        if self.bias:
            self.kept.values[place] += self.bias
        self.kept.place[number] = place

    def _compute(self, number: int, likely: Ints) -> None:
        absent = likely[(self.kept.place[likely] < 0) & (likely != number)].tolist()
        others = [j for j in dict.fromkeys(absent) if j not in self._begun]
        wanted = [number, *others[: min(self.block, self.capacity) - 1]]
        filled = np.array(wanted)
        if self.reference.panels is None:
            filled = np.concatenate([filled, np.full(self.block - len(wanted), number)])
        places = self.free_places(filled[: len(wanted)])
        self.kernel.fill(self.rows[filled], self.reference, self.kept.values, places)
        self.kept.used[places] = self.kept.used.max() + 1
        for row, place in zip(wanted, places.tolist(), strict=True):
            if self.kernel.two_steps:
                self._begun[row] = place
            else:
                self._ready(row, place)
        self.computed += len(wanted)

    def free_places(self, rows: Ints) -> Ints:
        """Places for so many rows: ones never used, then those used longest ago."""
        free = np.arange(self._filled, min(self._filled + len(rows), self.capacity))
        self._filled += len(free)
        if len(free) < len(rows):
            used = self.kept.used.copy()
            used[free] = np.iinfo(np.int64).max
            oldest = np.argsort(used, kind="stable")[: len(rows) - len(free)]
            for row in self._holders[oldest].tolist():
                self._begun.pop(row, None)
            self.kept.place[self._holders[oldest]] = -1
            free = np.concatenate([free, oldest])
        self._holders[free] = rows
        return free
