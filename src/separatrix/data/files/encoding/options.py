"""Options for the columns of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from ....numeric import checks
from ..readers.reader import TableReader
from .columns import kind_of
from .dates import holds_dates
from .encoders import DATE_PARTS
from .label_sets import Target, as_target, target_names
from .selection import meant, selected

Categorical = Literal["onehot", "hash", "error"]


@dataclass(frozen=True)
class EncodingOptions:
    """What a user says of the columns of a table; checked when it is made."""

    target: Target = None
    features: Sequence[str] | None = None
    keep: Sequence[str] | None = None
    drop: Sequence[str] = ()
    weight: str | None = None
    categorical: Categorical | Mapping[str, Categorical] = "onehot"
    hash_bits: int = 18
    max_categories: int | None = None
    min_frequency: int | float | None = None
    missing: Literal["error", "mean", "zero", "indicator"] = "error"
    dtype: Literal["float32", "float64"] = "float64"
    dates: Mapping[str, Sequence[str]] | None = None
    offset: str | None = None
    drop_first: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", as_target(self.target))
        for name in ("target", "weight", "offset"):
            value = getattr(self, name)
            several = name == "target" and isinstance(value, tuple)
            if value is not None and not isinstance(value, str) and not several:
                raise TypeError(f"{name} must be the name of a column, or None, got {value!r}")
        for what in ("features", "keep", "drop"):
            named = getattr(self, what)
            if named is not None and (
                isinstance(named, str) or not all(isinstance(name, str) for name in named)
            ):
                raise TypeError(f"{what} must be a list of names of columns, got {named!r}")
        for what, others in (("keep", self.keep), ("drop", self.drop)):
            if self.features is not None and others is not None and len(others):
                raise ValueError(
                    f"features and {what} are both given: name the columns in features, or use "
                    "keep and drop"
                )
        ways = ("onehot", "hash", "error")
        if isinstance(self.categorical, Mapping):
            for name, way in self.categorical.items():
                checks.choice(f"categorical[{name!r}]", way, ways)
        else:
            checks.choice("categorical", self.categorical, ways)
        checks.integer("hash_bits", self.hash_bits)
        if self.hash_bits > 30:
            raise ValueError(f"hash_bits must be at most 30, got {self.hash_bits!r}")
        if self.max_categories is not None:
            checks.integer("max_categories", self.max_categories)
        least = self.min_frequency
        if least is not None and not checks.is_integer(least):
            checks.number("min_frequency", least, strict=True, most=1.0)
        elif least is not None:
            checks.integer("min_frequency", least)
        checks.choice("missing", self.missing, ("error", "mean", "zero", "indicator"))
        checks.choice("dtype", self.dtype, ("float32", "float64"))
        checks.flag("drop_first", self.drop_first)
        self._check_dates()

    def _check_dates(self) -> None:
        if self.dates is None:
            return
        example = "dates={'signup': ['year', 'month', 'weekday']}"
        if not isinstance(self.dates, Mapping):
            raise TypeError(f"dates must be a dict of parts by column, e.g. {example}")
        for name, parts in self.dates.items():
            if isinstance(parts, str) or not all(isinstance(part, str) for part in parts):
                raise TypeError(
                    f"dates[{name!r}] must be a list of parts, e.g. {example}, got {parts!r}"
                )
            for part in parts:
                checks.choice(f"dates[{name!r}]", part, tuple(DATE_PARTS))
            if not parts or len(set(parts)) < len(parts):
                raise ValueError(f"dates[{name!r}] must name parts once each, got {parts!r}")
            if isinstance(self.categorical, Mapping) and name in self.categorical:
                raise ValueError(f"dates and categorical both name {name!r}: name it once")

    def prepared(self, reader: TableReader) -> TableReader:
        """A reader that keeps dates as text, though all of a CSV file may look like numbers."""
        return reader.with_text(self.dates or ())

    def chosen(self, name: str, type: pa.DataType) -> str:
        """How a feature is encoded: ``"number"``, ``"onehot"``, ``"hash"`` or ``"date"``."""
        if name in (self.dates or ()):
            if not holds_dates(type):
                raise ValueError(
                    f"dates names the column {name!r}, which is {type}; expected dates, or text "
                    "such as 2024-12-31"
                )
            return "date"
        kind = kind_of(type)
        if kind is None and holds_dates(type):
            raise ValueError(
                f"column {name!r} is {type}: read parts of the dates, e.g. dates={{{name!r}: "
                "['year', 'month', 'weekday']}, or leave the column out by drop=[...]"
            )
        if kind is None:
            raise ValueError(
                f"column {name!r} is {type}, which is neither a number nor a word: leave it out by "
                "features=[...], or turn it into numbers (e.g. the days since the first one) or "
                "strings"
            )
        named = self.categorical if isinstance(self.categorical, Mapping) else None
        if kind == "number" and (named is None or name not in named):
            return "number"
        how = self.categorical if named is None else named.get(name, "onehot")
        if how == "error":
            raise ValueError(
                f"column {name!r} holds categories ({type}), and categorical='error': leave it out "
                "by features=[...], or read with categorical='onehot' or 'hash'"
            )
        return str(how)

    def feature_columns(self, names: Sequence[str]) -> list[str]:
        """Which of the columns are features; one that is not there is an error."""
        roles = [("target", name) for name in target_names(self.target)]
        roles += [("weight", self.weight)] if self.weight is not None else []
        roles += [("offset", self.offset)] if self.offset is not None else []
        others = [name for _, name in roles]
        named = list(self.categorical) if isinstance(self.categorical, Mapping) else []
        times = Counter(names)
        wanted = roles + [("features", name) for name in self.features or ()]
        wanted += [("categorical", name) for name in named]
        wanted += [("dates", name) for name in self.dates or ()]
        for what, name in wanted:
            if name not in times:
                raise ValueError(
                    f"{what} names the column {name!r}, and there is none: {meant(name, names)}"
                )
        if self.features is not None:
            features = list(self.features)
        else:
            features = selected(names, self.keep, self.drop, others)
        if twice := [name for name in [*others, *features] if times[name] > 1]:
            raise ValueError(f"several columns are called {twice[0]!r}: rename all but one")
        if len(set(features + others)) < len(features + others):
            raise ValueError(
                f"a column has two roles: target={self.target!r}, weight={self.weight!r}, "
                f"offset={self.offset!r}, features={features!r}; expected each column once"
            )
        chosen = set(features)
        for what, names_of in (("categorical", named), ("dates", self.dates or ())):
            if unused := [name for name in names_of if name not in chosen]:
                raise ValueError(f"{what} names {unused[0]!r}, which is not among the features")
        if not features:
            raise ValueError(
                f"there is no column left to be a feature: the columns are {list(names)!r}"
            )
        return features
