"""Files that commands write: there whole, or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


@contextmanager
def written(output: str) -> Iterator[Any]:
    """A file to write to, compressed if its name says so; - is standard output."""
    if output == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    part = Path(f"{output}.part{os.getpid()}")
    codec = CODECS.get(Path(output).suffix)
    try:
        with part.open("wb") as file:
            if codec is None:
                yield file
            else:
                import pyarrow as pa

                with pa.CompressedOutputStream(pa.PythonFile(file, "w"), codec) as compressed:
                    yield compressed
        os.replace(part, output)
    finally:
        part.unlink(missing_ok=True)


def write_recording(path: str, to_json: Callable[[], str], to_html: Callable[[], str]) -> None:
    """A page or JSON, by the suffix of the file."""
    page = Path(path).suffix.lower() in (".html", ".htm")
    text = to_html() if page else to_json()
    with written(path) as file:
        file.write(text.encode())
