"""Categories that are probably none: dates, and values that nearly every row has to itself."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Protocol

from .encoders import OneHot
from .encoding import Encoding

ISO = r"\d{4}-\d{1,2}-\d{1,2}"
DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ]+\d.*)?", re.DOTALL
)
FEWEST = 20  # categories: with fewer, it does little harm to have a feature for each
FEWEST_ROWS = 20  # rows: with fewer, a label of one row is nothing unusual
MOST_LONE_LABELS = 3  # with more labels of one row each, these are no slips of the pen
MANY_CATEGORIES = 0.5
"""Share of the rows: a column with more categories is taken for names or row numbers."""


class ColumnWarning(UserWarning):
    """A column that should probably be read in another way, or that holds a doubtful label."""


@dataclass(frozen=True)
class Suspect:
    """A column that became a feature for each of its values, and should probably not."""

    column: str
    values: int  # number of different values
    n_rows: int
    example: str
    is_dates: bool  # whether all values look like dates; else nearly every row has its own value

    @property
    def is_iso(self) -> bool:
        """Whether the dates can be read as dates."""
        return re.match(ISO, self.example) is not None

    @property
    def what(self) -> str:
        """What is known of the column."""
        if self.is_dates:
            return (
                f"column {self.column!r} holds dates, such as {self.example!r}, and becomes "
                f"{self.values:,} features, one for each date"
            )
        return (
            f"column {self.column!r} has {self.values:,} different values in {self.n_rows:,} rows, "
            "like names, dates or row numbers, and becomes a feature for each"
        )

    @property
    def advice(self) -> str:
        """How to read it, in Python."""
        name = repr(self.column)
        leave_out = f"leave it out by drop=[{name}]"
        if not self.is_dates:
            return (
                f"{leave_out}, or read with categorical={{{name}: 'hash'}}; "
                f"categorical={{{name}: 'onehot'}} keeps the features without this warning"
            )
        found = f"read with dates={{{name}: ['year', 'month', 'weekday']}}, or {leave_out}"
        return found if self.is_iso else f"write them as 2024-12-31 and {found}"


class LoneLabels(Protocol):
    """Rows with labels; finding the place of one may read them again."""

    def lone_labels(self) -> list[Any]:
        """Labels that only one row has."""

    def place_of(self, label: Any) -> str:
        """Its place in the files; empty if that is not known."""


def doubtful_labels(rows: LoneLabels, target: Any, n_rows: int) -> list[str]:
    """What to say of labels that a single row has: they are probably mistyped."""
    lone = rows.lone_labels() if isinstance(target, str) and n_rows >= FEWEST_ROWS else []
    found = []
    for label in lone if len(lone) <= MOST_LONE_LABELS else []:
        place = rows.place_of(label)
        found.append(
            f"the target {target!r} is {label!r} in a single row{place and f', {place}'}: is the "
            "label mistyped? Mend it, leave out the row, or add rows of this class"
        )
    return found


def suspects(encoding: Encoding | None, n_rows: int, named: Container[str] = ()) -> list[Suspect]:
    """Such columns; those that the user ``named`` to be categories are left alone."""
    found = []
    for column in () if encoding is None else encoding.columns:
        if not isinstance(column, OneHot) or column.type != "text" or column.name in named:
            continue
        values = [value for value in (*column.categories, *column.infrequent) if value is not None]
        if len(values) <= FEWEST:
            continue
        dates = all(map(DATE.fullmatch, values))
        if dates or len(values) > MANY_CATEGORIES * n_rows:
            found.append(Suspect(column.name, len(values), n_rows, values[0][:40], dates))
    return found
