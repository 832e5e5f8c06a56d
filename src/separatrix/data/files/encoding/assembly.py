"""Rows assembled from encoded columns: dense, or sparse without their zeros."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from ....loops.gathered_rows import gather_rows
from ....numeric.types import AnyArray, Array, Ints
from ....rows import CsrRows


@dataclass
class Assembly:
    """The columns of some rows, in the order of their features."""

    numbers: Array  # rows of those columns of numbers that were read together, (n, columns)
    number_features: list[int] = field(default_factory=list)
    """The feature of each, once it has been added."""
    values: list[Array] = field(default_factory=list)  # the values of every other column
    features: list[Ints | int] = field(default_factory=list)
    """The feature of each of them; one number if it is the same in all rows."""
    order: list[int] = field(default_factory=list)
    """Columns as they were added: those of numbers first, then the others, numbered from 0."""

    def add_number(self, feature: int) -> None:
        """The next column of ``numbers``."""
        self.order.append(len(self.number_features))
        self.number_features.append(feature)

    def add(self, values: Array, feature: Ints | int) -> None:
        """Another column."""
        self.order.append(self.numbers.shape[1] + len(self.values))
        self.values.append(values)
        self.features.append(feature)

    def dense(self, n_features: int, dtype: str) -> AnyArray:
        """Rows with a place for every feature."""
        n = len(self.numbers)
        X, rows = np.zeros((n, n_features), dtype=dtype), np.arange(n)
        X[:, self.number_features] = self.numbers
        for value, feature in zip(self.values, self.features, strict=True):
            if isinstance(feature, int):
                X[:, feature] = value
            else:  # of columns that share features both count
                some = value != 0.0
                X[rows[some], feature[some]] += value[some]
        return X

    def sparse(self, n_features: int, dtype: str, shared: bool) -> CsrRows:
        """Rows of the values other than 0; ``shared``: some columns have features in common."""
        shape = len(self.values), len(self.numbers)
        values, features = np.empty(shape), np.empty(shape, dtype=np.int64)
        for j, (value, feature) in enumerate(zip(self.values, self.features, strict=True)):
            values[j], features[j] = value, feature
        numbers, values = (
            np.ascontiguousarray(each.astype(dtype, copy=False), dtype=np.float64)
            for each in (self.numbers, values)
        )  # what is 0 in this precision is left out
        at = np.array(self.number_features, dtype=np.int64)
        order = np.array(self.order, dtype=np.int64)
        found = gather_rows(numbers, at, values, features, order, n_features)
        X = CsrRows(found.data.astype(dtype, copy=False), *found[1:])
        if not shared:
            return X
        # Columns that share features come in any order, and may meet in one.
        summed = csr_array(X[:3], shape=(len(numbers), n_features))
        summed.sum_duplicates()
        return CsrRows(summed.data, summed.indices, summed.indptr, n_features)
