"""Proven bounds on how far a fitted linear model is above the minimum of its objective."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ...data.feature_map import FeatureMap
from ...estimators.predictor import LinearPredictor
from ...losses import Loss
from .certificate import Certificate
from .claims import WeightsAsModel, claim_of, claim_of_weights
from .minimum import HARDEST_FIRST, Minimum, minimum
from .one_vs_rest import OneVsRestRemedies, claimed_by_estimators, is_one_vs_rest
from .problems import Claimed, claimed
from .remedies import ENOUGH, Remedies
from .rows import Predictions, training_rows
from .weights import fitted_weights

__all__ = ["Certificate", "certify"]


def certify(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    loss: str | Loss | None = None,
    l2: float | None = None,
) -> Certificate:
    """Prove how far a fitted linear model is above the minimum of its objective.

    The objective is derived from the model's parameters and evaluated at its weights. Then it is
    minimised from these weights, with a relative tolerance of 1e-6: duality gives a lower bound for
    all weights.

    Parameters
    ----------
    model : fitted classifier, or (coef, intercept)
        scikit-learn's LogisticRegression, LogisticRegressionCV, LinearSVC, SGDClassifier,
        RidgeClassifier, RidgeClassifierCV or Perceptron; a OneVsRestClassifier of one of these,
        fitted to an indicator matrix; a linear classifier of this package; a Pipeline that ends in
        one. Or weights (d,) or (k, d) with their biases (or None), for the
        weighted mean of ``loss`` plus ``l2 * |w|^2``. A ValueError names what is not covered: L1
        penalties of losses that are not smooth, kernels, ensembles, early stopping, regression
        losses.
    X, y, sample_weight
        The rows, labels and weights that it was trained on, which cannot be checked. X may be a
        source, which contains labels and weights; for a model of this package that was fitted to
        files also paths or frames, which are read into memory.
    offset
        The offset that it was trained with, for a model of this package or for weights.
    loss, l2
        Only if the model is given as weights.

    Returns
    -------
    Certificate
        ``objective``, ``bound``, ``gap``, ``relative_gap``, ``minimum_exists``, ``flips``,
        ``remedy`` and more; ``str`` explains all of it.

    See Also
    --------
    Certificate : the result.
    from_sklearn : converts a model to this package.
    diagnose : finds what is wrong with a fit of this package.

    Notes
    -----
    Without a penalty there is no such proof: the model is then compared with the fit made here, and
    ``proven`` is False. If the infimum is 0, for the perceptron's loss or for classes that are
    separable without a penalty, the distance to it is not informative: ``relative_gap`` and
    ``flips`` are None, and ``verdict`` and ``mistakes`` describe the model. One class against the
    rest is a separate problem for each class, and their gaps add up; so do those of the labels of
    an indicator matrix, where a row is a mistake if any of its labels is predicted wrongly.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from separatrix import certify
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    >>> found = certify(LogisticRegression(tol=1e-8).fit(X, y), X, y)
    >>> found.relative_gap < 1e-5, found.flips, found.remedy
    (True, 0, None)
    >>> certify(([[1.0]], [0.0]), X, y, loss="logistic", l2=0.125)
    <Certificate: (coef, intercept), at most 45 % above its minimum, 2 of 4 rows flip>
    """
    clf = model.steps[-1][1] if hasattr(model, "steps") else model
    if isinstance(model, tuple):
        clf = model = WeightsAsModel.of(model)
        claim = claim_of_weights(model.intercept, loss, l2)
    else:
        if loss is not None or l2 is not None:
            raise TypeError(
                "loss and l2 belong to weights, certify((coef, intercept), X, y, loss=..., "
                f"l2=...): {type(clf).__name__} has its own"
            )
        if is_one_vs_rest(clf):
            if offset is not None:
                raise TypeError(f"{type(clf).__name__} has no offset in its objective")
            posed = claimed_by_estimators(model, clf, X, y, sample_weight)
            return _certificate(model, clf, posed, [minimum(each) for each in posed.problems])
        claim = claim_of(clf)
        check_is_fitted(clf)
    if offset is not None and not isinstance(clf, (LinearPredictor, WeightsAsModel)):
        raise TypeError(f"{type(clf).__name__} has no offset in its objective")
    source = training_rows(model, clf, X, y, sample_weight, offset)
    if source.has_offset and claim.loss.homogeneous:
        raise ValueError("the perceptron's loss is not certified with an offset: use the hinge")
    W = fitted_weights(clf, source)
    features = None
    if getattr(clf, "scale_", None) is not None:  # the penalty applies to the scaled weights
        features = FeatureMap(source.n_features, clf._features.standardization)
    posed = claimed(claim, source, W, features)
    return _certificate(model, clf, posed, [minimum(problem) for problem in posed.problems])


def _certificate(model: Any, clf: Any, posed: Claimed, found: list[Minimum]) -> Certificate:
    factors = [problem.factor for problem in posed.problems]
    objective, bound, gap = (
        math.fsum(factor * getattr(one, name) for factor, one in zip(factors, found, strict=True))
        for name in ("value", "bound", "gap")
    )
    answers = {one.exists for one in found}
    exists = False if False in answers else None if None in answers else True
    zero = all(one.zero for one in found)
    verdicts = {one.verdict for one in found}
    verdict = None if None in verdicts else min(verdicts, key=HARDEST_FIRST.index)
    optimum = None
    reached = [one.weights for one in found if one.weights is not None]
    if exists and len(reached) == len(found):
        optimum = posed.joined(reached)
    own = isinstance(clf, (LinearPredictor, WeightsAsModel))
    mistakes, flips = posed.source.total(Predictions(posed.weights, optimum, own))
    certificate = Certificate(
        model=_name(model, clf), formula=posed.in_words, objective=objective,
        bound=bound, gap=gap, proven=all(one.proven for one in found),
        tight=all(one.tight for one in found), minimum_exists=exists, infimum_is_zero=zero,
        verdict=verdict, mistakes=mistakes,
        flips=None if optimum is None else flips, n_rows=posed.source.length, remedy=None,
        optimum=None if optimum is None else (optimum[:, :-1].copy(), optimum[:, -1].copy()),
    )  # fmt: skip
    remedies = OneVsRestRemedies if is_one_vs_rest(clf) else Remedies
    return replace(certificate, remedy=_remedy(certificate, remedies(model, clf, posed)))


def _name(model: Any, clf: Any) -> str:
    name = "(coef, intercept)" if isinstance(clf, WeightsAsModel) else type(clf).__name__
    return name if model is clf else f"{name} in a pipeline"


def _remedy(found: Certificate, remedies: Remedies | OneVsRestRemedies) -> str | None:
    if found.minimum_exists is False:
        return remedies.without_penalty()
    if found.infimum_is_zero:
        return remedies.of_mistakes(found.verdict, found.mistakes)
    if found.relative_gap is not None and found.relative_gap <= ENOUGH:
        return None
    return remedies.towards_minimum()
