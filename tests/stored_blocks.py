"""Blocks as a cache holds them, and how two of them are compared."""

from __future__ import annotations

import numpy as np

from separatrix.data.blocks import Block
from separatrix.data.files.cache.file import CacheWriter
from separatrix.rows import CsrRows

IDENTITY = {"format": "csv", "files": [{"path": "a.csv", "size": 3, "mtime_ns": 7}], "options": {}}


def dense_blocks(count=4, rows=50, dtype="f4", weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Block(
            rng.standard_normal((rows - (number == count - 1), 3)).astype(dtype),
            rng.integers(0, 3, rows - (number == count - 1)),
            rng.random(rows - (number == count - 1)) if weighted else None,
            number * rows,
        )
        for number in range(count)
    ]


def write(folder, blocks, identity=IDENTITY, about=None):
    writer = CacheWriter(folder, identity)
    for block in blocks:
        writer.write(block)
    return writer.close(about or {})


def assert_same(ours, theirs):
    assert ours.start == theirs.start
    if isinstance(theirs.X, CsrRows):
        first, last = theirs.X.indptr[[0, -1]]
        assert ours.X.indices.dtype == theirs.X.indices.dtype
        np.testing.assert_array_equal(ours.X.data, theirs.X.data[first:last], strict=True)
        np.testing.assert_array_equal(ours.X.indices, theirs.X.indices[first:last])
        np.testing.assert_array_equal(ours.X.indptr, theirs.X.indptr - first)
    else:
        np.testing.assert_array_equal(ours.X, theirs.X, strict=True)
    np.testing.assert_array_equal(ours.y, theirs.y, strict=True)
    assert (ours.weight is None) == (theirs.weight is None)
    if theirs.weight is not None:
        np.testing.assert_array_equal(ours.weight, theirs.weight, strict=True)
