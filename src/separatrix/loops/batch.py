"""Sums over all rows: values, gradients, scores, products with second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from ..losses import Loss, MarginLoss
from ..numeric.rows import CsrArrays, RowArrays, shape_of, to_dense
from ..numeric.types import AnyArray, Array, Ints
from ._compiled import _loops
from .dispatch import compiled

BlockSum = _loops.BlockSum
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
    of each row is written to ``curvature`` (n,). With ``float32_sums`` those over dense float32
    rows are made in float32, in half the time; others are as exact as ever.
    """
    number = compiled(loss)
    if number is not None:
        return _loops.batch_pass(rows, number, y, weight, W, gradient, curvature, float32_sums)
    product = partial(transpose_product, rows)
    return batch_in_parts(scores(rows, W), y, loss, weight, gradient, curvature, product)


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

    What they add up to: losses, mistakes, and the gradient. The loss is a compiled one. With a
    number of classes ``in_lines`` the weights are in lines (``to_lines``), for sparse rows, and so
    is the gradient: else each block would make lines of the one and unmake those of the other.
    """
    number = compiled(loss)
    if number is None:
        raise TypeError(f"{loss!r} is not compiled")
    _loops.batch_blocks(rows, number, y, weight, W, in_lines, float32_sums, blocks)


def batch_pass_twin(
    rows: RowArrays,
    y: AnyArray,
    loss: Loss,
    W: Array,
    *,
    weight: Array | None = None,
    gradient: Array | None = None,
    curvature: Array | None = None,
) -> tuple[float, float]:
    """``batch_pass`` in NumPy."""
    product = partial(transpose_product_twin, rows)
    return batch_in_parts(scores_twin(rows, W), y, loss, weight, gradient, curvature, product)


def batch_in_parts(
    s: Array,
    y: AnyArray,
    loss: Loss,
    weight: Array | None,
    gradient: Array | None,
    curvature: Array | None,
    transpose_product: Callable[[Array, Array], None],
) -> tuple[float, float]:
    """``batch_pass`` from the scores, and a function that adds ``coefficients' (rows, 1)``."""
    # A row of weight 0 is as if absent, even where its value overflows.
    c = np.ones(len(s)) if weight is None else weight
    present = c != 0.0
    value = np.where(present, c * loss.value(y, s), 0.0)
    if gradient is not None:
        transpose_product(
            np.where(present[:, None], c[:, None] * loss.gradient(y, s), 0.0), gradient
        )
    if curvature is not None:
        if not isinstance(loss, MarginLoss):
            raise TypeError(f"{loss!r} is not a function of the margin")
        curvature[:] = np.where(present, c * loss.curvature(y * s[:, 0]), 0.0)
    return float(value.sum()), float((c * loss.mistakes(y, s)).sum())


def scores(rows: RowArrays, W: Array, out: Array | None = None) -> Array:
    """Scores (n, k) of the rows for weights (k, d + 1)."""
    out = np.empty((shape_of(rows)[0], len(W))) if out is None else out
    _loops.scores(rows, W, out)
    return out


def scores_twin(rows: RowArrays, W: Array) -> Array:
    """``scores`` in NumPy."""
    scores: Array = to_dense(rows) @ W[:, :-1].T + W[:, -1]
    return scores


def compensated_scores(rows: RowArrays, W: Array) -> tuple[Array, Array]:
    """Scores (n, k) to twice the working precision: the nearest doubles, and what these lack."""
    high, low = np.empty((2, shape_of(rows)[0], len(W)))
    _loops.compensated_scores(rows, W, high, low)
    return high, low


