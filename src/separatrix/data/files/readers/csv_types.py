"""The types of columns of text: the narrowest that all their values have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....numeric.types import AnyArray, Ints
from .csv_lines import line_of
from .wide import FEW_ROWS, WideText, typed

NUMBER = r"^[ \t]*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[ \t]*$"
WHOLE = r"^-?\d{1,18}$"
PLAIN = r"^-?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})([eE][-+]?\d{1,2})?$"
"""Numbers that are read without a doubt; others may be, too."""
NO_WORD = r"^[ \t]*($|[-+.\d]|(?i:nan|inf|true|false))"
"""Text that may be a number or a boolean; all other text is words."""
SOME_VALUES = 16  # tried first, because Arrow makes an error for every value that fails
NUMERIC = (pa.lib.Type_NA, pa.lib.Type_INT64, pa.lib.Type_DOUBLE)
WIDER = {  # what a column may turn out to be that so far was the first; else text
    pa.null(): (pa.int64(), pa.float64(), pa.bool_()),
    pa.int64(): (pa.int64(), pa.float64()),
    pa.float64(): (pa.float64(),),
    pa.bool_(): (pa.bool_(),),
}


class Word(NamedTuple):
    """A value that is no number, and its place."""

    value: str
    path: Path
    row: int


class ColumnTypes:
    """The types of columns, from the batches added so far; batch boundaries do not matter."""

    def __init__(self, names: list[str]) -> None:
        self.types = dict.fromkeys(names, pa.null())
        self.words: dict[str, Word] = {}
        self.numbers: dict[str, str] = {}
        self.whole = False
        """Whether all rows were looked at."""

    def __iter__(self) -> Iterator[tuple[str, pa.DataType]]:
        """The columns and their types; one without any value has the type null."""
        return iter(self.types.items())

    def add(self, batch: pa.RecordBatch | WideText, path: Path, start: int) -> None:
        """Columns of text: rows of this file from this one on."""
        names = batch.names if isinstance(batch, WideText) else batch.schema.names
        columns: Iterable[int] = range(len(names))
        if isinstance(batch, WideText):
            places = np.arange(len(batch.values)).reshape(-1, len(names)).T
            columns = self._add_plain(names, batch.values, places, path, start)
        elif names and batch.num_rows <= FEW_ROWS:
            text = pa.concat_arrays(batch.columns)
            places = np.arange(len(text)).reshape(len(names), -1)
            columns = self._add_plain(names, text, places, path, start)
        for number in columns:
            column = batch.column(number)
            if column.null_count < len(column):
                self._add(names[number], column, path, start)

    def _add_plain(
        self, names: list[str], text: pa.Array, places: Ints, path: Path, start: int
    ) -> list[int]:
        """Columns of plain numbers and columns of plain words; the numbers of all other columns.

        All columns together: of few rows, calls of Arrow for each take longer than their values.
        ``places`` has a row for each column: where its values are in the text.
        """
        here = text.is_valid().to_numpy(zero_copy_only=False)[places]
        some, first = here.any(axis=1), here.argmax(axis=1)

        def all_match(pattern: str, matches: bool = True) -> AnyArray:
            found = pc.match_substring_regex(text, pattern).fill_null(matches)
            found = found.to_numpy(zero_copy_only=False)[places] == matches
            matched: AnyArray = found.all(axis=1) & some
            return matched

        values = text.take(pa.array(places[np.arange(len(names)), first])).to_pylist()
        before = np.array([self.types[name].id for name in names])
        number = all_match(PLAIN) & np.isin(before, NUMERIC)
        fraction = ~all_match(WHOLE) | (before == pa.lib.Type_DOUBLE)
        word = all_match(NO_WORD, matches=False) & ~number
        for which, type in ((number & fraction, pa.float64()), (number & ~fraction, pa.int64())):
            self.types.update(dict.fromkeys(compress(names, which), type))
        found = zip(compress(names, number), compress(values, number), strict=True)
        self.numbers = dict(found) | self.numbers
        for at in np.flatnonzero(word).tolist():
            self.types[names[at]] = pa.string()
            if names[at] not in self.words:
                self.words[names[at]] = Word(values[at], path, start + int(first[at]))
        others: list[int] = np.flatnonzero(~(number | word)).tolist()
        return others

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

    def add_words(self, columns: pa.RecordBatch, path: Path, start: int) -> None:
        """Columns that are known to be text: rows of this file from this one on.

        They are dictionaries of distinct words in order of their first occurrence.
        """
        open = [n for n in columns.schema.names if not (n in self.words and n in self.numbers)]
        if not open:
            return
        words = [columns.column(name).dictionary for name in open]
        is_number = _is_number(pa.concat_arrays(words)).to_pylist()
        for name, distinct in zip(open, words, strict=True):
            mine, is_number = is_number[: len(distinct)], is_number[len(distinct) :]
            if name not in self.words and False in mine:
                code = mine.index(False)
                codes = columns.column(name).indices.to_numpy(zero_copy_only=False)
                row = start + int(np.argmax(codes == code))
                self.words[name] = Word(distinct[code].as_py(), path, row)
            if name not in self.numbers and True in mine:
                self.numbers[name] = distinct[mine.index(True)].as_py()

    def __add__(self, other: ColumnTypes) -> ColumnTypes:
        """The types from the rows of both; rows of the other come after these."""
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
        both = self.words.keys() & self.numbers.keys()
        return [name for name in self.types if name in both and self.types[name] == pa.string()]

    def why_mixed(self, name: str) -> str:
        """The place of the first word, and what to do."""
        word, path, row = self.words[name]
        return (
            f"{path}, line {line_of(path, row)}: column {name!r} holds {word!r}, but numbers such "
            f"as {self.numbers[name]} in other rows. Mend it; or write nothing, or NA, if it is "
            f"missing; or, if words are meant, say categorical={{{name!r}: 'onehot'}}."
        )


def _holds(column: pa.Array, type: pa.DataType) -> bool:
    """Whether every value can be read as this type."""
    try:
        typed(column.slice(0, SOME_VALUES), type)  # Arrow makes an error for every value
        typed(column, type)
    except pa.ArrowInvalid:
        return False
    return True


def _is_number(column: pa.Array) -> pa.Array:
    return pc.match_substring_regex(column, NUMBER)
