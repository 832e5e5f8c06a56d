"""The parameters ``bounds`` and ``monotone``: constraints on the weights, feature by feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..data import Source
from ..data.files.encoding.encoders import Column, OneHot
from ..numeric import checks
from ..numeric.types import Array
from ..penalties import constrained
from .base import FitSettings
from .minimizer import LossModel
from .penalty_parameters import refuse_loss

DIRECTIONS = {"increasing": 1, "decreasing": -1}
BOUNDS = "bounds must be a pair (low, high), or a dict with a pair for each feature in it"
MONOTONE = (
    "monotone must be a dict from encoded columns to 'increasing', 'decreasing' or their "
    "categories in order, or a list of pairs (features, 'increasing' or 'decreasing')"
)
NAMED = 5  # categories in an error


class ConstrainedModel(LossModel):
    """A minimiser whose weights may have bounds, and the order of categories."""

    bounds: Any = None
    monotone: Any = None
    bias_reduction: str | None = None

    def _constrained(self, settings: FitSettings, X: Any, source: Source) -> FitSettings:
        penalty, loss = settings.penalty, settings.loss
        if asked := asked_for(self):
            if self.bias_reduction is not None:
                raise ValueError(f"{asked} cannot be combined with bias_reduction: use l2")
            features = Features.of(self, source, X)
            penalty = constrained(penalty, **constraints(self.bounds, self.monotone, features))
        if not penalty.constrains:
            return settings
        asked = asked or f"penalty={type(penalty).__name__}(...)"
        if not loss.convex:
            raise ValueError(f"{asked} needs a convex loss, got {loss.name!r}: use 'logistic'")
        refuse_loss(loss, asked)
        classes, coupled = len(source.classes), penalty.numbers is not None
        if coupled and not source.multilabel and loss.for_classes(classes).column_loss is None:
            raise ValueError(
                f"monotone is for one score at a time, and loss={loss.name!r} of {classes} "
                f"classes is joint: use loss='one_vs_rest_{loss.name}'"
            )
        return replace(settings, penalty=penalty)


def asked_for(model: Any) -> str:
    """The name of a given parameter for constraints; empty if there is none."""
    given = [name for name in ("bounds", "monotone") if getattr(model, name, None) is not None]
    return " and ".join(given)


def has_constraints(model: Any) -> bool:
    """Whether the weights of a fit had constraints, by parameters or by its penalty."""
    penalty = vars(model).get("penalty")
    return bool(asked_for(model)) or getattr(penalty, "constrains", False)


class Order(NamedTuple):
    """Features whose weights do not decrease, in this order."""

    features: list[int]
    reference: int = 0
    """Of two categories, one of which has no feature: 1 if the weight of the other is not
    negative, -1 if it is not positive; else 0."""


class Features(NamedTuple):
    """The features of a fit, by number and by name."""

    names: list[str]
    columns: dict[str, tuple[Column, range]]
    """The encoded columns and their features."""
    X: Any
    """The rows as given."""

    @classmethod
    def of(cls, model: Any, source: Source, X: Any) -> Features:
        """The features of the rows of a fit."""
        encoding = getattr(vars(model).get("_reading"), "encoding", None)
        if encoding is not None:
            return cls(list(encoding.coef_names), dict(_columns(encoding.columns)), X)
        names = vars(model).get("feature_names_in_")
        if names is None or len(names) != source.n_features:
            names = [f"x{j}" for j in range(source.n_features)]
        return cls(list(map(str, names)), {}, X)

    def number(self, parameter: str, key: Any) -> int:
        """The number of a feature, given by number or name."""
        d = len(self.names)
        if checks.is_integer(key) and -1 < key < d:
            return int(key)
        if isinstance(key, str) and key in self.names:
            return self.names.index(key)
        known = ", ".join(map(repr, self.names[:NAMED])) + (", ..." if d > NAMED else "")
        raise ValueError(
            f"{parameter} names the feature {key!r}, which is unknown: expected a number below {d}"
            f", or one of {known}"
        )

    def numbers(self, parameter: str, key: Any) -> list[int]:
        """The numbers of a feature, or of all features of an encoded column."""
        if isinstance(key, str) and key not in self.names and key in self.columns:
            return list(self.columns[key][1])
        return [self.number(parameter, key)]

    def refuse_crossing(self, low: Array, high: Array) -> None:
        """Refuse lower bounds above upper ones, and infinite weights."""
        for j in np.flatnonzero(~(low <= high) | (low == np.inf) | (high == -np.inf))[:1].tolist():
            raise ValueError(
                f"the bounds of feature {self.names[j]!r} are {low[j]:g} and {high[j]:g}: expected "
                "low <= high, with a finite number between them"
            )

    def refuse_repeated(self, chained: list[int]) -> None:
        """Refuse a feature that monotone names twice."""
        for j in chained:
            if chained.count(j) > 1:
                raise ValueError(
                    f"monotone names the feature {self.names[j]!r} twice: expected each in one "
                    "sequence"
                )


def _columns(columns: tuple[Column, ...]) -> Iterator[tuple[str, tuple[Column, range]]]:
    """The columns by name, and the parts of dates as columns."""
    begin = 0
    for column in columns:
        yield column.name, (column, range(begin, begin + column.n_features))
        at = begin
        for part in getattr(column, "columns", ()):
            yield part.name, (part, range(at, at + part.n_features))
            at += part.n_features
        begin += column.n_features


def constraints(bounds: Any, monotone: Any, features: Features) -> dict[str, Any]:
    """The parameters as fields of ``ConstrainedElasticNet``."""
    low, high = limits(bounds, features)
    chains = []
    for order in orders(monotone, features):
        if not order.reference:
            chains.append(tuple(order.features))
            continue
        j = order.features[0]  # the other category has no feature: its weight is 0
        if order.reference > 0:
            low[j] = max(low[j], 0.0)
        else:
            high[j] = min(high[j], 0.0)
    features.refuse_crossing(low, high)
    features.refuse_repeated([j for chain in chains for j in chain])
    return {"low": tuple(low.tolist()), "high": tuple(high.tolist()), "chains": tuple(chains)}


# ---- bounds ----------------------------------------------------------------------------------


def limits(bounds: Any, features: Features) -> tuple[Array, Array]:
    """The smallest and largest weight of every feature, (d,)."""
    d = len(features.names)
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    if bounds is None:
        return low, high
    if isinstance(bounds, Mapping):
        for key, pair in bounds.items():
            at, own = features.numbers("bounds", key), _pair(pair)
            for ends, end in zip((low, high), own, strict=True):
                if end is not None:
                    ends[at] = _number(end, f"bounds of {key!r}")
        return low, high
    for ends, name, given in zip((low, high), ("low", "high"), _pair(bounds), strict=True):
        if isinstance(given, Mapping):
            for key, end in given.items():
                if end is None:
                    continue
                ends[features.numbers("bounds", key)] = _number(end, f"{name} bound of {key!r}")
        elif given is not None:
            ends[:] = _ends(given, name, d)
    return low, high


def _pair(given: Any) -> tuple[Any, Any]:
    """A pair, or an error."""
    is_pair = isinstance(given, (tuple, list, np.ndarray)) and len(given) == 2
    if not is_pair:
        raise ValueError(f"{BOUNDS}, got {given!r}; None is no bound")
    return given[0], given[1]


def _number(given: Any, what: str) -> float:
    """A number, also infinite, or an error."""
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(given, (str, bool)) or np.isnan(number):
        raise ValueError(f"{what} must be a number, None or infinite, got {given!r}")
    return number


def _ends(given: Any, name: str, d: int) -> Array:
    """One number, or one for each feature."""
    if np.ndim(given) == 0:
        return np.full(1, _number(given, f"the {name} bound"))
    if len(given) != d or np.ndim(given) != 1:
        raise ValueError(
            f"the {name} bounds have the shape {np.shape(given)}, but there are {d} features: give "
            "a number, or one for each"
        )
    none = {"low": -np.inf, "high": np.inf}[name]
    each = [none if end is None else _number(end, f"the {name} bound") for end in given]
    return np.array(each)


# ---- monotone --------------------------------------------------------------------------------


def orders(monotone: Any, features: Features) -> Iterator[Order]:
    """The sequences of features whose weights do not decrease."""
    if monotone is None:
        return
    if isinstance(monotone, Mapping):
        for name, given in monotone.items():
            yield from _of_column(name, given, features)
        return
    if not isinstance(monotone, (list, tuple)):
        raise ValueError(f"{MONOTONE}, got {monotone!r}")
    for entry in monotone:
        pair = isinstance(entry, (list, tuple)) and len(entry) == 2
        if not pair or isinstance(entry[0], str) or np.ndim(entry[0]) != 1:
            raise ValueError(f"{MONOTONE}, got the entry {entry!r}")
        numbers = [features.number("monotone", key) for key in entry[0]]
        if len(numbers) < 2:
            raise ValueError(f"monotone needs two features or more in a sequence, got {entry!r}")
        yield Order(numbers[:: _sign(entry[1])])


def _sign(direction: Any) -> int:
    if not isinstance(direction, str) or direction not in DIRECTIONS:
        raise ValueError(f"{MONOTONE}, got the direction {direction!r}")
    return DIRECTIONS[direction]


def _of_column(name: Any, given: Any, features: Features) -> Iterator[Order]:
    """The order of the categories of an encoded column."""
    column, numbers = features.columns.get(name, (None, range(0)))
    if not isinstance(column, OneHot):
        known = [key for key, (each, _) in features.columns.items() if isinstance(each, OneHot)]
        raise ValueError(
            f"monotone names {name!r}, which is no column with a feature for each category; "
            f"expected {' or '.join(map(repr, known[:NAMED])) or 'a list of pairs of features'}"
        )
    ascending = _categories(name, column, given, features)
    place = {category: position for position, category in enumerate(ascending)}
    frequent = [category for category in column.categories if category is not None]
    if lost := [category for category in frequent if category not in place]:
        raise ValueError(
            f"monotone gives an order for {name!r} without its category {lost[0]!r}: expected all "
            f"of {frequent[:NAMED]!r}{' ...' if len(frequent) > NAMED else ''}"
        )
    if column.binary:
        if len(frequent) == 2:  # only the second has a feature
            yield Order([numbers[0]], 1 if place[frequent[1]] > place[frequent[0]] else -1)
            return
        raise ValueError(f"monotone names {name!r}, which has one frequent category: no order")
    found = sorted(frequent, key=place.__getitem__)
    if len(found) > 1:
        yield Order([numbers[column.categories.index(category)] for category in found])


def _categories(name: str, column: OneHot, given: Any, features: Features) -> list[Any]:
    """The categories of a column in the order in which their weights do not decrease."""
    if isinstance(given, (list, tuple)):
        if len(set(given)) < len(given):
            raise ValueError(f"monotone gives an order for {name!r} with a category twice")
        return list(given)
    sign = _sign(given)
    if column.type != "text":
        return [category for category in column.categories if category is not None][::sign]
    try:
        dtype: Any = features.X[name].dtype
    except (TypeError, KeyError, IndexError, AttributeError):
        dtype = None
    if not getattr(dtype, "ordered", False):
        raise ValueError(
            f"monotone={{{name!r}: {given!r}}}: its categories are words without an order; give "
            f"them in order, such as {{{name!r}: {list(column.categories[:NAMED])!r}}}"
        )
    return [str(category) for category in dtype.categories][::sign]
