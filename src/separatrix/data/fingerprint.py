"""A name for data that depends on nothing but the data."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from ..numeric.rows import CsrRows
from ..numeric.types import AnyArray
from .blocks import Block

DIGEST_BYTES = 16
HASHED_ROWS = 4096  # at a time: rows that are not C-contiguous are copied


def fingerprint(blocks: Iterable[Block], classes: AnyArray) -> str:
    """Of rows, labels and weights in their order, and of the classes.

    Each is hashed as one stream of bytes, so that it does not matter where blocks end.
    """
    streams = {name: blake2b(digest_size=DIGEST_BYTES) for name in STREAMS}
    kinds = set()
    for X, y, weight, _ in blocks:
        if not len(y):
            continue
        for start in range(0, len(y), HASHED_ROWS):
            at = slice(start, min(start + HASHED_ROWS, len(y)))
            streams["labels"].update(_bytes(y[at].astype(np.float64)))
            counts = np.ones(at.stop - start) if weight is None else weight[at]
            streams["weights"].update(_bytes(counts))
            if not isinstance(X, CsrRows):
                streams["values"].update(_bytes(X[at]))
        if isinstance(X, CsrRows):
            entries = slice(X.indptr[0], X.indptr[-1])
            streams["values"].update(_bytes(X.data[entries]))
            streams["columns"].update(_bytes(X.indices[entries].astype(np.int64)))
            streams["lengths"].update(_bytes(np.diff(X.indptr).astype(np.int64)))
        values = X.data if isinstance(X, CsrRows) else X
        kinds.add(f"{type(X).__name__} {values.dtype.name}")
    whole = blake2b(digest_size=DIGEST_BYTES)
    whole.update(repr((sorted(kinds), np.asarray(classes).tolist())).encode())
    for stream in streams.values():
        whole.update(stream.digest())
    return whole.hexdigest()


STREAMS = ("values", "columns", "lengths", "labels", "weights")


def _bytes(values: AnyArray) -> memoryview:
    return np.ascontiguousarray(values).data.cast("B")
