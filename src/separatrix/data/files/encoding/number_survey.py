"""What the first pass over a table finds out about its columns of numbers."""

from __future__ import annotations

from copy import copy

import numpy as np

from ....numeric.types import Array
from ..readers.reader import Place
from ..readers.wide import Batch
from .columns import check_range, number_columns, running_totals
from .encoders import Number, refuse_missing
from .options import EncodingOptions

SOME_VALUES = 1 << 20  # numbers that are looked at together: 8 MB


class NumberSurvey:
    """Whether numbers are missing, and the mean of the others, for all columns of numbers."""

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

    def merged(self, other: NumberSurvey) -> NumberSurvey:
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
