"""The sums over rows from which J and its derivatives are computed.

Each is a frozen, picklable :class:`separatrix.data.Sum` that writes nothing. With c_i the weight
of row i, z_i = (x_i, 1) and s_i = W z_i its scores:

    Value             sum c_i loss_i                                         and mistakes
    ValueGradient     the same, and  sum c_i (d loss_i / d s_i) z_i'         (k, d + 1)
    Hessian           the same, and  sum c_i (d2 loss_i / d s_i2) (x) u_i u_i'  standardised
    ClassHessian      sum c_i h_i u_i u_i'  for one class, or the mean h_i of all
    WorkingHessian    as Hessian or ClassHessian, for some of the features alone
    HessianProduct    sum c_i (d2 loss_i / d s_i2) (V z_i) z_i'
    BiasCurvature     sum c_i (d2 loss_i / d s_i2)                           (k, k)
    Gram              sum c_i u_i u_i'
    MomentSums        sum c_i (x_i - shift) by class, sum c_i by class, sum c_i (x_i - shift)^2
    LabelMomentSums   the same by label, and  sum c_i (x_i - shift)
    OffsetSums        sum c_i o_i  of the rows of a class, of all, and  sum c_i o_i^2
    Mistakes          sum c_i [row i is not right]  for each of many weights
    SignedRowSum      sum c_i y_i z_i
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from .. import loops
from ..data import Block, Sum
from ..data.labels import class_numbers
from ..losses import Loss
from ..numeric.standardization import Standardization
from ..numeric.types import AnyArray, Array, Ints
from ..rows.thresholds import GRAM_ROWS
from .gram import gram_blocked
from .hessians import assemble_hessian, class_curvature, curvature_of, hessian_of
from .thresholds import GRAM_TILE

COUNTED_ROWS = 2048  # rows whose scores for many weights are in memory at a time


def _by_kernels(loss: Loss) -> bool:
    return loops.compiled(loss) is not None and not loss.several_labels


@dataclass(frozen=True)
class Value(Sum[tuple[float, float]]):
    """Weighted losses and mistakes."""

    few_numbers = True

    loss: Loss
    W: Array

    def of(self, block: Block) -> tuple[float, float]:
        return block.rows.value_gradient(block.y, self.loss, self.W, block.weight)


@dataclass(frozen=True)
class ValueGradient(Sum[tuple[float, float, Array]]):
    """Weighted losses and mistakes, and the gradient."""

    few_numbers = True

    loss: Loss
    W: Array
    float32_sums: bool = False
    """Sum dense float32 rows in float32: accurate to about six digits, and twice as fast."""

    def of(self, block: Block) -> tuple[float, float, Array]:
        # Not zeros_like on the host: the loops need C order.
        on_host = isinstance(self.W, np.ndarray)
        gradient = np.zeros(self.W.shape) if on_host else np.zeros_like(self.W)
        sums = block.rows.value_gradient(
            block.y, self.loss, self.W, block.weight, gradient, None, self.float32_sums
        )
        return *sums, gradient

    @property
    def by_blocks(self) -> bool:
        return loops.compiled(self.loss) is not None

    def over_blocks(self, rows: Block, edges: Ints, threads: int) -> tuple[float, float, Array]:
        """Threads take block after block without returning to Python."""
        return rows.rows.value_gradient_on_threads(
            rows.y, self.loss, self.W, rows.weight, edges, threads, self.float32_sums
        )


@dataclass(frozen=True)
class Hessian(Sum[tuple[float, float, Array, Array]]):
    """As ``ValueGradient``, and the second derivative in all standardised variables."""

    loss: Loss
    W: Array
    standardization: Standardization

    def of(self, block: Block) -> tuple[float, float, Array, Array]:
        """In two reads of the block."""
        sums = ValueGradient(self.loss, self.W).of(block)
        return *sums, hessian_of(block, self.loss, self.W, self.standardization)


@dataclass(frozen=True)
class ClassHessian(Sum[tuple[Array]]):
    """Second derivative in the standardised variables of one class, or the mean over classes."""

    few_numbers = True

    loss: Loss
    W: Array
    standardization: Standardization
    dtype: DTypeLike = np.float64
    of_class: int | None = None

    def curvature(self, block: Block) -> Array:
        """Second derivative of every row's loss by its score."""
        return class_curvature(block, self.loss, self.W, self.of_class)

    def of(self, block: Block) -> tuple[Array]:
        """(d + 1, d + 1)."""
        return (block.rows.gram(self.curvature(block), self.standardization, self.dtype),)

    @property
    def batch_rows(self) -> int | None:
        """With many features the matrix is large, so threads share its tiles."""
        return 2 * GRAM_ROWS if self.W.shape[1] > GRAM_TILE else None

    def over(self, batches: Iterable[Block], threads: int) -> tuple[AnyArray]:
        """One matrix, summed in ``dtype``."""
        parts = ((block.rows, self.curvature(block)) for block in batches)
        return (gram_blocked(parts, self.standardization, self.dtype, threads),)


