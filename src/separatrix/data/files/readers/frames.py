"""Frames in memory as Arrow tables: without the index of pandas, which is no column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .tables import explained

REMEDY = "convert the column to one type, such as str or float."


def is_pandas(frame: Any) -> bool:
    """Whether this is a frame of pandas; does not import it."""
    return type(frame).__module__.partition(".")[0] == "pandas"


def arrow_table(frame: Any, name: str) -> pa.Table:
    """The columns of a frame of pandas, polars, pyarrow or others; ``name`` is for errors."""
    try:
        if is_pandas(frame):
            return pa.Table.from_pandas(frame, preserve_index=False)
        return pa.RecordBatchReader.from_stream(frame).read_all()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise explained(error, name, REMEDY) from error
