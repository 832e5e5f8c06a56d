"""Files written by commands, by the rules of :func:`separatrix.numeric.replaced.replaced`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...numeric.replaced import descriptor_of, replaced
from .paths import check_output

OTHER_FORMATS = (".json", ".jsonl", ".ndjson", ".xlsx", ".xls", ".html", ".sep")
"""Suffixes of formats in which predictions cannot be written."""


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


def check_table_name(output: str) -> None:
    """Refuse names of formats that ``predict`` does not write."""
    from ...data.files.readers.formats import known_format

    suffix = Path(output).suffix.lower()
    if suffix in OTHER_FORMATS or known_format(output) in ("svmlight", "npy"):
        raise ValueError(
            f"--output {output}: predictions are written as CSV, Parquet or Arrow; use a name that "
            "ends in .csv, .parquet or .arrow"
        )


def check_model_name(output: str) -> None:
    """Refuse names of formats that only ``export`` writes, and of tables."""
    suffix = Path(output).suffix.lower()
    to = {".onnx": "onnx", ".json": "json", ".sql": "sql", ".h": "c"}.get(suffix)
    if to is not None:
        raise ValueError(
            f"--output {output}: fit writes a model file; use a name that ends in .sep, and then "
            f"`separatrix export MODEL.sep --to {to}`"
        )


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


def check_report(path: str | None, *others: str | None) -> None:
    """Check that a report can be written there, before hours are spent on its contents."""
    if path is None:
        return
    check_output(path, *[name for name in others if name is not None and Path(name).exists()])
    for other in others:
        if other is not None and os.path.realpath(path) == os.path.realpath(other) != os.devnull:
            raise ValueError(f"--report {path}: this file is used otherwise; name another file")
    suffix = Path(path).suffix.lower()
    if suffix and suffix not in (".html", ".htm"):
        raise ValueError(f"--report {path}: reports are HTML; expected a name such as report.html")
    if find_spec("matplotlib") is None:
        raise ValueError("--report needs matplotlib for its plots: pip install 'separatrix[plot]'")