@dataclass(frozen=True)
class WorkingHessian(Sum[tuple[Array]]):
    """Second derivative in the standardised variables of some features, and the biases.

    For a loss with a column per class, one matrix per class: (k, m, m); else one: (1, m, m).
    """

    loss: Loss
    W: Array
    features: Ints
    standardization: Standardization  # the standardization of these features

    def of(self, block: Block) -> tuple[Array]:
        """In two reads of the block."""
        rows = block.rows.take_features(self.features)
        curvature = curvature_of(block, self.loss, self.W)

        def products(weight: Array) -> Array:
            return rows.gram(weight, self.standardization)

        k, m = len(self.W), len(self.features) + 1
        if self.loss.column_loss is not None:
            return (np.stack([products(np.asarray(curvature(c, c))) for c in range(k)]),)
        shifts = self.loss.shifts
        return (assemble_hessian(k, m, curvature, products, shifts)[None],)


@dataclass(frozen=True)
class HessianProduct(Sum[tuple[Array]]):
    """The second derivative at W times V, both (k, d + 1)."""

    loss: Loss
    W: Array
    V: Array

    @property
    def few_numbers(self) -> bool:
        """Whether a device computes it without the scores of all classes."""
        return _by_kernels(self.loss)

    def of(self, block: Block) -> tuple[Array]:
        """(k, d + 1)."""
        product = np.zeros(self.V.shape)
        own, rows = self.loss.column_loss, block.rows
        found = rows.curvature_product(block.y, self.loss, self.W, self.V, block.weight)
        if found is not None:
            return (found,)
        # The columns of a quadratic loss have the same curvature, at any score.
        same = own is not None and own.constant_curvature is not None
        if own is not None and (len(self.W) == 1 or (same and not self.loss.weighs_columns)):
            curvature = curvature_of(block, own, self.W[:1])(0, 0)
            rows.hessian_product(np.asarray(curvature), self.V, product)
            return (product,)
        scores, turn = rows.scores(self.W), rows.without_offset.scores(self.V)
        change = self.loss.curvature_product(block.y, scores, turn)
        rows.transpose_product(block.weights[:, None] * change, product)
        return (product,)


@dataclass(frozen=True)
class BiasCurvature(Sum[tuple[Array]]):
    """Second derivative in the biases."""

    loss: Loss
    W: Array

    @property
    def few_numbers(self) -> bool:
        """Whether a device computes it without the scores of all classes."""
        return _by_kernels(self.loss)

    def of(self, block: Block) -> tuple[Array]:
        """(k, k)."""
        found = block.rows.curvature_sum(block.y, self.loss, self.W, block.weight)
        if found is not None:
            return (found,)
        if len(self.W) == 1:
            curvature = curvature_of(block, self.loss, self.W)(0, 0)
            return (np.sum(np.asarray(curvature)).reshape(1, 1),)
        weight = block.weights
        present = weight != 0.0  # others may have scores that are not finite
        scores = block.rows.scores(self.W)[present]
        return (self.loss.curvature_sum(block.y[present], scores, weight[present]),)


@dataclass(frozen=True)
class Gram(Sum[tuple[Array]]):
    """Weighted products of standardised variables."""

    few_numbers = True

    standardization: Standardization
    batch_rows: int | None = None  # rows at a time if threads are to share its tiles; else None

    def of(self, block: Block) -> tuple[Array]:
        """(d + 1, d + 1)."""
        return (block.rows.gram(block.weights, self.standardization),)

    def over(self, batches: Iterable[Block], threads: int) -> tuple[AnyArray]:
        """Threads share the tiles."""
        parts = ((block.rows, block.weights) for block in batches)
        return (gram_blocked(parts, self.standardization, np.float64, threads),)


