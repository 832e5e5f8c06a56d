"""scikit-learn's own checks."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

from separatrix import (
    CoordinateDescent,
    ElasticNet,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
)

WHOLE = "partial_fit refuses penalty_weights, groups and solvers of all rows at once"
ORDER = "the order of rows is part of the algorithm: a row twice is not a row of weight 2"


class WeightedFeatures(LinearClassifier):
    """With penalty_weights for however many features a check has."""

    def _objective(self, settings, source):
        weights = tuple(np.linspace(0.5, 2.0, source.n_features))
        weighted = replace(settings.penalty, weights=weights)
        return super()._objective(replace(settings, penalty=weighted), source)


def expected_failures(estimator):
    if isinstance(estimator, Perceptron):
        return {f"check_sample_weight_equivalence_on_{kind}_data": ORDER
                for kind in ("dense", "sparse")}  # fmt: skip
    given = estimator.get_params()
    by_row = given["groups"] is None and given["solver"] == "auto"
    if isinstance(estimator, LinearClassifier) and (
        isinstance(estimator, WeightedFeatures) or not by_row
    ):
        names = ("check_fit_score_takes_y", "check_n_features_in_after_fitting",
                 "check_estimators_partial_fit_n_features")  # fmt: skip
        return dict.fromkeys(names, WHOLE)
    return {}


@parametrize_with_checks(
    [
        Perceptron(),
        LinearClassifier(),
        LinearClassifier("squared"),
        LinearClassifier(l1=1e-3),
        LinearClassifier(penalty=ElasticNet(1e-3, 1e-4)),
        WeightedFeatures(l1=1e-3),
        LinearClassifier("squared_hinge", l1=1e-3, solver=CoordinateDescent()),
        LinearClassifier(l1=1e-3, groups="classes"),
        LinearClassifierCV(l2s=2, cv=2, scoring=None),
        LinearClassifierCV(l1_ratio=0.5, strengths=2, cv=2, scoring=None),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_conventions(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize(
    "check",
    [
        check_sample_weight_equivalence_on_dense_data,
        check_sample_weight_equivalence_on_sparse_data,
    ],
)
def test_in_the_batch_perceptron_weight_is_repetition(check):
    check("Perceptron", Perceptron(update="batch", start="sum"))
