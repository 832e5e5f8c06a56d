"""Parts of dates in SQL that SQLite and DuckDB execute alike: text functions and arithmetic.

A date is a column of type DATE or TIMESTAMP, or text in ISO 8601 as the package reads it
(``data/files/encoding/dates.py``): with or without a time, which may have a ``Z`` or an offset such
as ``+01:00`` and is then converted to UTC. Any other value is missing. The arithmetic is that of
the Gregorian calendar with years that begin in March, so that the leap day is their last.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..data.files.encoding.dates import WEEKDAYS


def _digits(text: str, *places: int) -> str:
    return " AND ".join(f"SUBSTR({text}, {k}, 1) BETWEEN '0' AND '9'" for k in places)


def _whole(text: str, start: int, length: int) -> str:
    return f"CAST(SUBSTR({text}, {start}, {length}) AS DOUBLE)"


STAGES: tuple[dict[str, str], ...] = (
    {
        "y": f"CASE WHEN {_digits('x', 1, 2, 3, 4, 6, 7, 9, 10)} AND SUBSTR(x, 5, 1) = '-' "
        f"AND SUBSTR(x, 8, 1) = '-' THEN {_whole('x', 1, 4)} END",
        "h": "CASE WHEN LENGTH(x) = 10 THEN 0e0 WHEN SUBSTR(x, 11, 1) IN (' ', 'T') "
        "AND SUBSTR(x, 14, 1) IN ('', ':', '+', '-', 'Z') "
        f"AND {_digits('x', 12, 13)} THEN {_whole('x', 12, 2)} END",
        "i": f"CASE WHEN SUBSTR(x, 14, 1) <> ':' THEN 0e0 "
        f"WHEN {_digits('x', 15, 16)} THEN {_whole('x', 15, 2)} END",
        "sign": "CASE WHEN INSTR(SUBSTR(x, 14), '+') > 0 THEN 1e0 "
        "WHEN INSTR(SUBSTR(x, 14), '-') > 0 THEN -1e0 ELSE 0e0 END",
        "zone": "REPLACE(SUBSTR(x, 14 + INSTR(SUBSTR(x, 14), '+') + INSTR(SUBSTR(x, 14), '-')), "
        "':', '')",
    },
    {
        "m": f"CASE WHEN y >= 1 THEN {_whole('x', 6, 2)} END",
        "d": f"CASE WHEN y >= 1 THEN {_whole('x', 9, 2)} END",
        "shift": f"CASE WHEN sign = 0 THEN 0e0 WHEN {_digits('zone', 1, 2)} THEN sign * "
        f"(60 * {_whole('zone', 1, 2)} + CASE WHEN {_digits('zone', 3, 4)} "
        f"THEN {_whole('zone', 3, 2)} ELSE 0e0 END) END",
    },
    {
        "a": "CASE WHEN m <= 2 THEN y - 1 ELSE y END",
        "months": "CASE WHEN m <= 2 THEN m + 9 ELSE m - 3 END",
        "most": "CASE WHEN m IN (4, 6, 9, 11) THEN 30 WHEN m <> 2 THEN 31 "
        "WHEN y = 4 * [y / 4] AND (y <> 100 * [y / 100] OR y = 400 * [y / 400]) THEN 29 "
        "ELSE 28 END",
    },
    {
        "minutes": "CASE WHEN m BETWEEN 1 AND 12 AND d BETWEEN 1 AND most AND h < 24 AND i < 60 "
        "THEN 1440 * (365 * a + [a / 4] - [a / 100] + [a / 400] + [(153 * months + 2) / 5] "
        "+ d - 719469) + 60 * h + i - shift END",
    },
    {"days": "[minutes / 1440]"},
    {
        "hour": "[(minutes - 1440 * days) / 60]",
        "weekday": "days + 3 - 7 * [(days + 3) / 7]",
        "z": "days + 719468 - 146097 * [(days + 719468) / 146097]",
    },
    {"b": "[(z - [z / 1460] + [z / 36524] - [z / 146096]) / 365]"},
    {"n": "z - (365 * b + [b / 4] - [b / 100])"},
    {"p": "[(5 * n + 2) / 153]"},
    {
        "day": "n - [(153 * p + 2) / 5] + 1",
        "month": "CASE WHEN p < 10 THEN p + 3 ELSE p - 9 END",
        "year": "400 * [(days + 719468) / 146097] + CASE WHEN p < 10 THEN b ELSE b + 1 END",
    },
)
"""Columns computed from the text x, then from those of earlier stages; ``[...]`` is rounded down.

All numbers are doubles, and 719468 days are from 0000-03-01 to 1970-01-01.
"""


def with_parts(tables: Sequence[str], texts: Sequence[str], source: str) -> str:
    """A WITH clause that defines a table of the distinct values of each text, with their parts.

    They are materialised: SQLite would otherwise insert each stage wherever the next one uses it,
    which multiplies its work.
    """
    defined = []
    for table, text in zip(tables, texts, strict=True):
        query = f"SELECT DISTINCT {text} AS x FROM {source} AS t"
        for number, stage in enumerate(STAGES):
            before = f"{table}_{number}"
            defined.append(f"{before} AS MATERIALIZED ({query})")
            made = ",\n  ".join(f"{_rounded(value)} AS {name}" for name, value in stage.items())
            query = f"SELECT *,\n  {made}\nFROM {before}"
        defined.append(f"{table} AS MATERIALIZED ({query})")
    return "WITH " + ",\n".join(defined) + "\n"


def _rounded(value: str) -> str:
    return value.replace("[", "FLOOR(").replace("]", ")")


def value_of(part: str, table: str) -> str:
    """A part of a date in that table, as ``date_parts`` computes it."""
    if part != "weekday":
        return f"{table}.{part}"
    names = " ".join(f"WHEN {number} THEN '{name}'" for number, name in enumerate(WEEKDAYS))
    return f"CASE {table}.weekday {names} END"
