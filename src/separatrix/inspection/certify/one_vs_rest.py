"""scikit-learn's OneVsRestClassifier of an indicator matrix: a claim for each label."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...data import Source
from ...data.feature_map import FeatureMap
from .. import remedy_lines
from .claims import claim_of
from .problems import Claimed, Problem, claimed
from .remedies import FINER, MORE
from .rows import OneAgainstRest, mapped, training_rows
from .weights import weights_of

CONSTANT = "_ConstantPredictor"  # scikit-learn's class for a label that does not vary


def is_one_vs_rest(clf: Any) -> bool:
    """Whether a classifier is scikit-learn's OneVsRestClassifier."""
    kind = type(clf)
    return kind.__module__.partition(".")[0] == "sklearn" and kind.__name__ == "OneVsRestClassifier"


def claimed_by_estimators(model: Any, clf: Any, X: Any, y: Any, sample_weight: Any) -> Claimed:
    """The problems of the estimators of all labels that vary."""
    check_is_fitted(clf)
    if not clf.multilabel_:
        raise ValueError(
            "OneVsRestClassifier is covered if it was fitted to an indicator matrix, and this one "
            "was fitted to one class for every row: pass each of clf.estimators_ with y == its "
            "class, or from_sklearn(clf.estimator) with the loss 'one_vs_rest_...'"
        )
    source = training_rows(model, clf, X, y, sample_weight)
    estimators = _trained(clf, source)
    each = [_claimed_label(one, source, number) for number, one in enumerate(estimators)]
    W = np.concatenate([one.weights for one in each])
    problems: list[Problem] = [problem for one in each for problem in one.problems]
    return Claimed(each[0].claim, source, W, tuple(problems))


def _trained(clf: Any, source: Source) -> list[Any]:
    """The estimators of the labels that vary, which must be those of the given labels."""
    labels, estimators = source.labels, list(clf.estimators_)
    constant = [type(one).__name__ == CONSTANT for one in estimators]
    if len(estimators) != len(labels.names) or constant != (labels.constant != 0).tolist():
        raise ValueError(
            f"the model has {len(estimators)} labels, {sum(constant)} of them constant, and y has "
            f"{len(labels.names)} and {np.count_nonzero(labels.constant)}: pass the rows and "
            "labels that it was trained on"
        )
    trained = [one for one in estimators if type(one).__name__ != CONSTANT]
    if hasattr(trained[0], "steps"):
        raise ValueError(
            "a OneVsRestClassifier of pipelines is not covered: put the other steps before it, "
            "make_pipeline(..., OneVsRestClassifier(classifier))"
        )
    return trained


def _claimed_label(estimator: Any, source: Source, number: int) -> Claimed:
    claim, rows = claim_of(estimator), source
    if source.multilabel:
        rows = mapped(source, OneAgainstRest(number), classes=np.array([0, 1]))
    features = None
    if getattr(estimator, "scale_", None) is not None:
        features = FeatureMap(source.n_features, estimator._features.standardization)
    return claimed(claim, rows, weights_of(estimator, 2), features)


class OneVsRestRemedies:
    """Remedies for a OneVsRestClassifier, for the names ``clf``, ``X`` and ``y``."""

    def __init__(self, model: Any, clf: Any, posed: Claimed) -> None:
        self.model, self.clf, self.posed = model, clf, posed

    def towards_minimum(self) -> str:
        """One fit of all labels by this package, if it has this objective; else more passes."""
        ours = self._ours()
        if ours is not None:
            return remedy_lines.replacing(self.model, ours)
        known = self.clf.estimator.get_params()
        changes = {}
        if known.get("tol") is not None:
            changes["estimator__tol"] = FINER * known["tol"]
        if known.get("max_iter") is not None:
            changes["estimator__max_iter"] = MORE * known["max_iter"]
        return remedy_lines.setting(self.model, **changes)

    def without_penalty(self) -> str:
        """If there is no minimum."""
        return remedy_lines.replacing(
            self.model, f"separatrix.LinearClassifier({self._loss!r}, l2=0.0001)"
        )

    def of_mistakes(self, verdict: str | None, mistakes: int) -> str | None:
        """If the infimum is 0, so that models differ only in their mistakes."""
        if verdict == "separable" and not mistakes:
            return None
        return remedy_lines.replacing(self.model, "separatrix.LinearClassifier('hinge')")

    @property
    def _loss(self) -> str:
        return self.posed.claim.loss.for_classes(2).name

    def _ours(self) -> str | None:
        claim, penalties = self.posed.claim, [one.objective.penalty for one in self.posed.problems]
        strengths = [(one.l2, getattr(one, "l1", 0.0)) for one in penalties]
        alike = np.allclose(strengths, strengths[0], rtol=1e-12)
        free = claim.intercept_scaling is None and claim.class_weight is None
        if not (alike and free and claim.feature_weights is None and claim.groups is None):
            return None
        l2, l1 = strengths[0]
        parts = [repr(self._loss), f"l2={l2:.6g}"] + [f"l1={l1:.6g}"] * (l1 > 0.0)
        parts += ["fit_intercept=False"] * (not claim.fit_intercept)
        return f"separatrix.LinearClassifier({', '.join(parts)})"
