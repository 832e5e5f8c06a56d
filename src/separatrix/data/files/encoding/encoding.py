"""How the columns of a table become the features of a model: decided once, kept with the model.

A number is a feature. A category is one feature for each value that it was seen to have (one-hot),
or one of ``2**hash_bits`` features that all such columns share (hashing: Weinberger et al. 2009,
"Feature hashing for large scale multitask learning").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from ....numeric.checks import is_number
from ....numeric.lazy import cached_property
from ....numeric.types import AnyArray, Array, Ints
from ....rows import HostRowsLike, RowsLike, Storage
from ..readers.reader import Place
from ..thresholds import FEATURES_PER_VALUE
from .assembly import Assembly
from .coded_labels import Labels, plain_labels
from .encoders import KINDS, Column, DateParts, Hashed, Missing, Number, OneHot
from .label_sets import Target, labels_of, target_names

if TYPE_CHECKING:
    from ..readers.wide import Batch

INDEX_BYTES = np.dtype(np.int32).itemsize  # of the position of a value in sparse rows
CATEGORIES = {"text": str, "whole": int, "float": float, "boolean": bool}
"""The types of categories as a column names them, and as Python does."""
DTYPES = ("float32", "float64")
MOST_HASH_BITS = 30  # 2^30 features: indices still fit into int32
OTHERS = ("target", "weight", "dtype", "text_target", "row_values", "offset")


class Encoded(NamedTuple):
    """Rows as numbers."""

    X: RowsLike
    labels: Labels | None  # as the table has them
    weight: Array | None
    offset: Array | None
    unknown: dict[str, int]
    """Values that the dictionary of their column does not have, by column: their features are 0."""

    @property
    def y(self) -> AnyArray | None:
        """The label of every row."""
        return None if self.labels is None else plain_labels(self.labels)


@dataclass(frozen=True)
class Encoding:
    """From a table to rows of numbers, the same for every table with these columns.

    The features of a column stand together, columns in their order; those that hashed columns
    share come last. Rows are sparse where at most one feature in ``FEATURES_PER_VALUE`` has a
    value other than 0, as far as that is known.
    """

    columns: tuple[Column, ...]
    target: Target = None
    """The column of labels; or several columns of 0 and 1, for rows with several labels each."""
    weight: str | None = None
    dtype: Literal["float32", "float64"] = "float64"
    text_target: bool = False
    """Whether labels are words, though all of a CSV file may look like numbers."""
    row_values: float | None = field(default=None, compare=False)
    """Mean number of non-zero values in a row; None if not counted."""
    offset: str | None = None
    """The column of numbers that are added to the scores: predictions need it, too."""

    @property
    def feature_names(self) -> AnyArray:
        return np.array([column.name for column in self.columns], dtype=object)

    @property
    def coef_names(self) -> AnyArray:
        found = [name for column in self.columns for name in column.names]
        return np.array(found + [f"hash_{i}" for i in range(self._n_hashed)], dtype=object)

    @cached_property
    def _n_hashed(self) -> int:
        return max((1 << c.hash_bits for c in self.columns if type(c) is Hashed), default=0)

    @cached_property
    def _offsets(self) -> Ints:
        """Where the features of each column begin, and at the end the hashed ones."""
        return np.cumsum([0] + [column.n_features for column in self.columns])

    @property
    def n_features(self) -> int:
        return int(self._offsets[-1]) + self._n_hashed

    @property
    def is_plain(self) -> bool:
        """Whether the features are the columns: all are numbers without an indicator."""
        return all(type(c) is Number for c in self.columns) and self.n_features == len(self.columns)

    @cached_property
    def storage(self) -> Storage:
        """How rows are stored."""
        most = sum(column.n_values for column in self.columns)
        values = most if self.row_values is None else self.row_values
        return "csr" if values * FEATURES_PER_VALUE <= self.n_features else "dense"

    def encode(
        self,
        batch: Batch,
        *,
        place: Place = Place(),  # noqa: B008 (frozen)
        labels: bool = True,
    ) -> Encoded:
        """Rows of a table; ``labels=False``: without target and weight, which may be absent."""
        from ..readers.wide import names_of
        from . import columns as of

        self.check_names(names_of(batch), place.part, labels)
        X: HostRowsLike | None = self._plain_numbers(batch)
        unknown: dict[str, int] = {}
        if X is None:
            X = self._encoded(batch, place, unknown)
        y = weight = None
        if labels and self.target is not None:
            y = labels_of(batch, self.target, place)
        if labels and self.weight is not None:
            weight = of.weights(of.whole_column(batch, self.weight), self.weight, place)
        offset = None
        if self.offset is not None:
            offset = of.offsets(of.whole_column(batch, self.offset), self.offset, place)
        return Encoded(X, y, weight, offset, unknown)

    def _plain_numbers(self, batch: Batch) -> AnyArray | None:
        """Rows of columns of finite numbers, none of them missing; None if they are not.

        They need no look at each column, which takes longer than to copy a few numbers.
        """
        from ..readers.wide import doubles

        if self.storage != "dense" or not self.is_plain:
            return None
        found = doubles(batch, self.column_names(labels=False, offset=False))
        if found is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            X = np.ascontiguousarray(found, dtype=self.dtype)
            return X if np.isfinite(X.sum()) else None

    def _encoded(self, batch: Batch, place: Place, unknown: dict[str, int]) -> HostRowsLike:
        """Rows of columns of any kind; values that are unknown are counted by column."""
        from . import columns as of

        numbers = self._numbers(batch)
        found = Assembly(np.empty((batch.num_rows, 0)) if numbers is None else numbers)
        columns = zip(self.columns, self._offsets[:-1].tolist(), strict=True)
        # Hashed ones last, as their features are: the indices of sparse rows have to increase.
        for column, offset in sorted(columns, key=lambda pair: type(pair[0]) is Hashed):
            if numbers is not None and type(column) is Number:
                found.add_number(offset)
                continue
            start = int(self._offsets[-1]) if type(column) is Hashed else offset
            values_of = of.whole_column(batch, column.name, coded=type(column) is not Number)
            for values in column.values(values_of, place):
                of.check_range(values.value, self.dtype, column.name, place)
                found.add(values.value, values.feature + start)
                if values.unknown:
                    unknown[column.name] = values.unknown
        if self.storage == "dense":
            return found.dense(self.n_features, self.dtype)
        shared = sum(type(column) is Hashed for column in self.columns) > 1
        return found.sparse(self.n_features, self.dtype, shared)

    def _numbers(self, batch: Batch) -> Array | None:
        """Rows of the columns of numbers; None if one of them has to be looked at by itself."""
        from ..readers.wide import doubles

        columns = [column for column in self.columns if type(column) is Number]
        if not columns or any(column.indicator for column in columns):
            return None
        found = doubles(batch, [column.name for column in columns])
        if found is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(found.astype(self.dtype, copy=False).sum()):
                return None
        return found

    def with_text_target(self) -> Encoding:
        """The same where labels are words."""
        return replace(self, text_target=True)

    def text_columns(self) -> set[str]:
        """The columns that hold words, in every file."""
        names = {
            column.name
            for column in self.columns
            if isinstance(column, DateParts) or getattr(column, "type", "") == "text"
        }
        return names | set(target_names(self.target)) if self.text_target else names

    def column_names(self, labels: bool = True, offset: bool = True) -> list[str]:
        """The columns that a table must have, with or without target and weight."""
        names = [column.name for column in self.columns]
        if offset and self.offset is not None:
            names.append(self.offset)
        others = target_names(self.target)
        if self.weight is not None:
            others.append(self.weight)
        return names + others * labels

    def check_names(self, names: list[str], of: str = "", labels: bool = True) -> None:
        """Every column of the fit once, or an error that names what these are the columns of."""
        wanted, known = self.column_names(labels), set(names)
        if len(known) == len(names) and known.issuperset(wanted):
            return
        times = Counter(names)
        for name in wanted:
            if times[name] != 1:
                from .selection import meant

                there = name in times
                hint = f"the columns are {names!r}" if there else meant(name, names)
                raise ValueError(
                    f"there {'are several columns' if there else 'is no column'} {name!r}"
                    f"{of and f' in {of}'}; expected one each of {wanted!r}, as in the fit: {hint}"
                )

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "columns": list(map(_entry, self.columns)), "target": self.target,
            "weight": self.weight, "dtype": self.dtype,
            "text_target": self.text_target, "row_values": self.row_values,
        } | ({} if self.offset is None else {"offset": self.offset})  # fmt: skip

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Encoding:
        """The one that was written down; a KeyError, TypeError or ValueError if it is none."""
        given = {name: data[name] for name in OTHERS if name in data}
        if isinstance(given.get("target"), list):
            given["target"] = tuple(given["target"])
        found = cls(tuple(map(_column, data["columns"])), **given)
        others = [name for name in (found.weight, found.offset) if name is not None]
        roles = [*target_names(found.target), *others]
        if not all(isinstance(name, str) for name in roles) or found.dtype not in DTYPES:
            raise TypeError("target, weight, offset or dtype")
        values = found.row_values
        if type(found.text_target) is not bool or not (values is None or is_number(values)):
            raise TypeError("text_target or row_values")
        return found


def _entry(column: Column) -> dict[str, Any]:
    """A column as plain data."""
    found = {"kind": column.kind} | asdict(column)
    if isinstance(column, DateParts):
        found["columns"] = list(map(_entry, column.columns))
    return found


def _column(entry: Mapping[str, Any]) -> Column:
    """A column that was written down; an error if it is none."""
    if entry["kind"] == DateParts.kind:
        entry = {**entry, "columns": [_column(part) for part in entry["columns"]]}
    fields = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in entry.items()
        if name != "kind"
    }
    column: Column = KINDS[entry["kind"]](**fields)
    sound = isinstance(column.name, str)
    if isinstance(column, Number):
        sound &= column.fill is None or (is_number(column.fill) and np.isfinite(column.fill))
        sound &= type(column.indicator) is bool
    if isinstance(column, (OneHot, Hashed)):
        sound &= column.type in CATEGORIES and column.missing in get_args(Missing)
    if isinstance(column, (OneHot, DateParts)):
        sound &= column.sound
    if isinstance(column, OneHot):
        types = {type(value) for value in (*column.categories, *column.infrequent)}
        sound &= types <= {CATEGORIES[column.type], type(None)}
    if isinstance(column, Hashed):
        sound &= type(column.hash_bits) is int and 1 <= column.hash_bits <= MOST_HASH_BITS
    if not sound:
        raise TypeError("a column that is none")
    return column
