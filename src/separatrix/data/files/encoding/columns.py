"""Columns of an Arrow table as arrays, with errors that name column and row."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....numeric.tolerances import LARGEST_WHOLE
from ....numeric.types import AnyArray, Array, Ints
from ...labels import LONGEST_LABEL, ends_with_nul, too_long
from ..readers.reader import Place
from ..readers.tables import check_decoded, kind_is_text
from ..readers.wide import FEW_ROWS, Batch, WideBatch, doubles
from .coded_labels import CodedLabels, Labels

NUMBERS = frozenset(
    type.id
    for type in (
        pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(),
        pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
    )
)  # fmt: skip
"""The types of numbers other than decimal ones, by their ``id``."""
TYPES = {
    "text": pa.large_string(),
    "whole": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
}
"""How categories are compared: text of every kind as one, whole numbers of every width as one."""


def kind_of(type: pa.DataType) -> Literal["number", "category"] | None:
    """What a column of this Arrow type is, if nothing else is said; None: neither."""
    if type.id in NUMBERS or pa.types.is_decimal(type):
        return "number"
    if pa.types.is_dictionary(type):
        return "category" if kind_of(type.value_type) else None
    return "category" if kind_is_text(type) else None


def category_type(type: pa.DataType) -> str:
    """Which of ``TYPES`` the categories of a column of this Arrow type have."""
    if pa.types.is_dictionary(type):
        return category_type(type.value_type)
    if pa.types.is_boolean(type):
        return "boolean"
    if pa.types.is_integer(type):
        return "whole"
    return "float" if kind_of(type) == "number" else "text"


def cast(column: pa.Array, type: pa.DataType, name: str, place: Place) -> pa.Array:
    """A column as another type, or an error that names it."""
    if column.type == type:
        return column
    try:
        return column.cast(type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(
            f"column {name!r} is {column.type} from {place.row(0)}, and cannot be read as {type} "
            f"({error}): expected values of one type in all files, those of the fit included"
        ) from error


def whole_column(batch: Batch, name: str, coded: bool = False) -> pa.Array:
    """A column in one piece, its dictionary looked up.

    ``coded``: the dictionary of a :class:`WideBatch` stays, as its words are distinct and not null.
    """
    column = batch.column(name)
    if coded and isinstance(batch, WideBatch):
        return column
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # no rows at all
            column = pa.array([], column.type)
    if not pa.types.is_dictionary(column.type):
        return column
    check_decoded(column, name)
    return column.dictionary_decode()


def numbers(column: pa.Array, name: str, place: Place) -> Array:
    """A column as float64, NaN where a value is missing; infinity is an error."""
    type = column.type
    if kind_of(type) != "number":
        raise ValueError(
            f"column {name!r} is {type} from {place.row(0)}; expected numbers, as in the rows that "
            "the model was fitted to"
        )
    if pa.types.is_boolean(type):
        column = column.cast(pa.uint8())
    elif not (pa.types.is_integer(type) or pa.types.is_floating(type)):
        column = cast(column, pa.float64(), name, place)
    values: Array = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    # A sum of finite numbers may overflow, one with infinity is never finite: only then look.
    with np.errstate(over="ignore", invalid="ignore"):
        doubtful = np.isinf(values).any() if not np.isfinite(values.sum()) else False
    if doubtful:
        refuse_infinity(values, name, place)
    return values


def number_columns(batch: Batch, names: list[str], place: Place) -> Array:
    """Columns as rows of float64, NaN where a value is missing; infinity is an error."""
    found = doubles(batch, names)
    if found is None or np.isinf(found).any():
        columns = [numbers(whole_column(batch, name), name, place) for name in names]
        found = np.column_stack(columns)
    return found


def refuse_infinity(values: AnyArray, name: str, place: Place, what: str = "") -> None:
    """An error that names column and row, if a value is infinite."""
    at = np.flatnonzero(np.isinf(values))
    if len(at):
        raise ValueError(
            f"column {name!r} holds infinity{what} in {place.row(int(at[0]))}; expected finite "
            "numbers: leave out the row or the column, or write a number"
        )


def check_range(values: Array, dtype: str, name: str, place: Place) -> None:
    """That no number is too large for the precision asked for."""
    if dtype == "float32":
        with np.errstate(over="ignore"):
            single = values.astype(np.float32)
        refuse_infinity(single, name, place, " as float32 (read with dtype='float64')")


def categories(column: pa.Array, type: str, name: str, place: Place) -> pa.Array:
    """A column of categories as one of ``TYPES``; NaN is missing as null is.

    Text may be read as numbers. Numbers are not converted to text: 1.0 could be "1" or "1.0".
    """
    if pa.types.is_dictionary(column.type):
        if type != "text":
            return categories(column.dictionary_decode(), type, name, place)
        distinct = categories(column.dictionary, type, name, place)
        return pa.DictionaryArray.from_arrays(column.indices, distinct)
    is_text = category_type(column.type) == "text" or pa.types.is_null(column.type)
    if type == "text" and not is_text:
        raise ValueError(
            f"column {name!r} is {column.type} from {place.row(0)}; expected text, as in the rows "
            "that the model was fitted to: convert it to text"
        )
    if pa.types.is_floating(column.type):
        values = numbers(column, name, place) + 0.0  # -0.0 is 0
        rounded = np.flatnonzero(np.abs(values) >= LARGEST_WHOLE)
        _refuse_large(rounded, values, f"column {name!r}", place)
        column = pa.array(values, mask=np.isnan(values))
    elif pa.types.is_uint64(column.type):
        values = column.to_numpy(zero_copy_only=False)
        large = np.flatnonzero(values > np.iinfo(np.int64).max)
        _refuse_large(large, values, f"column {name!r}", place)
    return cast(column, TYPES[type], name, place)


def _refuse_large(rows: Ints, values: AnyArray, what: str, place: Place) -> None:
    """Raise if integers are so large that several may have been rounded to one when read."""
    if len(rows):
        raise ValueError(
            f"{what} holds {values[rows[0]]!s} in {place.row(int(rows[0]))}, too large a number to "
            "tell categories apart: several may have become one; write such numbers as words, with "
            "a letter before the digits"
        )


def missing(column: pa.Array) -> Ints:
    """Numbers of the rows where a column has no value."""
    if not column.null_count:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))


def running_total(total: float, values: Array) -> float:
    """A sum continued number by number: its bits do not depend on batch boundaries."""
    if len(values) <= FEW_ROWS:
        for value in values.tolist():
            total += value
        return total
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.cumsum(np.concatenate([[total], values]))[-1])


def running_totals(total: Array, values: Array) -> Array:
    """The same for several columns at once."""
    with np.errstate(over="ignore", invalid="ignore"):
        if len(values) > FEW_ROWS:
            sums: Array = np.cumsum(np.concatenate([total[None], values]), axis=0)[-1]
            return sums
        for row in values:
            total = total + row
    return total


def add_counts(counts: dict[Any, float], column: pa.Array, weight: Array | None) -> None:
    """What the rows of each distinct value weigh, None for the missing ones: added to the counts.

    They go on as a running total does.
    """
    if len(column) <= FEW_ROWS:  # calls of Arrow would take longer than the values
        sizes = [1.0] * len(column) if weight is None else weight.tolist()
        for value, size in zip(column.to_pylist(), sizes, strict=True):
            counts[value] = counts.get(value, 0.0) + size
        return
    codes, values = codes_of(column)
    here = np.flatnonzero(np.bincount(codes, minlength=len(values))).tolist()
    before = [counts.get(value, 0.0) for value in values]
    codes = np.concatenate([np.arange(len(values)), codes])
    totals = np.bincount(
        codes, np.concatenate([before, np.ones(len(column)) if weight is None else weight])
    )
    counts.update((values[code], float(totals[code])) for code in here)


def codes_of(column: pa.Array) -> tuple[Ints, list[Any]]:
    """The number of each row's value among the distinct values, the last of which may be None."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values, codes = column.dictionary.to_pylist(), column.indices
    if codes.null_count:
        codes = codes.fill_null(len(values))
        values.append(None)
    return codes.to_numpy(), values


