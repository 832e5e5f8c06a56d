"""Caches of decoded blocks that are forged: their checksums are right, what they say is not."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.files.cache.index import MAGIC, SEAL, StoredBlock

AT = StoredBlock._fields.index


def index_of(path: Path) -> tuple[dict[str, Any], int]:
    """The index of a cache, and where it begins: before it are the bytes of the blocks."""
    whole = path.read_bytes()
    length, _, _ = SEAL.unpack(whole[-SEAL.size :])
    start = len(whole) - SEAL.size - length
    return json.loads(whole[start : -SEAL.size]), start


def forge(
    path: Path,
    change: Callable[[dict[str, Any], bytearray], Any] | None = None,
    text: bytes | None = None,
) -> None:
    """Rewrite a cache with right checksums.

    ``change`` edits the index and the bytes of the blocks in place; what it returns, if anything,
    takes the place of the index. ``text`` is written instead of the index as it is.
    """
    index, start = index_of(path)
    blocks = bytearray(path.read_bytes()[:start])
    found: Any = index
    if change is not None:
        returned = change(index, blocks)
        found = index if returned is None else returned
    if isinstance(found, dict) and isinstance(found.get("blocks"), list):
        for stored in found["blocks"]:
            _sign(stored, blocks)
    if text is None:
        text = json.dumps(found).encode()
    path.write_bytes(bytes(blocks) + text + SEAL.pack(len(text), zlib.crc32(text), MAGIC))


def _sign(stored: Any, blocks: bytearray) -> None:
    """The checksum of the bytes that a block claims, as far as they are there."""
    try:
        at, size = stored[AT("at")], stored[AT("size")]
        stored[AT("checksum")] = zlib.crc32(blocks[at : at + size])
    except (TypeError, IndexError, KeyError, ValueError, OverflowError):
        pass  # what is wrong with it is the point


def array_in(index: dict[str, Any], blocks: bytearray, number: int, name: str) -> np.ndarray:
    """An array of a block, to be written to: its bytes are those of the file."""
    stored = index["blocks"][number]
    at = stored[AT("at")]
    for other, dtype, shape in stored[AT("arrays")]:
        count = int(np.prod(shape))
        size = count * np.dtype(dtype).itemsize
        if other == name:
            return np.frombuffer(blocks, dtype, count, at).reshape(shape)
        at += -(-size // 64) * 64
    raise KeyError(name)
