"""What a column of a table becomes: a number, a feature for each category, or a hashed one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.utils import murmurhash3_32

from ....numeric.lazy import cached_property
from ....numeric.types import Array, Ints
from ..readers.reader import Place

if TYPE_CHECKING:
    import pyarrow as pa

Missing = Literal["refuse", "zero", "category"]
LEAST_INT32 = -(2**31)  # its absolute value is no int32
DATE_PARTS: dict[str, Literal["number", "category"]] = {
    "year": "number", "month": "category", "day": "number", "weekday": "category",
    "hour": "category", "days": "number",
}  # fmt: skip
"""Parts of dates, and what they become."""


class Values(NamedTuple):
    """What a column gives each row: at most one value that is not 0."""

    feature: Ints | int  # number among the features of the column
    value: Array
    unknown: int = 0


@dataclass(frozen=True)
class Column(ABC):
    """A column, and what it becomes."""

    kind: ClassVar[str]
    name: str

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """Names of its own features, which it shares with no other column."""

    @property
    def n_features(self) -> int:
        """How many features it has for itself; as many as ``names``, which take longer to make."""
        return 1

    @property
    def n_values(self) -> int:
        """How many values it gives a row."""
        return 1

    @abstractmethod
    def values(self, column: pa.Array, place: Place) -> list[Values]:
        """The values of some rows."""


@dataclass(frozen=True)
class Number(Column):
    """A number stays one; ``fill`` takes the place of a missing one, None refuses it."""

    kind = "number"
    fill: float | None = None
    indicator: bool = False  # another feature says by 1 that the number is missing

    @property
    def names(self) -> list[str]:
        """The column's own, and that of scikit-learn's MissingIndicator."""
        return [self.name] + [f"missingindicator_{self.name}"] * self.indicator

    @property
    def n_values(self) -> int:
        return 1 + self.indicator

    @property
    def n_features(self) -> int:
        return 1 + self.indicator

    def values(self, column: pa.Array, place: Place) -> list[Values]:
        from .columns import numbers

        values = numbers(column, self.name, place)
        lost = np.isnan(values)
        if lost.any():
            if self.fill is None:
                refuse_missing(self.name, np.flatnonzero(lost), place)
            values = np.where(lost, self.fill or 0.0, values)
        return [Values(0, values)] + [Values(1, lost.astype(np.float64))] * self.indicator


@dataclass(frozen=True)
class OneHot(Column):
    """A feature for each category, and one for all that are infrequent."""

    kind = "onehot"
    type: str
    categories: tuple[Any, ...]  # those that have a feature each, in its order
    infrequent: tuple[Any, ...] = ()
    missing: Missing = "refuse"
    """What a missing value is: with ``"category"`` None is a value as others are."""
    binary: bool = False
    """With two categories there is one feature, as with ``drop="if_binary"`` of scikit-learn."""

    @property
    def names(self) -> list[str]:
        """As scikit-learn's OneHotEncoder names them, and None as its MissingIndicator."""
        found = [
            f"missingindicator_{self.name}" if value is None else f"{self.name}_{value}"
            for value in self.categories
        ]
        found += [f"{self.name}_infrequent_sklearn"] * bool(self.infrequent)
        return found[self.binary :]

    @property
    def groups(self) -> list[tuple[Any, ...]]:
        """The categories of each feature."""
        found = [(value,) for value in self.categories]
        return (found + [self.infrequent] * bool(self.infrequent))[self.binary :]

    @property
    def n_features(self) -> int:
        """One for each category, and one for the infrequent ones; one for two of these."""
        return len(self.categories) + bool(self.infrequent) - self.binary

    @property
    def sound(self) -> bool:
        """Whether a binary column has two groups of categories; for data from files."""
        two = len(self.categories) + bool(self.infrequent) == 2
        return type(self.binary) is bool and (two or not self.binary)

    @cached_property
    def _known(self) -> pa.Array:
        import pyarrow as pa

        from .columns import TYPES

        return pa.array([*self.categories, *self.infrequent], type=TYPES[self.type])

    def __getstate__(self) -> dict[str, Any]:
        """The state without Arrow objects: pyarrow may be missing where it is loaded."""
        return {name: value for name, value in vars(self).items() if name != "_known"}

    def values(self, column: pa.Array, place: Place) -> list[Values]:
        from .columns import categories, missing, numbers_among

        column = categories(column, self.type, self.name, place)
        if self.missing == "refuse":
            refuse_missing(self.name, missing(column), place)
        feature = numbers_among(self._known, column)
        np.minimum(feature, len(self.categories), out=feature)  # the infrequent ones share one
        unknown = int(np.count_nonzero(feature < 0))
        unknown -= column.null_count if self.missing == "zero" else 0
        if self.binary:
            return [Values(0, (feature == 1).astype(np.float64), unknown)]
        return [Values(feature, (feature >= 0).astype(np.float64), unknown)]


