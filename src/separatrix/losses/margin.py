"""Losses for two classes, each a function of the margin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, xlog1py

from ..numeric.types import Array
from .base import MarginLoss, steepness_of_square


@dataclass(frozen=True)
class ZeroOne(MarginLoss):
    """1 for a mistake, 0 otherwise. Its slope is 0 wherever it exists, so it cannot be minimised.

    See Also
    --------
    LossDisplay : plots it with the losses that can be minimised.
    separatrix.WeightSpaceDisplay : shows why gradient descent cannot minimise it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import ZeroOne
    >>> ZeroOne().phi(np.array([-1.0, 0.0, 2.0])).round(4).tolist()
    [1.0, 1.0, 0.0]
    """

    name = "zero_one"
    convex = False
    smooth = False

    def phi(self, m: Array) -> Array:
        """1 if m <= 0 else 0."""
        return np.where(m > 0, 0.0, 1.0)


@dataclass(frozen=True)
class PerceptronLoss(MarginLoss):
    """Distance of a misclassified sample from the right side, in units of the margin.

    Its infimum 0 is reached at (w, b) = 0, which is useless: see
    :class:`separatrix.LinearClassifier` for what is returned instead.

    See Also
    --------
    JointPerceptron : for more than two classes.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import PerceptronLoss
    >>> PerceptronLoss().phi(np.array([-1.0, 0.0, 2.0])).round(4).tolist()
    [1.0, 0.0, 0.0]
    """

    name = "perceptron"
    smooth = False
    homogeneous = True

    def phi(self, m: Array) -> Array:
        """max(0, -m)."""
        return 0.0 - np.minimum(m, 0.0)  # avoid -0.0, which max(0.0, -0.0) gives on some processors

    def slope(self, m: Array) -> Array:
        """-1 for a mistake, m = 0 included."""
        return np.where(m > 0, 0.0, -1.0)

    def steepness(self, mean: float) -> float:
        """A rough bound is enough: no proof exists for this loss."""
        return steepness_of_square(mean)


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """Negative log-likelihood of the logistic model.

    See Also
    --------
    Softmax : for more than two classes.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Logistic
    >>> Logistic().phi(np.array([-1.0, 0.0, 2.0])).round(4).tolist()
    [1.3133, 0.6931, 0.1269]
    """

    name = "logistic"
    attained = False
    max_curvature = 0.25
    log_likelihood = True
    dual_range = 0.0, 1.0

    def phi(self, m: Array) -> Array:
        """log(1 + e^-m), without overflow."""
        return np.logaddexp(0.0, -m)

    def slope(self, m: Array) -> Array:
        """-1 / (1 + e^m)."""
        e = np.exp(-np.abs(m))
        return -np.where(m > 0, e, 1.0) / (1.0 + e)

    def curvature(self, m: Array) -> Array:
        """e^m / (1 + e^m)^2."""
        e = np.exp(-np.abs(m))
        curvature: Array = e / (1.0 + e) ** 2
        return curvature

    def conjugate(self, alpha: Array) -> Array:
        """alpha log(alpha) + (1 - alpha) log(1 - alpha), for alpha in [0, 1]."""
        conjugate: Array = xlog1py(1.0 - alpha, -alpha) - entr(alpha)
        return conjugate

    def steepness(self, mean: float) -> float:
        """1."""
        return 1.0

    def probability(self, scores: Array) -> Array:
        """P(larger class) at each score."""
        e = np.exp(-np.abs(scores))
        return np.where(scores > 0, 1.0, e) / (1.0 + e)

    def log_probability(self, scores: Array) -> Array:
        """Logarithm of the probability, without underflow."""
        return -self.phi(scores)

    def score_at(self, probability: float) -> float:
        """The score with this probability of the larger class, between 0 and 1."""
        return math.log(probability) - math.log1p(-probability)


@dataclass(frozen=True)
class Squared(MarginLoss):
    """Mean squared error of the linear score (y^2 = 1); it also penalises margins above 1.

    See Also
    --------
    OneVsRest : for more than two classes.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Squared
    >>> Squared().phi(np.array([-1.0, 0.0, 2.0])).round(4).tolist()
    [4.0, 1.0, 1.0]
    """

    name = "squared"
    max_curvature = 2.0
    constant_curvature = 2.0
    dual_range = -np.inf, np.inf

    def phi(self, m: Array) -> Array:
        """(1 - m)^2."""
        phi: Array = (1.0 - m) ** 2
        return phi

    def slope(self, m: Array) -> Array:
        """-2 (1 - m)."""
        return -2.0 * (1.0 - m)

    def curvature(self, m: Array) -> Array:
        """2."""
        return np.full_like(m, 2.0)

    def conjugate(self, alpha: Array) -> Array:
        """alpha^2 / 4 - alpha, for any alpha; negative for margins above 1."""
        conjugate: Array = alpha * (0.25 * alpha - 1.0)
        return conjugate

    def steepness(self, mean: float) -> float:
        """The bound for squared losses."""
        return steepness_of_square(mean)


@dataclass(frozen=True)
class TanhSquared(MarginLoss):
    """Squared error of tanh(a). Not convex: it tends to 4 as margins fall, and its slope to 0.

    See Also
    --------
    OneVsRest : for more than two classes.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import TanhSquared
    >>> TanhSquared().phi(np.array([-1.0, 0.0, 2.0])).round(4).tolist()
    [3.1032, 1.0, 0.0013]
    """

    name = "tanh_squared"
    convex = False
    attained = False
    max_curvature = 2.465  # the maximum is 2.46493..., at m = 0.2328

    def phi(self, m: Array) -> Array:
        """(1 - tanh m)^2."""
        miss, _ = self._parts(m)
        phi: Array = miss**2
        return phi

    def slope(self, m: Array) -> Array:
        """-2 (1 - tanh m) (1 - tanh^2 m)."""
        miss, rise = self._parts(m)
        return -2.0 * miss * rise

    def curvature(self, m: Array) -> Array:
        """2 s (s + 2 t (1 - t)) with t = 1 - tanh m and s = 1 - tanh^2 m."""
        miss, rise = self._parts(m)
        return 2.0 * rise * (rise + 2.0 * miss * (1.0 - miss))

    def gauss_newton(self, m: Array) -> Array:
        """2 s^2 with s = 1 - tanh^2 m."""
        _, rise = self._parts(m)
        curvature: Array = 2.0 * rise**2
        return curvature

    def steepness(self, mean: float) -> float:
        """The bound for squared losses."""
        return steepness_of_square(mean)

    @staticmethod
    def _parts(m: Array) -> tuple[Array, Array]:
        """1 - tanh m and 1 - tanh^2 m, without cancellation for large |m|."""
        e = np.exp(-2.0 * np.minimum(np.abs(m), 400.0))
        return 2.0 * np.where(m > 0, e, 1.0) / (1.0 + e), 4.0 * e / (1.0 + e) ** 2


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """The loss of the support vector machine.

    See Also
    --------
    CrammerSinger : for more than two classes.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Hinge
    >>> Hinge().phi(np.array([-1.0, 0.0, 2.0])).round(4).tolist()
    [2.0, 1.0, 0.0]
    """

    name = "hinge"
    smooth = False
    hinge_power = 1
    dual_range = 0.0, 1.0

    def phi(self, m: Array) -> Array:
        """max(0, 1 - m)."""
        return np.maximum(0.0, 1.0 - m)

    def slope(self, m: Array) -> Array:
        """-1 below a margin of 1, 0 from there."""
        return np.where(m >= 1, 0.0, -1.0)

    def conjugate(self, alpha: Array) -> Array:
        """-alpha, for alpha in [0, 1]."""
        return -alpha

    def steepness(self, mean: float) -> float:
        """1."""
        return 1.0


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """The hinge squared: smooth, and zero for margins of at least 1.

    See Also
    --------
    OneVsRest : for more than two classes.
    separatrix.LinearClassifier : minimises it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import SquaredHinge
    >>> SquaredHinge().phi(np.array([-1.0, 0.0, 2.0])).round(4).tolist()
    [4.0, 1.0, 0.0]
    """

    name = "squared_hinge"
    max_curvature = 2.0
    falling_curvature = True
    hinge_power = 2
    dual_range = 0.0, np.inf

    def phi(self, m: Array) -> Array:
        """max(0, 1 - m)^2."""
        phi: Array = np.maximum(0.0, 1.0 - m) ** 2
        return phi

    def slope(self, m: Array) -> Array:
        """-2 max(0, 1 - m)."""
        return -2.0 * np.maximum(0.0, 1.0 - m)

    def curvature(self, m: Array) -> Array:
        """2 below a margin of 1, 0 from there (the generalised second derivative)."""
        return np.where(m >= 1, 0.0, 2.0)

    def conjugate(self, alpha: Array) -> Array:
        """alpha^2 / 4 - alpha, for alpha >= 0."""
        conjugate: Array = alpha * (0.25 * alpha - 1.0)
        return conjugate

    def steepness(self, mean: float) -> float:
        """The bound for squared losses."""
        return steepness_of_square(mean)
