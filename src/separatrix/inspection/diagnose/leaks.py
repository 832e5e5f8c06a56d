"""A feature or a column that alone says the class: it may be known only together with the label."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from ...data.files.encoding.encoders import OneHot
from ...numeric.types import AnyArray, Array
from ...rows import rows_of
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
    d, k = model.source.n_features, len(model.clf.classes_)
    named = hasattr(model.clf, "feature_names_in_")
    if not named or model.kernel or d < 2 or d * k > MOST_RANGES:
        return None
    sizes = np.array([np.sum(model.labels == label) for label in model.clf.classes_])
    if np.count_nonzero(sizes) < 2:
        return None
    low, high = _ranges(model)
    found = {}
    if _chance_of_ranges(sizes) + np.log(d) < LEAST_CHANCE:
        found = {model.name(int(j)): [int(j)] for j in np.flatnonzero(_are_apart(low, high))}
    found |= _columns(model, low, high, sizes)
    if not found:
        return None
    names = list(found)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    text = (
        f"{', '.join(names[:NAMED])}{more} alone {'says' if len(names) == 1 else 'say'} the class "
        "of every row. If such a value is known only once the label is known, it is a leak, and "
        "predictions for new rows will be worse than measured: leave it out."
    )
    at = np.unique([j for columns in found.values() for j in columns])
    evidence = {"features": names, "columns": at.tolist()}
    return Finding("one feature separates", text, evidence, dropping(model, at), 0.0)


def _ranges(model: FittedModel) -> tuple[Array, Array]:
    """Least and largest value of each feature by class with rows, (classes, d) each."""
    X = model.rows
    rows: Any = X if isinstance(X, np.ndarray) else X.as_scipy().tocsr()
    classes = [c for c in model.clf.classes_ if np.any(model.labels == c)]
    low, high = np.empty((2, len(classes), rows.shape[1]))
    for number, label in enumerate(classes):
        some = rows[np.flatnonzero(model.labels == label)]
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


def _columns(model: FittedModel, low: Array, high: Array, sizes: AnyArray) -> dict[str, list[int]]:
    """Columns of categories, each of which occurs in one class only, and their features."""
    encoding = getattr(getattr(model.clf, "_reading", None), "encoding", None)
    if encoding is None or encoding.n_features != model.source.n_features:
        return {}
    found, first, shares = {}, 0, sizes / sizes.sum()
    middle = (low.min(axis=0) + high.max(axis=0)) / 2.0
    for column in encoding.columns:
        features = list(range(first, first + column.n_features))
        first += column.n_features
        if not isinstance(column, OneHot) or len(features) < 2:
            continue
        on = _matrix(model, features) > middle[features]
        counts = np.array([on[model.labels == c].sum(axis=0) for c in model.clf.classes_])
        some = counts.sum(axis=0)
        if not on.any(axis=1).all() or np.any(counts.max(axis=0) < some):
            continue
        chance = np.log((shares[:, None] ** some).sum(axis=0)).sum()
        if chance + np.log(model.source.n_features) < LEAST_CHANCE:
            found[repr(column.name)] = features
    return found


def _matrix(model: FittedModel, features: list[int]) -> Array:
    X = model.rows
    if isinstance(X, np.ndarray):
        return X[:, features]
    found: Array = rows_of(X).as_matrix().tocsc()[:, features].toarray()
    return found
