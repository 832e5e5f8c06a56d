"""Conversions between given and standardised units to twice the working precision.

The bias subtracts the means from the scores: where these are far from 0, doubles lose digits.
"""

from __future__ import annotations

import numpy as np

from ..numeric.dot import exact_quotient
from ..numeric.standardization import Standardization
from ..numeric.types import Array
from .dense import DenseRows


def exact_to_weights(standardization: Standardization, W: Array) -> tuple[Array, Array]:
    """``standardization.to_weights(W)`` to twice the working precision, in two parts."""
    high, low = exact_quotient(W, standardization.scale)
    bias, rest = exact_bias(-standardization.mean, high)
    rest -= low[:, :-1] @ standardization.mean
    high[:, -1], low[:, -1] = bias, rest + low[:, -1]
    return high, low


def exact_bias(x: Array, W: Array) -> tuple[Array, Array]:
    """``b + w.x`` of every class to twice the working precision: means may be far from 0."""
    row = DenseRows(x[None])
    high, low = row.compensated_scores(W)
    plain = row.scores(W)  # for scores that overflow, which have no low part
    finite = np.isfinite(high) & np.isfinite(low)
    return np.where(finite, high, plain)[0], np.where(finite, low, 0.0)[0]


def exact_gradient(
    standardization: Standardization, high: Array, low: Array
) -> tuple[Array, Array]:
    """``standardization.gradient(high + low)`` to twice the working precision, in two parts."""
    high, low = high.copy(), low.copy()
    mean = -standardization.mean
    for g, rest in zip(high, low, strict=True):
        # For every feature: its sum minus the mean times the bias's sum, which may cancel.
        bias, columns = np.array([[g[-1], rest[-1]]]), [mean, mean, g[:-1]]
        found, lost = DenseRows(bias).compensated_scores(np.column_stack(columns))
        g[:-1], rest[:-1] = found[0], lost[0] + rest[:-1]
    quotient, rest = exact_quotient(high, standardization.scale)
    return quotient, rest + low / standardization.scale
