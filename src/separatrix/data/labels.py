"""Check labels and encode them as the numbers that the loops use."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any, cast

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ..numeric.tolerances import LARGEST_WHOLE
from ..numeric.types import AnyArray, Array, Ints
from ..rows.device import device_values
from .containers import missing, opened, refuse_times
from .device_arrays import copied_home
from .device_labels import distinct, encoded_on_device, numbers_on_device, taken_on_device
from .thresholds import COUNTED_LABELS, SEARCHED_LABELS

LONGEST_LABEL = 1000
"""Characters. NumPy stores every label of an array at the length of the longest: a label of a
megabyte among a thousand rows would take 4 GB, in a fit and in every prediction."""


def check_labels(y: Any) -> AnyArray:
    """Labels of a classification as a 1-d array."""
    return labels_and_classes(y)[0]


def labels_and_classes(y: Any) -> tuple[AnyArray, AnyArray | None]:
    """The labels, and the distinct ones if they were found on the way."""
    if y is None:
        raise ValueError(
            "This classifier requires y to be passed, but the target y is None: pass the labels."
        )
    found = small_integer_classes(y) if type(y) is np.ndarray and y.ndim == 1 else None
    if found is None:
        there = device_values(y)
        if there is not None and (classes := distinct(there)) is not None:
            return cast(AnyArray, there), classes
        y = copied_home(y, "y")
        refuse_several(y)
        check_words(y)
        y = opened(y, "y")
        refuse_times(y, "y", "a class for every row: turn them into strings, or a few intervals")
        y = column_or_1d(y, warn=True)
        found = small_integer_classes(y)
        if found is None:
            refuse_missing(y)
            if y.dtype == object:  # compared with a label, NumPy would drop its NUL
                refuse_nul(y.tolist())
                refuse_mixed(y.tolist())
            with np.errstate(invalid="ignore"):  # infinity raises an error, not a warning
                check_classification_targets(y)
    return np.asarray(y), found


def refuse_several(y: Any) -> None:
    """Raise if y has several columns, where one label per row is expected."""
    shape = getattr(y, "shape", ())
    if isinstance(shape, tuple) and len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {shape} instead: an indicator matrix "
            "of labels is for LinearClassifier and LinearClassifierCV; elsewhere use "
            "scikit-learn's OneVsRestClassifier, or one column of y at a time"
        )


def refuse_label_source(source: Any, what: str) -> None:
    """Raise if the rows of a source have several labels each."""
    if source.labels is not None:
        raise ValueError(
            f"{what} takes rows of classes that exclude each other, and these have several labels "
            "each: read them with one of the targets"
        )


def check_words(y: Any) -> None:
    """Raise if a list of words has one too long for an array, or one that NumPy would change."""
    if isinstance(y, np.ndarray):
        return
    if type(y).__module__.startswith("polars") and str(getattr(y, "dtype", "")) == "String":
        y = y.to_list()
    if not isinstance(y, (list, tuple)):
        return
    lengths = [len(label) if isinstance(label, str) else 0 for label in y]
    if max(lengths, default=0) > LONGEST_LABEL:
        row = next(row for row, length in enumerate(lengths) if length > LONGEST_LABEL)
        raise ValueError(f"y[{row}] {too_long(lengths[row])}")
    refuse_nul(y)
    refuse_mixed(y)


def too_long(length: int) -> str:
    """Message about a label that is too long, with advice."""
    return (
        f"is a label of {length} characters; expected classes, with names of at most "
        f"{LONGEST_LABEL} characters: are these the right labels? If so, give the class a shorter "
        "name."
    )


def refuse_nul(y: Sequence[Any]) -> None:
    """Raise if a label ends with NUL, which NumPy drops."""
    for row, label in enumerate(y):
        if isinstance(label, str) and label.endswith("\0"):
            raise ValueError(f"y[{row}] {ends_with_nul(label)}")


def ends_with_nul(label: str) -> str:
    """Message about a label that ends with NUL, with advice."""
    return (
        f"is the label {label!r}, which ends with a NUL character: NumPy drops it, and two classes "
        "could become one; expected labels without it: give the class another name."
    )


def refuse_mixed(y: Sequence[Any]) -> None:
    """Raise if some labels are words and others numbers: NumPy would turn all into words."""
    types = {*map(type, y)}
    if any(issubclass(each, str) for each in types) and any(map(_is_number, types)):
        words = next(label for label in y if isinstance(label, str))
        other = next(label for label in y if _is_number(type(label)))
        raise ValueError(
            f"y has labels of different types, such as {words!r} and {other!r} of type "
            f"{type(other).__name__}; expected all words or all numbers: convert them, e.g. "
            "y = [str(label) for label in y]."
        )


def _is_number(each: type) -> bool:
    return issubclass(each, (Number, np.number, np.bool_))


def refuse_missing(y: AnyArray) -> None:
    """Raise if a label is missing."""
    rows = np.flatnonzero(missing(y))
    if len(rows):
        raise ValueError(
            f"y contains {len(rows)} missing label{'s' * (len(rows) > 1)} (NaN or None), the first "
            f"in row {rows[0]}; expected a label for every row: leave out the rows without one, "
            "or give them a label of their own."
        )


def small_integer_classes(y: AnyArray) -> AnyArray | None:
    """The distinct values of an array of close integers; None for all else.

    Comparing with each value or counting is much faster than hashing or sorting. Values far fewer
    than rows are certainly classes.
    """
    if y.dtype.kind not in "biu" or not y.size:
        return None
    least, most = int(y.min()), int(y.max())
    if most - least > min(COUNTED_LABELS, len(y) // 2 - 1):
        return None
    if most - least <= SEARCHED_LABELS:
        between = [value for value in range(least + 1, most) if (y == value).any()]
        return np.array(sorted({least, *between, most}), dtype=y.dtype)
    counts = np.bincount(y.astype(np.intp, copy=False) - least)
    found: AnyArray = (np.flatnonzero(counts) + least).astype(y.dtype)
    return found


def check_classes(classes: AnyArray, target: str = "y") -> AnyArray:
    """The classes if there are two or more; else ValueError with those in this target."""
    if len(classes) < 2:
        raise ValueError(
            f"A classifier needs rows of two classes, but {target} has only one class: "
            f"{classes.tolist()!r}. Add rows of another, or take another target."
        )
    return classes


def numbers(y: AnyArray, classes: AnyArray) -> Ints:
    """Class number of each row; an unknown label (of a row of weight 0) gets an arbitrary one."""
    if (there := device_values(y)) is not None:
        return numbers_on_device(there, classes)
    found: Ints = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return found.astype(np.int64, copy=False)


def per_row(of_classes: Array, number: Ints) -> Array:
    """A number for each row, from one for each class."""
    if (there := device_values(number)) is not None:
        return cast(Array, taken_on_device(of_classes, there))
    found: Array = of_classes[number]
    return found


def encoded(y: AnyArray, classes: AnyArray) -> AnyArray:
    """-1.0 and +1.0 for two classes, +1 for the larger; class numbers for more."""
    if (there := device_values(y)) is not None:
        return encoded_on_device(there, classes)
    if len(classes) == 2:
        return np.where(y == classes[1], 1.0, -1.0)
    return numbers(y, classes)


def encoded_if_known(y: Any, classes: AnyArray) -> AnyArray | None:
    """``encoded`` for a plain array of labels all among these classes, without further checks.

    None if they are not, or if this takes more than comparing numbers or words.
    """
    if type(y) is not np.ndarray or y.ndim != 1 or not y.size:
        return None
    kind, other = y.dtype.kind, classes.dtype.kind
    if kind == "f" and other in "iuf":  # whole numbers that are exact as floats
        if not np.abs(y).max() < LARGEST_WHOLE or not np.array_equal(y, np.rint(y)):
            return None
    elif kind != other or kind not in "biuU":
        return None
    if len(classes) == 2:
        larger = y == classes[1:]
        known = larger | (y == classes[:1])
        found: AnyArray = np.where(larger, 1.0, -1.0)
    else:
        found = numbers(y, classes)
        known = classes[found] == y
    return found if np.count_nonzero(known) == len(y) else None


def present_classes(y: AnyArray, weight: Array | None) -> AnyArray:
    """Classes that have a row of positive weight, sorted."""
    present = y if weight is None or weight.all() else np.asarray(y)[np.asarray(weight) != 0.0]
    there = device_values(present)
    if there is not None and (found := distinct(there)) is not None:
        return found
    classes = small_integer_classes(present)
    return np.unique(present) if classes is None else classes


def signs_of(y: AnyArray, number: int) -> Array:
    """+1.0 for one class or label and -1.0 for the others, from the encoded labels of sources."""
    return np.where(y[:, number] > 0 if y.ndim == 2 else y == number, 1.0, -1.0)


def class_numbers(y: AnyArray, n_classes: int) -> Ints:
    """Class numbers, from the encoded labels of sources."""
    return (y > 0.0).astype(np.int64) if n_classes == 2 else y
