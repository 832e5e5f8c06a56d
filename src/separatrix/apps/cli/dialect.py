"""The format of a CSV file, so that columns can be added to it in the same format."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BYTE_ORDER_MARK = "\ufeff"
SEPARATOR_LINE = "sep=;"
"""Line that some spreadsheets write before the names of the columns."""
NUMBER = re.compile(r"\s*[-+]?\d*([.,])\d+([eE][-+]?\d+)?\s*")
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh91AY&SY": "bz2"}


@dataclass(frozen=True)
class Dialect:
    """Delimiter, decimal sign, line end and prefix of a CSV file."""

    delimiter: str
    newline: str
    start: str
    """A byte order mark and the line ``sep=;``, if present."""

    @classmethod
    def of(cls, path: str) -> Dialect:
        """Detect the dialect from the first line."""
        with _text(path) as lines:
            first = lines.readline()
        line = first.removeprefix(BYTE_ORDER_MARK)
        names = next(csv.reader([line]), [])
        tabs = ".tsv" in Path(path).suffixes
        semicolons = not tabs and len(names) == 1 and ";" in names[0]
        before = line if line.strip().lower() == SEPARATOR_LINE else ""
        return cls(
            "\t" if tabs else ";" if semicolons else ",",
            "\r\n" if first.endswith("\r\n") else "\n",
            first.removesuffix(line) + before,
        )

    def records(self, path: str) -> Iterator[tuple[str, list[str]]]:
        """Names and rows: each as raw text without the line end, and as values."""
        taken: list[str] = []

        def noted() -> Iterator[str]:
            for line in lines:
                taken.append(line)
                yield line

        with _text(path) as lines:
            lines.read(len(self.start))
            for values in csv.reader(noted(), delimiter=self.delimiter):
                if values:
                    yield "".join(taken).rstrip("\r\n"), values
                taken.clear()

    def decimal(self, path: str) -> str:
        """The decimal sign: a comma is possible only if values are separated by semicolons.

        Then it is a comma unless the file has decimal points and no commas.
        """
        if self.delimiter != ";":
            return "."
        values = (value for _, row in self.records(path) for value in row)
        signs = {found[1] for value in values if (found := NUMBER.fullmatch(value))}
        return "." if signs == {"."} else ","


def with_decimal(value: Any, sign: str) -> Any:
    """Write a value with this decimal sign."""
    return repr(value).replace(".", sign) if isinstance(value, float) else value


@contextmanager
def _text(path: str) -> Iterator[Any]:
    """The text of a file, which may be compressed; bytes that are not UTF-8 are kept."""
    import pyarrow as pa

    with open(path, "rb") as file:
        start = file.read(max(map(len, MAGIC)))
    codec = next((codec for magic, codec in MAGIC.items() if start.startswith(magic)), None)
    with pa.input_stream(pa.OSFile(os.fsencode(path)), compression=codec) as raw:
        yield io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", newline="")
