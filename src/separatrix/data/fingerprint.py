"""A hash of the data, independent of blocks, threads and memory layout."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from ..numeric.types import AnyArray
from ..rows import CsrRows, host_rows_of, rows_of
from .blocks import Block

DIGEST_BYTES = 16  # 128 bits: no two contents have the same by accident
HASHED_ROWS = 4096  # at a time: rows that are not C-contiguous are copied


def fingerprint(blocks: Iterable[Block], classes: AnyArray) -> str:
    """A hash of rows, labels, weights and offsets in order, and of the classes.

    Each is hashed as one stream of bytes, so block boundaries do not matter.
    """
    streams = {name: blake2b(digest_size=DIGEST_BYTES) for name in (*STREAMS, "offsets")}
    kinds = set()
    for X, y, weight, _ in blocks:
        if not len(y):
            continue
        for start in range(0, len(y), HASHED_ROWS):
            at = slice(start, min(start + HASHED_ROWS, len(y)))
            rows = host_rows_of(rows_of(X).part(at.start, at.stop).X)
            streams["labels"].update(_bytes(y[at].astype(np.float64)))
            counts = np.ones(at.stop - start) if weight is None else weight[at]
            streams["weights"].update(_bytes(counts))
            if (offset := rows_of(X).offset) is not None:
                streams["offsets"].update(_bytes(offset[at]))
            if isinstance(rows, CsrRows):
                streams["values"].update(_bytes(rows.data[rows.entries]))
                streams["columns"].update(_bytes(rows.indices[rows.entries].astype(np.int64)))
                streams["lengths"].update(_bytes(np.diff(rows.indptr).astype(np.int64)))
            else:
                streams["values"].update(_bytes(rows.values))
        kinds.add(f"{type(rows.X).__name__} {rows.dtype.name}")
    whole = blake2b(digest_size=DIGEST_BYTES)
    whole.update(repr((sorted(kinds), np.asarray(classes).tolist())).encode())
    without = streams["offsets"].digest() == blake2b(digest_size=DIGEST_BYTES).digest()
    for stream in list(streams.values())[: -1 if without else None]:
        whole.update(stream.digest())
    return whole.hexdigest()


STREAMS = ("values", "columns", "lengths", "labels", "weights")


def _bytes(values: AnyArray) -> memoryview:
    return np.ascontiguousarray(values).data.cast("B")
