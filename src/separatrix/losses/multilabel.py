"""Labels that do not exclude each other: one two-class loss for each label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numeric.types import AnyArray, Array
from .base import Loss
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
        """Name of the two-class loss."""
        return self.binary.name

    def to_dict(self) -> dict[str, Any]:
        """The two-class loss as a dict, with the multi-label form recorded."""
        return {**self.binary.to_dict(), "multiclass": "multilabel"}

    def for_classes(self, k: int) -> Loss:
        """This loss, for any number of labels."""
        return self

    @property
    def homogeneous(self) -> bool:  # type: ignore[override]
        """Whether the two-class loss is homogeneous."""
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
        """Logarithm of the probability of each label by itself."""
        own: Any = self.binary
        if hasattr(own, "log_probability"):
            log: Callable[[Array], Array] = own.log_probability
            return log
        probability = own.probability  # raises AttributeError if the loss has no probabilities
        return lambda scores: np.log(probability(scores))


def multilabel(loss: Loss) -> MultiLabel:
    """The form of a loss for an indicator matrix of labels."""
    own = loss.for_classes(2).column_loss
    if own is None:
        raise ValueError(
            f"{loss!r} has no form for two classes, so it cannot be summed over the columns of an "
            "indicator matrix; use a MarginLoss such as 'logistic' or 'hinge'"
        )
    return MultiLabel(own)
