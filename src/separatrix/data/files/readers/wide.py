"""Rows of very many columns: all values in one array, where Arrow has an array for each column.

An Arrow array takes about 20 microseconds to be parsed, however few its rows are. A table of three
rows and 100,000 columns would take two seconds for each pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import compress, count
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from ....numeric.types import Array, Ints
from .csv_chunks import BYTE_ORDER_MARK

MANY_COLUMNS, FEW_ROWS = 1 << 8, 64
"""Least columns and most rows of text that is parsed as one column of values."""
TRUE, FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]
BOOLEANS = pa.array(TRUE + FALSE)
BLANKS = " \t"  # what Arrow leaves out around numbers
DOUBLE = pa.lib.Type_DOUBLE


class WideText(NamedTuple):
    """Rows of a CSV file as they are written."""

    names: list[str]
    values: pa.StringArray  # row after row; null where a value is missing

    @property
    def num_rows(self) -> int:
        return len(self.values) // len(self.names)

    def column(self, number: int) -> pa.Array:
        return self.values.take(pa.array(self._places(np.array([number]))))

    def select(self, names: list[str]) -> WideText:
        """Only these columns, in this order."""
        if names == self.names:
            return self
        at = {name: number for number, name in enumerate(self.names)}
        places = self._places(np.array([at[name] for name in names], dtype=np.int64))
        return WideText(names, self.values.take(pa.array(places)))

    def typed(self, types: Mapping[str, pa.DataType]) -> WideBatch:
        """These columns as these types, in this order; ArrowInvalid if a value is of another."""
        names = list(types)
        text = self.select(names)
        is_number = np.array([type.id == DOUBLE for type in types.values()])
        values = text.values.take(pa.array(text._places(np.flatnonzero(is_number))))
        numbers = typed(values, pa.float64()).to_numpy(zero_copy_only=False)
        others = {
            names[number]: typed(text.column(number), types[names[number]])
            for number in np.flatnonzero(~is_number).tolist()
        }
        return WideBatch(
            names, numbers.reshape(self.num_rows, -1),
            dict(zip(compress(names, is_number), count(), strict=False)),
            pa.RecordBatch.from_arrays(list(others.values()), names=list(others)),
        )  # fmt: skip

    def _places(self, columns: Ints) -> Ints:
        """Where the values of these columns are, row after row."""
        starts = np.arange(0, len(self.values), len(self.names))
        places: Ints = (starts[:, None] + columns).ravel()
        return places


@dataclass(frozen=True)
class WideBatch:
    """A batch of rows, in place of a ``RecordBatch``: its float64 columns are one array."""

    names: list[str]  # of all columns
    numbers: Array  # rows of the columns of float64; NaN where a value is missing
    places: dict[str, int]  # the number of each of these columns
    others: pa.RecordBatch

    @property
    def num_rows(self) -> int:
        return len(self.numbers)

    def column(self, name: str) -> pa.Array:
        if name not in self.places:
            return self.others.column(name)
        return pa.array(self.numbers[:, self.places[name]], from_pandas=True)

    def select(self, names: list[str]) -> WideBatch:
        """Only these columns, in this order."""
        others = self.others.select([name for name in names if name not in self.places])
        return replace(self, names=names, others=others)

    def slice(self, first: int, rows: int) -> WideBatch:
        numbers = self.numbers[first : first + rows]
        return replace(self, numbers=numbers, others=self.others.slice(first, rows))


Batch: TypeAlias = pa.RecordBatch | pa.Table | WideBatch


def names_of(batch: Batch) -> list[str]:
    """Names of the columns of a batch."""
    names: list[str] = batch.names if isinstance(batch, WideBatch) else batch.schema.names
    return names


def doubles(batch: Batch, names: list[str]) -> Array | None:
    """Columns of float64 as one array, NaN where a value is missing; None if some are not."""
    if isinstance(batch, WideBatch):
        if names == list(batch.places):
            return batch.numbers
        if not batch.places.keys() >= set(names):
            return None
        return batch.numbers[:, [batch.places[name] for name in names]]
    found = batch.select(names)
    if any(type.id != DOUBLE for type in found.schema.types):
        return None
    batches = found.combine_chunks().to_batches() if isinstance(found, pa.Table) else [found]
    if len(batches) != 1:  # no rows, or no columns
        return None
    numbers: Array = batches[0].to_tensor(null_to_nan=True).to_numpy()
    return numbers


def is_wide(names: list[str]) -> bool:
    """Whether a table with these columns may be parsed as one column of values."""
    return len(names) >= MANY_COLUMNS


def wide_text(text: bytes, names: list[str], delimiter: str, has_names: bool) -> WideText | None:
    """Whole rows of text without quotes; None where Arrow's own parser is needed, or is faster.

    Every value is a row of a table with one column: so Arrow reads it as it reads all others.
    """
    mark = delimiter.encode()
    if not is_wide(names) or b'"' in text or text.count(b"\n") > FEW_ROWS:
        return None
    text = text.removeprefix(BYTE_ORDER_MARK).replace(b"\r\n", b"\n")
    lines = [line for line in text.split(b"\n") if line][has_names:]
    if b"\r" in text or not lines or any(line.count(mark) != len(names) - 1 for line in lines):
        return None
    column = b"\n".join(lines).replace(mark, b"\n") + b"\n"
    try:
        found = pacsv.read_csv(
            pa.BufferReader(column),
            pacsv.ReadOptions(use_threads=False, block_size=len(column) + 1, column_names=["0"]),
            pacsv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
            pacsv.ConvertOptions(column_types={"0": pa.string()}, strings_can_be_null=True),
            memory_pool=pa.system_memory_pool(),
        )
    except pa.ArrowInvalid:  # of bytes that are no text, an error is to name the line
        return None
    return WideText(names, found.column(0).combine_chunks())


def typed(text: pa.Array, type: pa.DataType) -> pa.Array:
    """Text as Arrow's parser of CSV reads it; ArrowInvalid if a value is not of this type."""
    if type == pa.string():
        return text
    if type == pa.bool_():
        return _booleans(text)
    if type == pa.null():
        if text.null_count < len(text):
            raise pa.ArrowInvalid("a value where all were missing")
        return pa.nulls(len(text))
    try:
        return text.cast(type)
    except pa.ArrowInvalid:
        return pc.ascii_trim(text, BLANKS).cast(type)


def _booleans(text: pa.Array) -> Any:
    if pc.is_in(text.drop_null(), BOOLEANS).false_count:
        raise pa.ArrowInvalid("a value is neither true nor false")
    return pc.if_else(text.is_valid(), pc.is_in(text, pa.array(TRUE)), None)
