"""Rows that folds leave out: which, how well weights do on them, and what is chosen by it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from .. import layout, loops
from ..data import ArraySource, Block, RowsOf
from ..data.pool import one_blas_thread
from ..folds import Split
from ..layout import CsrRows
from ..losses import Loss
from ..typing import AnyArray, Array, Ints

MOST_SPLITS = 100  # folds told one by one
ROWS = 2048  # whose scores by many weights are held at a time


def splits(cv: Any, source: ArraySource, X: Any, y: AnyArray) -> Iterator[Split]:
    """Weights of the rows that a fold trains on, and the rows that it tests."""
    from sklearn.model_selection import StratifiedKFold, check_cv  # a third of a second

    n, everyone = len(y), np.arange(len(y))
    number = (source.y > 0.0).astype(np.intp) if len(source.classes) == 2 else source.y
    splitter = check_cv(cv, y, classifier=True)
    if type(splitter) is StratifiedKFold:  # cares for classes, not for their names
        y = number.astype(np.min_scalar_type(len(source.classes)))
    for train, test in splitter.split(X, y):
        train, test = everyone[train], everyone[test]  # numbers of rows, or masks
        weight = None if source.weight is None else source.weight[train]
        kept = np.bincount(train, weight, n).astype(np.float64)  # a row twice counts twice
        left = np.count_nonzero(np.bincount(number, kept != 0.0))
        if left < len(source.classes) or not len(test):
            raise ValueError(
                f"a fold trains on {left} of {len(source.classes)} classes and tests on "
                f"{len(test)} rows; use fewer folds, or a splitter that keeps every class in "
                "every fold"
            )
        yield kept, test


def row_scores(scoring: Any, loss: Loss, y: AnyArray, s: Array) -> AnyArray:
    """Whether each row is right, or minus its loss, (m, n), for scores (m, k, n) by m weights."""
    if scoring == "loss":
        return np.array([-loss.value(y, each.T) for each in s])
    right: AnyArray = (s[:, 0] >= 0) == (y > 0) if s.shape[1] == 1 else s.argmax(axis=1) == y
    return right


def mean_scores(scoring: Any, loss: Loss, source: ArraySource, rows: Ints, weights: Array) -> Array:
    """Weighted accuracy of some rows, or minus their weighted mean loss, by many weights.

    ``weights`` is (m, k, d + 1), the result (m,): NaN if no row has a weight.
    """
    some = RowsOf(source, rows)
    if not some.weight_sum > 0.0:
        return np.full(len(weights), np.nan)
    with one_blas_thread(ROWS * weights.size):
        (total,) = some.total(partial(_score_sums, scoring=scoring, loss=loss, weights=weights))
    mean: Array = total / some.weight_sum
    return mean


def _score_sums(block: Block, scoring: Any, loss: Loss, weights: Array) -> tuple[Array]:
    m, k, d = weights.shape
    flat, sums = weights.reshape(m * k, d), np.zeros(m)
    for start in range(0, len(block.y), ROWS):
        at = slice(start, min(start + ROWS, len(block.y)))
        rows, y = layout.part(block.X, at.start, at.stop), block.y[at]
        if isinstance(rows, CsrRows):
            s = loops.scores(rows, flat).T
        else:
            s = flat[:, :-1] @ layout.dense(rows).T + flat[:, -1:]
        weight = np.ones(len(y)) if block.weight is None else block.weight[at]
        sums += row_scores(scoring, loss, y, s.reshape(m, k, -1)) @ weight
    return (sums,)


def results(l2s: Array, splits: Array) -> dict[str, AnyArray]:
    """Scores by l2: mean and deviation over the folds that have one, and every fold's own."""
    if np.all(np.isnan(splits)):
        raise ValueError("no fold could be scored: every held-out row has weight 0")
    counted = np.sum(~np.isnan(splits), axis=0)
    deviation = np.nanstd(splits, axis=0)
    table: dict[str, AnyArray] = {
        "l2": l2s,
        "mean_test_score": np.nanmean(splits, axis=0),
        "std_test_score": deviation,
        "standard_error": deviation / np.sqrt(np.maximum(counted - 1, 1)),
    }
    if len(splits) <= MOST_SPLITS:
        table |= {f"split{i}_test_score": row for i, row in enumerate(splits)}
    return table


def chosen(table: dict[str, AnyArray], rule: str) -> int:
    """The number of the l2 that the rule picks; the path goes from large to small."""
    mean = table["mean_test_score"]
    best = int(np.argmax(mean))
    if rule == "best":
        return best
    enough = mean[best] - table["standard_error"][best]
    return int(np.argmax(mean >= enough))
