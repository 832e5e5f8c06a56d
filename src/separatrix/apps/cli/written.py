"""Files written by commands, by the rules of :func:`separatrix.numeric.replaced.replaced`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...numeric.replaced import descriptor_of, replaced


@contextmanager
def written(output: str) -> Iterator[Any]:
    """A file to write to, compressed if its name says so; - is standard output."""
    if output == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from ...data.files.readers.formats import CODECS

    codec = CODECS.get(Path(output).suffix)
    with replaced(Path(output)) as file:
        if codec is None:
            yield file
            return
        import pyarrow as pa

        # Arrow closes the file that it compresses to, but it must stay open.
        raw = pa.PythonFile(open(os.dup(file.fileno()), "wb"), "w")  # noqa: SIM115  Arrow does
        with pa.CompressedOutputStream(raw, codec) as compressed:
            yield compressed


def goes_to_stdout(output: str, json: bool) -> bool:
    """Whether the output is standard output, where reports go otherwise; refused with --json."""
    found = output == "-" or descriptor_of(output) == 1
    if found and json:
        raise ValueError("--json prints to standard output: use --output FILE, too")
    return found


def write_recording(path: str, to_json: Callable[[], str], to_html: Callable[[], str]) -> None:
    """Write an HTML page or JSON, by the suffix of the file."""
    page = Path(path).suffix.lower() in (".html", ".htm")
    text = to_html() if page else to_json()
    with written(path) as file:
        file.write(text.encode())
