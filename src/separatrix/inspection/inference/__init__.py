"""Standard errors, tests and intervals for the coefficients of a fitted model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...numeric import checks
from ...numeric.types import Array
from .columns import estimated_columns
from .covariance import Covariance, Estimated, checked, estimated
from .firth import FirthProfile
from .fitted import (
    MOST_VARIABLES,
    NAMED,
    FittedLikelihood,
    fitted_likelihood,
    refuse_collinear,
)
from .limits import limiting, profile_ends
from .profile import profiled
from .ratio import LikelihoodRatio, null_loss
from .reported import INTERCEPT, Reported
from .result import Inference, result_of

__all__ = ["Inference", "LikelihoodRatio", "inference"]

MANY = 0.05  # parameters per row above which classical standard errors are too small
LOOSE = 1e-3  # standard errors: a distance to the minimum that shows in the printed digits


def inference(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    covariance: str = "model",
    groups: Any = None,
    small_sample: bool = False,
    weights: str = "frequency",
    level: float = 0.95,
    intervals: str = "wald",
    features: Any = None,
    reference: Any = None,
    other_rows: bool = False,
) -> Inference:
    """Standard errors, p-values and confidence intervals of a fitted model's coefficients.

    For the logistic loss, softmax, and the squared loss of two classes. Fit with ``l2=0`` for the
    classical results; with a penalty they are those of the penalised estimate, and are marked so.

    Parameters
    ----------
    model : fitted LinearClassifier, LinearClassifierCV, or a pipeline that ends in one
    X, y
        The rows and labels of the fit; or a source, or a file that the model can read, as X alone.
    sample_weight : array (n,), optional
        The weights of the fit.
    offset : array (n,) or (n, k), optional
        The offset of the fit. The model without features has it, too.
    covariance : {"model", "sandwich", "cluster"}
        "model": right if the model is. "sandwich": for independent rows, also if the model is only
        an approximation (HC0). "cluster": for rows that depend on others of their group.
    groups : array (n,), optional
        The cluster of every row, for ``covariance="cluster"``.
    small_sample : bool
        Whether to enlarge the covariance for few rows (HC1) or few clusters.
    weights : {"frequency", "probability"}
        Whether a weight is a number of equal rows, or the inverse of a probability of sampling.
    level : float
        Probability of the intervals.
    intervals : {"wald", "profile"}
        "wald": coefficient plus and minus a multiple of its standard error. "profile": all values
        that a likelihood-ratio test does not reject. It takes longer and is better for few rows or
        large coefficients. It needs ``covariance="model"`` and a fit without a penalty.
    features : name, number or list of these, optional
        The features in the table; "(intercept)" is the intercept. Default: all. Above 4,000
        coefficients it is required, and the standard errors of these are computed by conjugate
        gradients, without a matrix of all coefficients.
    reference : label, optional
        For more than two classes, the class that the others are compared with; default: the first.
        Of two classes it is the smaller one.

    other_rows : bool
        Whether other rows than those of the fit are allowed; else they are an error. The covariance
        is then that of these rows at the coefficients of the fit, which a note says.

    Returns
    -------
    Inference
        Its ``str()`` is a table.

    See Also
    --------
    LinearClassifier : the model.
    separability : whether maximum-likelihood estimates are finite.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearClassifier, inference
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture"]]
    >>> print(inference(LinearClassifier(l2=0.0).fit(X, y), X, y))  # doctest: +NORMALIZE_WHITESPACE
                     coef  std. error       z        p     95 % interval
    mean radius    -1.057      0.1015  -10.42  <0.0001   -1.256  -0.8582
    mean texture  -0.2181     0.03707   -5.89  <0.0001  -0.2908  -0.1455
    (intercept)     19.85       1.774   11.19  <0.0001    16.37    23.33
    <BLANKLINE>
    rows 569, parameters 3, log-likelihood -145.562, AIC 297.123, BIC 310.155
    Standard errors: from the model.
    """
    share = checks.number("level", level, strict=True)
    if not share < 1.0:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    found = fitted_likelihood(model, X, y, sample_weight, offset, reference, other_rows)
    if found.clf.stop_ == "no minimum":
        found = limiting(found)
    n = 0 if groups is None else found.source.length
    asked = checked(covariance, weights, small_sample, groups, n, sample_weight)
    if asked.kind == "model" and found.clf.class_weight is not None:
        raise ValueError(
            "class_weight changes the likelihood, so the covariance of the model is wrong; use "
            "covariance='sandwich', or fit without class_weight"
        )
    reported = Reported.of(found, features)
    if found.many:
        _refuse_all_of_many(found, features, intervals)
    else:
        refuse_collinear(found)
    if found.firth and asked.kind != "model":
        raise ValueError(
            "with Firth's penalty only the covariance of the model is known: "
            f"covariance={covariance!r} is for fits without bias_reduction"
        )
    known = estimated_columns(found, asked, reported) if found.many else estimated(found, asked)
    notes, ends = _notes(found, asked, known), None
    penalised = FirthProfile.of(found) if found.firth else None
    if profiled(intervals, found, asked):
        if penalised is not None:
            ends = penalised.intervals(reported.at, share)
        else:
            ends = profile_ends(found, reported.at, share)
        notes += _unknown_ends(reported, ends)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return result_of(
        found, asked, known, share, reported, tuple(notes), _words(found, asked),
        _likelihoods(found, asked), intervals, ends, penalised,
    )  # fmt: skip


def _refuse_all_of_many(found: FittedLikelihood, features: Any, intervals: str) -> None:
    """Without a matrix of all coefficients, errors of some are computed."""
    size = f"{found.weights.size} coefficients, and more than {MOST_VARIABLES}"
    if features is None:
        raise ValueError(
            f"the fit has {size} are too many for the covariance of all: name some in features="
        )
    if intervals == "profile":
        raise ValueError(
            f"the fit has {size} are too many for profile intervals: use intervals='wald'"
        )


def _likelihoods(found: FittedLikelihood, asked: Covariance) -> tuple[float | None, float | None]:
    """Log-likelihoods of the fit and of the shares of the classes."""
    weighted = found.clf.class_weight is not None or asked.weights == "probability"
    if found.squared or weighted:
        return None, None
    if found.firth:
        return -found.loss_sum, None
    return -found.loss_sum, -null_loss(found) * (found.whole or found.source).weight_sum


def _notes(found: FittedLikelihood, asked: Covariance, known: Estimated) -> list[str]:
    notes, parameters = _infinite_ones(found), np.count_nonzero(found.free)
    runaway = getattr(found.clf, "_runaway", None)
    if runaway is not None and not runaway.settled:
        notes.append(
            "whether the likelihood has a maximum was not decided by the fit: see "
            "separatrix.separability; if it has none, some coefficients are infinite"
        )
    if asked.kind == "cluster" and asked.count <= parameters:
        notes.append(
            f"there are {asked.count} clusters for {parameters} parameters, so the covariance is "
            "singular and its standard errors are too small"
        )
    share = parameters / known.n
    if share > MANY and not found.penalised and not found.firth and not found.squared:
        notes.append(
            f"there are {share:.2g} parameters per row; above {MANY:g} the standard errors of "
            "maximum likelihood are too small and the coefficients too large"
        )
    errors = np.sqrt(np.diag(known.covariance))
    off = np.divide(np.abs(known.step), errors, out=np.zeros_like(errors), where=errors > 0.0)
    if found.other:
        notes.append(
            "these are not the rows of the fit, so the coefficients are not their estimate: the "
            "standard errors are those of a fit of such rows with these coefficients"
        )
    elif off.max(initial=0.0) > LOOSE:
        notes.append(
            f"a coefficient is {off.max():.2g} standard errors from the minimum, so digits of the "
            "table are wrong: fit with a smaller tol"
        )
    return notes


def _infinite_ones(found: FittedLikelihood) -> list[str]:
    if found.limit is None:
        return []
    every, several = Reported.of(found, None), len(found.weights) > 1
    names = ["the intercept" if name == INTERCEPT else name for name in every.names]
    if several:
        names = [f"{name} of {c!r}" for name, c in zip(names, every.classes, strict=True)]
    words = [name for name, limit in zip(names, found.limit, strict=True) if limit != 0.0]
    more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
    kept = ", each with the classes that the limit leaves it" if several else ""
    return [
        f"the rows are quasi-separable: the maximum of the likelihood is at infinity in "
        f"{', '.join(words[:NAMED])}{more}; the other coefficients and their errors are those of "
        f"the limiting model, of the {found.source.n_rows} rows on the boundary{kept}"
    ]


def _unknown_ends(reported: Reported, ends: Array) -> list[str]:
    """Ends of profile intervals that rounding hides."""
    missing = np.isnan(ends).any(axis=1)
    return [
        f"rounding hides an end of the profile interval of {name!r}: it is NaN; standardise or "
        "rescale the feature"
        for name in dict.fromkeys(np.array(reported.names, dtype=object)[missing].tolist())
    ]


def _words(found: FittedLikelihood, asked: Covariance) -> str:
    words = {
        "model": "from the model",
        "sandwich": "sandwich, for independent rows",
        "cluster": f"sandwich, for {asked.count} clusters",
    }[asked.kind]
    if asked.small_sample:
        words += ", corrected for small samples"
    if asked.weights == "probability":
        words += ", weights are inverse probabilities of sampling"
    if found.firth:
        words += "; with Firth's penalty, which the log-likelihood includes"
    if found.penalised:
        words += "; of the penalised estimate, whose bias they do not include"
    return words
