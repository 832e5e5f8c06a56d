"""Folds of a source by a hash of the row's number."""

from __future__ import annotations

import numpy as np
import pytest
from cluster_engine import clustered
from conftest import overlapping

from separatrix.data import Source
from separatrix.data.cluster.source import Fetched
from separatrix.estimators.cv import row_hash
from separatrix.estimators.cv.row_hash import hashed_splits, source_folds

X, Y = overlapping(300, 3)
CLASSES = np.array([-1, 1])
EDGES = [0, 90, 90, 200, 300]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_of_a_fold_is_the_same_wherever_its_rows_are(weighted, monkeypatch):
    monkeypatch.setattr(row_hash, "HASHED_AT_ONCE", 64)
    weight = np.arange(1.0, 301.0) if weighted else None
    source = clustered(X, Y, CLASSES, weight, EDGES)
    for (training, test), rows in zip(source_folds(source, 3), hashed_splits(300, 3), strict=True):
        for part, own in zip((training, test), rows, strict=True):
            source.engine.asked.clear()
            sample, every = part.sample(40), part.sample(1000)
            assert not any(isinstance(asked, Fetched) for asked in source.engine.asked)
            expected = Source.sample(part, 40)
            np.testing.assert_array_equal(sample.block().X, expected.block().X)
            np.testing.assert_array_equal(sample.weights, expected.weights)
            np.testing.assert_array_equal(every.block().X, X[own])
            np.testing.assert_array_equal(every.y, Y[own])


def test_rows_of_weight_0_are_in_no_sample_of_a_fold():
    weight = (np.arange(300) % 2).astype(float)
    source = clustered(X, Y, CLASSES, weight, EDGES)
    for (training, _), (own, _) in zip(source_folds(source, 3), hashed_splits(300, 3), strict=True):
        np.testing.assert_array_equal(training.sample(1000).block().X, X[own[own % 2 == 1]])
