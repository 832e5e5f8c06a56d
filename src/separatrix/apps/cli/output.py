"""Output: tables for people, or one JSON object; messages go to stderr."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

VERSION = 1
"""Version of the objects that ``--json`` prints: increased if a key is removed or changes its
meaning, not if a key is added. docs/command_line.md describes them."""
UNTITLED = "yellow"


def console(stderr: bool = False, quiet: bool = False) -> Console:
    """The console: plain text without colours, unless it is a terminal that supports them."""
    return Console(stderr=stderr, quiet=quiet, markup=False, emoji=False, highlight=False)


def say(text: str) -> None:
    """Print a message of one line on stderr."""
    console(stderr=True).print(single_line(text), soft_wrap=True)


def print_json(command: str, found: dict[str, Any]) -> None:
    """Print the JSON object of ``--json``."""
    whole = {"version": VERSION, "command": command} | plain(found)
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:  # another encoding, or a file name that is not UTF-8
        text = json.dumps(whole, indent=2, allow_nan=False)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def plain(value: Any) -> Any:
    """Convert to JSON types: numbers that are not finite become null."""
    import numpy as np

    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def single_line(text: str) -> str:
    """Remove line ends and control characters of the terminal."""
    return printable(re.sub(r"\s*\n\s*", " ", text.strip()))


def printable(text: Any) -> str:
    """Escape characters in text from files that could trick a terminal."""
    return "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(text)
    )


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers: bool = True
) -> Table:
    """A table whose first column is text, and the others numbers."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
    for at, column in enumerate(columns):
        made.add_column(
            printable(column), justify="right" if at and numbers else "left", overflow="fold"
        )
    for row in rows:
        made.add_row(*(printable(shown(value)) for value in row))
    return made


def shown(value: Any) -> str:
    """Format a number with a readable number of digits."""
    if not isinstance(value, Real) or isinstance(value, Integral):
        return "" if value is None else str(value)
    return f"{value:.4g}"


def percent(share: float | None) -> str:
    """Format a share with a tenth of a percent."""
    return "" if share is None else f"{100.0 * share:.1f} %"


def counted(count: int, word: str) -> str:
    """``1 row``, ``1,234 rows``, ``2 passes``, ``3 categories``."""
    if count == 1:
        return f"1 {word}"
    many = f"{word[:-1]}ies" if word.endswith("y") else word + ("es" if word.endswith("s") else "s")
    return f"{count:,} {many}"
