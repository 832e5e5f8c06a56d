"""A feature or a column that alone says the class: it may be known only together with the label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import gammaln

from ...data.files.encoding.encoders import OneHot
from ...data.files.encoding.encoding import Encoding
from ...numeric.types import AnyArray, Array
from ...rows import HostRowsLike, rows_of
from .features import NAMED, dropping
from .fitted import FittedModel
from .report import Finding

LEAST_CHANCE = np.log(1e-6)
"""A feature without any relation to the classes must be less likely to separate them."""
MOST_RANGES = 1 << 24  # of features by class


def separating_feature(model: FittedModel) -> Finding | None:
    """A feature whose values alone separate the classes, or a column whose categories do.

    Only for columns with names: for others it is unknown when their values become known.
    """
    if not hasattr(model.clf, "feature_names_in_") or model.kernel:
        return None
    encoding = getattr(getattr(model.clf, "_reading", None), "encoding", None)
    found = separating(model.rows, model.labels, model.clf.classes_, model.name, encoding)
    if not found:
        return None
    at = np.unique([j for columns in found.values() for j in columns])
    evidence = {"features": list(found), "columns": at.tolist()}
    text = f"{words(list(found))}: leave it out."
    return Finding("one feature separates", text, evidence, dropping(model, at), 0.0)


def words(names: list[str]) -> str:
    """What such features mean."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return (
        f"{', '.join(names[:NAMED])}{more} alone {'says' if len(names) == 1 else 'say'} the class "
        "of every row. If such a value is known only once the label is known, it is a leak, and "
        "predictions for new rows will be worse than measured"
    )


def separating(
    rows: HostRowsLike,
    labels: AnyArray,
    classes: AnyArray,
    name: Callable[[int], str],
    encoding: Encoding | None,
) -> dict[str, list[int]]:
    """Features and columns of categories whose values say the class: their names and features.

    Only where chance would rarely do the same.
    """
    d, k = rows_of(rows).shape[1], len(classes)
    sizes = np.array([np.sum(labels == label) for label in classes])
    if d < 2 or d * k > MOST_RANGES or np.count_nonzero(sizes) < 2:
        return {}
    X: Any = rows if isinstance(rows, np.ndarray) else rows_of(rows).as_scipy().tocsr()
    low, high = _ranges(X, labels, classes)
    columns = {}
    if encoding is not None and encoding.n_features == d:
        middle = (low.min(axis=0) + high.max(axis=0)) / 2.0
        columns = _columns(X, labels, classes, middle, encoding)
    found = {}
    if _chance_of_ranges(sizes) + np.log(d) < LEAST_CHANCE:
        known = {j for features in columns.values() for j in features}
        apart = np.flatnonzero(_are_apart(low, high)).tolist()
        found = {name(j): [j] for j in apart if j not in known}
    return found | columns


def _ranges(X: Any, labels: AnyArray, classes: AnyArray) -> tuple[Array, Array]:
    """Least and largest value of each feature by class with rows, (classes, d) each."""
    present = [c for c in classes if np.any(labels == c)]
    low, high = np.empty((2, len(present), X.shape[1]))
    for number, label in enumerate(present):
        some = X[np.flatnonzero(labels == label)]
        least, largest = some.min(axis=0), some.max(axis=0)
        dense = isinstance(X, np.ndarray)
        low[number] = least if dense else np.asarray(least.todense()).ravel()
        high[number] = largest if dense else np.asarray(largest.todense()).ravel()
    return low, high


def _are_apart(low: Array, high: Array) -> AnyArray:
    """For which features the ranges of the classes have no value in common."""
    order = np.argsort(low, axis=0, kind="stable")
    low, high = (np.take_along_axis(ends, order, axis=0) for ends in (low, high))
    apart: AnyArray = np.all(high[:-1] < low[1:], axis=0)
    return apart


def _chance_of_ranges(sizes: AnyArray) -> float:
    """Logarithm of the probability that random values have the classes one after another."""
    orders = gammaln(np.count_nonzero(sizes) + 1.0)
    return float(orders + gammaln(sizes + 1.0).sum() - gammaln(sizes.sum() + 1.0))


def _columns(
    X: Any, labels: AnyArray, classes: AnyArray, middle: Array, encoding: Encoding
) -> dict[str, list[int]]:
    """Columns of categories, each of which occurs in one class only, and their features."""
    sizes = np.array([np.sum(labels == c) for c in classes])
    found, first, shares = {}, 0, sizes / sizes.sum()
    by_column = X if isinstance(X, np.ndarray) else X.tocsc()
    for column in encoding.columns:
        features = list(range(first, first + column.n_features))
        first += column.n_features
        if not isinstance(column, OneHot) or len(features) < 2:
            continue
        values: Any = by_column[:, features]
        values = values if isinstance(X, np.ndarray) else values.toarray()
        on = values > middle[features]
        if column.binary:  # the first category has no feature
            on = np.column_stack([~on.any(axis=1), on])
        counts = np.array([on[labels == c].sum(axis=0) for c in classes])
        some = counts.sum(axis=0)
        if not on.any(axis=1).all() or np.any(counts.max(axis=0) < some):
            continue
        chance = np.log((shares[:, None] ** some).sum(axis=0)).sum()
        if chance + np.log(encoding.n_features) < LEAST_CHANCE:
            found[repr(column.name)] = features
    return found
