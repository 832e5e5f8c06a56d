"""The first pass over a table: what its columns hold, and how they will be encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy

import numpy as np
import pyarrow as pa

from ....numeric.types import Array
from ..held_out import held_out
from ..readers.reader import Place
from ..readers.wide import Batch
from .category_surveys import CategorySurvey, ColumnSurvey, DateSurvey, HashSurvey
from .coded_labels import Labels
from .columns import NUMBERS, category_type, offsets, running_total, weights, whole_column
from .encoding import Encoding
from .label_sets import labels_of, target_names
from .number_survey import NumberSurvey
from .options import EncodingOptions


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
        kinds: dict[str, type[ColumnSurvey]] = {
            "onehot": CategorySurvey, "hash": HashSurvey, "date": DateSurvey,
        }  # fmt: skip
        exact = isinstance(options.categorical, Mapping) or options.dates
        self.categories: dict[str, ColumnSurvey] = {}
        for name in self.features:
            if types[name].id in NUMBERS and not exact:
                continue  # as of most columns, where there are many
            how = options.chosen(name, types[name])
            if how != "number":
                column = kinds[how](name, category_type(types[name]), options)
                self.categories[name] = column
        names = [name for name in self.features if name not in self.categories]
        self.numbers = NumberSurvey(names, options)
        self.n_read, self.weight_sum = 0, 0.0

    @property
    def names(self) -> list[str]:
        """The columns that it looks at."""
        options = self.options
        others = [*target_names(options.target), options.weight, options.offset]
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
        if options.offset is not None:
            offsets(whole_column(batch, options.offset), options.offset, place)
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
            columns, options.target, options.weight, options.dtype, row_values=values,
            offset=options.offset,
        )  # fmt: skip
