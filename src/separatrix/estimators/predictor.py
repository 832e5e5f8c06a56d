"""Predictions of a fitted linear classifier: scores, classes, accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, validate_data

from ..config import LinkedToPages
from ..data import Source
from ..data.cluster.dask_input import is_dask
from ..data.device_arrays import copied_home, like
from ..data.files.encoding.decoding import Decoded
from ..data.files.encoding.label_sets import signs_of_words
from ..data.files.reading import Reading, Split, is_path
from ..data.files.source import FileSource
from ..data.indicator import LabelColumns, given_indicator
from ..data.labels import check_labels
from ..data.scoring import scores, small_scores
from ..data.validation import check_rows, check_scores, plain_rows
from ..losses.rivals import predicted_indicator, predicted_labels
from ..numeric.dense import dense
from ..numeric.types import AnyArray, Array
from .decision import Deciding
from .lazy import dask_accuracy, lazily
from .offsets import OffsetModel, refuse_offset_beside
from .sources import (
    LinearScores,
    accuracy,
    check_features,
    check_kind,
    label_accuracy,
    refuse_labels_beside,
    scores_of,
)


class LinearPredictor(Deciding, OffsetModel, LinkedToPages, ClassifierMixin, BaseEstimator):
    """Weights and classes, with any training method."""

    coef_: Array | sp.csr_array | sp.csr_matrix
    intercept_: Array
    classes_: AnyArray
    n_features_in_: int

    feature_names_in_: AnyArray
    unknown_categories_: dict[str, int]
    _reading: Reading
    _labels: LabelColumns
    prior_shift_: Array
    intercept_flic_: Array

    @property
    def _label_columns(self) -> LabelColumns | None:
        """The labels of a model of rows with several labels each; None for classes."""
        return self.__dict__.get("_labels")

    @property
    def _has_labels(self) -> bool:
        return self._label_columns is not None

    @property
    def _columns(self) -> int | None:
        """The number of scores of a row; None for the single one of two classes."""
        k = len(self.classes_)
        return None if k == 2 and not self._has_labels else k

    def _weights(self) -> Array:
        """The weights of predictions."""
        intercept = self.__dict__.get("intercept_flic_", self.intercept_)
        return np.concatenate([dense(self.coef_), intercept[:, None]], axis=1)

    def _minimum(self) -> Array:
        """The weights at which training ended, before any shift of the intercept."""
        W = self._weights()
        W[:, -1] = self.intercept_ - self.__dict__.get("prior_shift_", 0.0)
        return W

    def sparsify(self) -> Self:
        """Convert ``coef_`` to a sparse matrix, which is smaller if most weights are 0.

        Predictions and saved files do not change; the next fit makes an array again.
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Convert ``coef_`` back to an array, as after a fit."""
        check_is_fitted(self)
        self.coef_ = dense(self.coef_)
        return self

    @property
    def coef_names_(self) -> AnyArray:
        """Names of the features of ``coef_``.

        The names of the columns; one-hot, hashed and indicator features are named as in
        scikit-learn; x0, x1, ... if columns have no names.
        """
        check_is_fitted(self)
        encoding = self._reading.encoding if hasattr(self, "_reading") else None
        if encoding is not None:
            return encoding.coef_names
        numbered = np.array([f"x{j}" for j in range(self.coef_.shape[1])], dtype=object)
        names: AnyArray = getattr(self, "feature_names_in_", numbered)
        return names

    @property
    def split_(self) -> Split | None:
        """Which rows of files were held out before the fit (``read(validation=...)``).

        ``held_out`` is their share, and ``trained_on`` the fingerprint of the other rows:
        ``read(..., like=model, validation=split.held_out or None).fingerprint()`` is equal for the
        same rows. None if the model was not fitted to a file, or to one that was read while it was
        fitted, without held-out rows.
        """
        check_is_fitted(self)
        return self._reading.split if hasattr(self, "_reading") else None

    def decision_function(self, X: Any, offset: Any = None) -> Array:
        """Scores ``w.x + b``: for two classes (n,), above 0 for the larger; else (n, k), one for
        each class or label.

        ``offset`` is added to them, in the same shape; it is needed if the fit had one.

        X may be a source, whose rows are read block by block, or a Dask collection, for which a
        lazy dask array is returned. A model that was fitted to files also takes paths and frames,
        and counts the categories that its fit did not have in ``unknown_categories_``, by column:
        their features are 0.
        """
        if is_dask(X):
            self._check_dask(X, offset)
            of = "decision_function"
            return cast(Array, lazily(self, of, X, self._columns, np.float64, offset))
        return cast(Array, like(X, self._scores(X, offset)))

    def _check_dask(self, X: Any, offset: Any) -> None:
        """Refuse a model that is not fitted, and an offset that is missing or given twice."""
        check_is_fitted(self)
        of_column = self._reads(X) and self._reads_offset
        if of_column:
            refuse_offset_beside(offset)
        self._check_offset(of_column or offset is not None)

    def _scores(self, X: Any, offset: Any = None) -> Array:
        """Scores of ``decision_function`` as a NumPy array, but not of Dask collections."""
        if not self.__sklearn_is_fitted__():  # what scikit-learn's check asks last
            check_is_fitted(self)
        if isinstance(X, Source):
            n_jobs = getattr(self, "n_jobs", None)
            refuse_offset_beside(offset)
            source = self._read_alike(X)
            self._check_offset(source.has_offset)
            result = scores_of(source, self._weights(), n_jobs)
            return result[:, 0] if self._columns is None else result
        if self._reads(X):
            of = LinearScores(self._weights())
            pieces = self._counted(self._reading.rows(X))
            result = np.concatenate([of(piece.X) for piece in pieces])
            if self._reads_offset:
                refuse_offset_beside(offset)
                return result[:, 0] if self._columns is None else result
        else:
            result = self._scores_of_array(X)
        added = self._offset_of(offset, len(result), self._columns)
        if added is not None:
            result += added
        return result[:, 0] if self._columns is None else result

    def _scores_of_array(self, X: Any) -> Array:
        W, n_jobs = self._weights(), getattr(self, "n_jobs", None)
        named = hasattr(self, "feature_names_in_")
        plain = not named and plain_rows(X) and X.shape[1] == self.n_features_in_
        rows = X if plain else check_rows(X, owner=self, finite=False)
        if not plain:
            validate_data(self, X, reset=False, skip_check_array=True)
        result = scores(rows, W, n_jobs)
        # A value that is not finite leads to a score that is not finite: only then search for it.
        if not np.isfinite(result).all():
            check_rows(X, owner=self)
            check_scores(result, lambda: small_scores(rows, W, n_jobs))
        return result

    def predict(self, X: Any, offset: Any = None) -> AnyArray:
        """Class of each row; in a tie the larger of two classes, the first of more.

        By ``decision_``, if ``set_decision`` or ``tune_threshold`` was called after the fit.
        After a fit to an indicator matrix, the indicator matrix of each row's labels, (n, q): 1
        where the score is 0 or more. ``offset`` is as in ``decision_function``.
        """
        if is_dask(X):
            self._check_dask(X, offset)
            k, dtype = None, self.classes_.dtype
            if self._has_labels:
                k, dtype = self._columns, np.dtype(np.int64)
            return cast(AnyArray, lazily(self, "predict", X, k, dtype, offset))
        return cast(AnyArray, like(X, self._predicted(self._scores(X, offset))))

    def _predicted(self, scores: Array) -> AnyArray:
        """Classes, or the indicator matrix of labels, by scores."""
        if "decision_" in self.__dict__:
            rule = self._rule()
            chosen: AnyArray = self.classes_[rule(scores[:, None] if scores.ndim == 1 else scores)]
            return chosen
        if self._has_labels:
            return predicted_indicator(scores)
        return predicted_labels(self.classes_, scores)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> float:
        """Share of the rows, by weight, that are classified correctly, in all labels if several.

        On X and y; on a source; or, if the model was fitted to files, on files or a frame with the
        columns of the fit, including the target, and the weight if there was one. ``offset`` is as
        in ``decision_function``.
        """
        check_is_fitted(self)
        if is_dask(X):
            self._check_dask(X, offset)
            return dask_accuracy(self, X, y, sample_weight, offset)
        if isinstance(X, Source):
            refuse_offset_beside(offset)
            refuse_labels_beside(y, sample_weight)
            alike = self._read_alike(X)
            self._check_offset(alike.has_offset)
            if self._has_labels or alike.multilabel:
                return label_accuracy(alike, self._label_columns, LinearScores(self._weights()))
            return accuracy(alike, self.classes_, LinearScores(self._weights()), self._rule())
        if y is None and sample_weight is None and offset is None and self._reads(X):
            self._check_offset(self._reads_offset)
            return self._accuracy(self._counted(self._reading.rows(X, labels=True)))
        y, weight = copied_home(y, "y"), copied_home(sample_weight, "sample_weight")
        if self._has_labels:
            y = given_indicator(y, len(self.classes_))
        y = check_labels(y) if y is None else y
        with config_context(array_api_dispatch=False):  # X may be on a GPU
            predicted = self.predict(X, offset=offset)
            return float(accuracy_score(y, predicted, sample_weight=weight))

    def _accuracy(self, pieces: Iterable[Decoded]) -> float:
        """Accuracy on rows with labels."""
        of, right, all = LinearScores(self._weights()), 0.0, 0.0
        for piece in pieces:
            found = of(piece.X)
            if piece.y is None:
                raise ValueError(
                    f"{piece.where}: there are no labels; expected a label for every row"
                )
            weight = np.ones(len(found)) if piece.weight is None else piece.weight
            right += float(weight[self._correct(found, piece.y)].sum())
            all += float(weight.sum())
        return right / all

    def _correct(self, scores: Array, labels: AnyArray) -> AnyArray:
        """Which rows have these labels, as files have them, (n,) booleans."""
        right: AnyArray
        if self._has_labels:
            has = signs_of_words(labels.tolist(), len(self.classes_)) > 0
            right = np.all((scores >= 0.0) == has, axis=1)
        else:
            check_kind(labels, self.classes_)
            right = self.classes_[self._rule()(scores)] == labels
        return right

    def _reads(self, X: Any) -> bool:
        """Whether X is read as the rows of the fit were: files, frames, and columns of a table."""
        if not hasattr(self, "_reading"):
            return False
        return self._reading.encoding is not None or is_path(X)

    @property
    def _reads_offset(self) -> bool:
        """Whether files and frames have a column of offsets."""
        encoding = self._reading.encoding
        return encoding is not None and encoding.offset is not None

    def _counted(self, pieces: Iterable[Decoded]) -> Iterator[Decoded]:
        """Yield the same pieces; after the last, set the counts of unknown categories."""
        unknown = Counter[str]()
        for piece in pieces:
            unknown.update(piece.unknown)
            yield piece
        self.unknown_categories_ = dict(unknown)

    def _read_alike(self, source: Source) -> Source:
        """The rows of a source; those of files are read as in the fit."""
        if isinstance(source, FileSource) and hasattr(self, "_reading"):
            source = source.read_as(self._reading)
            self.unknown_categories_ = dict(source.rows.unknown)
        elif source.reading is not None and hasattr(self, "_reading"):
            self._reading.check_alike(source.reading)
        check_features(source, self.coef_.shape[1], type(self).__name__)
        return source

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
