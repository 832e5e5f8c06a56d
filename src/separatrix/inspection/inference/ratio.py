"""The likelihood-ratio test: how much worse is the fit without some features?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

from ...data.wrapped import Featureless, SomeFeatures
from ...numeric.types import Array, Ints
from ...objective import Objective
from ...penalties import L2
from ...solvers import choose
from ...training.minimize import minimize
from ...training.stopping import Stop
from .covariance import Covariance
from .fitted import FittedLikelihood

TOL, MOST_PASSES = 1e-13, 1000  # of the two fits


class LikelihoodRatio(NamedTuple):
    """Result of a likelihood-ratio test.

    See Also
    --------
    Inference : its method ``test`` returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import LinearClassifier, inference
    >>> x, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.r_[[0] * 15, [1] * 5, [0] * 8, [1] * 12]
    >>> ratio = inference(LinearClassifier(l2=0.0).fit(x, y), x, y).test("x0")
    >>> round(ratio.statistic, 4), ratio.degrees, round(ratio.p_value, 4)
    (5.1345, 1, 0.0235)
    """

    statistic: float
    """Twice the difference of the log-likelihoods."""
    degrees: int
    """Number of coefficients that are tested."""
    p_value: float
    """Probability of a statistic at least this large if the coefficients were 0 (chi-square)."""
    features: tuple[str, ...]
    """Names of the features that are tested."""


def likelihood_ratio(
    found: FittedLikelihood, asked: Covariance, names: Sequence[str], features: Any
) -> LikelihoodRatio:
    """Fit with and without the features, both to the last digit."""
    refuse_without_likelihood(found, asked)
    refuse_without_maximum(found)
    d = found.source.n_features
    at = feature_numbers(features, list(names[:d]))
    kept = np.setdiff1d(np.arange(d), at)
    full = _least(found.objective, found.weights)
    if len(kept):
        objective = found.objective
        fewer = Objective(
            objective.loss, L2(0.0), SomeFeatures(found.source, kept), objective.intercept
        )
        rest = _least(fewer, found.weights[:, np.append(kept, d)])
    else:
        rest = null_loss(found)
    statistic = max(2.0 * found.source.weight_sum * (rest - full), 0.0)
    degrees = len(at) * max(len(found.weights) - 1, 1)
    p = float(chi2.sf(statistic, degrees))
    return LikelihoodRatio(statistic, degrees, p, tuple(names[j] for j in at))


def refuse_without_likelihood(found: FittedLikelihood, asked: Covariance) -> None:
    """Ratios of likelihoods need the likelihood of the model, and its maximum."""
    if found.other:
        raise ValueError(
            "likelihood ratios compare with the fit to the same rows, and these are others: pass "
            "the rows of the fit"
        )
    if found.penalised:
        raise ValueError(
            "with a penalty likelihood ratios have no chi-square distribution; fit with l2=0 for "
            "tests and profile intervals"
        )
    if found.squared:
        raise ValueError("the squared loss has no likelihood here; fit loss='logistic'")
    if asked.kind != "model" or found.clf.class_weight is not None:
        raise ValueError(
            "likelihood ratios assume independent rows and the likelihood of the model: tests and "
            "profile intervals are available with covariance='model' and without class_weight"
        )


def refuse_without_maximum(found: FittedLikelihood) -> None:
    """Tests compare maxima."""
    if found.limit is not None:
        raise ValueError(
            "the likelihood has no maximum, so there are no likelihood-ratio tests: leave out the "
            "features with infinite coefficients"
        )


def null_loss(found: FittedLikelihood) -> float:
    """Mean loss without features: by the shares of the classes, or equal ones without a bias."""
    source = found.whole or found.source
    if source.has_offset:
        return _least_with_offset(replace(found.objective, source=source))
    if not found.objective.intercept:
        return float(np.log(len(source.classes)))
    shares = np.asarray(source.class_weight_sums()) / source.weight_sum
    return float(-np.sum(shares * np.log(shares)))


def _least_with_offset(objective: Objective) -> float:
    """Mean loss of the biases and the offset alone: the rows have a single feature, which is 0."""
    alone = replace(objective, source=Featureless(objective.source), penalty=L2(1.0))
    if not alone.intercept:
        return alone.value_at_zeros
    return _least(alone, np.zeros(alone.shape))


def _least(objective: Objective, start: Array) -> float:
    result = minimize(
        objective, choose(objective), stop=Stop(MOST_PASSES, tol=TOL), start=np.array(start)
    )
    if result.objective is None or result.stop not in ("optimal", "tol", "no progress"):
        raise ValueError(
            f"the fit without these features ended with {result.stop!r}: the rows may be separable "
            "by the others, see separatrix.separability"
        )
    return result.objective


def feature_numbers(features: Any, names: list[str]) -> Ints:
    asked = [features] if isinstance(features, (str, int, np.integer)) else features
    if not isinstance(asked, (list, tuple, np.ndarray)):
        raise TypeError(f"features must be a name, a number or a list of these, got {features!r}")
    if not len(asked):
        raise ValueError("features is empty; name at least one feature to test")
    found = []
    for one in asked:
        if isinstance(one, str):
            if one not in names:
                raise ValueError(f"unknown feature {one!r}; expected some of {names!r}")
            found.append(names.index(one))
        elif isinstance(one, (int, np.integer)) and not isinstance(one, bool):
            if not 0 <= one < len(names):
                raise ValueError(f"feature {one} is out of range; expected 0 to {len(names) - 1}")
            found.append(int(one))
        else:
            raise TypeError(f"features must be names or numbers, got {one!r}")
    if len(set(found)) < len(found):
        raise ValueError("features names a feature more than once")
    return np.array(sorted(found))
