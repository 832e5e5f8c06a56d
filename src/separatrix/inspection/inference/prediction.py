"""Confidence limits of predicted probabilities, by the delta method on the scale of log odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import validate_data

from ...data.validation import check_rows
from ...numeric.types import Array
from ...rows import RowsLike, concatenate_rows, host_rows_of
from .fitted import FittedLikelihood

AT_ONCE = 2048  # rows whose values are in memory as a dense array
TINY = np.finfo(np.float64).tiny  # in place of a probability that underflows


def probability_limits(
    found: FittedLikelihood, variables: Array, quantile: float, X: Any, offset: Any
) -> tuple[Array, Array]:
    """Lower and upper limits for all classes, (n, k) each.

    ``variables`` is the covariance of the reported coefficients in standardised variables.
    """
    rows = host_rows_of(_rows_of(found, X))
    W, own, n = found.weights, found.standardization, rows.shape[0]
    added = found.clf._offset_of(offset, n, len(found.weights))
    low, high = [], []
    for start in range(0, n, AT_ONCE):
        part = rows.part(start, min(start + AT_ONCE, n))
        Z, scores = own.rows(part.to_dense()), part.scores(W)
        if added is not None:
            scores += added[start : start + AT_ONCE]
        if len(W) == 1:
            half = quantile * np.sqrt(np.einsum("ni,ij,nj->n", Z, variables, Z))
            below, above = expit(scores[:, 0] - half), expit(scores[:, 0] + half)
            low.append(np.column_stack([1.0 - above, below]))
            high.append(np.column_stack([1.0 - below, above]))
            continue
        limits = _of_many(scores, Z, variables, quantile, found.reference)
        low.append(limits[0])
        high.append(limits[1])
    k = max(len(W), 2)
    return np.concatenate([np.empty((0, k)), *low]), np.concatenate([np.empty((0, k)), *high])


def _of_many(
    scores: Array, Z: Array, variables: Array, quantile: float, reference: int
) -> tuple[Array, Array]:
    """The log odds of class c have the derivatives 1 by its own score and -p_b / (1 - p_c)."""
    k, width = scores.shape[1], Z.shape[1]
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    blocks = variables.reshape(k - 1, width, k - 1, width)
    of_scores = np.einsum("ni,aibj,nj->nab", Z, blocks, Z, optimize=True)
    others = np.arange(k) != reference
    low, high = np.empty_like(p), np.empty_like(p)
    for c in range(k):
        rest = np.maximum(np.delete(p, c, axis=1).sum(axis=1), TINY)
        turn = -p / rest[:, None]
        turn[:, c] = 1.0
        turn = turn[:, others]
        variance = np.einsum("na,nab,nb->n", turn, of_scores, turn)
        odds = np.log(np.maximum(p[:, c], TINY)) - np.log(rest)
        half = quantile * np.sqrt(np.maximum(variance, 0.0))
        low[:, c], high[:, c] = expit(odds - half), expit(odds + half)
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
