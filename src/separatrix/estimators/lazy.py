"""A fitted model on Dask collections: arrays that are computed on demand."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.cluster.dask_input import delayed_blocks, delayed_parts
from ..data.files.facts import check_weights
from ..data.files.readers.reader import Place
from ..data.labels import check_labels
from ..numeric.types import AnyArray
from .sources import check_kind

LEFT_BEHIND = ("trace_", "history_", "_stream", "_runaway")
"""Attributes that describe the fit: no prediction needs them, so workers do not get them."""


def lazily(
    model: Any, method: str, X: Any, columns: int | None, dtype: Any, offset: Any = None
) -> Any:
    """The result of a method for every part of X, (n,) or (n, columns), as a dask array."""
    import dask.array as da
    from dask import delayed

    of = OfPart(_bare(model), method, columns, np.dtype(dtype))
    if isinstance(X, da.Array):
        if X.ndim != 2 or X.shape[1] != model.n_features_in_:
            raise ValueError(
                f"X has the shape {X.shape}, but {type(model).__name__} is expecting "
                f"{model.n_features_in_} features as input"
            )
        X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
    if offset is not None:
        return _with_offset(of, X, offset)
    if isinstance(X, da.Array):
        if columns is None:
            return X.map_blocks(of, drop_axis=1, dtype=dtype, meta=of.nothing)
        return X.map_blocks(of, chunks=(X.chunks[0], (columns,)), dtype=dtype, meta=of.nothing)
    compute = delayed(of, pure=False)
    shape = (np.nan, *of.nothing.shape[1:])
    blocks = [da.from_delayed(compute(part), shape, meta=of.nothing) for part in _parts(X)]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _with_offset(of: OfPart, X: Any, offset: Any) -> Any:
    import dask.array as da
    from dask import delayed

    rows, chunks = delayed_blocks(X, "X")
    offsets = delayed_blocks(offset, "offset", chunks)[0]
    if len(offsets) != len(rows):
        raise ValueError(
            f"X is in {len(rows)} parts and offset in {len(offsets)}: expected parts that belong "
            "together"
        )
    compute, lengths = delayed(of, pure=False), chunks or [np.nan] * len(rows)
    blocks = [
        da.from_delayed(compute(*each), (n, *of.nothing.shape[1:]), meta=of.nothing)
        for *each, n in zip(rows, offsets, lengths, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _parts(X: Any) -> list[Any]:
    return delayed_blocks(X, "X")[0]


@dataclass(frozen=True)
class OfPart:
    """A method of a model, applied to one part; a part without rows has no result."""

    model: Any
    method: str
    columns: int | None
    dtype: np.dtype[Any]

    def __call__(self, X: Any, offset: Any = None) -> AnyArray:
        """The result for every row: one entry, or the given number."""
        if not X.shape[0]:
            return self.nothing
        found: AnyArray = getattr(self.model, self.method)(X, offset=offset)
        return found

    @property
    def nothing(self) -> AnyArray:
        """The result for zero rows."""
        return np.empty((0,) if self.columns is None else (0, self.columns), dtype=self.dtype)


def dask_accuracy(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> float:
    """Weighted accuracy; only two numbers per part are transferred."""
    import dask

    count = dask.delayed(_right, pure=False)
    bare = dask.delayed(_bare(model))
    parts = delayed_parts(X, y, sample_weight, offset)
    found = dask.compute(*[count(bare, number, *part) for number, part in enumerate(parts)])
    right, everything = np.sum(np.array(found, dtype=np.float64), axis=0).tolist()
    if not everything > 0.0:
        raise ValueError("there is no row with a positive weight to score")
    return float(right / everything)


def _right(
    model: Any, number: int, X: Any, y: Any, weight: Any, offset: Any
) -> tuple[float, float]:
    """The weight of the correctly classified rows of a part, and of all its rows."""
    n = X.shape[0]
    if not n:
        return 0.0, 0.0
    labels = check_labels(y)
    if len(labels) != n:
        raise ValueError(f"part {number}: X has {n} rows and y {len(labels)} labels")
    check_kind(labels, model.classes_)
    given = None if weight is None else np.asarray(weight, dtype=np.float64)
    checked = check_weights(given, n, Place(f"part {number}"))
    weights = np.ones(n) if checked is None else checked
    found = model.predict(X, offset=offset)
    return float(weights[found == labels].sum()), float(weights.sum())


def _bare(model: Any) -> Any:
    """A copy of the model that can only predict."""
    result = copy(model)
    for name in LEFT_BEHIND:
        result.__dict__.pop(name, None)
    if "callbacks" in result.__dict__:
        result.callbacks = ()
    return result