def compensated_scores_twin(rows: RowArrays, W: Array) -> tuple[Array, Array]:
    """``compensated_scores`` in fractions."""
    high, low = np.empty((2, shape_of(rows)[0], len(W)))
    weights = [list(map(Fraction, w)) for w in W.tolist()]
    for i, x in enumerate(to_dense(rows).tolist()):
        for c, w in enumerate(weights):
            score = sum((Fraction(a) * b for a, b in zip(x, w[:-1], strict=True)), w[-1])
            high[i, c] = float(score)
            low[i, c] = float(score - Fraction(high[i, c]))
    return high, low


def compensated_transpose_product(rows: RowArrays, coefficients: Array) -> tuple[Array, Array]:
    """``coefficients' . (rows, 1)`` (k, d + 1) to twice the working precision, in two parts."""
    high, low = np.zeros((2, coefficients.shape[1], shape_of(rows)[1] + 1))
    _loops.compensated_transpose_product(rows, coefficients, high, low)
    return high, low


def compensated_transpose_product_twin(rows: RowArrays, coefficients: Array) -> tuple[Array, Array]:
    """``compensated_transpose_product`` in fractions."""
    turned = np.column_stack([to_dense(rows), np.ones(len(coefficients))]).T
    weights = np.column_stack([coefficients.T, np.zeros(coefficients.shape[1])])
    high, low = compensated_scores_twin(turned, weights)
    return high.T, low.T


def transpose_product(rows: RowArrays, coefficients: Array, out: Array) -> None:
    """Add ``coefficients' . (rows, 1)``, for coefficients (n, k), to out (k, d + 1)."""
    _loops.transpose_product(rows, coefficients, out)


def transpose_product_twin(rows: RowArrays, coefficients: Array, out: Array) -> None:
    """``transpose_product`` in NumPy."""
    out[:, :-1] += coefficients.T @ to_dense(rows)
    out[:, -1] += coefficients.sum(axis=0)


def squared_norms(rows: RowArrays, out: Array | None = None) -> Array:
    """``|x|^2`` of every row, (n,)."""
    out = np.empty(shape_of(rows)[0]) if out is None else out
    _loops.squared_norms(rows, out)
    return out


def squared_norms_twin(rows: RowArrays) -> Array:
    """``squared_norms`` in NumPy."""
    norms: Array = np.sum(to_dense(rows).astype(np.float64) ** 2, axis=1)
    return norms


def hessian_product(rows: RowArrays, curvature: Array, V: Array, out: Array) -> None:
    """Add ``V (rows, 1)' diag(curvature) (rows, 1)``, for V (k, d + 1), to out (k, d + 1)."""
    _loops.hessian_product(rows, curvature, V, out)


def hessian_product_twin(rows: RowArrays, curvature: Array, V: Array, out: Array) -> None:
    """``hessian_product`` in NumPy."""
    transpose_product_twin(rows, curvature[:, None] * scores_twin(rows, V), out)


def moments(
    rows: RowArrays,
    weight: Array | None,
    group: Ints | None,
    shift: Array | None,
    sum: Array,
    squares: Array,
) -> None:
    """Add the weighted column sums of rows - shift, and of their squares, to (d,) arrays.

    With the number of its group for every row, sums of each group to (groups, d). A shift near
    the means keeps large means from drowning small deviations; dense rows only.
    """
    _loops.moments(rows, weight, group, shift, sum, squares)


def moments_twin(
    rows: RowArrays,
    weight: Array | None,
    group: Ints | None,
    shift: Array | None,
    sum: Array,
    squares: Array,
) -> None:
    """``moments`` in NumPy."""
    x = to_dense(rows) - (0.0 if shift is None else shift)
    c = np.ones(len(x)) if weight is None else weight
    if group is None:
        sum += c @ x
    else:
        sum += np.where(group == np.arange(len(sum))[:, None], c, 0.0) @ x
    squares += c @ x**2


def all_finite(values: AnyArray) -> bool:
    """Whether no value of a contiguous array of floats is NaN or infinite."""
    return bool(_loops.all_finite(values))


def all_finite_twin(values: AnyArray) -> bool:
    """``all_finite`` in NumPy."""
    return bool(np.isfinite(values).all())


