"""Labels and weights of rows on a GPU: checked, counted and encoded there.

The results are those of the functions for NumPy arrays. Only classes and counts are copied to main
memory.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ..numeric.tolerances import LARGEST_WHOLE
from ..numeric.types import AnyArray
from ..rows import RowsLike
from ..rows.device import DeviceRows, DeviceValues, at_home, counts
from .device_arrays import adopted, copied_home
from .thresholds import COUNTED_LABELS

FEW_LABELS = 4096  # from 0 on: most labels are among these
COUNTED, WHOLE = ("int8", "int16", "int32", "int64", "uint8", "bool"), ("float32", "float64")


def resident_labels(y: Any, rows: RowsLike) -> Any:
    """Labels on the GPU of the rows as values of it; else a NumPy array, or y itself."""
    array = adopted(y, "y")
    if array is None:
        return at_home(y)
    if not isinstance(rows, DeviceRows) or len(array.shape) != 1:
        return copied_home(y, "y")
    if str(array.dtype) not in (*COUNTED, *WHOLE) or not len(array):
        return copied_home(y, "y")
    return DeviceValues(rows.device, array)


def resident_weights(weight: Any, rows: RowsLike) -> Any:
    """Weights of rows on a GPU, as values of it; unchanged for rows elsewhere."""
    if weight is None or isinstance(weight, DeviceValues) or not isinstance(rows, DeviceRows):
        return weight
    array = adopted(weight, "sample_weight")
    if array is None or len(array.shape) != 1 or array.dtype.kind not in "biuf":
        return weight
    # A copy: weights are read in every pass, and the caller may write to theirs.
    return DeviceValues(rows.device, array.astype(np.float64))


def distinct(y: DeviceValues) -> AnyArray | None:
    """The classes of labels, sorted; None where labels need the checks of NumPy arrays."""
    if str(y.dtype) in COUNTED:
        classes = _whole_numbers(y.astype(np.int64)).astype(y.dtype)
    else:
        whole = np.all((y.held == np.rint(y.held)) & (np.abs(y.held) < LARGEST_WHOLE))
        if not bool(whole):  # NaN is not equal to itself
            return None
        classes = y.device.download(np.unique(y.held))
    # Labels that hardly repeat may be a mistake, which is reported where they are checked.
    return classes if 2 * len(classes) <= len(y) else None


def _whole_numbers(y: DeviceValues) -> AnyArray:
    """The distinct values of int64, sorted."""
    found = counts(y.device, y.held, 0, FEW_LABELS)
    if found.sum() == len(y):  # there are no others
        return np.flatnonzero(found)
    least, most = int(y.min()), int(y.max())
    if most - least > COUNTED_LABELS:
        return y.device.download(np.unique(y.held))
    counted: AnyArray = np.flatnonzero(counts(y.device, y.held, least, most - least + 1)) + least
    return counted


def numbers_on_device(y: DeviceValues, classes: AnyArray) -> AnyArray:
    """Class number of each row; an unknown label gets an arbitrary one."""
    return cast(AnyArray, DeviceValues(y.device, _numbers(y, classes)))


def _numbers(y: DeviceValues, classes: AnyArray) -> Any:
    found = np.searchsorted(y.device.upload(classes), y.held).astype(np.int64)
    return np.minimum(found, len(classes) - 1)


def encoded_on_device(y: DeviceValues, classes: AnyArray) -> AnyArray:
    """-1.0 and +1.0 for two classes, +1 for the larger; class numbers for more."""
    if len(classes) > 2:
        return numbers_on_device(y, classes)
    held = np.where(y.held == classes[1], 1.0, -1.0)
    return cast(AnyArray, DeviceValues(y.device, held))


def class_counts(y: DeviceValues, classes: AnyArray) -> AnyArray:
    """How many rows each class has."""
    return counts(y.device, _numbers(y, classes), 0, len(classes)).astype(np.float64)


def taken_on_device(of_classes: AnyArray, number: DeviceValues) -> DeviceValues:
    """A number for each row, from one for each class."""
    held = np.take(number.device.upload(of_classes), number.held)
    return DeviceValues(number.device, held)
