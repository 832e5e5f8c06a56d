"""What ``inference`` returns: coefficients with their uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, norm
from scipy.stats import t as student

from ...numeric.lazy import cached_property
from ...numeric.types import Array, Ints
from .covariance import Covariance, Estimated
from .firth import FirthProfile
from .fitted import FittedLikelihood
from .prediction import probability_limits
from .profile import Profile
from .ratio import (
    LikelihoodRatio,
    feature_numbers,
    likelihood_ratio,
    refuse_without_likelihood,
    refuse_without_maximum,
)
from .reported import Reported
from .text import table


@dataclass(frozen=True, repr=False)
class Inference:
    """Coefficients of a fitted model with standard errors, tests and intervals.

    All arrays have one entry per coefficient, in the order of ``names``; the intercept is last. For
    more than two classes the coefficients are those of each class minus those of the reference
    class, one class after the other (``classes``).

    See Also
    --------
    inference : returns it.
    certify : how far a fit is from its minimum.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import LinearClassifier, inference
    >>> x, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.r_[[0] * 15, [1] * 5, [0] * 8, [1] * 12]
    >>> found = inference(LinearClassifier(l2=0.0).fit(x, y), x, y)
    >>> found.names, found.coef.round(4), found.standard_errors.round(4)
    (('x0', '(intercept)'), array([ 1.5041, -1.0986]), array([0.6892, 0.5164]))
    """

    names: tuple[str, ...]
    """The feature of each coefficient, or "(intercept)"."""
    classes: tuple[Any, ...]
    """The class of each coefficient; empty for two classes."""
    reference: Any
    """The class that the others are compared with; for two classes the smaller one."""
    coef: Array
    """The coefficients, for the features as given."""
    cov: Array
    """Covariance matrix of the coefficients."""
    method: str
    """How intervals are computed: "wald" or "profile"."""
    level: float
    """Probability that an interval is meant to have."""
    degrees: float
    """Degrees of freedom of the distribution of ``z``; infinite for the normal distribution."""
    kind: str
    """The covariance and what it assumes, in words."""
    n: float
    """Number of rows, or the sum of their frequency weights."""
    effective: float
    """Effective number of parameters; without a penalty their number. NaN with a penalty on more
    than 4,000 coefficients, where it is not computed."""
    log_likelihood: float | None
    """At the coefficients; None if the weights or the loss define no likelihood."""
    null_log_likelihood: float | None
    """Of the model that knows the shares of the classes only."""
    notes: tuple[str, ...]
    """What to keep in mind when the numbers are used."""
    _reported: Reported
    _ends: Array | None
    """Profile intervals."""
    _likelihood: FittedLikelihood
    _covariance: Covariance
    _variables: Array
    """Covariance of the coefficients in standardised variables."""
    _firth: FirthProfile | None
    """The likelihood with Firth's penalty, if the fit has it."""

    @cached_property
    def standard_errors(self) -> Array:
        """Square roots of the diagonal of ``cov``."""
        errors: Array = np.sqrt(np.diag(self.cov))
        return errors

    @cached_property
    def z(self) -> Array:
        """Coefficients divided by their standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.coef / self.standard_errors

    @cached_property
    def p_values(self) -> Array:
        """Probability of a ``z`` at least this far from 0 if the coefficient were 0 (Wald)."""
        p: Array = 2.0 * self._distribution.sf(np.abs(self.z))
        return p

    @cached_property
    def intervals(self) -> Array:
        """Confidence intervals of the coefficients, (m, 2)."""
        if self._ends is not None:
            return self._ends
        half = self._quantile * self.standard_errors
        return np.column_stack([self.coef - half, self.coef + half])

    @property
    def odds_ratios(self) -> Array:
        """``exp(coef)``: the factor of the odds for one more unit of a feature."""
        if self._likelihood.squared:
            raise ValueError("the squared loss models no odds; fit loss='logistic'")
        with np.errstate(over="ignore"):
            return np.exp(self.coef)

    @property
    def reference_categories(self) -> dict[str, str]:
        """For columns of categories, the one that the others are compared with."""
        reading = getattr(self._likelihood.clf, "_reading", None)
        encoding = getattr(reading, "encoding", None)
        return {} if encoding is None else encoding.references(set(self.names))

    @property
    def deviance(self) -> float | None:
        """Minus twice the log-likelihood."""
        return None if self.log_likelihood is None else -2.0 * self.log_likelihood

    @property
    def aic(self) -> float | None:
        """Akaike's criterion, with the effective number of parameters.

        None for Firth's penalty, and if that number is NaN.
        """
        if self.deviance is None or self._likelihood.firth or math.isnan(self.effective):
            return None
        return self.deviance + 2.0 * self.effective

    @property
    def bic(self) -> float | None:
        """Schwarz's criterion, with the effective number of parameters; None as ``aic``."""
        if self.deviance is None or self._likelihood.firth or math.isnan(self.effective):
            return None
        return self.deviance + math.log(self.n) * self.effective

    def test(self, features: Any) -> LikelihoodRatio:
        """Test that the coefficients of some features are all 0, by the ratio of likelihoods.

        ``features`` is a name, a number or a list of these. The model is fitted again without them,
        so this takes about as long as the fit.
        """
        names = tuple(map(str, self._likelihood.clf.coef_names_))
        if self._firth is not None:
            at = feature_numbers(features, list(names))
            return self._firth_test(at, self._firth.ratio(at))
        return likelihood_ratio(self._likelihood, self._covariance, names, features)

    def test_each(self) -> tuple[LikelihoodRatio, ...]:
        """``test`` of every feature in the table by itself.

        All are computed together, which is much faster than one by one.
        """
        refuse_without_likelihood(self._likelihood, self._covariance)
        refuse_without_maximum(self._likelihood)
        if self._likelihood.many:
            raise ValueError(
                "the fit has too many coefficients to test each of them together: use test(feature)"
            )
        if self._firth is not None:
            features = np.array(self._reported.features)
            statistics = self._firth.ratios(features).tolist()
            return tuple(map(self._firth_test, features[:, None], statistics))
        return Profile(self._likelihood).tests(self._reported)

    def _firth_test(self, at: Ints, statistic: float) -> LikelihoodRatio:
        names = self._likelihood.clf.coef_names_
        tested = tuple(str(names[j]) for j in at)
        degrees = len(at) * max(len(self._likelihood.weights) - 1, 1)
        return LikelihoodRatio(statistic, degrees, float(chi2.sf(statistic, degrees)), tested)

    def predict_interval(self, X: Any, offset: Any = None) -> tuple[Array, Array]:
        """Confidence limits of the probabilities of all classes, two arrays (n, k).

        ``offset`` is as in ``predict_proba``: known numbers, which add no uncertainty.

        By the delta method on the scale of the log odds, where they are symmetric.
        """
        if self._likelihood.squared:
            raise ValueError("the squared loss models no probabilities; fit loss='logistic'")
        if self._likelihood.firth:
            raise ValueError(
                "predictions of a fit with Firth's penalty have an intercept of their own, whose "
                "covariance is not known; use bias_reduction=None for intervals of probabilities"
            )
        return probability_limits(self._likelihood, self._variables, self._quantile, X, offset)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data."""
        found: dict[str, Any] = {
            "names": list(self.names),
            "coef": self.coef.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "z": self.z.tolist(),
            "p_values": self.p_values.tolist(),
            "lower": self.intervals[:, 0].tolist(),
            "upper": self.intervals[:, 1].tolist(),
            "intervals": self.method,
            "level": self.level,
            "covariance": self.kind,
            "rows": self.n,
            "effective_parameters": None if math.isnan(self.effective) else self.effective,
            "log_likelihood": self.log_likelihood,
            "null_log_likelihood": self.null_log_likelihood,
            "aic": self.aic,
            "bic": self.bic,
            "notes": list(self.notes),
        }
        if self.classes:
            plain = [c.item() if isinstance(c, np.generic) else c for c in self.classes]
            own = self.reference
            reference = own.item() if isinstance(own, np.generic) else own
            found |= {"classes": plain, "reference": reference}
        if self.reference_categories:
            found["reference_categories"] = self.reference_categories
        return found

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for every coefficient."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError(
                "Inference.to_frame needs pandas, which is not installed: pip install pandas"
            ) from error
        columns = {
            "coef": self.coef,
            "standard_error": self.standard_errors,
            "z": self.z,
            "p_value": self.p_values,
            "lower": self.intervals[:, 0],
            "upper": self.intervals[:, 1],
        }
        index: Any = pd.Index(self.names, name="feature")
        if self.classes:
            index = pd.MultiIndex.from_arrays(
                [self.classes, self.names], names=["class", "feature"]
            )
        return pd.DataFrame(columns, index=index)

    def __str__(self) -> str:
        return table(self)

    def __repr__(self) -> str:
        return f"<Inference of {len(self.coef)} coefficients, {self.kind}>"

    @property
    def _distribution(self) -> Any:
        return norm() if math.isinf(self.degrees) else student(self.degrees)

    @property
    def _quantile(self) -> float:
        return float(self._distribution.ppf(0.5 + 0.5 * self.level))


def result_of(
    found: FittedLikelihood,
    asked: Covariance,
    known: Estimated,
    level: float,
    reported: Reported,
    notes: tuple[str, ...],
    kind: str,
    likelihoods: tuple[float | None, float | None],
    method: str,
    ends: Array | None,
    penalised: FirthProfile | None,
) -> Inference:
    """Put everything together."""
    coefficients, intercept = found.coefficients, found.objective.intercept
    kept = np.flatnonzero(np.tile(
        np.arange(coefficients.shape[1]) < coefficients.shape[1] - (not intercept),
        len(coefficients)))[reported.at]  # fmt: skip
    coef, cov = coefficients.ravel()[kept], known.covariance
    if not found.many:
        cov = cov[np.ix_(kept, kept)]
    if found.limit is not None:
        limit = found.limit[reported.at]
        coef = np.where(limit == 0.0, coef, limit)
        cov[limit != 0.0] = cov[:, limit != 0.0] = np.nan
    degrees = known.n - known.effective if found.squared and asked.kind == "model" else math.inf
    return Inference(
        reported.names, reported.classes, reported.reference, coef, cov, method, level, degrees,
        kind, known.n, known.effective, *likelihoods, notes, reported, ends, found, asked,
        known.variables, penalised,
    )  # fmt: skip