@dataclass(frozen=True)
class MomentSums(Sum[tuple[Array, Array, Array]]):
    """Sums of x - shift and of 1 by class, and of the squares of x - shift over all rows."""

    few_numbers = True

    shift: Array | None
    classes: int

    def of(self, block: Block) -> tuple[Array, Array, Array]:
        """(classes, d), (classes,) and (d,)."""
        rows, k = block.rows, self.classes
        sums, squares = np.zeros((k, rows.shape[1])), np.zeros(rows.shape[1])
        number = class_numbers(block.y, k)
        rows.moments(block.weight, number, self.shift, sums, squares)
        return sums, rows.weight_sums(block.weight, number, k), squares


@dataclass(frozen=True)
class LabelMomentSums(Sum[tuple[Array, Array, Array, Array]]):
    """Sums of x - shift and of 1 by label, and of the squares of x - shift and of x - shift."""

    shift: Array | None

    def of(self, block: Block) -> tuple[Array, Array, Array, Array]:
        """(labels, d), (labels,), (d,) and (d,)."""
        rows, present = block.rows, block.weights > 0.0
        total, squares = np.zeros((1, rows.shape[1])), np.zeros(rows.shape[1])
        group = np.zeros(len(block.y), dtype=np.int64)
        rows.moments(block.weight, group, self.shift, total, squares)
        has = np.where(present[:, None], block.weights[:, None] * (block.y > 0), 0.0)
        sums = np.zeros((block.y.shape[1], rows.shape[1] + 1))
        rows.transpose_product(has, sums)
        counts = has.sum(axis=0)
        by_label = sums[:, :-1]
        if self.shift is not None:
            by_label = by_label - counts[:, None] * self.shift
        return by_label, counts, squares, total[0]


@dataclass(frozen=True)
class OffsetSums(Sum[tuple[Array, Array, Array]]):
    """Weighted sums of the offset: over the rows of each class or label, all, and of squares."""

    columns: int  # number of scores of a row

    def of(self, block: Block) -> tuple[Array, Array, Array]:
        """(k,) each."""
        offset, weight, y = block.rows.offset, block.weights, block.y
        assert offset is not None
        if block.weight is not None:  # of rows without weight, squares may overflow
            offset = np.where(weight[:, None] != 0.0, offset, 0.0)
        if self.columns > 1 and y.ndim == 1:
            own = y[:, None] == np.arange(self.columns)
        else:
            own = (y if y.ndim == 2 else y[:, None]) > 0
        return weight @ np.where(own, offset, 0.0), weight @ offset, weight @ offset**2


@dataclass(frozen=True)
class Mistakes(Sum[tuple[Array]]):
    """Weighted mistakes of each of several weights (m, k, d + 1)."""

    loss: Loss
    candidates: Array

    def of(self, block: Block) -> tuple[Array]:
        """(m,), a few rows at a time."""
        m, k, d = self.candidates.shape
        counts, weight = np.zeros(m), block.weights
        for start in range(0, len(block.y), COUNTED_ROWS):
            at = slice(start, min(start + COUNTED_ROWS, len(block.y)))
            rows = block.rows.part(at.start, at.stop)
            scores = rows.scores(self.candidates.reshape(m * k, d)).reshape(-1, m, k)
            wrong = (self.loss.mistakes(block.y[at], scores[:, j]) for j in range(m))
            counts += [weight[at] @ each for each in wrong]
        return (counts,)


@dataclass(frozen=True)
class SignedRowSum(Sum[tuple[Array]]):
    """y * (x, 1), also by label; for k classes, k - 1 times the rows of a class less all others."""

    k: int

    def of(self, block: Block) -> tuple[Array]:
        """(k, d + 1)."""
        if self.k == 1:
            coefficients = block.y[:, None].copy()
        elif block.y.ndim == 2:
            coefficients = block.y.astype(np.float64)
        else:
            own = block.y[:, None] == np.arange(self.k)
            coefficients = np.where(own, self.k - 1.0, -1.0)
        if block.weight is not None:
            coefficients *= block.weight[:, None]
        rows = block.rows
        total = np.zeros((self.k, rows.shape[1] + 1))
        rows.transpose_product(coefficients, total)
        return (total,)
