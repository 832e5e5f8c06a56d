"""The index of a cache: the arrays of each block and their positions. It is checked before use.

An index is plain data with a checksum, which detects accidents, not attacks: anyone who can write
the file can write a checksum. So every entry is checked before it is used. Types must be on a short
list; sizes are computed without overflow and must fill the file exactly, so no block can claim more
memory than the file has bytes.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ....numeric.types import AnyArray
from ....rows import CsrRows, RowsLike, host_rows_of, rows_of, with_offset
from ...blocks import Block
from ..facts import LARGEST_WEIGHT

FORMAT = 4  # increase it whenever rows are decoded or written differently
SEAL = struct.Struct("<QQ8s")
MAGIC = b"sptrx\x00\r\n"
LINE = 64  # bytes: alignment of arrays in the file and so in memory

FLOATS = tuple(np.dtype(name).str for name in ("float32", "float64"))
INTEGERS = tuple(np.dtype(name).str for name in ("int32", "int64"))
TYPES = {
    "X": FLOATS, "data": FLOATS, "indices": INTEGERS, "indptr": INTEGERS,
    "y": INTEGERS[1:], "weight": FLOATS[1:], "offset": FLOATS[1:],
}  # fmt: skip
"""The types that the arrays of a block may have."""
DENSE, SPARSE = ["X", "y"], ["data", "indices", "indptr", "y"]
"""The arrays of a block in their order."""
MORE = ["weight"], ["offset"], ["weight", "offset"]  # those that may follow

Identity = dict[str, Any]


class CacheDamaged(Exception):
    """A cache, or a block of it, differs from what was written."""


class StoredBlock(NamedTuple):
    """The position of a block's arrays in the file."""

    start: int
    features: int | None  # number of features of sparse rows; None for dense rows
    arrays: list[tuple[str, str, list[int]]]  # name, dtype and shape of each
    at: int
    size: int
    checksum: int

    @property
    def n_rows(self) -> int:
        return {name: shape for name, _, shape in self.arrays}["y"][0]

    @property
    def width(self) -> int:
        """Number of features; for sparse rows, those known when the block was written."""
        return self.arrays[0][2][1] if self.features is None else self.features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the rows."""
        return np.dtype(self.arrays[0][1])

    def assembled(self, room: AnyArray, features: int) -> Block:
        """The block stored in these bytes; sparse rows get the features of all blocks."""
        arrays: dict[str, AnyArray] = {}
        at = 0
        for name, dtype, shape in self.arrays:
            size = n_bytes(dtype, shape)
            arrays[name] = room[at : at + size].view(dtype).reshape(shape)
            at += whole_lines(size)
        if self.features is None:
            X: RowsLike = arrays["X"]
        else:
            X = CsrRows(arrays["data"], arrays["indices"], arrays["indptr"], features)
        if "offset" in arrays:
            X = with_offset(rows_of(X), arrays["offset"]).X
        return Block(X, arrays["y"], arrays.get("weight"), self.start)


def sealed_index(descriptor: int, identity: Identity) -> dict[str, Any] | None:
    """The index at the end of a cache of this identity; None if the file is not one.

    Raises :class:`CacheDamaged` if its index is inconsistent.
    """
    size = os.fstat(descriptor).st_size
    seal = os.pread(descriptor, SEAL.size, max(size - SEAL.size, 0))
    if len(seal) != SEAL.size:
        return None
    length, checksum, magic = SEAL.unpack(seal)
    start = size - SEAL.size - length
    if magic != MAGIC or start < 0:
        return None
    text = np.empty(length, dtype=np.uint8)
    whole = read_into(descriptor, text, start)
    if not whole or zlib.crc32(text.data) != checksum:
        return None
    try:
        index = json.loads(text.tobytes())
    except (ValueError, RecursionError) as error:
        raise CacheDamaged("the index of the cache is not JSON") from error
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        return None
    if index.get("identity") != identity:
        return None
    try:
        _check(index, start)
    except (LookupError, TypeError, ValueError) as error:
        raise CacheDamaged("the index of the cache does not describe blocks") from error
    return index


def _check(index: dict[str, Any], end: int) -> None:
    """Raise unless the blocks fill the file up to ``end`` without gaps."""
    if not isinstance(index["about"], dict) or not isinstance(index["blocks"], list):
        raise TypeError("about and blocks")
    _whole(index["codes"])
    blocks = [StoredBlock(*entry) for entry in index["blocks"]]
    for stored in blocks:
        _check_block(stored)
    for one, next in pairwise(blocks):
        follows = (one.start + one.n_rows, one.at + one.size) == (next.start, next.at)
        alike = (one.features is None, one.dtype) == (next.features is None, next.dtype)
        alike &= one.features is not None or one.width == next.width
        if not follows or not alike:
            raise ValueError("blocks do not follow one another")
    first = (blocks[0].start, blocks[0].at) if blocks else (0, 0)
    if first != (0, 0) or end != (blocks[-1].at + blocks[-1].size if blocks else 0):
        raise ValueError("blocks do not fill the file")


def _check_block(stored: StoredBlock) -> None:
    for number in (stored.start, stored.at, stored.size, stored.checksum):
        _whole(number)
    names = DENSE if stored.features is None else SPARSE
    arrays = {name: (dtype, shape) for name, dtype, shape in stored.arrays}
    if list(arrays) not in (names, *([*names, *more] for more in MORE)) or len(arrays) != len(
        stored.arrays
    ):
        raise ValueError("other arrays than a block has")
    for name, (dtype, shape) in arrays.items():
        if dtype not in TYPES[name] or not isinstance(shape, list):
            raise ValueError(f"{name} has no type that a block has")
        for number in shape:
            _whole(number)
    (n,) = arrays["y"][1]
    expected = {"y": [n], "weight": [n], "offset": [n, 1]}
    if stored.features is None:
        expected["X"] = [n, *arrays["X"][1][1:]]
        well_made = len(arrays["X"][1]) == 2
    else:
        _whole(stored.features)
        (entries,) = arrays["data"][1]
        expected |= {"data": [entries], "indices": [entries], "indptr": [n + 1]}
        index = arrays["indices"][0]
        well_made = arrays["indptr"][0] == index
        well_made &= max(stored.features - 1, entries) <= np.iinfo(index).max
    well_made &= n > 0 and all(shape == expected[name] for name, (_, shape) in arrays.items())
    if not well_made:
        raise ValueError("arrays that do not fit together")
    sizes = (whole_lines(n_bytes(dtype, shape)) for dtype, shape in arrays.values())
    if stored.size != sum(sizes):
        raise ValueError("a block of another size than its arrays")


def _whole(number: Any) -> None:
    if type(number) is not int or number < 0:
        raise TypeError("no count")


def flaw(block: Block, codes: int) -> str | None:
    """The first flaw that no decoder would produce, or None: loops do not check their input.

    Types and shapes of the arrays have been checked. Labels are codes from 0 to ``codes`` - 1.
    """
    X, y, weight, _ = block
    rows = host_rows_of(X)
    if not rows.sound:
        return "its sparse rows point to values or features that do not exist"
    if not rows.finite:
        return "it has a value that is not finite"
    if y.view(np.uint64).max() >= codes:  # negative numbers are the largest as unsigned
        return "it has a label that does not exist"
    if weight is not None and not (weight.min() >= 0.0 and weight.max() <= LARGEST_WEIGHT):
        return "it has a weight that is not a number of at least 0"
    offset = rows_of(X).offset
    if offset is not None and not np.all(np.isfinite(offset)):
        return "it has an offset that is not finite"
    return None


def read_into(descriptor: int, room: AnyArray, at: int) -> bool:
    """Fill ``room`` from the file, as one call reads at most 2 GB; False if it is too short."""
    rest = room.data
    while len(rest):
        count = os.preadv(descriptor, [rest], at)
        if count == 0:
            return False
        rest, at = rest[count:], at + count
    return True


def n_bytes(dtype: str, shape: list[int]) -> int:
    """Bytes of an array; Python's integers do not overflow."""
    size = np.dtype(dtype).itemsize
    for number in shape:
        size *= number
    return size


def whole_lines(size: int) -> int:
    """The bytes of an array, padded to the alignment of the next one."""
    return -(-size // LINE) * LINE
