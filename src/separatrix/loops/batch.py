"""Sums over all rows: values, gradients, scores, products with second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..losses import Loss
from ..numeric.rows import CsrArrays, RowArrays, shape_of
from ..numeric.types import AnyArray, Array
from ._compiled import _loops
from .dispatch import compiled

BlockSum = _loops.BlockSum
# The methods of the same names in `rows/base.py` explain the arguments; `gram` takes 1 / scale.
transpose_product, hessian_product = _loops.transpose_product, _loops.hessian_product
moments, gram, weighted_correct = _loops.moments, _loops.gram, _loops.weighted_correct
max_standardised_norm2 = _loops.max_standardised_norm2
FEW_COLUMNS = 8  # for more, scores and products of all columns in one read are as fast
OFFSETS, RANGE, ORDER = (_loops.csr_flaws[name] for name in ("offsets", "range", "order"))


def batch_pass(
    rows: RowArrays,
    y: AnyArray,
    loss: Loss,
    W: Array,
    *,
    weight: Array | None = None,
    gradient: Array | None = None,
    curvature: Array | None = None,
    float32_sums: bool = False,
) -> tuple[float, float]:
    """Weighted sum of the losses and of the mistakes, in one read of the rows.

    The weighted gradient (k, d + 1) is added to ``gradient``; weight times second derivative
    of each row is written to ``curvature`` (n,). With ``float32_sums`` sums over dense float32
    rows are computed in float32, in half the time; other sums stay in float64.
    """
    number = compiled(loss)
    if number is not None:
        return _loops.batch_pass(rows, number, y, weight, W, gradient, curvature, float32_sums)
    s, own = scores(rows, W), loss.column_loss
    if loss.weighs_columns and own is not None and len(W) <= FEW_COLUMNS:
        number = compiled(own)
        if number is not None:
            return _column_by_column(rows, number, s, y, loss, W, weight, gradient)
    product = partial(transpose_product, rows)
    return batch_in_parts(s, y, loss, weight, gradient, curvature, product)


def _column_by_column(
    rows: RowArrays,
    number: int,
    s: Array,
    y: AnyArray,
    loss: Loss,
    W: Array,
    weight: Array | None,
    gradient: Array | None,
) -> tuple[float, float]:
    """``batch_pass`` of a loss that weighs its columns, by the loop for two classes."""
    each, value = np.asarray(loss.column_weights(y)), 0.0
    if weight is not None:
        each = each * weight[:, None]
    for c in range(len(W)):
        own = None if gradient is None else gradient[c, None]
        signs, weights = y[:, c].astype(np.float64), np.ascontiguousarray(each[:, c])
        value += _loops.batch_pass(rows, number, signs, weights, W[c, None], own, None, False)[0]
    wrong = loss.mistakes(y, s)
    return value, float(np.count_nonzero(wrong) if weight is None else weight @ wrong)


def batch_blocks(
    rows: RowArrays,
    y: AnyArray,
    loss: Loss,
    W: Array,
    blocks: BlockSum,
    *,
    weight: Array | None = None,
    float32_sums: bool = False,
    in_lines: int = 0,
) -> None:
    """``batch_pass`` with its gradient over blocks that no other thread has taken yet.

    The total is losses, mistakes and the gradient. The loss must be compiled. For sparse rows,
    ``in_lines`` may be the number of classes: weights and gradient are then in lines
    (``to_lines``), which saves each block the conversion.
    """
    number = compiled(loss)
    if number is None:
        raise TypeError(f"{loss!r} is not compiled")
    _loops.batch_blocks(rows, number, y, weight, W, in_lines, float32_sums, blocks)


def batch_in_parts(
    s: Array,
    y: AnyArray,
    loss: Loss,
    weight: Array | None,
    gradient: Array | None,
    curvature: Array | None,
    transpose_product: Callable[[Array, Array], None],
) -> tuple[float, float]:
    """``batch_pass`` from the scores and a function that adds ``coefficients' (rows, 1)``."""
    # A row of weight 0 is as if absent, even where its value overflows.
    c = np.ones(len(s)) if weight is None else weight
    present = c != 0.0
    value = np.where(present, c * loss.value(y, s), 0.0)
    if gradient is not None:
        transpose_product(
            np.where(present[:, None], c[:, None] * loss.gradient(y, s), 0.0), gradient
        )
    if curvature is not None:
        own = loss.column_loss
        if own is None or s.shape[1] > 1:
            raise TypeError(f"{loss!r} is not a function of the margin")
        curvature[:] = np.where(present, c * own.curvature(y * s[:, 0]), 0.0)
    return float(value.sum()), float((c * loss.mistakes(y, s)).sum())


def scores(rows: RowArrays, W: Array, out: Array | None = None) -> Array:
    """Scores (n, k) of the rows for weights (k, d + 1)."""
    out = np.empty((shape_of(rows)[0], len(W))) if out is None else out
    _loops.scores(rows, W, out)
    return out


def compensated_scores(rows: RowArrays, W: Array) -> tuple[Array, Array]:
    """Scores (n, k) to twice the working precision: the nearest doubles, and the remainders."""
    high, low = np.empty((2, shape_of(rows)[0], len(W)))
    _loops.compensated_scores(rows, W, high, low)
    return high, low


def compensated_transpose_product(rows: RowArrays, coefficients: Array) -> tuple[Array, Array]:
    """``coefficients' . (rows, 1)`` (k, d + 1) to twice the working precision, in two parts."""
    high, low = np.zeros((2, coefficients.shape[1], shape_of(rows)[1] + 1))
    _loops.compensated_transpose_product(rows, coefficients, high, low)
    return high, low


def squared_norms(rows: RowArrays, out: Array | None = None) -> Array:
    """``|x|^2`` of every row, (n,)."""
    out = np.empty(shape_of(rows)[0]) if out is None else out
    _loops.squared_norms(rows, out)
    return out


def all_finite(values: AnyArray) -> bool:
    """Whether no value of a contiguous array of floats is NaN or infinite."""
    return bool(_loops.all_finite(values))


def csr_flaw(rows: CsrArrays) -> int:
    """The first flaw of sparse rows, or 0.

    OFFSETS: they decrease or point beyond the entries. RANGE: an index is out of range. ORDER: the
    indices of a row do not increase strictly.
    """
    return _loops.csr_flaw(rows.indices, rows.indptr, rows.n_features)


def stored_features(rows: CsrArrays, most: int) -> AnyArray | None:
    """For every feature, whether some row stores it: (d,); None if more than ``most`` are."""
    found = np.zeros(rows.n_features, dtype=np.bool_)
    indices = rows.indices[rows.indptr[0] : rows.indptr[-1]]
    return found if _loops.mark_features(indices, most, found) <= most else None
