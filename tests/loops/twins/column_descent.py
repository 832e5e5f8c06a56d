"""Coordinate descent by columns in Python."""

from __future__ import annotations

import numpy as np

from separatrix.loops.column_descent import ColumnDescentResult, ColumnModel
from separatrix.loops.dispatch import Interrupted, stop_requested
from separatrix.numeric.rows import RowArrays, to_dense
from separatrix.numeric.types import Array


def column_model(
    columns: RowArrays, curvature: Array, ridge: Array, thresholds: Array, bias: bool
) -> ColumnModel:
    X, total = to_dense(columns), float(curvature.sum())
    products = X @ curvature
    mean = products / total if bias and total > 0.0 else np.zeros(len(X))
    squares = (X - mean[:, None]) ** 2 @ curvature
    total = total if bias else 0.0
    return ColumnModel(columns, curvature, total, ridge, thresholds, products, squares)


def column_descent(
    model: ColumnModel, w: Array, slope: Array, shift: float, *, zeros: bool, max_epochs: int,
    enough: float,
) -> ColumnDescentResult:  # fmt: skip
    X, epochs, gain = to_dense(model.columns), 0, 0.0
    while epochs < max_epochs:
        if stop_requested():
            raise Interrupted("the loop was asked to stop before its end")
        epochs, gain = epochs + 1, 0.0
        for j, (x, least) in enumerate(zip(X, model.thresholds, strict=True)):
            curvature = model.squares[j] + model.ridge[j]
            if (not zeros and w[j] == 0.0 and least > 0.0) or (curvature <= 0.0 and least <= 0.0):
                continue
            best = 0.0
            if curvature > 0.0:
                along = x @ (slope + shift * model.curvature) + model.ridge[j] * w[j]
                pull = curvature * w[j] - along
                best = np.sign(pull) * max(abs(pull) - least, 0.0) / curvature
            change = best - w[j]
            w[j] = best
            slope += change * model.curvature * x
            if model.total > 0.0:
                shift -= change * model.products[j] / model.total
            gain += 0.5 * curvature * change**2
        if gain <= enough:
            break
    return ColumnDescentResult(epochs, float(gain), float(shift))
