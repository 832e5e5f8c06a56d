"""Offsets: known numbers that are added to the scores of rows, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numeric.types import Array
from ..rows import with_offset
from .arrays import ArraySource
from .containers import opened
from .device_arrays import copied_home
from .source import Source
from .weighted_copies import WeightedCopies


def check_offset(offset: Any, n: int, columns: int) -> Array:
    """Finite numbers for n rows as an array (n, columns), in float64.

    With one column of scores, as for two classes, they are given as (n,).
    """
    try:
        found = np.asarray(opened(copied_home(offset, "offset"), "offset"), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"offset must be numbers, one for every row: {error}") from None
    shape = (n,) if columns == 1 else (n, columns)
    if found.shape != shape:
        each = "one number per row, which is added to the score of the larger of two classes"
        if columns > 1:
            each = f"a number per row for each of {columns} scores, in the order of classes_"
        raise ValueError(f"offset has shape {found.shape}, expected {shape}: {each}")
    if not np.all(np.isfinite(found)):
        row = int(np.flatnonzero(~np.isfinite(found.reshape(n, columns)).all(axis=1))[0])
        raise ValueError(
            f"offset contains NaN or infinity, first in row {row}; every number must be finite: "
            "leave such rows out"
        )
    return np.ascontiguousarray(found.reshape(n, columns))


def offset_source(source: Source, offset: Any) -> Source:
    """Rows in memory with an offset, given as (n,) for two classes, else (n, k)."""
    if isinstance(source, WeightedCopies):  # which share the rows
        return WeightedCopies(offset_source(source.source, offset), source.copies)
    return offset_arrays(source, offset)


def offset_arrays(source: Source, offset: Any) -> ArraySource:
    """The same of arrays, in main memory or on a device."""
    if not isinstance(source, ArraySource):
        raise TypeError(f"{type(source).__name__} takes no offset: pass arrays")
    varying = None if source.labels is None else source.labels.varying
    k = len(source.classes) if varying is None else len(source.labels.names)
    columns = 1 if k == 2 and varying is None else k
    found = check_offset(offset, source.length, columns)
    if varying is not None:
        found = np.ascontiguousarray(found[:, varying])
    made = source.with_rows(with_offset(source.stored, found).X)
    made.labels, made.validation = source.labels, source.validation
    return made
