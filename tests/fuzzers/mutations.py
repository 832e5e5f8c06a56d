"""Changes of bytes and of JSON that any file can suffer."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from hostile_files import DELETE, at, places, replaced

NASTY_BYTES = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\x0c", b"\xc2\xa0", b"\xe2\x80\xa8", b"\r", b"\n\n",
    b'"', b",", b":", b"1e400", b"nan", b"-inf", b"9" * 5000, b"-", b"\\", b"#", b"\t", b"0x10",
    b"1:", b"\x85",
)  # fmt: skip
STRANGE: Sequence[Any] = (
    DELETE, None, True, False, -1, 0, 1, 3, 2**31, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e308,
    1e-320, "", "x", "\ud800", "nan", "a" * 10_000, [], {}, [[]], [0], [-1], [2**62], {"": None},
    "</script>",
)  # fmt: skip


def mutated_bytes(raw: bytes, draw: random.Random) -> bytes:
    """One to four changes: bits, cuts, copies, insertions."""
    changed = bytearray(raw)
    for _ in range(draw.choice((1, 1, 2, 4))):
        size = max(1, len(changed))
        at, other = sorted((draw.randrange(size), draw.randrange(size)))
        how = draw.randrange(7)
        if how == 0 and changed:
            changed[at] ^= 1 << draw.randrange(8)
        elif how == 1:
            del changed[at:]
        elif how == 2:
            del changed[at : min(other, at + 50)]
        elif how == 3:
            changed[at:at] = draw.choice(NASTY_BYTES)
        elif how == 4:
            changed[at : at + 8] = draw.randbytes(8)
        elif how == 5:
            changed[at:at] = changed[at : min(other, at + 200)]
        else:
            changed += draw.choice(NASTY_BYTES)
    return bytes(changed)


def mutated_tree(tree: Any, draw: random.Random, strange: Sequence[Any] = STRANGE) -> Any:
    """A copy in which one to three values are strange, gone, or taken from elsewhere in it."""
    changed = copy.deepcopy(tree)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        paths = list(places(changed))[1:]
        if not paths:
            return changed
        where = draw.choice(paths)
        value = draw.choice(strange) if draw.random() < 0.75 else at(changed, draw.choice(paths))
        replaced(changed, where, value if value is DELETE else copy.deepcopy(value))
    return changed


def mutated_array(array: np.ndarray, draw: random.Random) -> np.ndarray:
    """The array with another size, shape, type, or with extreme values in it."""
    how = draw.randrange(7)
    if how == 0:
        return array[:0]
    if how == 1:
        return np.resize(array, draw.choice((1, max(0, array.size - 1), array.size + 1, 1000)))
    if how == 2:
        return array.reshape(-1)
    if how == 3:
        return array[..., None]
    if how == 4:
        other = draw.choice(("<f8", "<f4", "<i8", "<i4", "<u8", "|i1", "|b1", "<f2"))
        return np.nan_to_num(array).astype(other)
    changed = array.copy()
    if changed.size:
        whole = changed.dtype.kind in "iu"
        extremes = (-1, 2**31 - 1, 2**62, 7) if whole else (np.nan, np.inf, -1e308, 1e-320, 0, 0.5)
        with np.errstate(all="ignore"):
            value = np.array(draw.choice(extremes)).astype(changed.dtype)
        changed.reshape(-1)[draw.randrange(changed.size)] = value
    return changed
