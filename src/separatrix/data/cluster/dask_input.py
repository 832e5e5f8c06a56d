"""From Dask's collections to delayed parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..containers import DASK
from .dask import DaskEngine
from .file_parts import FilePart
from .parts import named
from .source import ClusterSource

if TYPE_CHECKING:
    from ..files.readers.frames import FrameReader


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection or a list of delayed parts; does not import Dask."""
    first = X[0] if isinstance(X, (list, tuple)) and X else X
    return type(first).__module__.partition(".")[0] in DASK


def dask_source(X: Any, y: Any, sample_weight: Any, offset: Any = None) -> ClusterSource:
    """A source of the rows of collections, on the workers of the active client."""
    return ClusterSource(DaskEngine(active_client(), delayed_parts(X, y, sample_weight, offset)))


def dask_files(parts: Sequence[FilePart]) -> DaskEngine:
    """An engine that lets the workers of the active client read files."""
    client = active_client("engine='dask' has workers read files", "leave out engine")
    return DaskEngine(client, [(part,) for part in parts], named)


def dask_frame(frame: Any) -> tuple[DaskEngine, FrameReader]:
    """An engine for the partitions of a frame, and the reader of what they have in common."""
    from ..files.readers.frames import FrameReader
    from .frame_parts import framed

    if not isinstance(frame, (list, tuple)) and not hasattr(frame, "columns"):
        raise TypeError(
            f"read takes frames with named columns, got a {type(frame).__module__}."
            f"{type(frame).__name__} of Dask: pass collections without names of columns to fit, X "
            "and y both."
        )
    delayed, _ = delayed_blocks(frame, "the frame")
    engine = DaskEngine(active_client("a Dask frame is read"), [(one,) for one in delayed], framed)
    return engine, FrameReader("the Dask frame")


def active_client(
    what: str = "X is a Dask collection",
    otherwise: str = "pass X.compute() if it fits into memory",
) -> Any:
    """The active client; an error that says how to start one if there is none."""
    from distributed import get_client

    try:
        client = get_client()
    except ValueError:
        raise RuntimeError(
            f"{what}, and there is no client whose workers could hold it: start a cluster first, "
            f"e.g. client = dask.distributed.Client(); or {otherwise}."
        ) from None
    if client.asynchronous:
        raise RuntimeError(
            "the active Dask client is asynchronous, and a fit waits for its results: expected "
            "Client(asynchronous=False)."
        )
    return client


def delayed_parts(
    X: Any, y: Any, sample_weight: Any = None, offset: Any = None
) -> list[tuple[Any, ...]]:
    """Rows, labels, weights and offsets of every part, delayed; None for those not given."""
    if y is None:
        raise ValueError(
            "This classifier requires y to be passed, but the target y is None: pass the labels."
        )
    rows, chunks = delayed_blocks(X, "X")
    columns: list[list[Any]] = [rows]
    for name, given in (("y", y), ("sample_weight", sample_weight), ("offset", offset)):
        if given is None:
            columns.append([None] * len(rows))
            continue
        column = delayed_blocks(given, name, chunks)[0]
        columns.append(column)
        if len(column) != len(rows):
            raise ValueError(
                f"X is in {len(rows)} parts and {name} in {len(column)}, and their lengths are not "
                f"known: expected parts that belong together; take both from the same frame, or "
                "call compute_chunk_sizes() on both."
            )
    return list(zip(*columns, strict=True))


def delayed_blocks(
    collection: Any, name: str, chunks: tuple[float, ...] | None = None
) -> tuple[list[Any], Any]:
    """Delayed blocks of whole rows, cut as given if lengths are known; and their lengths."""
    import dask.array as da
    from dask.delayed import Delayed

    if isinstance(collection, (list, tuple)):
        if not all(isinstance(part, Delayed) for part in collection):
            raise TypeError(f"{name} is a list of which not every part is delayed (dask.delayed).")
        return list(collection), None
    if isinstance(collection, np.ndarray) and chunks is not None:
        collection = da.from_array(collection, chunks=len(collection))
    if hasattr(collection, "npartitions") and hasattr(collection, "to_delayed"):
        if not isinstance(collection, da.Array):
            return list(collection.to_delayed()), None
        return _array_blocks(collection, name, chunks)
    raise TypeError(
        f"{name} is a {type(collection).__module__}.{type(collection).__name__}, but X or y is a "
        "Dask collection; expected a dask array, frame or series in the same parts, or a list "
        "of delayed parts."
    )


def _array_blocks(
    array: Any, name: str, chunks: tuple[float, ...] | None
) -> tuple[list[Any], tuple[float, ...] | None]:
    if array.ndim == 2 and array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    known = not np.isnan(array.shape[0])
    if known and chunks is not None and array.chunks[0] != chunks:
        if sum(chunks) != array.shape[0]:
            raise ValueError(
                f"X has {sum(chunks):.0f} rows and {name} {array.shape[0]}; expected as many."
            )
        array = array.rechunk({0: chunks})
    return array.to_delayed().ravel().tolist(), array.chunks[0] if known else None
