"""The rows that a model was trained on, as it saw them, and as its problems need them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from ...data import ArraySource, Block, InMemory, Source, Sum
from ...data.files.encoding.label_sets import signs_of_words
from ...data.files.reading import is_path
from ...data.indicator import indicator_source
from ...data.labels import check_labels, class_numbers, signs_of
from ...data.offset import offset_source
from ...data.validation import array_source, check_rows
from ...data.wrapped import BlockMap, MappedSource
from ...estimators.bias_reduction import refuse_own_objective
from ...estimators.offsets import OffsetModel, refuse_offset_beside
from ...estimators.predictor import LinearPredictor
from ...estimators.sources import refuse_labels_beside
from ...losses.rivals import predicted_numbers
from ...numeric.dense import dense
from ...numeric.lazy import cached_property
from ...numeric.types import AnyArray, Array
from ...rows import (
    CsrRows,
    DenseRows,
    Rows,
    RowsLike,
    Storage,
    concatenate_rows,
    host_rows_of,
    rows_of,
    with_offset,
)

FEW_ROWS = 64  # from which the storage of all rows is inferred


def training_rows(
    model: Any, clf: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None, *,
    firth: bool = False,
) -> Source:  # fmt: skip
    """Rows, labels, weights and offset for a classifier, after the other steps of its pipeline.

    ``firth``: whether the caller knows the objective of ``bias_reduction="firth"``.
    """
    if not (firth and getattr(clf, "_firth", False)):
        refuse_own_objective(clf, "this")
    source = _rows_of_fit(model, clf, X, y, sample_weight)
    if isinstance(X, Source):
        refuse_offset_beside(offset)
    elif offset is not None:
        source = offset_source(source, offset)
    if isinstance(clf, OffsetModel) and clf.uses_offset_ != source.has_offset:
        had, have = ("an", "no") if clf.uses_offset_ else ("no", "an")
        raise ValueError(
            f"{type(clf).__name__} was fitted with {had} offset, and these rows have {have} "
            "offset: pass the offset of the fit"
        )
    return source


def _rows_of_fit(model: Any, clf: Any, X: Any, y: Any, sample_weight: Any) -> Source:
    steps = model[:-1] if model is not clf and len(model.steps) > 1 else None
    if isinstance(X, Source):
        refuse_labels_beside(y, sample_weight)
        if not isinstance(clf, LinearPredictor):
            _same_columns(X, model)
        source = X if steps is None else mapped(X, Transformed(steps.transform), clf.coef_.shape[1])
        if steps is None and isinstance(clf, LinearPredictor):
            source = clf._read_alike(source)
        return _checked(source, clf)
    reads = steps is None and isinstance(clf, LinearPredictor) and clf._reads(X)
    if is_path(X) and not reads:
        raise ValueError(
            f"X names a file, {X!r}, but {type(clf).__name__} was fitted to arrays: pass its rows, "
            "certify(model, separatrix.read(file, target='label column'))"
        )
    X = X if steps is None else steps.transform(X)
    if reads:
        return _checked(_read(clf, X, y, sample_weight), clf)
    rows = check_rows(X)
    if hasattr(clf, "n_features_in_"):
        validate_data(clf, X, reset=False, skip_check_array=True)
    return _checked(_labelled(rows, y, sample_weight, clf), clf)


def _read(clf: LinearPredictor, X: Any, y: Any, sample_weight: Any) -> Source:
    """Read files or a frame into memory as the fit did; labels from there, or given."""
    pieces = list(clf._reading.rows(X, labels=y is None))
    rows = concatenate_rows([piece.X for piece in pieces])
    if y is None:
        y = np.concatenate([np.asarray(piece.y) for piece in pieces])
        if pieces[0].weight is not None:
            sample_weight = np.concatenate([np.asarray(piece.weight) for piece in pieces])
    names = None
    if has_labels(clf) and isinstance(y, np.ndarray) and y.dtype.kind == "U":  # as files have them
        y, names = signs_of_words(y.tolist(), len(clf.classes_)) > 0, clf.classes_
    return _labelled(rows, y, sample_weight, clf, names)


def _labelled(
    rows: RowsLike, y: Any, sample_weight: Any, clf: Any, names: AnyArray | None = None
) -> ArraySource:
    if has_labels(clf):
        return indicator_source(rows, y, sample_weight, names=names)
    labels = check_labels(y)
    _same_classes(np.unique(labels), clf)
    return array_source(
        rows, labels, classes=getattr(clf, "classes_", None), sample_weight=sample_weight
    )


def has_labels(clf: Any) -> bool:
    """Whether a classifier was fitted to an indicator matrix."""
    return bool(getattr(clf, "multilabel_", False))


def _same_classes(found: AnyArray, clf: Any) -> None:
    classes = np.asarray(getattr(clf, "classes_", found))
    if not np.array_equal(found, classes):
        raise ValueError(
            f"y has the classes {found.tolist()!r}, but the model {classes.tolist()!r}: pass the "
            "rows and labels that it was trained on"
        )


def _same_columns(source: Source, model: Any) -> None:
    """If the model knows the names of its columns, require these names in this order."""
    names = getattr(model, "feature_names_in_", None)
    encoding = getattr(getattr(source, "reading", None), "encoding", None)
    if names is None or encoding is None:
        return
    found, expected = encoding.coef_names.tolist(), [str(name) for name in names]
    if found != expected:
        raise ValueError(
            f"the rows have the features {found!r}, but the model {expected!r}: read them with "
            "features=list(model.feature_names_in_)"
        )


def _checked(source: Source, clf: Any) -> Source:
    """Rows with the features and classes of the model, with some rows of every class."""
    own = getattr(clf, "_label_columns", None)
    if own is None and source.labels is None:
        _same_classes(source.classes, clf)
    elif not has_labels(clf) or (own is not None and not own.same_as(source.labels)):
        raise ValueError(
            "y has other labels than the model, or other labels vary: pass the rows and labels "
            "that it was trained on"
        )
    d = clf.n_features_in_ if own is None and has_labels(clf) else dense(clf.coef_).shape[1]
    if source.n_features != d:
        raise ValueError(
            f"X has {source.n_features} features, but the model {d}: pass the rows that it was "
            "trained on"
        )
    weights = source.class_weight_sums()
    if not weights.all():
        lost = source.classes[weights == 0.0].tolist()
        raise ValueError(
            f"every row of the classes {lost!r} has weight 0, so nothing defines their "
            "scores; expected rows with positive weights of every class"
        )
    return source


def mapped(
    source: Source, map: BlockMap, n_features: int | None = None, classes: AnyArray | None = None
) -> Source:
    """Rows with a mapping applied: immediately in memory, else while they are read."""
    classes = source.classes if classes is None else classes
    if isinstance(source, InMemory):
        X, y, weight, _ = map(source.block())
        result = ArraySource(X, y, classes, weight, getattr(source, "n_jobs", None))
        result.weight_power = getattr(source, "weight_power", 0)
        return result
    return PosedSource(
        source, map, source.n_features if n_features is None else n_features, classes
    )


class PosedSource(MappedSource):
    """Rows whose features, labels or weights are changed while they are read."""

    def __init__(self, source: Source, map: BlockMap, n_features: int, classes: AnyArray) -> None:
        super().__init__(source, map)
        self.n_features, self.classes = n_features, classes

    @cached_property
    def weight_sum(self) -> float:
        return float(self.class_weight_sums().sum())

    @cached_property
    def _few(self) -> Rows:
        return self.sample(FEW_ROWS).block().rows

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._few.dtype

    @property
    def storage(self) -> Storage:
        return self._few.storage

    @property
    def row_values(self) -> float:
        """Mean number of values stored in a row, estimated on a few rows."""
        return self._few.row_values

    @property
    def row_bytes(self) -> float:
        return (12.0 if self.storage == "csr" else 8.0) * self.row_values


@dataclass(frozen=True)
class Transformed(BlockMap):
    """Rows after the steps of a pipeline."""

    transform: Callable[[Any], Any]

    def __call__(self, block: Block) -> Block:
        X = check_rows(self.transform(host_rows_of(block.X).as_matrix()))
        return block._replace(X=with_offset(rows_of(X), block.rows.offset).X)


@dataclass(frozen=True)
class WithColumn(BlockMap):
    """Rows with one more feature, which is constant."""

    value: float

    def __call__(self, block: Block) -> Block:
        rows = host_rows_of(block.X)
        n, d = rows.shape
        column = np.full((n, 1), self.value, dtype=rows.dtype)
        if rows.storage == "dense":
            made: Rows = DenseRows(np.ascontiguousarray(np.hstack([rows.values, column])))
        else:
            X = sp.hstack([rows.as_scipy(), sp.csr_array(column)], format="csr")
            made = CsrRows(X.data, X.indices, X.indptr, d + 1)
        return block._replace(X=with_offset(made, block.rows.offset).X)


@dataclass(frozen=True)
class OneAgainstRest(BlockMap):
    """One class or label as +1 and the others as -1, with additional weights for its rows."""

    number: int
    weight: float = 1.0
    copies = False

    def __call__(self, block: Block) -> Block:
        y = signs_of(block.y, self.number)
        weight = block.weight
        if self.weight != 1.0:
            weight = np.where(y > 0.0, self.weight, 1.0) * block.weights
        if (offset := block.rows.offset) is not None:
            block = block._replace(X=with_offset(block.rows, offset[:, self.number, None]).X)
        return block._replace(y=y, weight=weight)


@dataclass(frozen=True)
class ClassCounts(Sum[tuple[Array]]):
    """Number of rows of every class, including rows of weight 0."""

    classes: int

    def of(self, block: Block) -> tuple[Array]:
        """The counts of one block, (classes,)."""
        number = class_numbers(block.y, self.classes)
        return (np.bincount(number, minlength=self.classes).astype(np.float64),)


@dataclass(frozen=True)
class Predictions(Sum[tuple[int, int]]):
    """Number of rows that the model misclassifies, and that other weights predict differently.

    Of rows with several labels, those where any label is wrong or different.
    """

    W: Array
    other: Array | None
    upper_on_tie: bool  # for two classes or a label: the class of score 0

    def of(self, block: Block) -> tuple[int, int]:
        if not len(block.y):
            return 0, 0
        if block.y.ndim == 2:
            return self._of_labels(block)
        own = self._classes(block.rows, self.W)
        wrong = own != class_numbers(block.y, 2 if len(self.W) == 1 else len(self.W))
        flips = (
            0 if self.other is None else int(np.sum(own != self._classes(block.rows, self.other)))
        )
        return int(wrong.sum()), flips

    def _of_labels(self, block: Block) -> tuple[int, int]:
        own = self._indicator(block.rows, self.W)
        wrong = np.any(own != (block.y > 0), axis=1)
        if self.other is None:
            return int(wrong.sum()), 0
        flips = np.any(own != self._indicator(block.rows, self.other), axis=1)
        return int(wrong.sum()), int(flips.sum())

    def _indicator(self, rows: Rows, W: Array) -> AnyArray:
        scores = rows.scores(W)
        has: AnyArray = scores >= 0.0 if self.upper_on_tie else scores > 0.0
        return has

    def _classes(self, rows: Rows, W: Array) -> AnyArray:
        scores = rows.scores(W)
        if len(W) > 1 or self.upper_on_tie:
            return predicted_numbers(scores)
        return (scores[:, 0] > 0.0).astype(np.int64)
