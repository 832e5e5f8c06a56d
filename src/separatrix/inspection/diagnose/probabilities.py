"""Problems with the probabilities of a model."""

from __future__ import annotations

import numpy as np

from ...estimators.prior_correction import class_factors
from .fitted import FittedModel
from .report import Finding

FAR = 1.5  # ratio of two class weights from which probabilities are far from those of the rows


def changed_by_class_weights(model: FittedModel) -> Finding | None:
    """Class weights multiply the odds, so probabilities are not those of the rows."""
    clf = model.clf
    if getattr(clf, "class_weight", None) is None or not model.minimises:
        return None
    if clf.prior_correction or not model.loss.log_likelihood or model.streams:
        return None
    factors = class_factors(model.source, model.source.with_weight(model.weight))
    if not factors.max() > FAR * factors.min():
        return None
    mean = np.average(clf.predict_proba(model.X), axis=0, weights=model.weight)
    at = int(np.argmax(np.abs(mean - model.shares)))
    text = (
        f"class_weight changes the probabilities: the mean probability of "
        f"{str(clf.classes_[at])!r} is {mean[at]:.1%}, but {model.shares[at]:.1%} of the rows "
        "are. This does no harm where only the predicted classes are used."
    )
    evidence = {
        "mean_probabilities": dict(zip(map(str, clf.classes_), mean.tolist(), strict=True)),
        "shares": dict(zip(map(str, clf.classes_), model.shares.tolist(), strict=True)),
    }
    remedy = model.setting(prior_correction=True)
    return Finding("class weights change probabilities", text, evidence, remedy, 0.0)
