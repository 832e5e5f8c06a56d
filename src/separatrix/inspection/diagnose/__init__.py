"""Why a fit is slow, stopped early or performs badly: ranked, with evidence and remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import features, leaks, models, probabilities, runs
from .fitted import FittedModel
from .report import Diagnosis, Finding
from .unwrapping import fitted_model

__all__ = ["Diagnosis", "Finding", "diagnose"]

CAUSES: tuple[Callable[[FittedModel], Finding | None], ...] = (
    features.float32_exhausted,
    runs.step_too_long,
    runs.separable_without_penalty,
    runs.cycling,
    runs.sorted_rows,
    runs.tanh_stuck,
    runs.not_separable,
    features.different_scales,
    models.dominant_class,
    models.penalty_too_large,
    models.penalty_too_small,
    runs.stopped_early,
    leaks.separating_feature,
    probabilities.changed_by_class_weights,
    features.constant,
    features.duplicates,
)
"""In a tie, the earlier comes first."""


def diagnose(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Diagnosis:
    """Find what is wrong with a fit, the worst first.

    ``estimator`` is a fitted :class:`separatrix.Perceptron`, ``LinearClassifier``,
    ``LinearClassifierCV`` or ``KernelPerceptron``, or a pipeline that ends in one; X and y are the
    data of the fit, as arrays or sparse matrices, or a source in memory (for files,
    ``source.sample(100_000)``): columns are compared, and rows drawn from everywhere. Each finding
    has a sentence, the numbers that support it and a line of Python as a remedy, for the names
    ``clf``, ``X`` and ``y``.

    First come causes that make a fit useless, in this order: float32 exhausted, step above 2/L,
    separable without penalty, cycling, rows sorted by class, tanh loss stuck, not separable (for
    perceptrons). Then causes whose harm can be estimated, by the share of the loss (or of the
    recall of classes) that a remedy should save: features on different scales, one dominant class,
    a penalty too large or too small, a run that was stopped early. Last come those whose harm
    cannot be estimated: one feature separates the classes, class weights change probabilities,
    constant and duplicate features.

    It takes a few passes over the data, and fits to a sample of at most about 2000 rows, drawn with
    a fixed seed; all rows are examined only to decide whether they can be separated, if a sample
    can be and the fit itself does not decide it.

    Parameters
    ----------
    estimator : fitted estimator of this library, or a pipeline that ends in one
        The fit to examine.
    X, y : arrays, or a source in memory as X alone
        The rows of the fit.
    sample_weight : array (n,), optional
        The weights of the fit. Losses, shares of classes and accuracies are weighted means, and
        rows of weight 0 are ignored. A source has its own weights.

    See Also
    --------
    Diagnosis : the result.
    separability : whether classes can be separated.
    certify : models of other libraries.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> from separatrix import LinearClassifier, diagnose
    >>> X, y = np.arange(12.0)[:, None], np.repeat([0, 1], 6)
    >>> with warnings.catch_warnings(action="ignore"):  # it warns that there is no minimum
    ...     clf = LinearClassifier(l2=0.0).fit(X, y)
    >>> diagnosis = diagnose(clf, X, y)
    >>> diagnosis.findings[0].cause
    'separable without penalty'
    >>> diagnosis.findings[0].remedy
    'clf.set_params(l2=0.0001).fit(X, y)'
    """
    model = fitted_model(estimator, X, y, sample_weight)
    found = [finding for cause in CAUSES if (finding := cause(model)) is not None]
    found.sort(key=lambda finding: -finding.harm)  # stable: ties keep the order above
    return Diagnosis(tuple(found), model.facts())
