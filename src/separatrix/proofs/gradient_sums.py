"""The gradient of J and its second derivative at some weights, with their rounding, by NumPy.

See :mod:`separatrix.proofs.gradient_ball` for what they prove.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import Block, Sum
from ..losses import Loss
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array
from ..rows import host_rows_of
from .centred_rows import FEW, Point, ScaledRows, parts
from .weight_ball import OPERATIONS


@dataclass(frozen=True)
class GradientSums(Sum[tuple[Any, ...]]):
    """Sums over rows for the gradient and the curvature, times the weights of rows.

    Slopes times rows (k, d); slopes (k,); bounds on the rounding of both, (k,) each; the sums of
    Q_i (k,) or (k, k), of Q_i times rows, (k, d) or (k, k, d), and of ``z_i' Q_i z_i`` for all
    pairs of weights, a list of matrices for columns of their own, or of one; a list of the longest
    rows and the largest rounding.
    """

    loss: Loss
    at: Point
    n_rows: int
    with_curvature: bool

    def of(self, block: Block) -> tuple[Any, ...]:
        rows, y, weight, offset = host_rows_of(block.X), block.y, block.weight, block.rows.offset
        if (present := block.present) is not None and weight is not None:
            rows, y, weight = rows.take(present), y[present], weight[present]
            offset = None if offset is None else offset[present]
        total: tuple[Any, ...] = ()
        for here, part in parts(self.at, rows.as_matrix()):
            extra = None if offset is None else offset[here]
            found = self._of(part, y[here], None if weight is None else weight[here, None], extra)
            total = tuple(map(operator.add, total, found)) if total else found
        return total

    def _of(
        self, part: ScaledRows, y: AnyArray, weight: Array | None, offset: Array | None
    ) -> tuple[Any, ...]:
        """The same for a few rows."""
        rounding, scores = part.rounding, part.values + self.at.bias
        if offset is not None:
            rounding = rounding + FEW * (np.abs(scores) + np.abs(offset))
            scores = scores + offset
        slopes = self.loss.gradient(y, scores)
        curvature = self._curvature(y, scores, slopes)
        # Sums of n terms lose n roundings; slopes change by at most as much as the scores.
        error = (2 * self.n_rows + OPERATIONS) * EPS * np.abs(slopes) + FEW
        error += rounding if rounding.shape[1] == 1 else rounding.max(axis=1, keepdims=True)
        grams = self._grams(part.rows, slopes, curvature, y, weight)
        if weight is not None:
            slopes, error = slopes * weight, error * weight
            curvature = curvature * weight.reshape(-1, *[1] * (curvature.ndim - 1))
        flat = curvature.reshape(len(y), -1)
        moments = part.weighted(flat).reshape(*curvature.shape[1:], -1)
        most = np.array([part.lengths.max(initial=0.0), rounding.max(initial=0.0)])
        return (
            part.weighted(slopes), slopes.sum(axis=0), part.lengths @ error, error.sum(axis=0),
            curvature.sum(axis=0), moments, grams, [most],
        )  # fmt: skip

    def _curvature(self, y: AnyArray, scores: Array, slopes: Array) -> Array:
        """Second derivatives by the scores: (n, k) of columns, (n, k, k) of softmax."""
        if (column := self.loss.column_loss) is not None:
            return column.curvature(self.loss.signs(y, scores) * scores)
        p = _probabilities(slopes, y)
        Q = p[:, :, None] * -p[:, None, :]
        np.einsum("icc->ic", Q)[:] += p
        return Q

    def _grams(
        self, Z: Array | None, slopes: Array, curvature: Array, y: AnyArray, weight: Array | None
    ) -> Array:
        if not self.with_curvature or Z is None:
            return np.zeros(())
        (n, d), k = Z.shape, slopes.shape[1]
        if curvature.ndim == 2:
            roots = np.sqrt(curvature if weight is None else curvature * weight)
            return np.array([_square(Z * roots[:, [c]]) for c in range(k)])
        p = _probabilities(slopes, y)
        W = p if weight is None else p * weight
        mixed = (p if weight is None else p * np.sqrt(weight))[:, :, None] * Z[:, None, :]
        found = -_square(mixed.reshape(n, k * d))
        roots = np.sqrt(np.maximum(W, 0.0))
        for c in range(k):
            here = slice(c * d, (c + 1) * d)
            found[here, here] += _square(Z * roots[:, [c]])
        return found[None]


def _square(scaled: Array) -> Array:
    found: Array = scaled.T @ scaled
    return found


def _probabilities(slopes: Array, y: AnyArray) -> Array:
    """Of softmax, whose slopes they are except for that of the true class."""
    p = slopes.copy()
    p[np.arange(len(y)), y] += 1.0
    return p
