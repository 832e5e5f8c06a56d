"""Scores of weights on the rows that a fold leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from ...data import ArraySource, Source, Subset
from ...losses import Loss
from ...numeric.threads import ordered_sum
from ...numeric.types import Array, Ints
from .splits import Given
from .sums import ScoreSums
from .thresholds import WEIGHTS_AT_ONCE

UNSAID = "warn"  # the default of ``scoring``
NEW_DEFAULT = (
    "LinearClassifierCV now chooses by the loss of held-out rows unless scoring is given; before, "
    "it chose by accuracy. Set scoring='loss' to keep this choice without a warning, or "
    "scoring=None for accuracy"
)


def meant_scoring(scoring: Any, loss: Loss) -> Any:
    """The given ``scoring``, or the default: the loss, but accuracy if it is least at zero."""
    if not isinstance(scoring, str) or scoring != UNSAID:
        return scoring
    return None if loss.for_classes(2).homogeneous else "loss"


def name_of(scoring: Any) -> str:
    """How a checkpoint recognises it."""
    return scoring if isinstance(scoring, str) else type(scoring).__name__


def fold_scores(scoring: Any, loss: Loss, test: Source, weights: Iterator[Array]) -> list[float]:
    """Weighted accuracy on the test rows of a fold, or minus their weighted mean loss.

    One score for each of the weights; NaN if no row has a weight.
    """
    found: list[float] = []
    for first in weights:
        at_once = max(1, WEIGHTS_AT_ONCE // first.size)
        some = np.array([first, *islice(weights, at_once - 1)])
        (sums,) = test.total(ScoreSums(scoring, loss, some))
        found += (sums / (test.weight_sum or np.nan)).tolist()
    return found


def mean_scores(
    scoring: Any, loss: Loss, source: ArraySource, tests: list[Ints], weights: Array
) -> Array:
    """The same for all folds: ``weights`` is (folds, m, k, d + 1), the result (folds, m)."""
    parts = [Subset(source, rows) for rows in tests]
    pieces = [(i, at) for i, part in enumerate(parts) for at in part.block_slices]

    def add(piece: tuple[int, slice]) -> tuple[Array]:
        fold, at = piece
        sums = np.zeros(weights.shape[:2])
        (sums[fold],) = ScoreSums(scoring, loss, weights[fold]).of(parts[fold].block(at))
        return (sums,)

    (total,) = ordered_sum(add, pieces, source.threads)
    mean: Array = np.full_like(total, np.nan)
    for fold, part in enumerate(parts):
        if part.weight_sum > 0.0:
            mean[fold] = total[fold] / part.weight_sum
    return mean


def _check_every_class(test: Subset, scoring: Any) -> None:
    """Check that a fold tests on rows of every class: else many measures are undefined."""
    sums = test.class_weight_sums()
    if not np.all(sums > 0.0):
        lost = test.classes[sums == 0.0].tolist()[0]
        raise ValueError(
            f"a fold has no test rows of the class {lost!r}, and {name_of(scoring)} needs rows of "
            "every class: use fewer folds, or scoring='loss'"
        )


def scorer_scores(
    clf: Any, scoring: Any, given: Given, test: Ints, weights: Iterable[Array]
) -> list[float]:
    """The score of one fold by a scikit-learn scorer, with its requested metadata."""
    from sklearn.metrics import check_scoring
    from sklearn.utils import _safe_indexing
    from sklearn.utils.validation import _check_method_params

    scorer, X, y = check_scoring(clf, scoring), given.X, given.y
    params = _check_method_params(X, given.metadata.score, indices=test)
    if given.scored is None:
        X_test = _safe_indexing(X.tocsr() if hasattr(X, "tocsr") else X, test)
    else:
        X_test = Subset(given.scored, test)
        params |= {} if X_test.weight is None else {"sample_weight": X_test.weight}
        if y.ndim == 1:
            _check_every_class(X_test, scoring)
    found: list[float] = []
    for W in weights:
        clf.coef_, clf.intercept_ = W[:, :-1], clf._corrected(W[:, -1])
        found.append(float(scorer(clf, X_test, y[test], **params)))
    return found
