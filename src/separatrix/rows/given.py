"""Rows as blocks and callers hold them, where dense rows are plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from ..numeric.types import AnyArray
from .base import Rows
from .csr import CsrRows
from .dense import DenseRows
from .host import HostRows

HostRowsLike = AnyArray | CsrRows
RowsLike = AnyArray | Rows


@overload
def rows_of(X: HostRowsLike) -> HostRows: ...


@overload
def rows_of(X: RowsLike) -> Rows: ...


def rows_of(X: RowsLike) -> Rows:
    """Rows of any storage with their sums and visits; wraps plain arrays."""
    return DenseRows(X) if isinstance(X, np.ndarray) else X


def host_rows_of(X: RowsLike) -> HostRows:
    """Rows in main memory, copied if they are computed or on a device; else a TypeError."""
    rows = rows_of(X).stored
    if isinstance(rows, HostRows):
        return rows
    home: HostRows = rows.home()
    return home


def concatenate_rows(parts: Sequence[RowsLike]) -> Any:
    """Concatenate rows of one storage."""
    first, *_ = parts
    if isinstance(first, np.ndarray):
        return np.concatenate([rows for rows in parts if isinstance(rows, np.ndarray)])
    return type(first).concatenated([rows for rows in parts if isinstance(rows, type(first))])
