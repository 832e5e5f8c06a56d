"""A fitted linear model, with the steps before it, as one formula of named columns.

Input: a linear classifier of separatrix, or a pipeline that ends in one. Output: columns, the
features computed from them, weights and classes. Each export writes this formula in its language; a
model that cannot be expressed is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.files.encoding.encoders import Column, DateParts, Hashed, Number, OneHot
from ..estimators import KernelPerceptron
from ..estimators.decision import Decision
from ..estimators.predictor import LinearPredictor
from ..losses import Logistic, Loss, OneVsRest, PerceptronLoss, Softmax, get_loss
from ..numeric.dense import dense
from ..numeric.types import AnyArray, Array

Type = Literal["number", "text", "whole", "float", "boolean", "date"]
Probability = Literal["sigmoid", "softmax", "normalized_sigmoid"]
PROBABILITIES: tuple[tuple[Loss, Probability], ...] = (
    (Logistic(), "sigmoid"), (Softmax(Logistic()), "softmax"),
    (OneVsRest(Logistic()), "normalized_sigmoid"),
)  # fmt: skip
"""How margins become probabilities, by the loss; the last: sigmoids divided by their sum."""


@dataclass(frozen=True)
class Feature:
    """A number computed from one column."""

    name: str
    column: int
    kind: Literal["number", "missing", "category"] = "number"
    """The column itself; 1 where it is missing; 1 where it is one of ``values``; else 0."""
    fill: float | None = None
    """Replacement for a missing number; None: the score is missing too."""
    values: tuple[Any, ...] = ()
    """Categories; None is a missing value."""
    mean: float | None = None
    """The mean to subtract, then the scale to divide by; None: skip."""
    scale: float | None = None
    part: str | None = None
    """Of a date: which of its parts takes the place of the column."""


@dataclass(frozen=True)
class Formula:
    """``margins = coef @ features + intercept``, the classes, and probabilities if defined."""

    columns: tuple[str, ...]
    types: tuple[Type, ...]
    """Types of the columns: numbers, categories of one type, or dates."""
    features: tuple[Feature, ...]
    coef: Array
    intercept: Array
    classes: AnyArray
    probability: Probability | None
    cut: float = 0.0
    """For two classes: the margin from which the larger one is predicted."""
    costs: Array | None = None
    """For more: the costs (k, k) whose expected value the predicted class minimises."""
    several: bool = False
    """Whether ``classes`` are labels of which a row may have any number: it has those whose margin
    is 0 or more, and each has a probability by itself."""

    @property
    def is_numeric(self) -> bool:
        return all(type == "number" for type in self.types)

    @property
    def labels(self) -> list[Any]:
        """The classes as Python numbers and strings."""
        labels: list[Any] = self.classes.tolist()
        return labels

    def refuse_costs(self, language: str) -> None:
        """Raise an error, for a language in which only the largest margin can decide."""
        if self.costs is not None:
            raise ValueError(
                "this model predicts the class with the least expected cost, which an export to "
                f"{language} cannot: export to 'onnx' or 'json', or call set_decision() without "
                "arguments first, and decide by the probabilities of the export"
            )

    def refuse_dates(self, language: str) -> None:
        """Raise an error, for a language in which parts of dates are not computed."""
        if "date" in self.types:
            raise ValueError(
                f"the column {self.columns[self.types.index('date')]!r} is read as parts of a "
                f"date, which an export to {language} cannot compute: export to 'sql', make "
                "columns of the parts before reading, or use separatrix.save"
            )

    def refuse_categories(self, language: str) -> None:
        """Raise an error, for a language that supports only numbers."""
        if not self.is_numeric:
            name = next(n for n, t in zip(self.columns, self.types, strict=True) if t != "number")
            raise ValueError(
                f"the column {name!r} is categorical, and an export to {language} supports "
                "only numbers: export to 'sql', 'onnx' or 'json'"
            )


def formula_of(model: Any) -> Formula:
    """Formula of a linear classifier or a pipeline that ends in one; else raise with the reason."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    last, before = steps[-1], [step for step in steps[:-1] if step not in (None, "passthrough")]
    if isinstance(last, KernelPerceptron):
        raise ValueError(
            "a KernelPerceptron has no formula in its columns: its scores compare a row with all "
            "its supports. Use separatrix.save, or a linear classifier on "
            "separatrix.features.RadialBasis in Python"
        )
    if not isinstance(last, LinearPredictor):
        raise ValueError(
            f"export takes linear classifiers of separatrix, and pipelines that end in "
            f"one; got {type(last).__name__}"
        )
    check_is_fitted(last)
    if last.uses_offset_:
        raise ValueError(
            "this model was fitted with an offset, and an export has no input for it: use "
            "separatrix.save, or compute the offset in the other program and add it to the scores "
            "of a model whose weights are coef_ and intercept_"
        )
    columns, types, features = _first(before[0] if before else None, last)
    for step in before:
        features = _after(step, features, columns, types)
    if len(features) != last.coef_.shape[1]:
        raise ValueError(
            f"the steps of the pipeline make {len(features)} features, but its classifier has "
            f"weights for {last.coef_.shape[1]}"
        )
    loss = get_loss(getattr(last, "loss", PerceptronLoss()))
    # Every label has the probability of two classes.
    loss = loss.for_classes(2 if last._has_labels else len(last.classes_))
    probability = next((word for known, word in PROBABILITIES if known == loss), None)
    if hasattr((before or [last])[0], "feature_names_in_"):  # else columns have numbers
        used = sorted({feature.column for feature in features})
        columns, types = [columns[j] for j in used], [types[j] for j in used]
        number = {column: place for place, column in enumerate(used)}
        features = [replace(one, column=number[one.column]) for one in features]
    decision = getattr(last, "decision_", None) or Decision()
    several = last._has_labels  # for which nothing but the margins decides
    costs = decision.costs if len(last.classes_) > 2 and not several else None
    if costs is not None and probability is None:
        raise ValueError(
            f"this model decides by the probabilities of the loss {loss.name!r}, which exports do "
            "not know: call set_decision() without arguments first, or use separatrix.save"
        )
    return Formula(
        tuple(columns), tuple(types), tuple(features), dense(last.coef_),
        getattr(last, "intercept_flic_", last.intercept_),
        last.classes_, probability, decision.score or 0.0, costs, several,
    )  # fmt: skip


