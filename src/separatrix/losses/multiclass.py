"""Losses for more than two classes: functions of all scores of a sample.

``y`` is the class index of a sample, ``d`` below. A sample is a mistake if the score of another
class reaches that of the true class; if there are several best rivals, the first is used
(:mod:`separatrix.losses.rivals`).

The hinge: K. Crammer and Y. Singer, On the algorithmic implementation of multiclass kernel-based
vector machines, JMLR 2 (2001). The perceptron's rule: R. O. Duda and P. E. Hart, Pattern
Classification and Scene Analysis (1973), Kesler's construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..numeric.tolerances import LARGEST_FLOAT
from ..numeric.types import AnyArray, Array
from .base import MULTICLASS, Entries, Loss, MarginLoss, steepness_of_square
from .margin import Hinge, Logistic, PerceptronLoss
from .rivals import best_rival


@dataclass(frozen=True)
class Joint(Loss):
    """A loss of all scores of a sample; y is its class index, d below.

    Parameters
    ----------
    binary : MarginLoss
        The two-class loss that this one generalises.

    See Also
    --------
    Softmax, CrammerSinger, JointPerceptron, OneVsRest : implementations.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> from separatrix.losses import CrammerSinger, Hinge, Joint
    >>> Hinge().multiclass(), isinstance(CrammerSinger(Hinge()), Joint)
    (CrammerSinger(binary=Hinge()), True)
    """

    binary: MarginLoss

    shifts = True

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.binary.name

    def for_classes(self, k: int) -> Loss:
        return self.binary if k == 2 else self

    def multiclass(self) -> Loss:
        return self

    def to_dict(self) -> dict[str, Any]:
        """The two-class loss as a dict, with a flag for the multiclass form."""
        if self.binary.multiclass() != self:
            raise TypeError(
                f"{self!r} cannot be written down as plain data: it is not what "
                f"{self.binary!r}.multiclass() gives"
            )
        return {**self.binary.to_dict(), "multiclass": True}

    @property
    def has_conjugate(self) -> bool:
        return self.binary.has_conjugate


def _from_to(y: AnyArray, rival: AnyArray, where: AnyArray, k: int) -> Array:
    """+1 for the rival and -1 for the true class in the selected samples, 0 elsewhere."""
    gradient = np.zeros((len(y), k))
    rows = np.flatnonzero(where)
    gradient[rows, rival[rows]] = 1.0
    gradient[rows, y[rows]] = -1.0
    return gradient


@dataclass(frozen=True)
class JointPerceptron(Joint):
    """``max(0, max_{c != d} s_c - s_d)``.

    Parameters
    ----------
    binary : MarginLoss
        The two-class loss that this one generalises.

    See Also
    --------
    PerceptronLoss : for two classes.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import JointPerceptron, PerceptronLoss
    >>> loss = JointPerceptron(PerceptronLoss())
    >>> loss.value(np.array([0]), np.array([[1.0, 2.0, 0.0]])).round(4).tolist()
    [1.0]
    """

    smooth = False
    homogeneous = True

    def value(self, y: AnyArray, scores: Array) -> Array:
        """Lead of the best rival over the true class."""
        own, _, best = best_rival(y, scores)
        return np.maximum(0.0, best - own)

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        """+1 for the best rival, -1 for the true class, on a mistake."""
        own, rival, best = best_rival(y, scores)
        return _from_to(y, rival, np.logical_not(own > best), scores.shape[1])

    def steepness(self, mean: float) -> float:
        """A rough bound is enough: no proof exists for this loss."""
        return steepness_of_square(mean)


@dataclass(frozen=True)
class CrammerSinger(Joint):
    """``max_c (s_c + [c != d]) - s_d``, after Crammer and Singer (2001).

    Parameters
    ----------
    binary : MarginLoss
        The two-class loss that this one generalises.

    See Also
    --------
    Hinge : for two classes.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import CrammerSinger, Hinge
    >>> loss = CrammerSinger(Hinge())
    >>> loss.value(np.array([0]), np.array([[1.0, 2.0, 0.0]])).round(4).tolist()
    [2.0]
    """

    smooth = False
    dual_range = 0.0, 1.0

    def value(self, y: AnyArray, scores: Array) -> Array:
        """Lead of the best rival over the true class, plus a margin of 1."""
        own, _, best = best_rival(y, scores)
        return np.maximum(0.0, 1.0 + best - own)

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        """+1 for the best rival, -1 for the true class, inside the margin."""
        own, rival, best = best_rival(y, scores)
        return _from_to(y, rival, 1.0 + best - own > 0.0, scores.shape[1])

    def steepness(self, mean: float) -> float:
        """1, with respect to the largest difference of scores."""
        return 1.0


@dataclass(frozen=True)
class Softmax(Joint):
    """``log sum_c e^(s_c - s_d)``, the sum over all classes.

    Parameters
    ----------
    binary : MarginLoss
        The two-class loss that this one generalises.

    See Also
    --------
    Logistic : for two classes.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Logistic, Softmax
    >>> loss = Softmax(Logistic())
    >>> loss.value(np.array([0]), np.array([[1.0, 2.0, 0.0]])).round(4).tolist()
    [1.4076]
    """

    attained = False
    max_curvature = 0.5
    log_likelihood = True
    dual_range = 0.0, 1.0
    has_curvature = True

    def steepness(self, mean: float) -> float:
        """1, with respect to the largest difference of scores."""
        return 1.0

    def value(self, y: AnyArray, scores: Array) -> Array:
        """Negative log-likelihood."""
        own = np.arange(len(y)), y
        gaps = scores - scores[own][:, None]
        gaps[own] = -np.inf
        top = np.clip(gaps.max(axis=1), 0.0, LARGEST_FLOAT)
        # log1p instead of the logarithm of a sum near 1: the loss of a correct sample is small.
        rest = np.exp(gaps - top[:, None]).sum(axis=1) + np.expm1(-top)
        value: Array = top + np.log1p(rest)
        return value

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        """Probabilities, minus 1 for the true class."""
        gradient = self.probability(scores)
        gradient[np.arange(len(y)), y] -= 1.0
        return gradient

    def curvature_product(self, y: AnyArray, scores: Array, V: Array) -> Array:
        """``p * (V - sum p V)``."""
        p = self.probability(scores)
        product: Array = p * (V - np.sum(p * V, axis=1, keepdims=True))
        return product

    def curvature_entries(self, y: AnyArray, scores: Array) -> Entries:
        """``p_a ([a = b] - p_b)``."""
        p = self.probability(scores)
        return lambda a, b: p[:, a] * (float(a == b) - p[:, b])

    def curvature_sum(self, y: AnyArray, scores: Array, weight: Array) -> Array:
        """``diag(sum p) - sum p p'``."""
        p = self.probability(scores)
        total: Array = np.diag(weight @ p) - (weight[:, None] * p).T @ p
        return total

    def probability(self, scores: Array) -> Array:
        """Probability of every class, (n, k)."""
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        probability: Array = e / e.sum(axis=1, keepdims=True)
        return probability

    def log_probability(self, scores: Array) -> Array:
        """Logarithm of the probabilities, without underflow."""
        log: Array = scores - logsumexp(scores, axis=1)[:, None]
        return log


MULTICLASS |= {PerceptronLoss: JointPerceptron, Logistic: Softmax, Hinge: CrammerSinger}
