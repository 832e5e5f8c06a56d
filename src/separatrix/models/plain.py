"""The format of a model as plain data: JSON, and arrays by name. See writer.py and reader.py.

A value that JSON lacks is an object with one key that begins with ``$``: ``{"$array": "coef_"}``,
``{"$loss": {...}}``, ``{"$record": ["Trace", {...}]}``; a list of records of one class is stored
field by field, ``{"$records": ["Number", {"name": [...], ...}]}``. A file can only name the classes
listed here: it cannot cause an import or run code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.feature_map import FeatureMap
from ..data.files.encoding.encoders import DateParts, Hashed, Number, OneHot
from ..data.files.encoding.encoding import Encoding
from ..data.files.reading import Reading, Split
from ..data.indicator import LabelColumns
from ..estimators.cv.leave_one_out import LeaveOneOutCheck
from ..estimators.decision import Decision
from ..estimators.kernel_expansion import KernelExpansion
from ..estimators.kernel_trace import KernelTrace
from ..estimators.stream import StreamState
from ..kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from ..kernels.votes import Votes
from ..numeric.standardization import Standardization
from ..proofs.prediction_bounds import PredictionBounds
from ..training.no_minimum import Runaway
from ..training.stopping import Stop
from ..training.trace import Trace

RECORDS: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        DateParts, Decision, Encoding, FeatureMap, Gaussian, Hashed, KernelExpansion, KernelTrace,
        LabelColumns, Laplacian, LeaveOneOutCheck, Linear, Number, OneHot, Polynomial, Precomputed,
        PredictionBounds, Reading, Runaway, Sigmoid, Split, Standardization, Stop, StreamState,
        Trace, Votes,
    )
}  # fmt: skip
"""The classes whose instances a file may contain."""
NUMBERS = {"b": bool, "i": int, "u": int, "f": (int, float)}
LABELS: dict[str, Any] = {"U": str, "O": (str, int, float, bool), **NUMBERS}
"""Types of arrays that are written as JSON: strings, and the classes of a model."""
ROOM, ROOM_PER_CHARACTER = 1 << 16, 64
"""Maximum width of an array of strings, in characters, or as a multiple of their own lengths."""


def has_fitting_width(dtype: np.dtype[Any], entries: list[Any]) -> bool:
    """Whether the width of a string array is in proportion to its contents."""
    if dtype.kind != "U":
        return True
    room, needed = dtype.itemsize // 4 * len(entries), len(entries) + sum(map(len, entries))
    return room <= max(ROOM, ROOM_PER_CHARACTER * needed)
