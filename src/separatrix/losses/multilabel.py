"""Labels that do not exclude each other: one two-class loss for each label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numeric.types import AnyArray, Array
from .base import Entries, Loss
from .one_vs_rest import OneVsRest


@dataclass(frozen=True)
class MultiLabel(OneVsRest):
    """Sum of one two-class loss per label, where a sample may have any number of labels.

    ``y`` has a column per label, +1 where a sample has the label and -1 where it does not.
    J is the sum of one two-class objective per label. An estimator uses this form of its loss when
    it is fitted to an indicator matrix.

    Parameters
    ----------
    binary : MarginLoss
        The two-class loss used for each label.

    See Also
    --------
    OneVsRest : for classes that exclude each other.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Hinge, MultiLabel
    >>> loss = MultiLabel(Hinge())
    >>> loss.value(np.array([[1.0, -1.0]]), np.array([[0.5, 1.0]])).tolist()
    [2.5]
    """

    several_labels = True

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.binary.name

    def to_dict(self) -> dict[str, Any]:
        return {**self.binary.to_dict(), "multiclass": "multilabel"}

    def for_classes(self, k: int) -> Loss:
        return self

    @property
    def homogeneous(self) -> bool:  # type: ignore[override]
        return self.binary.homogeneous

    def signs(self, y: AnyArray, scores: Array) -> Array:
        """The labels -1 and +1, (n, q)."""
        return y

    def mistakes(self, y: AnyArray, scores: Array) -> AnyArray:
        """Samples of which some label is wrong, (n,) booleans."""
        wrong: AnyArray = np.logical_not(np.all(y * scores > 0.0, axis=1))
        return wrong

    @property
    def probability(self) -> Callable[[Array], Array]:
        """Probability of each label by itself, (n, q)."""
        own: Any = self.binary
        probability: Callable[[Array], Array] = own.probability
        return probability

    @property
    def log_probability(self) -> Callable[[Array], Array]:
        own: Any = self.binary
        if hasattr(own, "log_probability"):
            log: Callable[[Array], Array] = own.log_probability
            return log
        probability = own.probability  # raises AttributeError if the loss has no probabilities
        return lambda scores: np.log(probability(scores))


@dataclass(frozen=True)
class WeightedMultiLabel(MultiLabel):
    """``MultiLabel`` with a weight for every label and whether a sample has it.

    The mean of the weights of a label over the samples is 1, so that each term is the weighted mean
    of a two-class problem with class weights.
    """

    weights: tuple[tuple[float, float], ...] = ()
    """For each label, the weights of samples without it and with it."""

    weighs_columns = True
    homogeneous = MultiLabel.homogeneous
    dual_range = MultiLabel.dual_range  # of a term: multiplied by its weight
    constant_curvature = None

    @property
    def max_curvature(self) -> float | None:  # type: ignore[override]
        """``max_curvature`` of the two-class loss, times the largest weight."""
        own = self.binary.max_curvature
        return None if own is None else own * max(map(max, self.weights))

    def to_dict(self) -> dict[str, Any]:
        """As ``MultiLabel``, and the weights."""
        return {**super().to_dict(), "weights": [list(pair) for pair in self.weights]}

    @property
    def side_weights(self) -> Array:
        """Weights of the samples without each label and with it, (2, q)."""
        return np.array(self.weights).T

    def column_weights(self, y: AnyArray) -> Array:
        """(n, q)."""
        without, having = self.side_weights
        found: Array = np.where(y > 0, having, without)
        return found

    @property
    def unweighted(self) -> MultiLabel:
        """All weights 1."""
        return MultiLabel(self.binary)

    def steepness(self, mean: float) -> float:
        """The gradient is at most the largest weight times that without weights."""
        least, most = min(map(min, self.weights)), max(map(max, self.weights))
        return most * super().steepness(mean / least)

    def value(self, y: AnyArray, scores: Array) -> Array:
        value: Array = (self.column_weights(y) * self.binary.phi(y * scores)).sum(axis=1)
        return value

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        return self.column_weights(y) * super().gradient(y, scores)

    def curvature_product(self, y: AnyArray, scores: Array, V: Array) -> Array:
        return self.column_weights(y) * super().curvature_product(y, scores, V)

    def curvature_entries(self, y: AnyArray, scores: Array) -> Entries:
        curvature = self.column_weights(y) * self.binary.model_curvature(y * scores)
        return lambda a, b: curvature[:, a] if a == b else None

    def curvature_sum(self, y: AnyArray, scores: Array, weight: Array) -> Array:
        return np.diag(weight @ (self.column_weights(y) * self.binary.curvature(y * scores)))


def multilabel(loss: Loss, weights: Array | None = None) -> MultiLabel:
    """The form of a loss for an indicator matrix of labels.

    ``weights`` (q, 2) are those of the samples without each label and with it.
    """
    own = loss.for_classes(2).column_loss
    if own is None:
        raise ValueError(
            f"{loss!r} has no form for two classes, so it cannot be summed over the columns of an "
            "indicator matrix; use a MarginLoss such as 'logistic' or 'hinge'"
        )
    if weights is None:
        return MultiLabel(own)
    return WeightedMultiLabel(own, tuple((first, second) for first, second in weights.tolist()))
