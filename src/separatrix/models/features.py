"""The features that a model computes from columns, as it reads them or in steps of a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.files.encoding.encoders import Column, DateParts, Hashed, Number, OneHot
from ..numeric.types import AnyArray

Type = Literal["number", "text", "whole", "float", "boolean", "date"]


@dataclass(frozen=True)
class Feature:
    """A number computed from one column."""

    name: str
    column: int
    kind: Literal["number", "missing", "category"] = "number"
    """The column itself; 1 where it is missing; 1 where it is one of ``values``; else 0."""
    fill: float | None = None  # replacement for a missing number; None: the score is missing too
    values: tuple[Any, ...] = ()  # categories; None is a missing value
    mean: float | None = None  # the mean to subtract, then the scale to divide by; None: skip
    scale: float | None = None
    part: str | None = None  # of a date: which of its parts takes the place of the column


def as_read(number: int, column: Column) -> tuple[Type, list[Feature]]:
    """A column as read by a model that was fitted to files."""
    names = column.names
    if isinstance(column, Number):
        features = [Feature(names[0], number, fill=column.fill)]
        if column.indicator:
            features.append(Feature(names[1], number, "missing"))
        return "number", features
    if isinstance(column, Hashed):
        raise ValueError(
            f"the column {column.name!r} is hashed, and other languages lack the hash function "
            "(MurmurHash3): read with categorical='onehot', or use separatrix.save"
        )
    if isinstance(column, DateParts):
        of_parts = zip(column.parts, column.columns, strict=True)
        return "date", [
            replace(feature, part=part)
            for part, made in of_parts
            for feature in as_read(number, made)[1]
        ]
    assert isinstance(column, OneHot)
    made = [
        Feature(name, number, "category", values=values)
        for name, values in zip(names, column.groups, strict=True)
    ]
    return column.type, made  # type: ignore[return-value]


def after(
    step: Any, features: list[Feature], columns: list[str], types: list[Type]
) -> list[Feature]:
    """The features that a step of a pipeline computes from others."""
    check_is_fitted(step)
    name = type(step).__name__
    if name not in STEPS or not type(step).__module__.startswith("sklearn."):
        raise ValueError(
            f"export supports the steps {', '.join(STEPS)} before a classifier, got {name}: "
            "apply it before, or fit the classifier without it (standardize=True scales features)"
        )
    if step.n_features_in_ != len(features):
        raise ValueError(f"{name} has {step.n_features_in_} features, but receives {len(features)}")
    return STEPS[name](step, features, columns, types)


def _scaled(
    step: Any, features: list[Feature], columns: list[str], types: list[Type]
) -> list[Feature]:
    if any(feature.mean is not None or feature.scale is not None for feature in features):
        raise ValueError("export supports one StandardScaler for each feature, got two")
    nothing = [None] * len(features)
    means = nothing if step.mean_ is None or not step.with_mean else step.mean_.tolist()
    scales = nothing if step.scale_ is None else step.scale_.tolist()
    return [
        replace(feature, mean=mean, scale=scale)
        for feature, mean, scale in zip(features, means, scales, strict=True)
    ]


def _unchanged(
    step: Any, features: list[Feature], columns: list[str], types: list[Type]
) -> list[Feature]:
    if step.func is not None:
        raise ValueError(
            f"export does not support functions of your own, got {step!r}: apply it before"
        )
    return features


def _one_hot(
    step: Any, features: list[Feature], columns: list[str], types: list[Type]
) -> list[Feature]:
    made = []
    for j, feature in enumerate(features):
        if feature != Feature(feature.name, feature.column):
            raise ValueError("export supports a OneHotEncoder of unscaled columns only")
        types[feature.column] = _type(step.categories_[j])
        made += [
            Feature(f"{feature.name}_{name}", feature.column, "category", values=values)
            for name, values in _groups(step, j)
        ]
    return made


def _groups(step: Any, j: int) -> list[tuple[str, tuple[Any, ...]]]:
    """Names and categories of the features that a OneHotEncoder makes of one of its columns."""
    categories = step.categories_[j].tolist()
    joins = step.min_frequency is not None or step.max_categories is not None
    rare = step.infrequent_categories_[j] if joins else None
    infrequent = [] if rare is None else list(map(_known, rare.tolist()))
    if infrequent and step.handle_unknown in ("infrequent_if_exist", "warn"):
        raise ValueError(
            f"a OneHotEncoder with handle_unknown={step.handle_unknown!r} treats unknown "
            "categories as infrequent ones, and export treats them as no category: fit it with "
            "handle_unknown='ignore'"
        )
    each = [(str(value), _known(value)) for value in categories]
    groups = [(name, (value,)) for name, value in each if value not in infrequent]
    if infrequent:
        groups.append(("infrequent_sklearn", tuple(infrequent)))
    dropped = None if step.drop_idx_ is None else step.drop_idx_[j]
    if dropped is None:
        return groups
    return [group for group in groups if _known(categories[dropped]) not in group[1]]


def _known(value: Any) -> Any:
    """None for a missing category."""
    return None if value is None or value != value else value


def _type(categories: AnyArray) -> Type:
    kinds = {type(value) for value in categories.tolist() if value is not None and value == value}
    if kinds == {str}:
        return "text"
    known: dict[type[Any], Type] = {int: "whole", float: "float", bool: "boolean"}
    if len(kinds) != 1 or next(iter(kinds)) not in known:
        raise ValueError(
            f"categories must be strings or numbers of one type, got {categories.tolist()!r}"
        )
    return known[kinds.pop()]


def _chosen(
    step: Any, features: list[Feature], columns: list[str], types: list[Type]
) -> list[Feature]:
    """Features of the parts of a ColumnTransformer, one part after another."""
    made = []
    for _, part, which in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        some = [features[number] for number in _numbers(which, features)]
        if not (isinstance(part, str) and part == "passthrough"):
            for inner in [one for _, one in part.steps] if hasattr(part, "steps") else [part]:
                some = after(inner, some, columns, types)
        made += some
    return made


def _numbers(which: Any, features: list[Feature]) -> list[int]:
    """Indices of the features that a part of a ColumnTransformer was fitted to."""
    every, names = list(range(len(features))), [feature.name for feature in features]
    if isinstance(which, slice):
        ends: list[Any] = [which.start, which.stop]
        if any(isinstance(end, str) for end in ends):  # then the end is included
            begin = 0 if ends[0] is None else names.index(ends[0])
            return every[begin : None if ends[1] is None else names.index(ends[1]) + 1]
        return every[which]
    which = [which] if isinstance(which, (str, int)) else list(which)
    if which and isinstance(which[0], (bool, np.bool_)):
        return [number for number, kept in enumerate(which) if kept]
    return [names.index(one) if isinstance(one, str) else every[one] for one in which]


STEPS: dict[str, Callable[[Any, list[Feature], list[str], list[Type]], list[Feature]]] = {
    "StandardScaler": _scaled, "OneHotEncoder": _one_hot, "ColumnTransformer": _chosen,
    "FunctionTransformer": _unchanged,
}  # fmt: skip
