"""Compressed files, recognised by their first bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

XZ = b"\xfd7zXZ\x00"
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh91AY&SY": "bz2"}


def codec_of(path: Path) -> str | None:
    """How the file is compressed, None if it is not."""
    with path.open("rb") as file:
        start = file.read(max(map(len, MAGIC)))
    if start.startswith(XZ):
        raise ValueError(
            f"{path} is compressed by xz; expected plain text, gzip, zstd or bzip2: compress it "
            "by one of these."
        )
    return next((codec for magic, codec in MAGIC.items() if start.startswith(magic)), None)


@contextmanager
def uncompressed(path: Path) -> Iterator[pa.NativeFile]:
    """The bytes of the file, decompressed while they are read; one cut off is an OSError."""
    codec = codec_of(path)
    with pa.OSFile(os.fsencode(path)) as raw:
        if codec is None:
            yield raw
        else:
            with pa.CompressedInputStream(raw, codec) as plain:
                yield plain
