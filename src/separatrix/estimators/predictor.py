"""A fitted linear classifier in use: scores, classes, accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data import Source
from ..data.labels import check_labels
from ..data.scoring import scores, small_scores
from ..data.validation import check_rows, check_scores, plain_rows
from ..numeric.types import AnyArray, Array
from .sources import LinearScores, accuracy, check_features, refuse_labels_beside, scores_of


class LinearPredictor(ClassifierMixin, BaseEstimator):
    """Weights and classes, whatever found them."""

    coef_: Array
    intercept_: Array
    classes_: AnyArray
    n_features_in_: int

    def _weights(self) -> Array:
        return np.concatenate([self.coef_, self.intercept_[:, None]], axis=1)

    def decision_function(self, X: Any) -> Array:
        """Scores ``w.x + b``: for two classes (n,), above 0 for the larger; else (n, k).

        X may be a source, whose rows are read block by block.
        """
        check_is_fitted(self)
        W, n_jobs = self._weights(), getattr(self, "n_jobs", None)
        if isinstance(X, Source):
            check_features(X, self.n_features_in_, type(self).__name__)
            found = scores_of(X, W, n_jobs)
            return found[:, 0] if len(self.classes_) == 2 else found
        named = hasattr(self, "feature_names_in_")
        plain = not named and plain_rows(X) and X.shape[1] == self.n_features_in_
        rows = X if plain else check_rows(X, owner=self, finite=False)
        if not plain:
            validate_data(self, X, reset=False, skip_check_array=True)
        result = scores(rows, W, n_jobs)
        # A value that is not finite leaves no finite score behind: only then look for one.
        if not np.all(np.isfinite(result)):
            check_rows(X, owner=self)
            check_scores(result, lambda: small_scores(rows, W, n_jobs))
        return result[:, 0] if len(self.classes_) == 2 else result

    def predict(self, X: Any) -> AnyArray:
        """Class of each row; on a tie of two classes the larger, of more the first."""
        scores = self.decision_function(X)
        if len(self.classes_) == 2:
            # A third of the time that it takes to pick by number.
            return np.where(scores >= 0.0, self.classes_[1:], self.classes_[:1])
        predicted: AnyArray = self.classes_[scores.argmax(axis=1)]
        return predicted

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the rows, by weight, that are classified right: of X and y, or of a source."""
        if not isinstance(X, Source):
            y = check_labels(y) if y is None else y
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self)
        refuse_labels_beside(y, sample_weight)
        check_features(X, self.n_features_in_, type(self).__name__)
        return accuracy(X, self.classes_, LinearScores(self._weights()))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
