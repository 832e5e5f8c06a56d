"""The types of columns of text: the narrowest that all their values have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import FEW_ROWS
from .csv_lines import line_of

TRUE, FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]
BOOLEANS = pa.array(TRUE + FALSE)
BLANKS = " \t"  # what Arrow leaves out around numbers
NUMBER = r"^[ \t]*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[ \t]*$"
WHOLE = r"^-?\d{1,18}$"
PLAIN = r"^-?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})([eE][-+]?\d{1,2})?$"
"""Numbers that are read without a doubt; others may be, too."""
NO_WORD = r"^[ \t]*($|[-+.\d]|(?i:nan|inf|true|false))"
"""Text that may be a number or a boolean; all other text is words."""
NUMERIC = (pa.lib.Type_NA, pa.lib.Type_INT64, pa.lib.Type_DOUBLE)
WIDER = {  # what a column may turn out to be that so far was the first; else text
    pa.null(): (pa.int64(), pa.float64(), pa.bool_()),
    pa.int64(): (pa.int64(), pa.float64()),
    pa.float64(): (pa.float64(),),
    pa.bool_(): (pa.bool_(),),
}


class Word(NamedTuple):
    """A value that is no number, and where it stands."""

    value: str
    path: Path
    row: int


class ColumnTypes:
    """What columns hold, as told by the batches added so far; their edges do not matter."""

    def __init__(self, names: list[str]) -> None:
        self.types = dict.fromkeys(names, pa.null())
        self.words: dict[str, Word] = {}
        self.numbers: dict[str, str] = {}
        self.whole = False
        """Whether all rows were looked at."""

    def __iter__(self) -> Iterator[tuple[str, pa.DataType]]:
        """The columns and their types; one without any value has the type null."""
        return iter(self.types.items())

    def add(self, batch: pa.RecordBatch, path: Path, start: int) -> None:
        """Columns of text: rows of this file from this one on."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        if batch.num_rows <= FEW_ROWS and columns:
            self._add_plain(columns, batch.num_rows, path, start)
        for name, column in columns.items():
            if column.null_count < len(column):
                self._add(name, column, path, start)

    def _add_plain(self, columns: dict[str, pa.Array], n_rows: int, path: Path, start: int) -> None:
        """Columns of plain numbers and columns of plain words, which are taken out of the others.

        All columns together: of few rows, calls of Arrow for each take longer than their values.
        """
        text = pa.concat_arrays(list(columns.values()))
        here = text.is_valid().to_numpy(zero_copy_only=False).reshape(-1, n_rows)

        def all_match(pattern: str, matches: bool = True) -> list[bool]:
            found = pc.match_substring_regex(text, pattern).fill_null(matches)
            found = found.to_numpy(zero_copy_only=False) == matches
            return (found.reshape(-1, n_rows).all(axis=1) & here.any(axis=1)).tolist()  # type: ignore[no-any-return]

        first = here.argmax(axis=1)
        values = text.take(pa.array(first + n_rows * np.arange(len(first)))).to_pylist()
        whole, number, word = all_match(WHOLE), all_match(PLAIN), all_match(NO_WORD, False)
        for at, name in enumerate(list(columns)):
            before = self.types[name].id
            if number[at] and before in NUMERIC:
                fraction = not whole[at] or before == pa.lib.Type_DOUBLE
                self.types[name] = pa.float64() if fraction else pa.int64()
                self.numbers.setdefault(name, values[at])
            elif word[at]:
                self.types[name] = pa.string()
                if name not in self.words:
                    self.words[name] = Word(values[at], path, start + int(first[at]))
            else:
                continue
            del columns[name]

    def _add(self, name: str, column: pa.Array, path: Path, start: int) -> None:
        if self.types[name] != pa.string():
            fitting = (type for type in WIDER[self.types[name]] if _holds(column, type))
            self.types[name] = next(fitting, pa.string())
        distinct = self.types[name] == pa.string()
        if name not in self.words and self.types[name] in (pa.string(), pa.bool_()):
            at = pc.index(pc.invert(_is_number(column)), True).as_py()
            if at >= 0:
                self.words[name] = Word(column[at].as_py(), path, start + at)
        if name not in self.numbers and self.types[name] != pa.bool_():
            values = column.unique() if distinct else column.drop_null().slice(0, 1)
            at = pc.index(_is_number(values), True).as_py()
            if at >= 0:
                self.numbers[name] = values[at].as_py()

    def __add__(self, other: ColumnTypes) -> ColumnTypes:
        """What the rows of both tell, those of the other standing after these."""
        found = ColumnTypes([])
        for name, type in self.types.items():
            its = other.types[name]
            both = {pa.int64(), pa.float64()} >= {type, its}
            wider = its if type == pa.null() else pa.float64() if both else pa.string()
            found.types[name] = type if its in (type, pa.null()) else wider
        found.words = other.words | self.words
        found.numbers = other.numbers | self.numbers
        found.whole = self.whole and other.whole
        return found

    def mixed(self) -> list[str]:
        """Columns that hold words among numbers."""
        return [
            name
            for name, type in self.types.items()
            if type == pa.string() and name in self.words and name in self.numbers
        ]

    def why_mixed(self, name: str) -> str:
        """Where the first word stands, and what to do."""
        word, path, row = self.words[name]
        return (
            f"{path}, line {line_of(path, row)}: column {name!r} holds {word!r}, but numbers such "
            f"as {self.numbers[name]} in other rows. Mend it; or write nothing, or NA, if it is "
            f"missing; or, if words are meant, say categorical={{{name!r}: 'onehot'}}."
        )


def _holds(column: pa.Array, type: pa.DataType) -> bool:
    """Whether every value can be read as this type."""
    if type == pa.bool_():
        return bool(pc.all(pc.is_in(column.drop_null(), BOOLEANS)).as_py())
    return _casts(column, type) or _casts(pc.ascii_trim(column, BLANKS), type)


def _casts(column: pa.Array, type: pa.DataType) -> bool:
    try:
        column.cast(type)
    except pa.ArrowInvalid:
        return False
    return True


def _is_number(column: pa.Array) -> pa.Array:
    return pc.match_substring_regex(column, NUMBER)
