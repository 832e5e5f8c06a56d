"""Indicator matrices: a column of 0 and 1 for each of several labels of a row."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_consistent_length

from ..numeric.lazy import cached_property
from ..numeric.types import AnyArray, Array, Ints
from ..rows import RowsLike
from .arrays import ArraySource
from .containers import missing, opened
from .validation import checked_weights

FAR = 1000.0
"""Bias of a label that all rows have, for a loss that only approaches its minimum: the logistic
loss is exactly 0 there, and the probability exactly 1."""
MOST_NAMED = 5  # labels in a message


@dataclass(frozen=True, eq=False)
class LabelColumns:
    """The columns of an indicator matrix. Those that do not vary are predicted without a fit."""

    names: AnyArray  # (q,): names or numbers of the columns
    constant: AnyArray  # (q,) int8: +1 or -1 if all rows have the label or none has; 0 if it varies

    @cached_property
    def varying(self) -> Ints:
        """Indices of the labels that vary: two or more, or a single one as a two-class problem."""
        return np.flatnonzero(self.constant == 0)

    @property
    def classes(self) -> AnyArray:
        """``classes`` of a source of the labels that vary."""
        if len(self.varying) == 1:
            return np.array([0, 1])
        return self.names[self.varying][:, None]

    def encoded(self, Y: AnyArray) -> AnyArray:
        """``y`` of such a source, for -1 and +1 in all columns, (n, q)."""
        if len(self.varying) == 1:
            return Y[:, self.varying[0]].astype(np.float64)
        some = Y if len(self.varying) == Y.shape[1] else Y[:, self.varying]
        return np.ascontiguousarray(some)  # selected columns may be in Fortran order

    def of_rows(self, y: AnyArray) -> AnyArray:
        """Whether rows have each label, (m, labels), from ``encoded`` labels of these rows."""
        signs = np.broadcast_to(self.constant, (len(y), len(self.names))).copy()
        signs[:, self.varying] = y.reshape(len(y), -1)
        has: AnyArray = signs > 0
        return has

    def all_weights(self, W: Array, attained: bool) -> Array:
        """Weights of all labels, from those of the labels that vary.

        A constant label has weights of 0, and a bias at which its loss is 0: 1, or ``FAR`` if the
        loss only approaches its minimum.
        """
        found = np.zeros((len(self.names), W.shape[1]))
        found[self.varying] = W
        fixed = self.constant != 0
        found[fixed, -1] = (1.0 if attained else FAR) * self.constant[fixed]
        return found

    def same_as(self, other: LabelColumns | None) -> bool:
        """Whether the labels, and which of them vary, are equal."""
        if other is None:
            return False
        return np.array_equal(self.names, other.names) and np.array_equal(
            self.constant, other.constant
        )

    def warn_of_constants(self) -> None:
        """Warn of labels that do not vary."""
        for value, text in ((1, "every row has"), (-1, "no row has")):
            names = self.names[self.constant == value].tolist()
            if names:
                more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
                shown = ", ".join(map(repr, names[:MOST_NAMED])) + more
                plural = "s" * (len(names) > 1)
                warnings.warn(
                    f"{text} the label{plural} {shown}: nothing can be learned about "
                    f"{'them' if plural else 'it'}, and every prediction will be {int(value > 0)}",
                    UserWarning,
                    stacklevel=5 + 1,
                )


def is_indicator(y: Any) -> bool:
    """Whether y has two or more columns: labels that do not exclude each other.

    A single column is read as one label per row, as in scikit-learn.
    """
    if isinstance(y, (list, tuple)):
        nested = bool(len(y)) and isinstance(y[0], (list, tuple, np.ndarray))
        return nested and len(y[0]) > 1
    shape = getattr(y, "shape", ())
    return isinstance(shape, tuple) and len(shape) == 2 and shape[1] != 1


def check_indicator(y: Any) -> tuple[AnyArray, AnyArray]:
    """-1 and +1 for the 0 and 1 of an indicator matrix, (n, q) int8; and the names of its columns.

    Columns are named by a frame, else numbered.
    """
    names = label_names(y)
    known = names.tolist()
    if sp.issparse(y):
        Y = _dense(y)
    elif hasattr(y, "to_numpy") and hasattr(y, "columns"):
        Y = np.asarray(y.to_numpy())
    else:
        try:
            Y = np.asarray(opened(y, "y"))
        except ValueError as error:
            raise ValueError(
                f"y is not a matrix ({error}); {EXPECTED}: every row needs the same number of "
                "entries; scikit-learn's MultiLabelBinarizer makes such a matrix of lists of labels"
            ) from error
    if Y.ndim != 2 or not Y.shape[1]:
        raise ValueError(f"y has the shape {Y.shape}; {EXPECTED}, with a column for each label")
    if Y.dtype == object and not missing(Y.ravel()).any():
        Y = _plain(Y)
    kind = Y.dtype.kind
    if kind in "fcO" and len(lost := np.argwhere(missing(Y.ravel()).reshape(Y.shape))):
        row, column = lost[0]
        raise ValueError(
            f"y contains {len(lost)} missing value{'s' * (len(lost) > 1)} (NaN or None), the first "
            f"in row {row}, column {known[column]!r}; {EXPECTED}: leave out the rows without labels"
        )
    if kind not in "biuf" or not np.all(wrong := (Y == 0) | (Y == 1)):
        at = (0, 0) if kind not in "biuf" else tuple(np.argwhere(~wrong)[0])
        raise ValueError(
            f"y has two or more columns, and the value {Y[at].item()!r} in row {at[0]}, column "
            f"{known[at[1]]!r}; {EXPECTED}: 1 where a row has a label, 0 where it does not. "
            "Several outputs with classes of their own need a classifier each, e.g. scikit-learn's "
            "MultiOutputClassifier"
        )
    signs: AnyArray = np.where(Y.astype(np.bool_), np.int8(1), np.int8(-1))
    return np.ascontiguousarray(signs), names


def given_indicator(y: Any, q: int) -> AnyArray:
    """An indicator matrix of q labels for the rows of a prediction, 0 and 1."""
    if y is None:
        raise ValueError("the target y is None: pass the indicator matrix of labels")
    Y, _ = check_indicator(y)
    if Y.shape[1] != q:
        raise ValueError(f"y has {Y.shape[1]} columns, but the model has {q} labels")
    return (Y > 0).astype(np.int64)


EXPECTED = "expected one class for every row, (n,), or an indicator matrix of 0 and 1, (n, q)"


def indicator_source(
    X: RowsLike,
    y: Any,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    names: AnyArray | None = None,
    all_vary: bool = False,
) -> ArraySource:
    """Rows with several labels each; ``labels`` of the source says which columns vary.

    With ``all_vary``, all of them: these are some rows of many.
    """
    Y, found = check_indicator(y)
    names = found if names is None else names
    check_consistent_length(range(X.shape[0]), Y)
    weight, power = checked_weights(sample_weight, len(Y))
    if all_vary:
        labels = LabelColumns(names, np.zeros(len(names), dtype=np.int8))
    else:
        labels = label_columns(Y if weight is None else Y[weight > 0.0], names)
    source = ArraySource(X, labels.encoded(Y), labels.classes, weight, n_jobs)
    source.weight_power = power
    source.labels = labels
    return source


def label_columns(Y: AnyArray, names: AnyArray) -> LabelColumns:
    """Which columns of -1 and +1 vary; ValueError if none does."""
    if not len(Y):
        raise ValueError("y has no rows; expected one for every row of X")
    least, most = Y.min(axis=0), Y.max(axis=0)
    constant = np.where(least == most, least, np.int8(0)).astype(np.int8)
    if np.all(constant != 0):
        raise ValueError(
            "A classifier needs rows with a label and rows without it, but every column of y has "
            "only one value: add rows, or take other labels."
        )
    return LabelColumns(names, constant)


def label_names(y: Any) -> AnyArray:
    """The names of the columns of an indicator matrix, or their numbers."""
    columns = list(getattr(y, "columns", ()))
    if columns and all(isinstance(name, str) for name in columns):
        if len(set(columns)) < len(columns):
            raise ValueError(f"y has two columns of the same name: {columns!r}; rename one")
        return np.array(columns, dtype=object)
    shape = getattr(y, "shape", None)
    width = shape[1] if isinstance(shape, tuple) and len(shape) == 2 else len(y[0])
    return np.arange(width)


def _dense(y: Any) -> AnyArray:
    """A sparse matrix as an array of small integers; other values than 0 and 1 stay wrong."""
    coo = y.tocoo()
    values = np.asarray(coo.data)
    if values.dtype.kind not in "biuf" or not np.all((values == 0) | (values == 1)):
        return np.asarray(coo.todense())
    found = np.zeros(coo.shape, dtype=np.int8)
    np.add.at(found, (coo.row, coo.col), values.astype(np.int8))
    return found


def _plain(Y: AnyArray) -> AnyArray:
    """Numbers or booleans that are stored as objects, as an array of numbers."""
    numbers = (bool, int, float, np.bool_, np.integer, np.floating)
    if all(isinstance(value, numbers) for value in Y.ravel().tolist()):
        return Y.astype(np.float64)
    return Y
