"""A fitted linear model, with the steps before it, as one formula of named columns.

Input: a linear classifier of separatrix, or a pipeline that ends in one. Output: columns, the
features computed from them, weights and classes. Each export writes this formula in its language; a
model that cannot be expressed is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..estimators import KernelPerceptron
from ..estimators.decision import Decision
from ..estimators.predictor import LinearPredictor
from ..losses import Logistic, Loss, OneVsRest, PerceptronLoss, Softmax, get_loss
from ..numeric.dense import dense
from ..numeric.types import AnyArray, Array
from .features import Feature, Type, after, as_read

Probability = Literal["sigmoid", "softmax", "normalized_sigmoid"]
PROBABILITIES: tuple[tuple[Loss, Probability], ...] = (
    (Logistic(), "sigmoid"), (Softmax(Logistic()), "softmax"),
    (OneVsRest(Logistic()), "normalized_sigmoid"),
)  # fmt: skip
"""How margins become probabilities, by the loss; the last: sigmoids divided by their sum."""


@dataclass(frozen=True)
class Formula:
    """``margins = coef @ features + intercept``, the classes, and probabilities if defined."""

    columns: tuple[str, ...]
    types: tuple[Type, ...]  # types of the columns: numbers, categories of one type, or dates
    features: tuple[Feature, ...]
    coef: Array
    intercept: Array
    classes: AnyArray
    probability: Probability | None
    cut: float = 0.0  # for two classes: the margin from which the larger one is predicted
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

    def refuse_categories(self) -> None:
        """Raise an error, for C, which supports only numbers."""
        if not self.is_numeric:
            name = next(n for n, t in zip(self.columns, self.types, strict=True) if t != "number")
            raise ValueError(
                f"the column {name!r} is categorical, and an export to C supports only "
                "numbers: export to 'sql', 'onnx' or 'json'"
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
    if hasattr(last, "survivors_"):
        raise ValueError(
            "a Perceptron with keep='voted' has the votes of many weight vectors, and an export is "
            "of one: use separatrix.save, or fit with keep='average'"
        )
    if hasattr(last, "sigmoid_"):
        raise ValueError(
            "this model has probabilities fitted by probability='loo', which exports do not know: "
            "use separatrix.save, or fit without probability"
        )
    columns, types, features = _first(before[0] if before else None, last)
    for step in before:
        features = after(step, features, columns, types)
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
    if decision.temperature is not None:
        raise ValueError(
            "this model weighs costs by probabilities at a temperature, which exports do not know: "
            "use separatrix.save, or call set_decision(costs=...) before the export"
        )
    if costs is not None and probability is None:
        raise ValueError(
            f"this model decides by the probabilities of the loss {loss.name!r}, which exports do "
            "not know: call set_decision() without arguments first, or use separatrix.save"
        )
    columns, types, coef = list(columns), list(types), dense(last.coef_)
    if last.uses_offset_:
        columns, types, features, coef = _with_offset(columns, types, features, coef, last)
    return Formula(
        tuple(columns), tuple(types), tuple(features), coef,
        getattr(last, "intercept_flic_", last.intercept_),
        last.classes_, probability, decision.score or 0.0, costs, several,
    )  # fmt: skip


def _with_offset(
    columns: list[str], types: list[Type], features: list[Feature], coef: Array, last: Any
) -> tuple[list[str], list[Type], list[Feature], Array]:
    """The offset as last columns, one for each margin: features whose weights are fixed at 1."""
    encoding = getattr(getattr(last, "_reading", None), "encoding", None)
    names = [getattr(encoding, "offset", None) or "offset"]
    if len(coef) > 1:
        names = [f"offset_{label}" for label in last.classes_.tolist()]
    if taken := [name for name in names if name in columns]:
        raise ValueError(
            f"an export of a model with an offset has a column {taken[0]!r} for it, and a feature "
            "has that name: rename the feature"
        )
    places = range(len(columns), len(columns) + len(names))
    of_offset = [Feature(name, place) for name, place in zip(names, places, strict=True)]
    numbers: list[Type] = ["number"] * len(names)
    coef = np.column_stack([coef, np.eye(len(coef))])
    return [*columns, *names], [*types, *numbers], [*features, *of_offset], coef


def _first(step: Any, last: Any) -> tuple[list[str], list[Type], list[Feature]]:
    """The input columns, each of them as a feature or as the model reads it."""
    reading = getattr(last, "_reading", None)
    if step is None and reading is not None and reading.encoding is not None:
        found = [as_read(number, column) for number, column in enumerate(reading.encoding.columns)]
        names = [column.name for column in reading.encoding.columns]
        return names, [type for type, _ in found], [one for _, some in found for one in some]
    owner = last if step is None else step
    names = [str(name) for name in getattr(owner, "feature_names_in_", ())]
    names = names or [f"x{j}" for j in range(owner.n_features_in_)]
    features = [Feature(name, j) for j, name in enumerate(names)]
    return names, ["number"] * len(names), features


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
