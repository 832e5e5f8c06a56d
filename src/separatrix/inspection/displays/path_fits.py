"""The fits that a plot of a path shows, for an estimator and its rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...estimators import LinearClassifier, Path, path
from ...estimators.cv.results import chosen
from ...numeric.types import AnyArray, Array


def of_best_ratio(table: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """The rows of a table of scores that have the ``l1_ratio`` of the best."""
    ratios = table["l1_ratio"]
    return _rows(table, ratios == ratios[chosen(dict(table), "best")])


def _rows(table: Mapping[str, AnyArray], which: AnyArray) -> dict[str, AnyArray]:
    return {name: np.asarray(column)[which] for name, column in table.items()}


def along_strengths(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Path:
    """The fits of a search along strengths, with its scores."""
    table = estimator.cv_results_
    table = _rows(table, table["l1_ratio"] == estimator.l1_ratio_)
    given = estimator.get_params(deep=False)
    same = {name: given[name] for name in signature(path).parameters if name in given}
    same |= {"l1_ratio": estimator.l1_ratio_, "strengths": table["strength"], "cv": None}
    with warnings.catch_warnings():
        # The smallest strengths may cause this; the plot shows the result.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = path(X, y, sample_weight=sample_weight, **same | {"callbacks": ()})
    return replace(found, cv_results=table)


def along_l2(
    estimator: Any, X: Any, y: Any, sample_weight: Any, l2s: Array
) -> list[tuple[Array, AnyArray]]:
    """The weights at each l2 and the names of their features; each fit is a warm start."""
    ours = set(LinearClassifier().get_params(deep=False))
    same = {key: value for key, value in estimator.get_params(deep=False).items() if key in ours}
    same |= {"warm_start": True, "callbacks": (), "verbose": False}
    clf, found = LinearClassifier(**same), []
    with warnings.catch_warnings():
        # The smallest values of l2 may cause this; the plot shows the result.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for l2 in l2s:
            clf.set_params(l2=float(l2)).fit(X, y, sample_weight)
            coef = clf.coef_ if clf.scale_ is None else clf.coef_ * clf.scale_
            found.append((coef, clf.coef_names_))
    return found
