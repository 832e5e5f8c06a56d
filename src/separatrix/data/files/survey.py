"""The first pass over a table: what its columns hold, and how they will be encoded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
import pyarrow as pa

from ...numeric import checks
from ...numeric.types import AnyArray, Array
from .columns import (
    add_counts,
    categories,
    category_type,
    check_range,
    labels,
    missing,
    numbers,
    running_total,
    weights,
    whole_column,
)
from .encoders import Column, Hashed, Missing, Number, OneHot, refuse_missing
from .encoding import Encoding
from .facts import held_out
from .options import EncodingOptions
from .reader import Place

MOST_CATEGORIES, MOST_CATEGORY_BYTES = 1 << 16, 1 << 24
"""Of one column, counted in memory: with more of them, or longer ones, hashing is the way."""


class Survey:
    """Batches of a table are added one after another, in bounded memory; then there is an encoding.

    What rows weigh counts as if they were there so many times; those of weight 0 are as if absent,
    and so is a share that is held out.
    """

    def __init__(self, schema: pa.Schema, options: EncodingOptions, held_out: float = 0.0) -> None:
        self.options, self.held_out = options, held_out
        kinds: dict[str, type[_ColumnSurvey]] = {
            "number": _NumberSurvey,
            "onehot": _CategorySurvey,
            "hash": _HashSurvey,
        }
        self.columns: list[_ColumnSurvey] = []
        for name in options.feature_columns(schema.names):
            type = schema.field(name).type
            kind = kinds[options.chosen(name, type)]
            self.columns.append(kind(name, category_type(type), options))
        self.n_read, self.weight_sum = 0, 0.0

    @property
    def names(self) -> list[str]:
        """The columns that it looks at."""
        others = [self.options.target, self.options.weight]
        return [column.name for column in self.columns] + [name for name in others if name]

    @property
    def needs_rows(self) -> bool:
        """Whether there is anything to find out: categories or means."""
        return any(column.needs_rows for column in self.columns)

    def add(
        self,
        batch: pa.RecordBatch,
        place: Place = Place(),  # noqa: B008 (frozen)
    ) -> tuple[AnyArray | None, Array | None]:
        """Look at some more rows. Returns their labels and weights."""
        options = self.options
        y = given = None
        if options.target is not None:
            y = labels(whole_column(batch, options.target), options.target, place)
        if options.weight is not None:
            given = weights(whole_column(batch, options.weight), options.weight, place)
        weight = given
        if self.held_out:
            out = held_out(self.n_read, batch.num_rows, self.held_out)
            weight = np.where(out, 0.0, 1.0 if given is None else given)
        for column in self.columns:
            column.add(whole_column(batch, column.name), weight, place)
        self.n_read += batch.num_rows
        ones = np.ones(batch.num_rows) if weight is None else weight
        self.weight_sum = running_total(self.weight_sum, ones)
        return y, given

    def __add__(self, other: Survey) -> Survey:
        """What the rows of both tell."""
        found = copy(self)
        pairs = zip(self.columns, other.columns, strict=True)
        found.columns = [column.merged(its) for column, its in pairs]
        found.n_read = self.n_read + other.n_read
        found.weight_sum = self.weight_sum + other.weight_sum
        return found

    @property
    def n_values(self) -> int:
        """Values other than 0 of all rows."""
        return sum(column.n_values for column in self.columns)

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
        columns = tuple(column.column(self.weight_sum) for column in self.columns)
        options = self.options
        values = self.n_values / self.n_read if self.needs_rows else None
        return Encoding(
            columns, options.target, options.weight, options.dtype, row_values=values
        )  # fmt: skip


class _ColumnSurvey(ABC):
    """What is known of a column so far."""

    def __init__(self, name: str, type: str, options: EncodingOptions) -> None:
        self.name, self.type, self.options = name, type, options
        self.n_values = 0
        """Values other than 0 of all rows."""

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
        found.n_values += other.n_values
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
        self.n_values += len(column) - (column.null_count if self.missing == "zero" else 0)


class _NumberSurvey(_ColumnSurvey):
    """Whether numbers are missing, and the mean of the others."""

    def __init__(self, name: str, type: str, options: EncodingOptions) -> None:
        super().__init__(name, type, options)
        self.any_missing, self.sum, self.weight = False, 0.0, 0.0

    @property
    def needs_rows(self) -> bool:
        """Only for a mean."""
        return self.options.missing in ("mean", "indicator")

    def add(self, column: pa.Array, weight: Array | None, place: Place) -> None:
        """Look at some more rows."""
        values = numbers(column, self.name, place)
        check_range(values, self.options.dtype, self.name, place)
        here = ~np.isnan(values)
        if self.options.missing == "error":
            refuse_missing(self.name, np.flatnonzero(~here), place)
        self.n_values += int(np.count_nonzero(values[here]))
        if not self.needs_rows:
            return
        self.n_values += (1 + (self.options.missing == "indicator")) * int(np.count_nonzero(~here))
        ones = np.ones(len(values)) if weight is None else weight
        self.any_missing |= bool(np.any(~here & (ones > 0.0)))
        self.sum = running_total(self.sum, values[here] * ones[here])
        self.weight = running_total(self.weight, ones[here])

    def merged(self, other: Any) -> Self:
        """With the sums of both."""
        found = super().merged(other)
        found.any_missing |= other.any_missing
        found.sum += other.sum
        found.weight += other.weight
        return found

    def column(self, weight_sum: float) -> Column:
        """Missing ones become the mean, or 0."""
        how = self.options.missing
        if not self.needs_rows:
            return Number(self.name, 0.0 if how == "zero" else None)
        mean = self.sum / self.weight if self.weight else np.nan
        if not np.isfinite(mean):
            what = "has no values" if not self.weight else "has numbers too large to be added up"
            raise ValueError(
                f"column {self.name!r} {what}, so that there is no mean for missing={how!r}: leave "
                "it out by features=[...], or read with missing='zero'"
            )
        return Number(self.name, mean, how == "indicator" and self.any_missing)


class _CategorySurvey(_ColumnSurvey):
    """The categories and what their rows weigh."""

    def __init__(self, name: str, type: str, options: EncodingOptions) -> None:
        super().__init__(name, type, options)
        self.counts: dict[Any, float] = {}
        self.bytes = 0

    def add(self, column: pa.Array, weight: Array | None, place: Place) -> None:
        """Look at some more rows."""
        known = len(self.counts)
        column = categories(column, self.type, self.name, place)
        self._note(column, place)
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
        found._check_number(lambda: "in all files")
        return found

    def _check_number(self, where: Callable[[], str]) -> None:
        """Where is asked for only if it is to be told: of text it takes a read."""
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
        return OneHot(
            self.name, self.type,
            tuple(value for value, few in zip(values, rare, strict=True) if not few),
            tuple(value for value, few in zip(values, rare, strict=True) if few),
            self.missing,
        )  # fmt: skip


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
