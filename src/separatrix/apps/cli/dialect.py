"""The format of a CSV file, so that columns can be added to it in the same format."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BYTE_ORDER_MARK = "\ufeff"
NUMBER = re.compile(r"\s*[-+]?\d*([.,])\d+([eE][-+]?\d+)?\s*")


@dataclass(frozen=True)
class Dialect:
    """Delimiter, decimal sign, line end and prefix of a CSV file."""

    delimiter: str
    newline: str
    start: str  # a byte order mark and the line ``sep=;``, if present

    @classmethod
    def of(cls, path: str) -> Dialect:
        """Detect the dialect from the first line."""
        from ...data.files.readers.semicolons import SEPARATOR_LINE, delimiter, has_semicolons

        with _text(path) as lines:
            first = lines.readline()
        line = first.removeprefix(BYTE_ORDER_MARK)
        expected = delimiter(Path(path))
        semicolons = expected == "," and has_semicolons(line.encode("utf-8", "surrogateescape"))
        before = line if line.strip().lower() == SEPARATOR_LINE else ""
        return cls(
            ";" if semicolons else expected,
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
    from ...data.files.readers.compression import uncompressed

    with uncompressed(Path(path)) as raw:
        yield io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", newline="")
