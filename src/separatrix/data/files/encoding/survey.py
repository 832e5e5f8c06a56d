"""The first pass over a table: what its columns hold, and how they will be encoded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, Self

import numpy as np
import pyarrow as pa

from ....numeric import checks
from ....numeric.types import AnyArray, Array
from ..held_out import held_out
from ..readers.reader import Place
from ..readers.wide import Batch
from .columns import (
    NUMBERS,
    add_counts,
    categories,
    category_type,
    check_range,
    missing,
    number_columns,
    running_total,
    running_totals,
    weights,
    whole_column,
)
from .dates import PARTS, date_parts
from .encoders import DATE_PARTS, Column, DateParts, Hashed, Missing, Number, OneHot, refuse_missing
from .encoding import Encoding
from .label_sets import Labels, labels_of, target_names
from .options import EncodingOptions

SOME_VALUES = 1 << 20  # numbers that are looked at together: 8 MB
MOST_CATEGORIES, MOST_CATEGORY_BYTES = 1 << 16, 1 << 24
"""Of one column, counted in memory: with more of them, or longer ones, hashing is the way."""


class Survey:
    """Batches of a table are added one after another, in bounded memory; then there is an encoding.

    A row counts in proportion to its weight; rows of weight 0 and held-out rows are ignored.
    """

    def __init__(
        self,
        columns: Iterable[tuple[str, pa.DataType]],
        options: EncodingOptions,
        held_out: float = 0.0,
    ) -> None:
        self.options, self.held_out = options, held_out
        columns = list(columns)
        types = dict(columns)
        self.features = options.feature_columns([name for name, _ in columns])
        kinds: dict[str, type[_ColumnSurvey]] = {
            "onehot": _CategorySurvey, "hash": _HashSurvey, "date": _DateSurvey,
        }  # fmt: skip
        exact = isinstance(options.categorical, Mapping) or options.dates
        self.categories: dict[str, _ColumnSurvey] = {}
        for name in self.features:
            if types[name].id in NUMBERS and not exact:
                continue  # as of most columns, where there are many
            how = options.chosen(name, types[name])
            if how != "number":
                column = kinds[how](name, category_type(types[name]), options)
                self.categories[name] = column
        names = [name for name in self.features if name not in self.categories]
        self.numbers = _NumberSurvey(names, options)
        self.n_read, self.weight_sum = 0, 0.0

    @property
    def names(self) -> list[str]:
        """The columns that it looks at."""
        others = [*target_names(self.options.target), self.options.weight]
        return self.features + [name for name in others if name]

    @property
    def needs_rows(self) -> bool:
        """Whether there is anything to find out: categories or means."""
        of_categories = any(column.needs_rows for column in self.categories.values())
        return of_categories or self.numbers.needs_rows

    def add(
        self,
        batch: Batch,
        place: Place = Place(),  # noqa: B008 (frozen)
        given: Array | None = None,
    ) -> tuple[Labels | None, Array | None]:
        """Look at some more rows. Returns their labels and weights.

        Weights may be ``given`` for a table that has no column of them.
        """
        options = self.options
        y: Labels | None = None
        if options.target is not None:
            y = labels_of(batch, options.target, place)
        if options.weight is not None:
            given = weights(whole_column(batch, options.weight), options.weight, place)
        weight = given
        if self.held_out:
            out = held_out(self.n_read, batch.num_rows, self.held_out)
            weight = np.where(out, 0.0, 1.0 if given is None else given)
        self.numbers.add(batch, weight, place)
        for name, column in self.categories.items():
            column.add(whole_column(batch, name, coded=True), weight, place)
        self.n_read += batch.num_rows
        ones = np.ones(batch.num_rows) if weight is None else weight
        self.weight_sum = running_total(self.weight_sum, ones)
        return y, given

    def __add__(self, other: Survey) -> Survey:
        """The survey of the rows of both."""
        found = copy(self)
        found.numbers = self.numbers.merged(other.numbers)
        found.categories = {
            name: column.merged(other.categories[name]) for name, column in self.categories.items()
        }
        found.n_read = self.n_read + other.n_read
        found.weight_sum = self.weight_sum + other.weight_sum
        return found

    @property
    def n_values(self) -> int:
        """Values other than 0 of all rows."""
        of_categories = sum(column.n_values for column in self.categories.values())
        return self.numbers.n_values + of_categories

    def encoding(self) -> Encoding:
        """How the columns will be encoded, after the last batch."""
        if self.needs_rows and not self.weight_sum:
            if self.held_out and self.n_read:
                raise ValueError(
                    f"validation={self.held_out:g} holds out every row that counts, of "
                    f"{self.n_read}; expected some to train on: hold out fewer, or read more rows."
                )
            raise ValueError(
                f"of {self.n_read} rows none has a weight above 0; expected rows of two classes: "
                "is a file empty but for its head?"
            )
        numbers, categories = iter(self.numbers.columns()), self.categories
        columns = tuple(
            categories[name].column(self.weight_sum) if name in categories else next(numbers)
            for name in self.features
        )
        options = self.options
        values = self.n_values / self.n_read if self.needs_rows else None
        return Encoding(
            columns, options.target, options.weight, options.dtype, row_values=values
        )  # fmt: skip


class _NumberSurvey:
    """Of all columns of numbers: whether some are missing, and the mean of the others."""

    def __init__(self, names: list[str], options: EncodingOptions) -> None:
        self.names, self.options = names, options
        self.any_missing = np.zeros(len(names), dtype=np.bool_)
        self.sum, self.weight = np.zeros(len(names)), np.zeros(len(names))
        self.n_values = 0
        """Values other than 0 of all rows."""

    @property
    def needs_rows(self) -> bool:
        """Only for a mean."""
        return bool(self.names) and self.options.missing in ("mean", "indicator")

    def add(self, batch: Batch, weight: Array | None, place: Place) -> None:
        """Look at some more rows, many columns at once."""
        step = max(1, SOME_VALUES // max(1, batch.num_rows))
        for first in range(0, len(self.names), step):
            part = slice(first, first + step)
            values = number_columns(batch, self.names[part], place)
            self._check(self.names[part], values, place)
            self._add(part, values, np.ones(len(values)) if weight is None else weight)

    def _check(self, names: list[str], values: Array, place: Place) -> None:
        """No number may be too large for the precision, none missing where that is an error."""
        dtype, refused = self.options.dtype, self.options.missing == "error"
        if dtype == "float64" and not (refused and np.isnan(values).any()):
            return
        for name, column in zip(names, values.T, strict=True):
            check_range(column, dtype, name, place)
            if refused:
                refuse_missing(name, np.flatnonzero(np.isnan(column)), place)

    def _add(self, part: slice, values: Array, ones: Array) -> None:
        lost = np.isnan(values)
        n_lost = int(np.count_nonzero(lost))
        self.n_values += int(np.count_nonzero(values)) - n_lost
        if not self.needs_rows:
            return
        self.n_values += (1 + (self.options.missing == "indicator")) * n_lost
        self.any_missing[part] |= np.any(lost & (ones > 0.0)[:, None], axis=0)
        weights = np.where(lost, 0.0, ones[:, None])  # a total plus 0 has the same bits
        with np.errstate(over="ignore"):
            products = np.where(lost, 0.0, values * ones[:, None])
        self.sum[part] = running_totals(self.sum[part], products)
        self.weight[part] = running_totals(self.weight[part], weights)

    def merged(self, other: _NumberSurvey) -> _NumberSurvey:
        """With the sums of both, of the same columns in other rows."""
        found = copy(self)
        found.n_values = self.n_values + other.n_values
        found.any_missing = self.any_missing | other.any_missing
        found.sum, found.weight = self.sum + other.sum, self.weight + other.weight
        return found

    def columns(self) -> list[Number]:
        """Missing ones become the mean, or 0."""
        how = self.options.missing
        if not self.needs_rows:
            return [Number(name, 0.0 if how == "zero" else None) for name in self.names]
        means = np.full(len(self.names), np.nan)
        np.divide(self.sum, self.weight, out=means, where=self.weight > 0.0)
        wrong = np.flatnonzero(~np.isfinite(means))
        if len(wrong):
            name, at_all = self.names[wrong[0]], self.weight[wrong[0]]
            what = "has numbers too large to be added up" if at_all else "has no values"
            raise ValueError(
                f"column {name!r} {what}, so that there is no mean for missing={how!r}: leave "
                "it out by features=[...], or read with missing='zero'"
            )
        indicators = self.any_missing & (how == "indicator")
        return list(map(Number, self.names, means.tolist(), indicators.tolist()))


class _ColumnSurvey(ABC):
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
        """What a missing category is."""
        words: dict[str, Missing] = {"error": "refuse", "zero": "zero"}
        return words.get(self.options.missing, "category")

    def _note(self, column: pa.Array, place: Place) -> None:
        """Whether categories are missing, and how many are there."""
        if self.missing == "refuse":
            refuse_missing(self.name, missing(column), place)
        self.n_known += len(column) - (column.null_count if self.missing == "zero" else 0)


class _CategorySurvey(_ColumnSurvey):
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
        """Look at some more rows."""
        known = len(self.counts)
        column = categories(column, self.type, self.name, place)
        self._note(column, place)
        self.weighted |= weight is not None
        add_counts(self.counts, column, weight)
        self.bytes += sum(len(str(value)) for value in list(self.counts)[known:])
        self._check_number(lambda: f"up to {place.row(len(column) - 1)}")

    def merged(self, other: Any) -> Self:
        """The categories of both."""
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


class _DateSurvey(_ColumnSurvey):
    """The parts of dates, each as a column of its own."""

    def __init__(self, name: str, type: str, options: EncodingOptions) -> None:
        super().__init__(name, type, options)
        self.parts = tuple((options.dates or {})[name])
        names = {part: f"{name}_{part}" for part in self.parts}
        self.numbers = _NumberSurvey(
            [names[part] for part in self.parts if DATE_PARTS[part] == "number"], options
        )
        self.categories = {
            names[part]: _CategorySurvey(names[part], PARTS[part].type, options)
            for part in self.parts
            if DATE_PARTS[part] == "category"
        }

    def add(self, column: pa.Array, weight: Array | None, place: Place) -> None:
        """Look at some more rows."""
        if self.missing == "refuse":
            refuse_missing(self.name, missing(column), place)
        batch = date_parts(column, self.name, self.parts, place)
        self.numbers.add(batch, weight, place)
        for name, part in self.categories.items():
            part.add(batch.column(name), weight, place)

    def merged(self, other: Any) -> Self:
        """What both know."""
        found = super().merged(other)
        found.numbers = self.numbers.merged(other.numbers)
        found.categories = {
            name: part.merged(other.categories[name]) for name, part in self.categories.items()
        }
        return found

    @property
    def n_values(self) -> int:
        """Values other than 0 of all parts."""
        return self.numbers.n_values + sum(part.n_values for part in self.categories.values())

    def column(self, weight_sum: float) -> Column:
        """A column for each part."""
        numbers, found = iter(self.numbers.columns()), self.categories
        names = [f"{self.name}_{part}" for part in self.parts]
        columns = tuple(
            found[name].column(weight_sum) if name in found else next(numbers) for name in names
        )
        return DateParts(self.name, self.parts, columns)


class _HashSurvey(_ColumnSurvey):
    """Nothing need be known of what is hashed."""

    @property
    def needs_rows(self) -> bool:
        """Nothing depends on them."""
        return False

    def add(self, column: pa.Array, weight: Array | None, place: Place) -> None:
        """Look at some more rows."""
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
