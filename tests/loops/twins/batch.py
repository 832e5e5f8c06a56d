"""Sums over all rows in NumPy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from separatrix.loops import OFFSETS, ORDER, RANGE
from separatrix.losses import Loss, MarginLoss
from separatrix.numeric.rows import CsrArrays, RowArrays, shape_of, to_dense
from separatrix.numeric.types import AnyArray, Array, Ints


def batch_pass(
    rows: RowArrays,
    y: AnyArray,
    loss: Loss,
    W: Array,
    *,
    weight: Array | None = None,
    gradient: Array | None = None,
    curvature: Array | None = None,
) -> tuple[float, float]:
    s = scores(rows, W)
    # A row of weight 0 is as if absent, even where its value overflows.
    c = np.ones(len(s)) if weight is None else weight
    present = c != 0.0
    value = np.where(present, c * loss.value(y, s), 0.0)
    if gradient is not None:
        transpose_product(
            rows, np.where(present[:, None], c[:, None] * loss.gradient(y, s), 0.0), gradient
        )
    if curvature is not None:
        if not isinstance(loss, MarginLoss):
            raise TypeError(f"{loss!r} is not a function of the margin")
        curvature[:] = np.where(present, c * loss.curvature(y * s[:, 0]), 0.0)
    return float(value.sum()), float((c * loss.mistakes(y, s)).sum())


def scores(rows: RowArrays, W: Array) -> Array:
    scores: Array = to_dense(rows) @ W[:, :-1].T + W[:, -1]
    return scores


def compensated_scores(rows: RowArrays, W: Array) -> tuple[Array, Array]:
    high, low = np.empty((2, shape_of(rows)[0], len(W)))
    weights = [list(map(Fraction, w)) for w in W.tolist()]
    for i, x in enumerate(to_dense(rows).tolist()):
        for c, w in enumerate(weights):
            score = sum((Fraction(a) * b for a, b in zip(x, w[:-1], strict=True)), w[-1])
            high[i, c] = float(score)
            low[i, c] = float(score - Fraction(high[i, c]))
    return high, low


def compensated_transpose_product(rows: RowArrays, coefficients: Array) -> tuple[Array, Array]:
    turned = np.column_stack([to_dense(rows), np.ones(len(coefficients))]).T
    weights = np.column_stack([coefficients.T, np.zeros(coefficients.shape[1])])
    high, low = compensated_scores(turned, weights)
    return high.T, low.T


def transpose_product(rows: RowArrays, coefficients: Array, out: Array) -> None:
    out[:, :-1] += coefficients.T @ to_dense(rows)
    out[:, -1] += coefficients.sum(axis=0)


def squared_norms(rows: RowArrays) -> Array:
    norms: Array = np.sum(to_dense(rows).astype(np.float64) ** 2, axis=1)
    return norms


def hessian_product(rows: RowArrays, curvature: Array, V: Array, out: Array) -> None:
    transpose_product(rows, curvature[:, None] * scores(rows, V), out)


def moments(
    rows: RowArrays,
    weight: Array | None,
    group: Ints | None,
    shift: Array | None,
    sum: Array,
    squares: Array,
) -> None:
    x = to_dense(rows) - (0.0 if shift is None else shift)
    c = np.ones(len(x)) if weight is None else weight
    if group is None:
        sum += c @ x
    else:
        sum += np.where(group == np.arange(len(sum))[:, None], c, 0.0) @ x
    squares += c @ x**2


def all_finite(values: AnyArray) -> bool:
    return bool(np.isfinite(values).all())


def csr_flaw(rows: CsrArrays) -> int:
    begins, ends = rows.indptr[:-1], rows.indptr[1:]
    if np.any((begins < 0) | (ends < begins) | (ends > len(rows.indices))):
        return OFFSETS
    each = [rows.indices[begin:end] for begin, end in zip(begins, ends, strict=True)]
    if any(np.any((one < 0) | (one >= rows.n_features)) for one in each):
        return RANGE
    return ORDER if any(np.any(one[1:] <= one[:-1]) for one in each) else 0


def stored_features(rows: CsrArrays, most: int) -> AnyArray | None:
    stored = np.unique(rows.indices[rows.indptr[0] : rows.indptr[-1]])
    return np.isin(np.arange(rows.n_features), stored) if len(stored) <= most else None


def weighted_correct(
    rows: RowArrays, y: AnyArray, weight: Array | None, W: Array, right: Array
) -> None:
    m, k, d = W.shape
    s = scores(rows, W.reshape(m * k, d)).reshape(-1, m, k)
    found = np.where(s[:, :, 0] >= 0.0, 1.0, -1.0) if k == 1 else s.argmax(axis=2)
    c = np.ones(len(y)) if weight is None else weight
    right += c @ (found == y[:, None])


def max_standardised_norm2(
    rows: RowArrays, weight: Array | None, mean: Array, factor: Array
) -> float:
    square = np.sum(((to_dense(rows) - mean) * factor) ** 2, axis=1)
    return float(np.max(square if weight is None else square[weight != 0.0], initial=0.0))


def gram(rows: RowArrays, weight: Array, mean: Array, factor: Array, out: Array) -> None:
    z = np.column_stack([to_dense(rows) - mean, np.ones(len(weight))]) * factor
    out += (weight[:, None] * z).T @ z
