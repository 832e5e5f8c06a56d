"""The kernels: see :mod:`separatrix.kernels`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..loops import kernel as kernel_loops
from ..loops.kernel import ShiftedRows
from ..numeric.threads import equal_parts, n_threads, one_blas_thread, ordered_sum
from ..numeric.types import AnyArray, Array, Ints
from .thresholds import WORTH_A_THREAD

Matrix = Any  # a float64 array, or scipy CSR: scipy carries no types
KernelFunction = Callable[[Matrix, Matrix], Any]

FEW_ROWS = 32  # that identify a user's function
ROWS_AT_ONCE = 128  # fit the processor's cache, with their sums and the reference


@dataclass(frozen=True)
class Reference:
    """Rows that others are compared with, and what kernels need of them, computed once."""

    rows: Matrix
    transposed: Matrix
    squares: Array | float = 0.0  # |x|^2 of each row, if the kernel asks for it
    dense: ShiftedRows | None = None  # the rows for the compiled loop, if the kernel has one


@dataclass(frozen=True)
class Kernel:
    """A function that replaces the inner product."""

    two_steps: ClassVar[bool] = False  # whether ``apply_elementwise`` changes anything

    def to_dict(self, rows: Matrix) -> dict[str, Any]:
        """Name and parameters as plain data that determine its values on these rows."""
        return {"kernel": type(self).__name__, **asdict(self)}

    def prepare(self, rows: Matrix) -> Reference:
        """Prepare the rows that others are compared with."""
        return Reference(rows, rows.T.tocsr() if sp.issparse(rows) else rows.T)

    def pairwise(self, rows: Matrix, reference: Reference) -> Array:
        """New array (rows, reference rows) from which ``apply_elementwise`` gets kernel values."""
        return products(rows, reference)

    def apply_elementwise(self, values: Array) -> Array:
        """Turn the result of ``pairwise`` into kernel values, in place."""
        return values

    def between(self, rows: Matrix, reference: Reference) -> Array:
        """Block of the kernel matrix, of shape (rows, reference rows)."""
        return self.apply_elementwise(self.pairwise(rows, reference))

    def compute_into(self, rows: Matrix, reference: Reference, out: Array, slots: Ints) -> None:
        """Write what ``pairwise`` returns for the first rows to ``out[slots]``."""
        out[slots] = self.pairwise(rows, reference)[: len(slots)]

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

    def apply_elementwise(self, values: Array) -> Array:
        """Repeated products, not a general power: many times faster, and exact on integers."""
        values *= self.gamma
        values += self.coef0
        base = values.copy() if self.degree > 1 else values
        for _ in range(self.degree - 1):
            values *= base
        return values


@dataclass(frozen=True)
class Gaussian(Kernel):
    """Close to 1 for close rows, to 0 for distant ones."""

    gamma: float = 1.0

    def prepare(self, rows: Matrix) -> Reference:
        """Shift dense rows near the origin, to reduce the cancellation in |x - z|^2.

        The shift is integral, so that integer rows stay integers, and dense and sparse rows agree.
        """
        if sp.issparse(rows):
            return Reference(rows, rows.T.tocsr(), squares(rows))
        shift = np.rint(rows.mean(axis=0, dtype=np.float64))
        return Reference(rows, None, dense=ShiftedRows(rows, shift))

    def pairwise(self, rows: Matrix, reference: Reference) -> Array:
        """exp(-gamma |x - z|^2), with |x - z|^2 = |x|^2 + |z|^2 - 2 x.z; below 0 is rounding."""
        if reference.dense is not None:
            values = np.empty((rows.shape[0], len(reference.dense.rows)))
            self.compute_into(rows, reference, values, np.arange(len(values)))
            return values
        values = products(rows, reference)
        values *= -2.0
        values += squares(rows)[:, None]
        values += reference.squares
        return kernel_loops.exp_neg(values, self.gamma)

    def compute_into(self, rows: Matrix, reference: Reference, out: Array, slots: Ints) -> None:
        """As in the base class, without a copy of dense rows."""
        dense = reference.dense
        if dense is None:
            super().compute_into(rows, reference, out, slots)
            return
        shifted = dense.shifted(_as_dense(rows))
        threads = _threads(len(slots), dense)

        def some(at: slice) -> tuple[()]:
            kernel_loops.gaussian_rows(shifted[at], dense, self.gamma, slots[at], out)
            return ()

        ordered_sum(some, equal_parts(len(slots), threads), threads)

    def sums(self, rows: Matrix, reference: Reference, coefficients: Array) -> Array:
        """As in the base class; for dense rows without storing the kernel matrix."""
        dense = reference.dense
        if dense is None:
            return super().sums(rows, reference, coefficients)
        sums = np.empty((rows.shape[0], len(coefficients)))

        def some(start: int) -> tuple[()]:
            at = slice(start, start + ROWS_AT_ONCE)
            shifted = dense.shifted(_as_dense(rows[at]))
            sums[at] = kernel_loops.gaussian_sums(shifted, dense, self.gamma, coefficients)
            return ()

        starts = list(range(0, len(sums), ROWS_AT_ONCE))
        ordered_sum(some, starts, _threads(len(sums), dense))
        return sums


def _threads(rows: int, dense: ShiftedRows) -> int:
    """Number of threads that pays off for this many rows."""
    return n_threads(None) if rows * len(dense.rows) >= WORTH_A_THREAD else 1


def _as_dense(rows: Matrix) -> AnyArray:
    dense: AnyArray = rows.toarray() if sp.issparse(rows) else rows
    return dense


@dataclass(frozen=True)
class Laplacian(Kernel):
    """Like the Gaussian, with the sum of absolute differences; not a product, so without BLAS."""

    two_steps = True
    gamma: float = 1.0

    def pairwise(self, rows: Matrix, reference: Reference) -> Array:
        """sum_j |x_j - z_j|."""
        from sklearn.metrics.pairwise import manhattan_distances  # slow to import

        values: Array = manhattan_distances(rows, reference.rows)
        return values

    def apply_elementwise(self, values: Array) -> Array:
        """exp(-gamma distance)."""
        return kernel_loops.exp_neg(values, self.gamma)


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """tanh(gamma x.z + coef0)."""

    two_steps = True
    gamma: float = 1.0
    coef0: float = 1.0

    def apply_elementwise(self, values: Array) -> Array:
        """Tanh(gamma x.z + coef0)."""
        values *= self.gamma
        values += self.coef0
        return np.tanh(values, out=values)


@dataclass(frozen=True)
class Custom(Kernel):
    """A user's function."""

    function: KernelFunction

    def to_dict(self, rows: Matrix) -> dict[str, Any]:
        """The values of the function for a few rows: its name alone cannot be trusted."""
        some = rows[:FEW_ROWS]
        values = self.between(some, self.prepare(some))
        return {"kernel": "Custom", "values": sha256(values.tobytes()).hexdigest()}

    def pairwise(self, rows: Matrix, reference: Reference) -> Array:
        """Call the function and check that the result is a kernel matrix."""
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
    """The rows are already rows of the kernel matrix."""

    def prepare(self, rows: Matrix) -> Reference:
        """Return the rows; nothing is compared."""
        return Reference(rows, None)

    def pairwise(self, rows: Matrix, reference: Reference) -> Array:
        return rows.toarray() if sp.issparse(rows) else np.array(rows)


def products(rows: Matrix, reference: Reference) -> Array:
    """Inner products (rows, reference rows), dense; the same bits on any number of threads."""
    multiplications = rows.shape[0] * rows.shape[1] * reference.transposed.shape[1]
    with one_blas_thread(multiplications):
        result = rows @ reference.transposed
    values: Array = np.ascontiguousarray(_as_dense(result))
    return values


def squares(rows: Matrix) -> Array:
    """|x|^2 of each row."""
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    result: Array = np.einsum("ij,ij->i", rows, rows)
    return result
