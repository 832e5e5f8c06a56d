"""Predictions that are proven to be those of the exact minimum."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data import ArraySource, Source
from ..data.cluster.dask_input import is_dask
from ..data.offset import offset_source
from ..data.validation import check_rows
from ..numeric import checks
from ..numeric.types import AnyArray, Array, Ints
from ..objective import Objective
from ..penalties import Penalty
from ..proofs.prediction_bounds import PredictionBounds, ScoreBounds, probability_bounds
from ..proofs.provable import provable
from ..proofs.training_scores import FittedWeights, why_unbounded
from ..proofs.units import seen_weights
from ..proofs.weight_ball import reach_of, with_all_features
from ..rows import Rows, concatenate_rows, host_rows_of, rows_of
from ..training.minimize import Result
from .base import FitSettings
from .minimizer import LossModel
from .offsets import refuse_offset_beside
from .sources import check_features, refuse_labels_beside, reweighted

UNDECIDED = "undecided"
NEEDS_PROOF = (
    "certify_predictions=True needs a proof, which partial_fit does not make: call fit, or set "
    "certify_predictions=False"
)
SAME = 1e-9  # relative difference of J at which the rows are not those of the fit
TINY = 1e-12  # J of a perfect fit is only rounding


@dataclass(frozen=True)
class RowNames:
    """How errors name the rows of a fit that are given once more."""

    method: str
    X: str
    y: str
    offset: str
    otherwise: str
    """What else to do with rows that are not taken."""


TRAINING_ROWS = RowNames(
    "certified", "X_train", "y_train", "train_offset",
    "fit Dask collections with certify_predictions=True",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class CertifiedPredictions:
    """What is proven about the predictions of the exact minimum, row by row.

    Returned by ``certified`` of a fitted classifier.

    Parameters
    ----------
    labels : array (n,) of objects
        The label that the exact minimum predicts, or the word "undecided".
    decided : array (n,) of bool
        Whether the label is proven.
    score_low, score_high : array (n,) or (n, k)
        Bounds on ``decision_function`` at the exact minimum.
    probability_low, probability_high : array (n, k) or None
        Bounds on ``predict_proba`` at the exact minimum; None if the loss defines no
        probabilities.

    See Also
    --------
    LinearClassifier : has ``certified``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = LinearClassifier(standardize=True, certify_predictions=True).fit(X[:400], y[:400])
    >>> found = clf.certified(X[400:])
    >>> width = found.probability_high - found.probability_low
    >>> int(found.decided.sum()), bool(width.max() < 0.01)
    (169, True)
    """

    labels: AnyArray
    decided: AnyArray
    score_low: Array
    score_high: Array
    probability_low: Array | None
    probability_high: Array | None

    def __repr__(self) -> str:
        """How many labels are proven, not all arrays."""
        return f"<CertifiedPredictions: {int(self.decided.sum())} of {len(self.decided)} labels>"


class CertifiedModel(LossModel):
    """A minimiser of a loss whose predictions can be compared with those of the exact minimum."""

    certify_predictions: bool = False
    _certifies = True
    prediction_bounds_: PredictionBounds

    def _single_penalty(self) -> Penalty:
        """The penalty of the fit to all rows."""
        raise NotImplementedError

    def _single_fit(self, penalty: Penalty) -> CertifiedModel:
        """A classifier with this penalty that has not been fitted, to prove predictions."""
        raise NotImplementedError

    def certified(
        self,
        X: Any,
        X_train: Any = None,
        y_train: Any = None,
        *,
        sample_weight: Any = None,
        offset: Any = None,
        train_offset: Any = None,
    ) -> CertifiedPredictions:
        """Which predictions are proven to be those of the exact minimum, and bounds on all.

        A fit ends near the minimum of its objective. From ``gap_`` follow intervals that contain
        the score and the probabilities that the exact minimum gives to each row, including
        rounding. A label is decided if it is the same in the whole interval; it is that of
        ``predict`` unless the fit ended too early. For a smaller ``gap_``, fit with a smaller
        ``tol``.

        For l2 penalties on all features, and convex losses other than Crammer and Singer's
        (``loss="hinge"`` for more than two classes).

        Parameters
        ----------
        X : array, sparse matrix, source, or rows as in the fit
            The rows to predict.
        X_train, y_train : optional
            The rows and labels of the fit, or a source as ``X_train``. They are needed at the first
            call, unless the fit had ``certify_predictions=True``: they bound the biases. The
            result, ``prediction_bounds_``, is kept, also in model files.
        sample_weight : array, optional
            The weights of the fit, with ``X_train``.
        offset : array, optional
            As in ``decision_function``.
        train_offset : array, optional
            The offset of the fit, with ``X_train``.
        """
        check_is_fitted(self)
        self._check_certifiable()
        rule = self.__dict__.get("decision_")
        if rule is not None and rule.score is None:
            raise ValueError(
                "certified labels are those with the largest score, but set_decision set costs for "
                "more than two classes: remove them with set_decision()"
            )
        given = {"y_train": y_train, "sample_weight": sample_weight, "train_offset": train_offset}
        alone = [name for name, value in given.items() if value is not None and X_train is None]
        if alone:
            raise ValueError(
                f"{alone[0]} belongs to the rows of the fit: pass them as X_train, too"
            )
        if X_train is not None:
            bounds = self._bounds_from(X_train, y_train, sample_weight, train_offset)
        elif "prediction_bounds_" in self.__dict__:
            bounds = self.prediction_bounds_
        else:
            raise ValueError(
                "certified needs the training rows once, for bounds on the biases: pass the rows "
                "of the fit, certified(X, X_train, y_train), or fit with certify_predictions=True"
            )
        parts = [bounds.of(*part) for part in self._parts(X, offset)]
        found = ScoreBounds(*map(np.concatenate, zip(*parts, strict=True)))
        self.prediction_bounds_ = bounds
        return self._certified(found, found.numbers(0.0 if rule is None else rule.score))

    def _certified(self, found: ScoreBounds, numbers: Ints) -> CertifiedPredictions:
        decided = numbers >= 0
        labels = np.full(len(numbers), UNDECIDED, dtype=object)
        labels[decided] = self.classes_[numbers[decided]]
        low, high = found.low, found.high
        if self._columns is None:
            low, high = low[:, 0], high[:, 0]
        loss = self.trace_.loss
        if not hasattr(loss, "probability"):
            return CertifiedPredictions(labels, decided, low, high, None, None)
        return CertifiedPredictions(labels, decided, low, high, *probability_bounds(loss, found))

    def _check_certifiable(self) -> None:
        """Check that the exact minimum of this fit can be bounded."""
        problem = why_unbounded(self.trace_.loss, self.trace_.penalty)
        if self.__dict__.get("bias_reduction") == "firth":
            problem = "the objective of bias_reduction='firth' is not convex: fit with l2"
        if problem:
            raise ValueError(f"predictions of this fit cannot be certified: {problem}")
        if self.gap_ is None:
            raise ValueError(
                "predictions are certified by gap_, and this fit has none: fit again with tol, "
                "such as tol=1e-6 (partial_fit and tol=None make no proof)"
            )

    def _bounds_from(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> PredictionBounds:
        """Bounds from the rows of the fit, given once more."""
        if getattr(self, "_own_objective", False):
            raise ValueError(
                "rows with soft labels are not read again: fit with certify_predictions=True"
            )
        source = self._rows_of_fit(X, y, sample_weight, offset)
        _check_precision(source, self.scale_ is not None)
        W, features = self._minimum(), self._features
        n_features = W.shape[1] - 1
        if features is not None and features.occupied is not None:
            n_features = len(features.occupied)
        reach = with_all_features(reach_of(self.trace_.penalty, n_features, features), features)
        # Of the fit: parameters may have been set since.
        scaling = None if features is None else features.standardization
        mean = None if scaling is None else with_all_features(scaling.mean, features)
        fitted = FittedWeights(self.trace_.loss, source, W, reach, self.trace_.fit_intercept, mean)
        bounds, mean_loss, error = fitted.checked_bounds(self.gap_ or 0.0)
        value = mean_loss + self.trace_.penalty.value(seen_weights(W, features))
        if not abs(value - self.objective_) <= SAME * abs(self.objective_) + TINY + error:
            raise ValueError(
                f"the objective on these rows is {value:.9g}, but the fit reached "
                f"{self.objective_:.9g}: pass the X, y, sample_weight and offset of the fit as "
                "X_train, y_train, sample_weight and train_offset"
            )
        return bounds

    def _rows_of_fit(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, names: RowNames = TRAINING_ROWS
    ) -> Source:
        if is_dask(X):
            raise TypeError(
                f"{names.method} takes arrays, sparse matrices or a source as {names.X}: "
                f"{names.otherwise}"
            )
        if isinstance(X, Source):
            refuse_labels_beside(y, sample_weight)
            refuse_offset_beside(offset)
            source = self._read_alike(X)
            if self.class_weight is not None:
                source = reweighted(source, self.class_weight)
        else:
            if y is None:
                raise ValueError(f"{names.X} needs the labels of its rows: pass {names.y}, too")
            other = copy(self)  # whose attributes are overwritten
            source = other._source(
                X, y, sample_weight, classes=self.classes_, reset=False, encode=False
            )
            source = source if offset is None else offset_source(source, offset)
        if source.has_offset != self.uses_offset_:
            had, have = ("an", "no") if self.uses_offset_ else ("no", "an")
            raise ValueError(
                f"the fit had {had} offset, and {names.X} has {have} offset: pass that of the fit "
                f"as {names.offset}"
            )
        if not np.array_equal(source.classes, self.classes_):
            raise ValueError(
                f"{names.y} has the labels {source.classes.tolist()!r}; expected those of the fit, "
                f"{self.classes_.tolist()!r}"
            )
        return source

    def _parts(self, X: Any, offset: Any) -> Iterator[tuple[Any, Array | None]]:
        """The rows to predict, part by part, and what is added to their scores, (n, k)."""
        if is_dask(X):
            raise TypeError(
                "certified takes arrays, sparse matrices, files or a source: pass one partition "
                "after another"
            )
        shift = self.__dict__.get("prior_shift_", np.zeros(1))
        for rows, added in self._rows_and_offsets(X, offset):
            if shift.any():
                added = np.zeros((rows.shape[0], 1)) + shift if added is None else added + shift
            yield host_rows_of(rows.X).as_matrix(), added

    def _rows_and_offsets(self, X: Any, offset: Any) -> Iterator[tuple[Rows, Array | None]]:
        if isinstance(X, Source):
            refuse_offset_beside(offset)
            source = self._read_alike(X)
            self._check_offset(source.has_offset)
            for block in source.blocks():
                yield block.rows, block.rows.offset
            return
        reads = self._reads(X)
        if reads:
            pieces = [rows_of(piece.X) for piece in self._counted(self._reading.rows(X))]
        else:
            pieces = [rows_of(check_rows(X, owner=self))]
            validate_data(self, X, reset=False, skip_check_array=True)
        if reads and self._reads_offset:
            refuse_offset_beside(offset)
            yield from ((rows, rows.offset) for rows in pieces)
            return
        n = sum(rows.shape[0] for rows in pieces)
        columns = None if offset is None else self._columns
        added, start = self._offset_of(offset, n, columns), 0
        for rows in pieces:
            stop = start + rows.shape[0]
            yield rows, None if added is None else added[start:stop]
            start = stop

    # ---- during the fit ------------------------------------------------------------------------

    def _objective(self, settings: FitSettings, source: Source) -> Objective:
        objective = super()._objective(settings, source)
        if self.certify_predictions is not False:
            checks.flags(certify_predictions=self.certify_predictions)
        asked = "certify_predictions=True" if self.certify_predictions else "Stop(certify=...)"
        if not self.certify_predictions and settings.stop.certify is None:
            return objective
        problem = why_unbounded(objective.loss, objective.penalty)
        if not problem and (settings.stop.tol is None or not provable(objective)):
            problem = "the fit makes no proof: set tol, and use a loss with a known conjugate"
        if problem:
            raise ValueError(f"{asked}: {problem}")
        scaled = settings.features is not None and settings.features.standardization is not None
        _check_precision(source, scaled)
        return objective

    def _with_rows_to_certify(self, settings: FitSettings, source: Source) -> FitSettings:
        given = settings.stop.certify
        if given is None:
            return settings
        if source.has_offset or self.prior_correction:
            what = "an offset" if source.has_offset else "prior_correction=True"
            raise ValueError(
                f"Stop(certify=X) is not for fits with {what}: fit with a smaller tol, and see "
                "which labels certified(X) proves"
            )
        try:
            if isinstance(given, Source):
                rows = given
            else:
                parts = [part.X for part, _ in self._rows_and_offsets(given, None)]
                X = parts[0] if len(parts) == 1 else concatenate_rows(parts)
                rows = ArraySource(X, np.zeros(X.shape[0]), np.empty(0))
            check_features(rows, source.n_features, type(self).__name__)
        except (ValueError, TypeError) as error:
            raise type(error)(f"the rows of Stop(certify=...): {error}") from error
        return replace(settings, stop=replace(settings.stop, certify=rows))

    def _finish(self, objective: Objective, result: Result) -> None:
        if "prediction_bounds_" in self.__dict__:
            del self.prediction_bounds_
        super()._finish(objective, result)
        proof = result.proof
        if proof is not None and self.certify_predictions:
            fitted = FittedWeights.of(proof.given, result.weights)
            self.prediction_bounds_ = fitted.bounds(proof.gap).for_given(self._features)


def _check_precision(source: Source, scaled: bool) -> None:
    """Refuse rows that a fit standardises in single precision."""
    if scaled and source.dtype == np.float32:
        raise ValueError(
            "with standardize=True, float32 rows are rounded once more, and the minimum is that of "
            "the rounded rows: fit float64 rows, X.astype('float64'), to certify predictions"
        )
