"""What the first pass over a table finds out about columns that are not numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
import pyarrow as pa

from ....numeric import checks
from ....numeric.types import AnyArray, Array
from ..readers.reader import Place
from .columns import add_counts, categories, missing
from .dates import PARTS, date_parts
from .encoders import DATE_PARTS, Column, DateParts, Hashed, Missing, OneHot, refuse_missing
from .number_survey import NumberSurvey
from .options import EncodingOptions

MOST_CATEGORIES, MOST_CATEGORY_BYTES = 1 << 16, 1 << 24
"""Of one column, counted in memory: with more of them, or longer ones, hashing is the way."""


class ColumnSurvey(ABC):
    """What is known of a column of categories so far."""

    def __init__(self, name: str, type: str, options: EncodingOptions) -> None:
        self.name, self.type, self.options = name, type, options
        self.n_known = 0
        """Rows that have a category."""

    @property
    def n_values(self) -> int:
        """Values other than 0 of all rows."""
        return self.n_known

    @property
    def needs_rows(self) -> bool:
        """Whether what it becomes depends on the rows."""
        return True

    @abstractmethod
    def add(self, column: pa.Array, weight: Array | None, place: Place) -> None:
        """Look at some more rows."""

    def merged(self, other: Any) -> Self:
        """What both know, of the same column in other rows."""
        found = copy(self)
        found.n_known += other.n_known
        return found

    @abstractmethod
    def column(self, weight_sum: float) -> Column:
        """What it becomes."""

    @property
    def missing(self) -> Missing:
        words: dict[str, Missing] = {"error": "refuse", "zero": "zero"}
        return words.get(self.options.missing, "category")

    def _note(self, column: pa.Array, place: Place) -> None:
        """Whether categories are missing, and how many are there."""
        if self.missing == "refuse":
            refuse_missing(self.name, missing(column), place)
        self.n_known += len(column) - (column.null_count if self.missing == "zero" else 0)


class CategorySurvey(ColumnSurvey):
    """The categories and what their rows weigh."""

    def __init__(self, name: str, type: str, options: EncodingOptions) -> None:
        super().__init__(name, type, options)
        self.counts: dict[Any, float] = {}
        self.bytes, self.weighted = 0, False

    @property
    def n_values(self) -> int:
        """One for each row at most; of two categories, the first has no feature."""
        if (
            self.weighted
            or len(self.counts) != 2
            or (self.missing == "zero" and None in self.counts)
        ):
            return self.n_known
        return round(self.counts[None if None in self.counts else max(self.counts)])

    def add(self, column: pa.Array, weight: Array | None, place: Place) -> None:
        known = len(self.counts)
        column = categories(column, self.type, self.name, place)
        self._note(column, place)
        self.weighted |= weight is not None
        add_counts(self.counts, column, weight)
        self.bytes += sum(len(str(value)) for value in list(self.counts)[known:])
        self._check_number(lambda: f"up to {place.row(len(column) - 1)}")

    def merged(self, other: Any) -> Self:
        found = super().merged(other)
        found.counts = dict(self.counts)
        for value, size in other.counts.items():
            found.counts[value] = found.counts.get(value, 0.0) + size
        found.bytes = sum(len(str(value)) for value in found.counts)
        found.weighted |= other.weighted
        found._check_number(lambda: "in all files")
        return found

    def _check_number(self, where: Callable[[], str]) -> None:
        """Raise if there are too many; ``where`` is called only then, as it may read text again."""
        if len(self.counts) > MOST_CATEGORIES or self.bytes > MOST_CATEGORY_BYTES:
            raise ValueError(
                f"column {self.name!r} has {len(self.counts)} different values {where()}, and a "
                f"feature for each is meant for at most "
                f"{MOST_CATEGORIES} of {MOST_CATEGORY_BYTES >> 20} MB in all: read with "
                f"categorical='hash', or {{{self.name!r}: 'hash'}}, or leave the column out by "
                "features=[...]"
            )

    def column(self, weight_sum: float) -> Column:
        """A feature for each category that is frequent enough."""
        counts = {value: size for value, size in self.counts.items() if size > 0.0}
        if self.missing != "category":
            counts.pop(None, None)
        values = sorted(value for value in counts if value is not None)
        values += [None] * (None in counts)
        rare = infrequent(
            np.array([counts[value] for value in values]), weight_sum,
            self.options.max_categories, self.options.min_frequency,
        )  # fmt: skip
        frequent = tuple(value for value, few in zip(values, rare, strict=True) if not few)
        others = tuple(value for value, few in zip(values, rare, strict=True) if few)
        # A missing value that is no category has all features at 0: two of them say more than one.
        lost = self.missing == "zero" and None in self.counts
        binary = len(frequent) + bool(others) == 2 and not lost
        return OneHot(self.name, self.type, frequent, others, self.missing, binary)


class DateSurvey(ColumnSurvey):
    """The parts of dates, each as a column of its own."""

    def __init__(self, name: str, type: str, options: EncodingOptions) -> None:
        super().__init__(name, type, options)
        self.parts = tuple((options.dates or {})[name])
        names = {part: f"{name}_{part}" for part in self.parts}
        self.numbers = NumberSurvey(
            [names[part] for part in self.parts if DATE_PARTS[part] == "number"], options
        )
        self.categories = {
            names[part]: CategorySurvey(names[part], PARTS[part].type, options)
            for part in self.parts
            if DATE_PARTS[part] == "category"
        }

    def add(self, column: pa.Array, weight: Array | None, place: Place) -> None:
        if self.missing == "refuse":
            refuse_missing(self.name, missing(column), place)
        batch = date_parts(column, self.name, self.parts, place)
        self.numbers.add(batch, weight, place)
        for name, part in self.categories.items():
            part.add(batch.column(name), weight, place)

    def merged(self, other: Any) -> Self:
        found = super().merged(other)
        found.numbers = self.numbers.merged(other.numbers)
        found.categories = {
            name: part.merged(other.categories[name]) for name, part in self.categories.items()
        }
        return found

    @property
    def n_values(self) -> int:
        return self.numbers.n_values + sum(part.n_values for part in self.categories.values())

    def column(self, weight_sum: float) -> Column:
        numbers, found = iter(self.numbers.columns()), self.categories
        names = [f"{self.name}_{part}" for part in self.parts]
        columns = tuple(
            found[name].column(weight_sum) if name in found else next(numbers) for name in names
        )
        return DateParts(self.name, self.parts, columns)


class HashSurvey(ColumnSurvey):
    """Nothing need be known of what is hashed."""

    needs_rows = False

    def add(self, column: pa.Array, weight: Array | None, place: Place) -> None:
        self._note(categories(column, self.type, self.name, place), place)

    def column(self, weight_sum: float) -> Column:
        """Features shared with other such columns."""
        return Hashed(self.name, self.type, self.options.hash_bits, self.missing)


def infrequent(
    counts: Array, total: float, most: int | None, least: int | float | None
) -> AnyArray:
    """Which categories share one feature, as scikit-learn's OneHotEncoder has it."""
    rare = np.zeros(len(counts), dtype=bool)
    if least is not None:
        rare = counts < (least if checks.is_integer(least) else least * total)
    if most is not None and len(counts) - np.count_nonzero(rare) + 1 > most:
        rare[np.argsort(counts, kind="stable")[: len(counts) - (most - 1)]] = True
    return rare
