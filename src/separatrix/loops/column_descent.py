"""Coordinate descent by columns on a second-order model, with absolute values beside it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numeric.rows import RowArrays, shape_of
from ..numeric.types import Array
from ._compiled import _loops


class ColumnModel(NamedTuple):
    """What the second-order model of J is made of, for some columns of X stored as rows."""

    columns: RowArrays
    """(m, n)."""
    curvature: Array
    """(n,): of the loss of each row by its score, weighted."""
    total: float
    """The sum of these, or 0 for a bias that stays."""
    ridge: Array
    """(m,): curvature of the penalty."""
    thresholds: Array
    """(m,): of the absolute values."""
    products: Array
    """(m,): of each column and the curvatures."""
    squares: Array
    """(m,): curvature along each column, a free bias at its best."""


class ColumnDescentResult(NamedTuple):
    """How it ended."""

    epochs: int
    """How often weights were looked at."""
    gain: float
    """By how much the last of them lowered the sum, at least."""
    shift: float
    """By how much the bias has changed."""


def column_model(
    columns: RowArrays, curvature: Array, ridge: Array, thresholds: Array, bias: bool
) -> ColumnModel:
    """The model, in one read of the columns."""
    m, total = shape_of(columns)[0], float(curvature.sum()) if bias else 0.0
    products, squares = np.empty(m), np.empty(m)
    _loops.column_curvatures(columns, curvature, float(curvature.sum()), bias, products, squares)
    return ColumnModel(columns, curvature, total, ridge, thresholds, products, squares)


def column_descent(
    model: ColumnModel, w: Array, slope: Array, shift: float, *, zeros: bool, max_epochs: int,
    enough: float,
) -> ColumnDescentResult:  # fmt: skip
    """Lower the model, one weight at a time to its best value; the bias follows at once.

    ``slope + shift * curvature`` is its derivative by every row's score (n,), whose sum must be 0
    if the bias is free. Without ``zeros`` weights of 0 stay. A weight without curvature becomes 0
    if that costs less. Ends after an epoch that gained no more than ``enough``.
    """
    found = _loops.column_descent(
        model.columns, model.curvature, model.total, model.products, model.squares, model.ridge,
        model.thresholds, zeros, w, slope, shift, max_epochs, enough,
    )  # fmt: skip
    return ColumnDescentResult(*found)
