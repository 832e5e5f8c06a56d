"""Coordinate descent by columns on a second-order model plus absolute values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numeric.rows import RowArrays, shape_of
from ..numeric.types import Array
from ._compiled import _loops


class ColumnModel(NamedTuple):
    """A second-order model of J for some columns of X, stored as rows."""

    columns: RowArrays  # (m, n)
    curvature: Array  # (n,): weighted second derivative of each row's loss by its score
    total: float  # the sum of these, or 0 if the bias is fixed
    ridge: Array  # (m,): curvature of the penalty
    thresholds: Array  # (m,): coefficients of the absolute values
    products: Array  # (m,): product of each column with the curvatures
    squares: Array  # (m,): curvature along each column, with a free bias at its optimum


class ColumnDescentResult(NamedTuple):
    epochs: int  # number of epochs
    gain: float  # lower bound on the decrease in the last epoch
    shift: float  # change of the bias


def column_model(
    columns: RowArrays, curvature: Array, ridge: Array, thresholds: Array, bias: bool
) -> ColumnModel:
    """Build the model, in one read of the columns."""
    m, total = shape_of(columns)[0], float(curvature.sum()) if bias else 0.0
    products, squares = np.empty(m), np.empty(m)
    _loops.column_curvatures(columns, curvature, float(curvature.sum()), bias, products, squares)
    return ColumnModel(columns, curvature, total, ridge, thresholds, products, squares)


def column_descent(
    model: ColumnModel, w: Array, slope: Array, shift: float, *, zeros: bool, max_epochs: int,
    enough: float,
) -> ColumnDescentResult:  # fmt: skip
    """Minimise the model over one weight at a time; the bias is updated with each step.

    ``slope + shift * curvature`` is its derivative by every row's score (n,), whose sum must be 0
    if the bias is free. Without ``zeros``, weights of 0 are skipped. A weight without curvature
    becomes 0 if that costs less. Ends after an epoch that gained no more than ``enough``.
    """
    found = _loops.column_descent(
        model.columns, model.curvature, model.total, model.products, model.squares, model.ridge,
        model.thresholds, zeros, w, slope, shift, max_epochs, enough,
    )  # fmt: skip
    return ColumnDescentResult(*found)
