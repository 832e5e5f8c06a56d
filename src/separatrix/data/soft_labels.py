"""Check labels that are probabilities: of the second of two classes, or of every class."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..numeric.types import AnyArray, Array
from .containers import opened
from .device_arrays import copied_home

NEAR_ONE = 1e-6  # of the sum of a row: what float32 leaves of a softmax
EXPECTED = (
    "soft_labels=True expects probabilities: of the second of two classes, (n,), or of every "
    "class, (n, k), with rows that sum to 1"
)


def check_probabilities(y: Any) -> Array:
    """The probabilities of all classes, (n, k), with rows that sum to 1 up to rounding."""
    if y is None:
        raise ValueError(f"the target y is None; {EXPECTED}")
    P = _numbers(y)
    bad = np.argwhere(~((P >= 0.0) & (P <= 1.0)))  # true for NaN
    if len(bad):
        row, column = bad[0]
        found = "NaN" if np.isnan(P[row, column]) else f"{P[row, column]:g}"
        where = f"row {row}" if P.shape[1] == 1 else f"row {row}, column {column}"
        raise ValueError(
            f"y has the value {found} in {where}, which is not a probability; {EXPECTED}"
        )
    if P.shape[1] == 1:
        return np.ascontiguousarray(np.column_stack([1.0 - P[:, 0], P[:, 0]]))
    sums = P.sum(axis=1)
    off = np.flatnonzero(np.abs(sums - 1.0) > NEAR_ONE)
    if len(off):
        raise ValueError(
            f"the probabilities of row {off[0]} sum to {sums[off[0]]:g}; {EXPECTED}: divide each "
            "row by its sum, if the numbers are shares"
        )
    return np.ascontiguousarray(P / sums[:, None])


def check_shares(shares: Array, weight: Array | None) -> None:
    """Refuse a class that no row of positive weight has."""
    some = shares if weight is None else shares[np.asarray(weight) > 0.0]
    missing = np.flatnonzero(~np.any(some > 0.0, axis=0))
    if len(missing):
        rest = ": leave out its column" if shares.shape[1] > 2 else ""
        raise ValueError(
            f"no row has a probability above 0 of class {missing[0]}, so nothing can be learned "
            f"about it{rest}"
        )


def _numbers(y: Any) -> Array:
    """Probabilities as an array (n, columns) of float64."""
    if sp.issparse(y):
        raise TypeError(f"y is a sparse matrix; {EXPECTED}, as a dense array")
    try:
        home: AnyArray = np.asarray(opened(copied_home(y, "y"), "y"))
        if home.dtype.kind not in "biufO":
            raise ValueError(f"values of type {home.dtype}")
        P = home.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y does not have numbers ({error}); {EXPECTED}") from error
    if P.ndim == 1:
        P = P[:, None]
    if P.ndim != 2 or not P.size:
        raise ValueError(f"y has the shape {home.shape}; {EXPECTED}")
    return P
