"""The rows of a fit: from the arguments of ``fit`` to a source, and how its rows are read."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from ..data import ArraySource, Source
from ..data.cluster.source import ClusterSource
from ..data.device_arrays import check_one_device, on_device, placed
from ..data.device_labels import resident_labels, resident_weights
from ..data.device_source import placed_source
from ..data.files.frame_rows import encoded_frame
from ..data.files.reading import Reading
from ..data.indicator import indicator_source, is_indicator
from ..data.labels import check_classes
from ..data.validation import array_source, check_rows
from ..numeric.types import AnyArray
from ..rows import RowsLike, concatenate_rows
from ..rows.device import DeviceRows
from .label_columns import note_labels
from .predictor import LinearPredictor
from .prior_correction import class_factors
from .sources import refuse_labels_beside, reweighted, same_features


class TrainingRows(LinearPredictor):
    """A linear classifier that takes rows to train on."""

    # Set by subclasses' __init__.
    class_weight: Any
    warm_start: bool
    device: str | None = None
    prior_correction: bool = False
    _takes_labels = False  # whether ``fit`` takes rows with several labels each
    _weighs_labels = False  # whether ``class_weight`` is for such rows, too

    def _source(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any = None,
        reset: bool = True,
        encode: bool = True,
        labels: AnyArray | None = None,
    ) -> ArraySource:
        before = self.__dict__.pop("_reading", None) if reset else None
        may_be_frame = reset and encode and type(X) is not np.ndarray
        frame = encoded_frame(X, sample_weight) if may_be_frame else None
        if frame is not None:
            rows: RowsLike = frame[0]
            reading = frame[1]
            self._note_reading(reading, before)
        elif "_reading" in self.__dict__ and self._reads(X):
            rows = concatenate_rows([piece.X for piece in self._reading.rows(X)])
        else:
            rows = check_rows(X, owner=self)
            if isinstance(rows, DeviceRows):
                check_one_device(X, y=y, sample_weight=sample_weight)
            self._check_features(X, reset)
        if self.device is not None:
            rows = placed(rows, self.device)
        y = resident_labels(y, rows)
        if sample_weight is not None:
            sample_weight = resident_weights(sample_weight, rows)
        n_jobs = getattr(self, "n_jobs", None)
        if labels is not None:  # some rows of a stream
            source = indicator_source(rows, y, sample_weight, n_jobs, labels, all_vary=True)
            note_labels(self, source)
            return source
        if self._takes_labels and classes is None and is_indicator(y):
            source = indicator_source(rows, y, sample_weight, n_jobs)
            note_labels(self, source)
            if self.class_weight is None or source.multilabel:
                return source
            return cast(ArraySource, reweighted(source, self.class_weight))
        self.__dict__.pop("_labels", None)
        source = array_source(
            rows, y, classes=classes, sample_weight=sample_weight,
            class_weight=self.class_weight, n_jobs=n_jobs,
        )  # fmt: skip
        if self.prior_correction and self.class_weight is not None:
            self._class_factors = class_factors(
                source, array_source(rows, y, sample_weight=sample_weight, n_jobs=n_jobs)
            )
        return source

    def _given_source(self, source: Source, y: Any, sample_weight: Any) -> Source:
        """A given source, unchanged or with class weights."""
        refuse_labels_beside(y, sample_weight)
        if not len(source.classes):
            raise ValueError(
                "this source has no labels, so its rows can only be predicted: name the column "
                "of labels, separatrix.read(..., target='...')"
            )
        note_labels(self, source)
        check_classes(source.classes, source.target)
        source = placed_source(source, self.device)
        self._keep_reading(source)
        if self.class_weight is None or source.multilabel:
            return source
        weighed = reweighted(source, self.class_weight)
        if self.prior_correction and source.labels is None:
            self._class_factors = class_factors(weighed, source)
        return weighed

    def _keep_reading(self, source: Source) -> None:
        """Note how the rows of files are read, and the names of their columns."""
        before = getattr(self, "_reading", None)
        for name in ("feature_names_in_", "_reading"):
            self.__dict__.pop(name, None)
        self.n_features_in_ = source.n_features
        if isinstance(source, ClusterSource) and source.names is not None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        if source.reading is not None:
            self._note_reading(source.reading, before)

    def _note_reading(self, reading: Reading, before: Reading | None) -> None:
        """Note how rows are read; with ``warm_start`` features must be those of the fit before."""
        self._reading, encoding = reading, reading.encoding
        if encoding is None:
            return
        self.feature_names_in_ = encoding.feature_names
        self.n_features_in_ = len(encoding.columns)
        if self.warm_start and before is not None and before.encoding is not None:
            same_features(before.encoding.coef_names, encoding.coef_names)

    def _check_features(self, X: Any, reset: bool) -> None:
        """Record the number and names of the features, or compare them with those of the fit."""
        plain = type(X) is np.ndarray or sp.issparse(X) or on_device(X)
        nameless = plain and not hasattr(self, "feature_names_in_")
        if nameless and (reset or X.shape[1] == self.n_features_in_):
            self.n_features_in_ = X.shape[1]
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