def labels(column: pa.Array, name: str, place: Place) -> Labels:
    """The target, words or numbers; a label that is missing is an error."""
    if kind_of(column.type) is None:
        raise ValueError(
            f"the target {name!r} is {column.type}; expected words or numbers, a class for every "
            "row: turn it into strings, or a few intervals"
        )
    if pa.types.is_decimal(column.type):
        column = cast(column, pa.float64(), name, place)
    lost = missing(column)
    if not len(lost) and pa.types.is_floating(column.type):
        lost = np.flatnonzero(np.isnan(column.to_numpy(zero_copy_only=False)))
    if len(lost):
        raise ValueError(
            f"the target {name!r} has no label in {place.row(int(lost[0]))}; expected one for "
            "every row: leave out the rows without one, or give them a label of their own"
        )
    if not pa.types.is_dictionary(column.type) and kind_of(column.type) == "number":
        values = np.asarray(column.to_numpy(zero_copy_only=False))
        if values.dtype.kind == "f":
            rounded = np.flatnonzero(np.abs(values) >= LARGEST_WHOLE)
            _refuse_large(rounded, values, f"the target {name!r}", place)
        return values
    coded = column.dictionary_encode()  # one that is a dictionary stays
    words = coded.dictionary.to_pylist()
    long = pc.greater(pc.utf8_length(coded.dictionary), LONGEST_LABEL)
    doubtful = pc.any(long).as_py() or any(word.endswith("\0") for word in words)
    if doubtful and coded is column:  # a dictionary may have words that are not in these rows
        return labels(column.dictionary_decode(), name, place)
    if pc.any(long).as_py():
        code = pc.index(long, True).as_py()
        row = pc.index(coded.indices, pa.scalar(code, coded.indices.type)).as_py()
        length = len(coded.dictionary[code].as_py())
        raise ValueError(f"{place.row(row)}: the target {name!r} {too_long(length)}")
    codes = coded.indices.to_numpy()
    for code, word in enumerate(words):
        if word.endswith("\0"):
            where = place.row(int(np.argmax(codes == code)))
            raise ValueError(f"{where}: the target {name!r} {ends_with_nul(word)}")
    return CodedLabels(np.array(words, dtype=str), codes)


