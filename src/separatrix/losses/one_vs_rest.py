"""One-vs-rest: a two-class loss for each class, with the class against all others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..numeric.types import AnyArray, Array
from .base import MULTICLASS, Entries, MarginLoss, steepness_of_square
from .multiclass import Joint

ONE_VS_REST = "one_vs_rest_"  # prefix of loss names that select the one-vs-rest form


def _of_binary(name: str) -> Any:
    """A property that the loss shares with its two-class loss."""
    doc = f"``{name}`` of the two-class loss."
    return property(lambda self: getattr(self.binary, name), doc=doc)


@dataclass(frozen=True)
class OneVsRest(Joint):
    """Sum of one two-class loss per class, +1 for the class and -1 for the rest.

    J is the sum of one two-class objective per class, the same objectives that scikit-learn's
    ``OneVsRestClassifier`` minimises. "logistic" and "hinge" have another multiclass form by
    default; use ``loss="one_vs_rest_logistic"`` or ``"one_vs_rest_hinge"`` for this one.

    Parameters
    ----------
    binary : MarginLoss
        The two-class loss used for each class.

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
        """Prefixed with ``"one_vs_rest_"`` if the two-class loss has another multiclass form."""
        own = self.binary.multiclass() == self
        return self.binary.name if own else ONE_VS_REST + self.binary.name

    def to_dict(self) -> dict[str, Any]:
        return {**self.binary.to_dict(), "multiclass": "one_vs_rest"}

    convex = _of_binary("convex")
    smooth = _of_binary("smooth")
    attained = _of_binary("attained")
    max_curvature = _of_binary("max_curvature")
    constant_curvature = _of_binary("constant_curvature")
    dual_range = _of_binary("dual_range")
    has_steepness = _of_binary("has_steepness")
    has_curvature = _of_binary("has_curvature")
    has_convex_model = _of_binary("has_convex_model")

    @property
    def column_loss(self) -> MarginLoss:
        return self.binary

    def signs(self, y: AnyArray, scores: Array) -> Array:
        """+1 in the column of the true class, -1 elsewhere: (n, k)."""
        return signs(y, scores)

    def steepness(self, mean: float) -> float:
        """A bound that is at least that of the two-class loss."""
        return max(self.binary.steepness(mean), steepness_of_square(mean))

    def value(self, y: AnyArray, scores: Array) -> Array:
        """Sum of the two-class losses over the columns."""
        value: Array = self.binary.phi(self.signs(y, scores) * scores).sum(axis=1)
        return value

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        sign = self.signs(y, scores)
        return sign * self.binary.slope(sign * scores)

    def curvature_product(self, y: AnyArray, scores: Array, V: Array) -> Array:
        """Curvature of each column's loss times V."""
        return self.binary.curvature(self.signs(y, scores) * scores) * V

    def curvature_entries(self, y: AnyArray, scores: Array) -> Entries:
        """Second derivatives, which are 0 between different columns."""
        curvature = self.binary.model_curvature(self.signs(y, scores) * scores)
        return lambda a, b: curvature[:, a] if a == b else None

    def curvature_sum(self, y: AnyArray, scores: Array, weight: Array) -> Array:
        """Diagonal: second derivatives are 0 between different columns."""
        return np.diag(weight @ self.binary.curvature(self.signs(y, scores) * scores))

    @property
    def probability(self) -> Callable[[Array], Array]:
        """Probabilities of the two-class models, normalised to sum to 1."""
        log_probability = self.log_probability
        return lambda scores: np.exp(log_probability(scores))

    @property
    def log_probability(self) -> Callable[[Array], Array]:
        """Logarithms of the probabilities; the sum of the class probabilities cannot underflow."""
        own: Any = self.binary
        probability = own.probability  # raises AttributeError if the loss has no probabilities

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


MULTICLASS[MarginLoss] = OneVsRest  # for every loss without a form of its own
