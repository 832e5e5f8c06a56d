"""Frames in memory with strings or categories: encoded as ``read`` does, for ``fit(X, y)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...numeric.types import Array
from ...numeric.warn import warn
from ...rows import HostRowsLike, concatenate_rows
from ..containers import refuse_times
from .encoding.decoding import decoded
from .reading import Reading, is_frame


def encoded_frame(
    X: Any, sample_weight: Any = None, drop_first: bool = False
) -> tuple[HostRowsLike, Reading] | None:
    """The rows of a frame with categories and how they were encoded; None if X has none.

    Rows of weight 0 add no category, as in files. Without pyarrow no frame is encoded.
    """
    if not _may_hold_categories(X):
        return None
    refuse_times(X, "X", "numbers or categories: make features of their parts first")
    try:
        import pyarrow  # noqa: F401 (optional)
    except ImportError:
        return None
    from .encoding.columns import kind_of
    from .encoding.options import EncodingOptions
    from .encoding.survey import Survey
    from .encoding.suspects import ColumnWarning, suspects
    from .readers.frames import FrameReader, arrow_table

    reader = FrameReader("X", arrow_table(X, "X"))
    reader = reader.as_part(reader.common(reader.findings()))
    if "category" not in map(kind_of, reader.schema.types):
        return None
    options = EncodingOptions(drop_first=drop_first)
    survey, weight = Survey(reader.types.items(), options), _weights(X, sample_weight)
    for piece in reader.pieces():
        batch: Any = piece.X
        first = piece.where.first
        some = None if weight is None else weight[first : first + batch.num_rows]
        survey.add(batch, piece.where, some)
    encoding = survey.encoding()
    for found in suspects(encoding, survey.n_read):
        warn(f"{found.what}: leave it out of X, or convert it to numbers", ColumnWarning)
    rows = concatenate_rows([piece.X for piece in decoded(reader, encoding, labels=False)])
    return rows, Reading(encoding, encoding.n_features, encoding.dtype)


def _may_hold_categories(X: Any) -> bool:
    """Whether X is a frame with a column that is neither a number nor a Boolean."""
    if not is_frame(X) or len(getattr(X, "shape", (0, 0))) != 2:
        return False
    library = type(X).__module__.partition(".")[0]
    if library == "pandas":
        return any(dtype.kind in "OUSV" for dtype in X.dtypes)
    if library == "polars":
        return type(X).__name__ == "DataFrame" and not all(
            dtype.is_numeric() or str(dtype) == "Boolean" for dtype in X.dtypes
        )
    return True


def _weights(X: Any, sample_weight: Any) -> Array | None:
    """The weight of each row; None if there is none, or one that a later check refuses."""
    try:
        found = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    sound = found.shape == (len(X),) and bool(np.all(found >= 0.0)) and bool(found.any())
    return found if sound else None
