"""A two-class loss for each of many classes, the class against the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..numeric.types import AnyArray, Array
from .base import MULTICLASS, Entries, MarginLoss, steepness_of_square
from .multiclass import Joint

ONE_VS_REST = "one_vs_rest_"
"""Before the name of a loss: each class against the rest, whatever its own form for more is."""


@dataclass(frozen=True)
class OneVsRest(Joint):
    """One two-class loss per class, +1 for the class and -1 for the rest; their sum.

    Every class has an objective of its own, of two classes, and J is their sum: what
    ``OneVsRestClassifier`` of scikit-learn minimises class by class. For "logistic" and
    "hinge", whose own forms are others, ``loss="one_vs_rest_logistic"`` and
    ``"one_vs_rest_hinge"`` ask for it.

    Parameters
    ----------
    binary : MarginLoss
        The two-class loss that this one is for more.

    See Also
    --------
    Hinge : for two classes.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Hinge, OneVsRest
    >>> loss = OneVsRest(Hinge())
    >>> loss.value(np.array([0]), np.array([[1.0, 2.0, 0.0]])).round(4).tolist()
    [4.0]
    """

    shifts = False

    @property
    def name(self) -> str:  # type: ignore[override]
        """Another than that of the two-class loss, where this is not its own form."""
        own = self.binary.multiclass() == self
        return self.binary.name if own else ONE_VS_REST + self.binary.name

    def to_dict(self) -> dict[str, Any]:
        """The two-class loss as plain data, and that one against the rest is meant."""
        return {**self.binary.to_dict(), "multiclass": "one_vs_rest"}

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """As the two-class loss."""
        return self.binary.convex

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """As the two-class loss."""
        return self.binary.smooth

    @property
    def attained(self) -> bool:  # type: ignore[override]
        """As the two-class loss."""
        return self.binary.attained

    @property
    def max_curvature(self) -> float | None:  # type: ignore[override]
        """As the two-class loss."""
        return self.binary.max_curvature

    @property
    def constant_curvature(self) -> float | None:  # type: ignore[override]
        """As the two-class loss."""
        return self.binary.constant_curvature

    @property
    def dual_range(self) -> tuple[float, float] | None:  # type: ignore[override]
        """As the two-class loss."""
        return self.binary.dual_range

    @property
    def column_loss(self) -> MarginLoss:
        """The two-class loss."""
        return self.binary

    def signs(self, y: AnyArray, scores: Array) -> Array:
        """+1 in the column of the true class, -1 elsewhere: (n, k)."""
        return signs(y, scores)

    @property
    def has_steepness(self) -> bool:
        """As the two-class loss."""
        return self.binary.has_steepness

    def steepness(self, mean: float) -> float:
        """At least that of the two-class loss."""
        return max(self.binary.steepness(mean), steepness_of_square(mean))

    @property
    def has_curvature(self) -> bool:
        """As the two-class loss."""
        return self.binary.has_curvature

    @property
    def has_convex_model(self) -> bool:
        """As the two-class loss."""
        return self.binary.has_convex_model

    def value(self, y: AnyArray, scores: Array) -> Array:
        """Sum over the columns."""
        value: Array = self.binary.phi(signs(y, scores) * scores).sum(axis=1)
        return value

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        """Each column's own."""
        sign = signs(y, scores)
        return sign * self.binary.slope(sign * scores)

    def curvature_product(self, y: AnyArray, scores: Array, V: Array) -> Array:
        """Each column's own."""
        return self.binary.curvature(signs(y, scores) * scores) * V

    def curvature_entries(self, y: AnyArray, scores: Array) -> Entries:
        """Columns do not see each other."""
        curvature = self.binary.model_curvature(signs(y, scores) * scores)
        return lambda a, b: curvature[:, a] if a == b else None

    def curvature_sum(self, y: AnyArray, scores: Array, weight: Array) -> Array:
        """Columns do not see each other."""
        return np.diag(weight @ self.binary.curvature(signs(y, scores) * scores))

    @property
    def probability(self) -> Callable[[Array], Array]:
        """Each class's own, divided by their sum, where the two-class loss defines one."""
        log_probability = self.log_probability
        return lambda scores: np.exp(log_probability(scores))

    @property
    def log_probability(self) -> Callable[[Array], Array]:
        """Their logarithms: no sum of the classes' own underflows."""
        own: Any = self.binary
        probability = own.probability  # an AttributeError says that there is none

        def of(scores: Array) -> Array:
            has_log = hasattr(own, "log_probability")
            each = own.log_probability(scores) if has_log else np.log(probability(scores))
            log: Array = each - logsumexp(each, axis=1)[:, None]
            return log

        return of


def signs(y: AnyArray, scores: Array) -> Array:
    """+1 in the column of the true class, -1 elsewhere."""
    sign = np.full(scores.shape, -1.0)
    sign[np.arange(len(y)), y] = 1.0
    return sign


MULTICLASS[MarginLoss] = OneVsRest  # of every loss that has no other form
