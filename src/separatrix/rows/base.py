"""The interface of rows: sums for any storage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from ..loops import batch_in_parts
from ..losses import Loss
from ..numeric.standardization import Standardization
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints
from .thresholds import GRAM_ROWS
from .vectors import HOST, VectorSpace
from .visits import Visits, not_in_memory

Storage = Literal["dense", "csr"]


class Rows(ABC):
    """n rows x_i of d features, in some storage; weights (k, d + 1) multiply (x_i, 1).

    Batch solvers need sums over rows only. Some storages also allow :attr:`visits` row by row.
    """

    __slots__ = ()

    @property
    def compiled(self) -> bool:
        """Whether there is ``value_gradient_on_threads``, for a compiled loss."""
        return False

    @property
    def on_threads(self) -> bool:
        """Whether threads may share the blocks of a sum."""
        return True

    @property
    def start_bytes(self) -> float:
        """Bytes of rows that could be read while a sum over them is started."""
        return 0.0

    def keep(self, *values: AnyArray | None) -> None:  # noqa: B027 (most storages do nothing)
        """Announce labels and weights that will accompany the rows, and will not change."""

    @property
    def storage(self) -> Storage:
        """``csr`` if only non-zero values are stored; such rows are not centred."""
        return "dense"

    @property
    def rounding(self) -> float:
        """Largest relative error of one multiplication or addition in its sums."""
        return EPS

    @property
    def cancelling(self) -> AnyArray | float:
        """What its sums add to every feature and subtract again: (d,), or 0 for nothing.

        Rounding errors are relative to the size of the features plus this.
        """
        return 0.0

    @property
    def offset(self) -> Array | None:
        """Numbers that are added to the scores, (n, k); None for nothing."""
        return None

    @property
    def without_offset(self) -> Rows:
        """The same rows with scores ``(rows, 1) W'`` alone, which are linear in the weights."""
        return self

    def with_own_offset(self, offset: Array) -> Rows | None:
        """These rows with an offset where they are; None if the host adds it to their scores."""
        return None

    @property
    def X(self) -> Any:  # noqa: N802
        """The rows as ``Block.X`` holds them: a plain array for dense rows."""
        return self

    @property
    def visitable(self) -> bool:
        """Whether there are visits row by row."""
        return False

    @property
    def visits(self) -> Visits:
        """The same rows for visits row by row; TypeError if the storage does not allow them."""
        raise not_in_memory(self)

    def vectors_of(self, shape: tuple[int, int]) -> VectorSpace:
        """Where weights of this shape and gradients live when solvers compute with them."""
        return HOST

    # ---- storage -----------------------------------------------------------------------------

    def home(self) -> Any:
        """A copy in main memory, as ``HostRows``; TypeError if the storage allows none."""
        raise not_in_memory(self)

    @property
    def stored(self) -> Rows:
        """The rows as values of their own: themselves unless they are computed from other rows."""
        return self

    def underlying(self, W: Array) -> tuple[Rows, Array]:
        """The rows that are stored, and weights that have the same scores there as W here."""
        return self, W

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""

    @property
    @abstractmethod
    def n_values(self) -> int:
        """Number of stored values."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of all arrays."""

    @property
    def row_values(self) -> float:
        """Stored values of a row, on average."""
        return float(self.shape[1])

    @property
    def row_bytes(self) -> float:
        """Bytes of a row, on average."""
        return self.dtype.itemsize * self.shape[1]

    @abstractmethod
    def part(self, start: int, stop: int) -> Rows:
        """Rows start, ..., stop - 1 without a copy."""

    @abstractmethod
    def take(self, at: Ints) -> Rows:
        """A copy of some rows, in the order given."""

    @abstractmethod
    def take_features(self, at: Ints) -> Rows:
        """A copy of some features of all rows, in increasing order."""

    @abstractmethod
    def absolute(self) -> Rows:
        """A copy with absolute values."""

    @abstractmethod
    def features_as_dense(self, at: Ints) -> Array:
        """A few features of all rows as a new float64 array."""

    @classmethod
    def concatenated(cls, parts: Sequence[Any]) -> Any:
        """Concatenate rows of this storage."""
        raise TypeError(f"{cls.__name__} cannot be concatenated")

    def to_dense(self) -> Array:
        """The rows as a float64 array; for a few rows only."""
        raise TypeError(f"{type(self).__name__} has no dense form")

    # ---- sums --------------------------------------------------------------------------------

    def value_gradient(
        self,
        y: AnyArray,
        loss: Loss,
        W: Array,
        weight: Array | None = None,
        gradient: Array | None = None,
        curvature: Array | None = None,
        float32_sums: bool = False,
    ) -> tuple[float, float]:
        """Weighted sum of the losses and of the mistakes, in one read of the rows if possible.

        The weighted gradient (k, d + 1) is added to ``gradient``; weight times second derivative
        of each row is written to ``curvature`` (n,). With ``float32_sums`` sums over dense
        float32 rows may be made in float32.
        """
        return batch_in_parts(
            self.scores(W), y, loss, weight, gradient, curvature, self.transpose_product
        )

    def value_gradient_on_threads(
        self,
        y: AnyArray,
        loss: Loss,
        W: Array,
        weight: Array | None,
        edges: Ints,
        threads: int,
        float32_sums: bool,
    ) -> tuple[float, float, Array]:
        """With ``compiled``: ``value_gradient`` of a compiled loss over blocks between the edges.

        It returns the gradient. The bits do not depend on the number of threads.
        """
        raise TypeError(f"{type(self).__name__} cannot be read by compiled loops")

    @abstractmethod
    def scores(self, W: Array, out: Array | None = None) -> Array:
        """``(rows, 1) W'`` for weights (k, d + 1), plus the offset: (n, k)."""

    @abstractmethod
    def transpose_product(self, coefficients: Array, out: Array) -> None:
        """Add ``coefficients' (rows, 1)``, for coefficients (n, k), to out (k, d + 1)."""

    def mean(self) -> Array:
        """Mean of every feature: (d,)."""
        n, d = self.shape
        out = np.zeros((1, d + 1))
        self.transpose_product(np.full((n, 1), 1.0 / max(n, 1)), out)
        return out[0, :-1]

    def hessian_product(self, curvature: Array, V: Array, out: Array) -> None:
        """Add ``V (rows, 1)' diag(curvature) (rows, 1)``, for V (k, d + 1), to out (k, d + 1)."""
        self.transpose_product(curvature[:, None] * self.without_offset.scores(V), out)

    def class_curvature(
        self, y: AnyArray, loss: Loss, W: Array, weight: Array | None, of: int | None
    ) -> Array | None:
        """Weight times second derivative by the score of one class, or the mean over classes: (n,).

        None if it is to be computed from the scores.
        """
        return None

    def curvature_product(
        self, y: AnyArray, loss: Loss, W: Array, V: Array, weight: Array | None
    ) -> Array | None:
        """The second derivative of the sum of losses at W times V: (k, d + 1).

        None if it is to be computed from the scores.
        """
        return None

    def curvature_sum(
        self, y: AnyArray, loss: Loss, W: Array, weight: Array | None
    ) -> Array | None:
        """The second derivative of the sum of losses by the scores of every two classes: (k, k).

        None if it is to be computed from the scores.
        """
        return None

    @abstractmethod
    def squared_norms(self, out: Array | None = None) -> Array:
        """``|x|^2`` of every row, (n,)."""

    @abstractmethod
    def row_products(self) -> Array:
        """All products of two rows: (n, n)."""

    @abstractmethod
    def moments(
        self,
        weight: Array | None,
        group: Ints | None,
        shift: Array | None,
        sum: Array,
        squares: Array,
    ) -> None:
        """Add the weighted column sums of rows - shift, and of their squares, to (d,) arrays.

        With the group number of every row, the sums of each group are added to (groups, d). A shift
        near the means avoids cancellation where means are large; not for ``csr`` rows.
        """

    def weight_sums(self, weight: Array | None, group: Ints, groups: int) -> Array:
        """Sum of the weights of every group, given the group number of every row: (groups,)."""
        return np.bincount(group, weight, groups).astype(np.float64)

    @abstractmethod
    def compensated_scores(self, W: Array) -> tuple[Array, Array]:
        """Scores to twice the working precision: the nearest doubles, and the remainders."""

    @abstractmethod
    def compensated_transpose_product(self, coefficients: Array) -> tuple[Array, Array]:
        """``coefficients' (rows, 1)`` to twice the working precision, in two parts."""

    def exact_sums(
        self,
        y: AnyArray,
        loss: Loss,
        losses: Callable[[AnyArray, Array, Array], Array],
        W: Array,
        weight: Array | None,
    ) -> tuple[float, float] | None:
        """Weighted sum of ``losses`` at scores to twice the working precision, and mistakes.

        None if they are to be computed from ``compensated_scores``.
        """
        return None

    def weighted_correct(self, y: AnyArray, weight: Array | None, W: Array, right: Array) -> None:
        """Add the weight of the correctly classified rows for each of many weights (m, k, d + 1).

        Ties go to the larger of two classes, else to the first.
        """
        m, k, d = W.shape
        s = self.scores(W.reshape(m * k, d)).reshape(-1, m, k)
        found = np.where(s[:, :, 0] >= 0.0, 1.0, -1.0) if k == 1 else s.argmax(axis=2)
        c = np.ones(len(y)) if weight is None else weight
        right += c @ (found == y[:, None])

    def max_standardised_norm2(self, weight: Array | None, mean: Array, factor: Array) -> float:
        """Square of the largest |(x - mean) * factor| of a row whose weight is not 0."""
        square = np.sum(((self.to_dense() - mean) * factor) ** 2, axis=1)
        return float(np.max(square if weight is None else square[weight != 0.0], initial=0.0))

    def standardized(
        self, standardization: Standardization, dtype: DTypeLike = np.float64
    ) -> Array:
        """``(x - mean, 1) / scale`` of a few rows."""
        return standardization.rows(self.to_dense(), dtype)

    def sums_stored_alone(self, standardization: Standardization) -> bool:
        """Whether products are summed over stored values only, and centred afterwards."""
        return False

    def add_gram(self, weight: Array, standardization: Standardization, out: Array) -> None:
        """Add ``gram`` to (d + 1, d + 1)."""
        out += self.gram(weight, standardization)

    def gram(
        self,
        weight: Array,
        standardization: Standardization,
        dtype: DTypeLike = np.float64,
    ) -> Array:
        """Z' diag(weight) Z for the rows Z = (x - mean, 1) / scale: (d + 1, d + 1).

        Products of a few rows at a time are computed in ``dtype``; the total is in float64.
        """
        n, d = self.shape
        total = np.zeros((d + 1, d + 1))
        symmetric = n == 0 or weight.min() >= 0.0  # then BLAS computes half of it
        for start in range(0, n, GRAM_ROWS):
            some = self.part(start, min(start + GRAM_ROWS, n))
            z, c = some.standardized(standardization, dtype), weight[start : start + GRAM_ROWS]
            if symmetric:
                z *= np.sqrt(c[:, None]).astype(dtype)
                total += z.T @ z
            else:
                total += (c[:, None] * z).T @ z
        return total