def csr_flaw(rows: CsrArrays) -> int:
    """The first thing that is wrong with sparse rows, or 0.

    OFFSETS that lead beyond the entries or back; indices out of RANGE; indices of a row that are
    not in ORDER, one larger than the one before.
    """
    return _loops.csr_flaw(rows.indices, rows.indptr, rows.n_features)


def csr_flaw_twin(rows: CsrArrays) -> int:
    """``csr_flaw`` in NumPy."""
    begins, ends = rows.indptr[:-1], rows.indptr[1:]
    if np.any((begins < 0) | (ends < begins) | (ends > len(rows.indices))):
        return OFFSETS
    each = [rows.indices[begin:end] for begin, end in zip(begins, ends, strict=True)]
    if any(np.any((one < 0) | (one >= rows.n_features)) for one in each):
        return RANGE
    return ORDER if any(np.any(one[1:] <= one[:-1]) for one in each) else 0


def stored_features(rows: CsrArrays, most: int) -> AnyArray | None:
    """Whether some row stores it, for every feature: (d,); None if more than ``most`` are."""
    found = np.zeros(rows.n_features, dtype=np.bool_)
    indices = rows.indices[rows.indptr[0] : rows.indptr[-1]]
    return found if _loops.mark_features(indices, most, found) <= most else None


def stored_features_twin(rows: CsrArrays, most: int) -> AnyArray | None:
    """``stored_features`` in NumPy."""
    stored = np.unique(rows.indices[rows.indptr[0] : rows.indptr[-1]])
    return np.isin(np.arange(rows.n_features), stored) if len(stored) <= most else None


def weighted_correct(
    rows: RowArrays, y: AnyArray, weight: Array | None, W: Array, right: Array
) -> None:
    """Add the weight of the rows whose class is found by each of many weights (m, k, d + 1).

    On a tie of two classes that is the larger, of more the first.
    """
    _loops.weighted_correct(rows, y, weight, W, right)


def weighted_correct_twin(
    rows: RowArrays, y: AnyArray, weight: Array | None, W: Array, right: Array
) -> None:
    """``weighted_correct`` in NumPy."""
    m, k, d = W.shape
    s = scores_twin(rows, W.reshape(m * k, d)).reshape(-1, m, k)
    found = np.where(s[:, :, 0] >= 0.0, 1.0, -1.0) if k == 1 else s.argmax(axis=2)
    c = np.ones(len(y)) if weight is None else weight
    right += c @ (found == y[:, None])


def max_standardised_norm2(
    rows: RowArrays, weight: Array | None, mean: Array, factor: Array
) -> float:
    """Square of the largest |(x - mean) * factor| of a row whose weight is not 0."""
    return _loops.max_standardised_norm2(rows, weight, mean, factor)


def max_standardised_norm2_twin(
    rows: RowArrays, weight: Array | None, mean: Array, factor: Array
) -> float:
    """``max_standardised_norm2`` in NumPy."""
    square = np.sum(((to_dense(rows) - mean) * factor) ** 2, axis=1)
    return float(np.max(square if weight is None else square[weight != 0.0], initial=0.0))


def gram(rows: RowArrays, weight: Array, mean: Array, factor: Array, out: Array) -> None:
    """Add ``Z' diag(weight) Z`` for the rows ``Z = (x - mean, 1) * factor`` to (d + 1, d + 1).

    Made for few features, or few values in sparse rows, which are centred after they are summed:
    BLAS multiplies many faster.
    """
    _loops.gram(rows, weight, mean, factor, out)


def gram_twin(rows: RowArrays, weight: Array, mean: Array, factor: Array, out: Array) -> None:
    """``gram`` in NumPy."""
    z = np.column_stack([to_dense(rows) - mean, np.ones(len(weight))]) * factor
    out += (weight[:, None] * z).T @ z
