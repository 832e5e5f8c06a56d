"""From a given estimator and its data to the fit inside, and the rows that it saw."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from ...data import InMemory, Source
from ...data.feature_map import FeatureMap
from ...data.labels import check_labels, refuse_label_source
from ...data.validation import array_source, check_rows, check_weights
from ...estimators import KernelPerceptron, LinearClassifier, LinearClassifierCV, Perceptron
from ...estimators.bias_reduction import refuse_own_objective
from ...estimators.penalty_parameters import penalty_of
from ...estimators.sources import labels_of
from ...estimators.weight_constraints import has_constraints
from ...losses import PerceptronLoss, get_loss
from ...numeric.types import AnyArray
from ...objective import Objective
from ...penalties import L2, Penalty
from ...rows import HostRowsLike, Standardizer, host_rows_of, rows_of
from .fitted import FittedModel

KNOWN = (Perceptron, LinearClassifier, LinearClassifierCV, KernelPerceptron)


def fitted_model(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> FittedModel:
    """The model of a fitted estimator, after validation."""
    clf = _classifier_of(estimator)
    weight, in_source = sample_weight, isinstance(X, Source)
    encoding = getattr(getattr(clf, "_reading", None), "encoding", None)
    if in_source:
        X, y, weight = _arrays_of(X, y, sample_weight, plain=clf is estimator)
    elif encoding is not None and not encoding.is_plain:
        raise TypeError(
            "this model was fitted to a table and computes features from its columns, but "
            "diagnose compares features: pass separatrix.read(..., like=clf).sample(100_000)"
        )
    if clf is not estimator and len(estimator.steps) > 1:
        X = estimator[:-1].transform(X)
    rows = host_rows_of(check_rows(X, owner=clf)).X
    n = _checked_shape(clf, rows)
    if getattr(clf, "scale_", None) is not None:
        clf, rows = _behind_scaling(clf, rows)
        X = rows_of(rows).as_matrix()
    labels = _checked_labels(clf, y, n)
    weight, numbers = check_weights(weight, n), None
    if weight is not None and not weight.all():  # as if these rows were absent
        kept = numbers = np.flatnonzero(weight)
        rows, labels, weight = rows_of(rows).take(kept).X, labels[kept], weight[kept]
        X = rows_of(rows).as_matrix()
    source = array_source(
        rows, labels, classes=clf.classes_, class_weight=clf.class_weight, sample_weight=weight,
        n_jobs=getattr(clf, "n_jobs", None),
    )  # fmt: skip
    X = source if in_source else X  # an array would be read as columns of a table
    loss = get_loss(getattr(clf, "loss", PerceptronLoss())).for_classes(len(clf.classes_))
    objective = Objective(loss, penalty_of_fit(clf), source, clf.fit_intercept)
    return FittedModel(estimator, clf, X, rows, labels, source, objective, weight, numbers)


def _classifier_of(estimator: Any) -> Any:
    """The fitted classifier that is the estimator, or the last step of the pipeline."""
    clf = estimator
    if hasattr(estimator, "steps"):  # a pipeline
        clf = estimator.steps[-1][1]
    if not isinstance(clf, KNOWN):
        raise TypeError(
            f"diagnose supports {', '.join(known.__name__ for known in KNOWN)} and pipelines that "
            f"end in one of them, got {estimator!r}; for a search pass best_estimator_"
        )
    check_is_fitted(clf)
    refuse_own_objective(clf, "diagnose")
    if getattr(clf, "uses_offset_", False):
        raise ValueError(
            "diagnose compares a fit with others on the same rows, and has no offset for them: "
            "use certify and inference, which take offset="
        )
    if getattr(clf, "multilabel_", False):
        raise ValueError(
            "diagnose takes a model of classes that exclude each other, and this one has several "
            "labels for a row: diagnose a fit to one of them"
        )
    if has_constraints(clf):
        raise ValueError(
            "diagnose compares a fit with others that have no constraints on the weights: diagnose "
            "a fit without bounds and monotone"
        )
    return clf


def _arrays_of(source: Source, y: Any, sample_weight: Any, plain: bool) -> tuple[Any, Any, Any]:
    """Rows, labels and weights of a source in memory; ``plain`` without a pipeline."""
    if sample_weight is not None:
        raise TypeError(
            "a source has the weights of its rows: leave out sample_weight, or pass arrays"
        )
    if not isinstance(source, InMemory) or y is not None or not plain:
        raise TypeError(
            "diagnose compares columns, and rows from all over the data: pass X and y as "
            "arrays or sparse matrices, or for a classifier without a pipeline a source in "
            "memory without y, such as source.sample(100_000)"
        )
    refuse_label_source(source, "diagnose")
    rows = host_rows_of(source.block().X).as_matrix()
    return rows, labels_of(source), source.weight


def _checked_shape(clf: Any, rows: HostRowsLike) -> int:
    """The number of rows, if they have the features of the fit."""
    n, features = rows_of(rows).shape
    expected = clf.coef_.shape[1] if hasattr(clf, "coef_") else clf.n_features_in_
    if features != expected:
        raise ValueError(
            f"X has {features} features, but the fit had {expected}; diagnose needs the "
            "data of the fit"
        )
    return n


def _checked_labels(clf: Any, y: Any, n: int) -> AnyArray:
    """Labels of n rows, if the fit had all of them."""
    labels = check_labels(y)
    check_consistent_length(range(n), labels)
    if unknown := sorted(set(np.unique(labels).tolist()) - set(clf.classes_.tolist()), key=str):
        raise ValueError(
            f"y has the labels {unknown!r}, which the fit did not have; it had "
            f"{clf.classes_.tolist()!r}: pass the data of the fit"
        )
    return labels


def penalty_of_fit(clf: Any) -> Penalty:
    if isinstance(clf, LinearClassifier):
        return clf._penalty()
    if hasattr(clf, "l1_"):  # of a search along strengths
        return penalty_of(get_loss(clf.loss), clf.l1_, clf.l2_, clf.penalty_weights, clf.groups)
    return L2(float(getattr(clf, "l2_", getattr(clf, "l2", 0.0))))


def _behind_scaling(clf: Any, X: HostRowsLike) -> tuple[Any, HostRowsLike]:
    """Treat a classifier that standardises its rows as one after a scaling step of a pipeline."""
    standardization, inner = clf._features.standardization, copy(clf)
    rows = rows_of(X)
    W = FeatureMap(rows.shape[1], standardization).from_weights(clf._weights())
    inner.coef_, inner.intercept_ = W[:, :-1], W[:, -1]
    return inner, Standardizer(standardization).copied(rows).X