@dataclass(frozen=True)
class Hashed(Column):
    """A category hashed as scikit-learn's FeatureHasher hashes the word ``column=value``."""

    kind = "hash"
    type: str
    hash_bits: int
    missing: Missing = "refuse"
    """What a missing value is: ``"category"``, the word of the column's name alone."""
    n_features = 0

    @property
    def names(self) -> list[str]:
        return []

    def values(self, column: pa.Array, place: Place) -> list[Values]:
        from .columns import categories, missing

        column = categories(column, self.type, self.name, place)
        rows = missing(column)
        if self.missing == "refuse":
            refuse_missing(self.name, rows, place)
        coded = column.dictionary_encode()
        words = [f"{self.name}={value}" for value in coded.dictionary.to_pylist()] + [self.name]
        hashes = np.array([murmurhash3_32(word) for word in words], dtype=np.int64)
        codes = coded.indices.fill_null(len(words) - 1).to_numpy()
        size = 1 << self.hash_bits
        # As FeatureHasher: the least number has no positive twin among 32 bits.
        places = np.where(hashes == LEAST_INT32, -LEAST_INT32 - size, np.abs(hashes)) % size
        signs = np.where(hashes >= 0, 1.0, -1.0)
        value = signs[codes]
        if self.missing == "zero":
            value[rows] = 0.0
        return [Values(places[codes], value)]


@dataclass(frozen=True)
class DateParts(Column):
    """A date as some of its parts, each of which is a column of numbers or categories."""

    kind = "date"
    parts: tuple[str, ...]  # names among ``DATE_PARTS``
    columns: tuple[Column, ...]  # a Number or OneHot for each part, named ``column_part``

    @property
    def names(self) -> list[str]:
        return [name for column in self.columns for name in column.names]

    @property
    def n_features(self) -> int:
        return sum(column.n_features for column in self.columns)

    @property
    def n_values(self) -> int:
        return sum(column.n_values for column in self.columns)

    @property
    def sound(self) -> bool:
        """Whether there is a column of the right kind for each part; for data from files."""
        kinds: dict[str, type[Column]] = {"number": Number, "category": OneHot}
        if not len(self.parts) == len(set(self.parts)) == len(self.columns) > 0:
            return False
        return all(
            part in DATE_PARTS
            and isinstance(column, kinds[DATE_PARTS[part]])
            and column.name == f"{self.name}_{part}"
            for part, column in zip(self.parts, self.columns, strict=True)
        )

    def values(self, column: pa.Array, place: Place) -> list[Values]:
        from .columns import missing
        from .dates import date_parts

        if any(getattr(part, "fill", 0.0) is None for part in self.columns):
            refuse_missing(self.name, missing(column), place)
        batch, offset, found = date_parts(column, self.name, self.parts, place), 0, []
        for number, part in enumerate(self.columns):
            for values in part.values(batch.column(number), place):
                found.append(values._replace(feature=values.feature + offset))
            offset += part.n_features
        return found


def refuse_missing(name: str, rows: Ints, place: Place) -> None:
    """An error that names column and row, if there are rows without a value."""
    if len(rows):
        raise ValueError(
            f"column {name!r} has no value in {place.row(int(rows[0]))}, and missing='error': "
            "leave out the row, fill it in, or read with missing='mean', 'zero' or 'indicator'"
        )


KINDS: dict[str, Any] = {cls.kind: cls for cls in (Number, OneHot, Hashed, DateParts)}