def offsets(column: pa.Array, name: str, place: Place) -> Array:
    """The offsets of the rows: finite numbers."""
    found = numbers(column, name, place)
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        value = found[wrong[0]]
        text = "missing" if np.isnan(value) else repr(float(value))
        raise ValueError(
            f"the offset {name!r} is {text} in {place.row(int(wrong[0]))}; expected a finite "
            "number for every row"
        )
    return found


def weights(column: pa.Array, name: str, place: Place) -> Array:
    """The weights of the rows: numbers that are there and not negative."""
    values = numbers(column, name, place)
    wrong = np.flatnonzero(~(values >= 0.0))
    if len(wrong):
        found = "none" if np.isnan(values[wrong[0]]) else f"{values[wrong[0]]:g}"
        raise ValueError(
            f"the weight {name!r} is {found} in {place.row(int(wrong[0]))}; expected a number of "
            "at least 0 for every row"
        )
    return values


def numbers_among(known: pa.Array, column: pa.Array) -> Ints:
    """The number of each value among the known ones, None a value too; -1 where it is none."""
    if pa.types.is_dictionary(column.type):
        of_values, codes = numbers_among(known, column.dictionary), column.indices
        if codes.null_count:
            null = numbers_among(known, pa.nulls(1, column.dictionary.type))
            of_values, codes = np.append(of_values, null), codes.fill_null(len(of_values))
        found: Ints = of_values[codes.to_numpy()]
        return found
    places = pc.index_in(column, value_set=known).fill_null(-1)
    numbers: Ints = places.to_numpy().astype(np.int64)
    return numbers