def _first(step: Any, last: Any) -> tuple[list[str], list[Type], list[Feature]]:
    """The input columns, each of them as a feature or as the model reads it."""
    reading = getattr(last, "_reading", None)
    if step is None and reading is not None and reading.encoding is not None:
        found = [_read(number, column) for number, column in enumerate(reading.encoding.columns)]
        names = [column.name for column in reading.encoding.columns]
        return names, [type for type, _ in found], [one for _, some in found for one in some]
    owner = last if step is None else step
    names = [str(name) for name in getattr(owner, "feature_names_in_", ())]
    names = names or [f"x{j}" for j in range(owner.n_features_in_)]
    features = [Feature(name, j) for j, name in enumerate(names)]
    return names, ["number"] * len(names), features


def _read(number: int, column: Column) -> tuple[Type, list[Feature]]:
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
            for feature in _read(number, made)[1]
        ]
    assert isinstance(column, OneHot)
    made = [
        Feature(name, number, "category", values=values)
        for name, values in zip(names, column.groups, strict=True)
    ]
    return column.type, made  # type: ignore[return-value]


def _after(
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
                some = _after(inner, some, columns, types)
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


def finite(numbers: Sequence[float]) -> None:
    """Raise an error for a number that other languages cannot represent."""
    if not np.all(np.isfinite(np.asarray(numbers, dtype=np.float64))):
        raise ValueError("the model has a weight, a mean or a scale that is not finite")


def digits(number: float) -> str:
    """A number with 17 digits, which identify it, and an exponent."""
    return f"{number:.16e}"


def signed(number: float) -> str:
    """The same, in parentheses if needed after an operator."""
    return f"({digits(number)})" if number < 0.0 else digits(number)
