"""Confidence limits of predicted probabilities, by the delta method on the scale of log odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import validate_data

from ...data.validation import check_rows
from ...numeric.standardization import Standardization
from ...numeric.types import Array
from ...rows import RowsLike, concatenate_rows, host_rows_of, rows_of
from .fitted import FittedLikelihood

AT_ONCE = 2048  # rows whose values are in memory as a dense array
LARGE = 100  # power of two from which values are scaled: their squares must not overflow


def probability_limits(
    found: FittedLikelihood, variables: Array, quantile: float, X: Any, offset: Any
) -> tuple[Array, Array]:
    """Lower and upper limits for all classes, (n, k) each.

    ``variables`` is the covariance of the reported coefficients in standardised variables.
    """
    if found.limit is not None:
        raise ValueError(
            "predictions have no intervals where coefficients are infinite: leave out their "
            "features, or use a penalty (l2 > 0)"
        )
    if found.many:
        raise ValueError(
            "intervals of predictions need the covariance of all coefficients, and the fit has too "
            f"many: {found.weights.size}; fit fewer features"
        )
    given = rows_of(_rows_of(found, X))
    rows, own = host_rows_of(given), found.standardization
    U, n = own.from_weights(found.weights), rows.shape[0]
    added = given.offset
    if added is None or offset is not None:
        added = found.clf._offset_of(offset, n, len(found.weights))
    low, high = [], []
    for start in range(0, n, AT_ONCE):
        part = rows.part(start, min(start + AT_ONCE, n))
        Z, shrunk = _standardised(part.to_dense(), own)
        scores = Z @ U.T
        if added is not None:
            scores += shrunk[:, None] * added[start : start + AT_ONCE]
        if len(U) == 1:
            scores = scores[:, 0]
            half = quantile * np.sqrt(np.einsum("ni,ij,nj->n", Z, variables, Z))
            below, above = _expit(scores - half, shrunk), _expit(scores + half, shrunk)
            low.append(np.column_stack([1.0 - above, below]))
            high.append(np.column_stack([1.0 - below, above]))
            continue
        limits = _of_many(scores, Z, variables, quantile, found.reference, shrunk)
        low.append(limits[0])
        high.append(limits[1])
    k = max(len(U), 2)
    return np.concatenate([np.empty((0, k)), *low]), np.concatenate([np.empty((0, k)), *high])


def _standardised(X: Array, own: Standardization) -> tuple[Array, Array]:
    """Rows in standardised variables, huge ones times a power of two, which is the second array.

    Limits are differences of scores and errors: neither may overflow before they are subtracted.
    """
    X = np.asarray(X, dtype=np.float64)
    power = np.maximum(np.frexp(np.abs(X).max(axis=1, initial=1.0))[1] - LARGE, 0)
    shrunk = np.ldexp(1.0, -power)
    Z = np.empty((len(X), X.shape[1] + 1))
    Z[:, :-1] = X * shrunk[:, None] - own.mean * shrunk[:, None]
    Z[:, -1] = shrunk
    return Z / own.scale, shrunk


def _expit(scores: Array, shrunk: Array, less: Array | float = 0.0) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(expit(scores / shrunk - less))


def _of_many(
    scores: Array, Z: Array, variables: Array, quantile: float, reference: int, shrunk: Array
) -> tuple[Array, Array]:
    """The log odds of class c have the derivatives 1 by its own score and -p_b / (1 - p_c)."""
    k, width = scores.shape[1], Z.shape[1]
    blocks = variables.reshape(k - 1, width, k - 1, width)
    of_scores = np.einsum("ni,aibj,nj->nab", Z, blocks, Z, optimize=True)
    own = np.arange(k) != reference
    low, high = np.empty_like(scores), np.empty_like(scores)
    for c in range(k):
        others = np.delete(scores, c, axis=1)
        top = others.max(axis=1)
        with np.errstate(over="ignore"):
            shares = np.exp((others - top[:, None]) / shrunk[:, None])
        total = shares.sum(axis=1)
        turn = np.insert(-shares / total[:, None], c, 1.0, axis=1)[:, own]
        variance = np.einsum("na,nab,nb->n", turn, of_scores, turn)
        half = quantile * np.sqrt(np.maximum(variance, 0.0))
        ahead, less = scores[:, c] - top, np.log(total)
        low[:, c] = _expit(ahead - half, shrunk, less)
        high[:, c] = _expit(ahead + half, shrunk, less)
    return low, high


def _rows_of(found: FittedLikelihood, X: Any) -> RowsLike:
    """The rows as the classifier sees them, behind the steps of a pipeline."""
    model, clf = found.model, found.clf
    if model is not clf and len(model.steps) > 1:
        X = model[:-1].transform(X)
    if clf._reads(X):
        read: RowsLike = concatenate_rows([piece.X for piece in clf._reading.rows(X)])
        return read
    rows: RowsLike = check_rows(X, owner=clf)
    validate_data(clf, X, reset=False, skip_check_array=True)
    return rows
