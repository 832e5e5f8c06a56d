"""Dates as numbers and categories: the year, the month, the day of the week and others.

Dates with a time zone are converted to UTC. Text has to be ISO 8601: 2024-12-31, with or without a
time, because 01/02/2024 is a different day in different countries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..readers.reader import Place
from ..readers.tables import kind_is_text
from .columns import TYPES

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
SECONDS = pa.timestamp("s")
EXPECTED = "expected 2024-12-31 or 2024-12-31 23:59"


@dataclass(frozen=True)
class DatePart:
    """How a part of dates is computed."""

    of: Callable[[pa.Array], pa.Array]
    type: str = "whole"  # one of ``columns.TYPES``
    few: bool = False  # whether it has few values: a category, not a number

    def values(self, seconds: pa.Array) -> pa.Array:
        """This part of dates that were counted in seconds."""
        return self.of(seconds).cast(TYPES[self.type])


def _weekday(seconds: pa.Array) -> pa.Array:
    return pa.array(WEEKDAYS).take(pc.day_of_week(seconds))


def _days(seconds: pa.Array) -> pa.Array:
    return pc.floor_temporal(seconds, unit="day").cast(pa.date32()).cast(pa.int32())


PARTS: dict[str, DatePart] = {
    "year": DatePart(pc.year), "month": DatePart(pc.month, few=True), "day": DatePart(pc.day),
    "weekday": DatePart(_weekday, "text", few=True), "hour": DatePart(pc.hour, few=True),
    "days": DatePart(_days),
}  # fmt: skip
"""Those of ``DATE_PARTS``; ``days`` are counted from 1970-01-01, ``day`` within the month."""


def holds_dates(type: pa.DataType) -> bool:
    """Whether a column of this type may hold dates."""
    temporal = pa.types.is_date(type) or pa.types.is_timestamp(type) or pa.types.is_null(type)
    if pa.types.is_dictionary(type):
        return holds_dates(type.value_type)
    return temporal or kind_is_text(type)


def date_parts(column: pa.Array, name: str, parts: Sequence[str], place: Place) -> pa.RecordBatch:
    """These parts of a column of dates, named ``column_part``."""
    if pa.types.is_dictionary(column.type):  # of distinct words, perhaps more than these rows have
        found = _cast(column.dictionary)
        if found is None:
            return date_parts(column.dictionary_decode(), name, parts, place)
        values = [_of_codes(part, found, column.indices) for part in parts]
    else:
        found = seconds_of(column, name, place)
        values = [PARTS[part].values(found) for part in parts]
    return pa.RecordBatch.from_arrays(values, names=[f"{name}_{part}" for part in parts])


def _of_codes(part: str, seconds: pa.Array, codes: pa.Array) -> pa.Array:
    """A part of distinct dates, each of which stands in the rows that have its code."""
    values = PARTS[part].values(seconds)
    if not PARTS[part].few:
        return values.take(codes)
    distinct = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(distinct.indices.take(codes), distinct.dictionary)


def seconds_of(column: pa.Array, name: str, place: Place) -> pa.Array:
    """Dates in seconds since 1970; a value that is no date is an error that names its row."""
    if not holds_dates(column.type):
        raise ValueError(
            f"column {name!r} is {column.type} from {place.row(0)}; expected dates, as in the rows "
            "that the model was fitted to"
        )
    if not kind_is_text(column.type):
        return column.cast(SECONDS, safe=False)
    found = _cast(column)
    if found is None:
        for row, value in enumerate(column.to_pylist()):
            if value is not None and _cast(pa.array([value])) is None:
                raise ValueError(
                    f"column {name!r} holds {value[:40]!r} in {place.row(row)}, which is no date: "
                    f"{EXPECTED}"
                )
        raise ValueError(
            f"column {name!r} holds dates with and without a time zone from {place.row(0)}: "
            "write all of them in one way"
        )
    return found


def _cast(text: pa.Array) -> Any:
    """Text as seconds; None if a value is no date, or if only some have a time zone."""
    for zone in (None, "UTC"):
        try:
            return text.cast(pa.timestamp("us", zone)).cast(SECONDS, safe=False)
        except pa.ArrowInvalid:
            continue
    return None
