"""The rows of a search: from the arguments of ``fit`` to a source, and what assigns it to folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...data import InMemory, Source
from ...data.arrays import as_arrays
from ...data.cluster.dask_input import dask_source, is_dask
from ...data.device_arrays import copied_home
from ...data.device_source import placed_source
from ...data.feature_map import FeatureMap, occupied_features, with_features
from ...data.indicator import given_indicator
from ...data.offset import offset_source
from ...numeric import checks
from ...numeric.types import AnyArray
from ...training.minimize import NONE_HELD_OUT
from ...training.stopping import Stop
from ..base import FitSettings
from ..offsets import refuse_offset_beside
from ..sources import indicator_of, labels_of
from ..stop_parameter import with_validation_rows
from . import row_hash
from .splits import Given, Metadata


def given_rows(
    clf: Any, X: Any, y: Any, sample_weight: Any, offset: Any, metadata: Metadata, scoring: Any
) -> Given:
    """The rows of a fit of this estimator, and the metadata for assigning them to folds."""
    if isinstance(X, Source):
        refuse_offset_beside(offset)
    if is_dask(X):
        X, y, sample_weight = dask_source(X, y, sample_weight, offset), None, None
        offset = None
    arrays = not isinstance(X, Source)
    given = clf._source if arrays else clf._given_source
    found = given(X, y, sample_weight)
    if offset is not None:
        found = offset_source(found, offset)
    found = placed_source(found, clf.device)
    if not isinstance(found, InMemory):
        if scoring not in (None, "loss"):
            raise TypeError(
                f"scoring={scoring!r} needs rows in memory, but {type(found).__name__} reads them "
                "again in each pass: set scoring=None or 'loss'"
            )
        return Given(found, row_hash.check_folds(clf.cv, type(found).__name__), metadata)
    if arrays:
        # A scorer predicts the rows of a source, which has their offset.
        alone = as_arrays(found).with_weight(None) if found.has_offset else None
        return Given(found, _repeatable(clf.cv), metadata, X, _targets(clf, y), alone)
    source = as_arrays(found)
    labels = labels_of(source) if source.labels is None else indicator_of(source)
    cv = clf.cv
    if checks.is_integer(cv):
        cv = row_hash.hashed_splits(len(labels), row_hash.check_folds(cv, type(X).__name__))
    scored = None if scoring in (None, "loss") else as_arrays(X)
    return Given(source, _repeatable(cv), metadata, np.empty((len(labels), 0)), labels, scored)


def _targets(clf: Any, y: Any) -> AnyArray:
    """The labels of every row for splitters and scorers, (n,), or their matrix of 0 and 1."""
    y = copied_home(y, "y")
    if clf._label_columns is None:
        return np.asarray(y)
    return given_indicator(y, len(clf._label_columns.names))


def held_out(stop: Stop, clf: Any, source: Source) -> Stop:
    """The rules with a source of the rows for early stopping, which does not depend on the fold."""
    stop = with_validation_rows(stop, clf, source)
    if stop.validation is not True:
        return stop
    if source.validation is None:
        raise ValueError(NONE_HELD_OUT)
    return replace(stop, validation=source.validation)


def _repeatable(cv: Any) -> Any:
    """The same folds for each ``l1_ratio``: an iterator of them would be empty for the second."""
    return list(cv) if isinstance(cv, Iterator) else cv


def occupied(settings: FitSettings, given: Given, standardize: bool) -> tuple[FitSettings, Given]:
    """Remove features that no row stores, unless folds are scaled separately."""
    found = None if standardize else occupied_features(given.source)
    if found is None:
        return settings, given
    features = FeatureMap(given.source.n_features, occupied=found)
    fewer = given._replace(source=with_features(given.source, found))
    settings.penalty.check_features(given.source.n_features)
    penalty = settings.penalty.on_features(found)
    return replace(settings, features=features, penalty=penalty), fewer
