"""Base classes of losses and the registry of their names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..numeric.registry import Registered
from ..numeric.types import AnyArray, Array
from .rivals import best_rival

Entries = Callable[[int, int], "Array | None"]
FORMULA = frozenset({"value", "gradient", "phi", "slope", "conjugate"})
"""Methods that define a loss: a subclass that overrides any of these is a different loss."""
OF_FORMULA = (
    "homogeneous", "log_likelihood", "dual_range", "constant_curvature", "falling_curvature",
    "hinge_power",
)  # fmt: skip
"""Attributes that hold for one formula: a subclass that changes the formula must set them again."""

REGISTRY: dict[str, type[Loss]] = {}
MULTICLASS: dict[type, Callable[[Any], Loss]] = {}
"""Maps the class of a two-class loss to its multiclass form; subclasses inherit the form.

Filled in :mod:`separatrix.losses.multiclass` and :mod:`separatrix.losses.one_vs_rest`."""


class Loss(Registered):
    """Cost of a wrong answer for each sample, given the true labels and the scores.

    Solvers and proofs check what a loss can do, not which class it is. The attributes below are
    trusted. ``homogeneous``, ``log_likelihood``, ``hinge_power``, ``dual_range``,
    ``constant_curvature`` and ``falling_curvature`` are not inherited by a subclass that changes
    the formula.

    See Also
    --------
    MarginLoss : base class of losses for two classes.
    get_loss : returns the loss with a given name.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import get_loss
    >>> get_loss("hinge").value(np.array([-1.0, 1.0]), np.array([[0.5], [0.5]])).tolist()
    [1.5, 0.5]
    """

    _kind, _registry = "loss", REGISTRY
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    """Whether the gradient is continuous."""
    attained: ClassVar[bool] = True
    """Whether the minimum loss of a sample is reached at a finite score, not only approached."""
    max_curvature: ClassVar[float | None] = None
    """Largest second derivative, if known; sets the default step of gradient descent."""
    constant_curvature: ClassVar[float | None] = None
    """Second derivative with respect to a score if it is constant, as for a quadratic loss."""
    falling_curvature: ClassVar[bool] = False
    """Whether the second derivative by the margin does not rise with the margin."""
    shifts: ClassVar[bool] = False
    """Whether only differences of scores matter, so that biases are normalised to sum to 0."""
    several_labels: ClassVar[bool] = False
    """Whether samples may have several labels, so that y has a column of -1 and +1 for each."""
    weighs_columns: ClassVar[bool] = False
    """Whether the terms of ``column_loss`` have weights, ``column_weights``."""
    homogeneous: ClassVar[bool] = False
    """Whether scaling scores by c > 0 scales the loss by c, so that weights of 0 are a minimum."""
    log_likelihood: ClassVar[bool] = False
    """Whether the loss is a negative log-likelihood: its conjugate is the negative entropy of the
    probabilities, and its third derivative is bounded by its second."""
    hinge_power: ClassVar[int | None] = None
    """The p of a loss that is ``max(0, 1 - m)^p`` for the margin m; None for other losses."""
    dual_range: ClassVar[tuple[float, float] | None] = None
    """Where the conjugate is finite, if known; the interval starts at 0 for a loss that falls to 0
    as margins grow."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not FORMULA.isdisjoint(cls.__dict__):
            for name in OF_FORMULA:
                if name not in cls.__dict__:
                    setattr(cls, name, getattr(Loss, name))

    def value(self, y: AnyArray, scores: Array) -> Array:
        """Loss of each row, (n,), for scores (n, k)."""
        raise NotImplementedError

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        """Derivative with respect to the scores, (n, k)."""
        raise NotImplementedError

    def mistakes(self, y: AnyArray, scores: Array) -> AnyArray:
        """Samples whose true class does not have the strictly highest score, (n,) booleans."""
        wrong: AnyArray
        if scores.shape[1] == 1:
            wrong = np.logical_not(y * scores[:, 0] > 0)
        else:
            own, _, best = best_rival(y, scores)
            wrong = np.logical_not(own > best)
        return wrong

    def steepness(self, mean: float) -> float:
        """Bound on the mean norm of the gradient with respect to the scores, given the mean loss.

        It limits how much rounding of the scores can change the mean loss; proofs account for it.
        The default is a rough estimate, good enough to compare two values of the objective, but not
        for a proof (``has_steepness``).
        """
        return steepness_of_square(mean)

    @property
    def has_steepness(self) -> bool:
        """Whether the loss defines ``steepness``, which every proof needs."""
        return type(self).steepness is not Loss.steepness

    @property
    def column_loss(self) -> MarginLoss | None:
        """The margin loss that this loss sums over the columns of scores.

        With two classes there is one column, and this is the loss itself. None if the loss couples
        the classes.
        """
        return None

    @property
    def unweighted(self) -> Loss:
        """The same without ``column_weights``, as held-out samples are measured."""
        return self

    @property
    def side_weights(self) -> Array:
        """Weights of samples on the -1 side and on the +1 side, by column: (2, k), or (2, 1)."""
        return np.ones((2, 1))

    def column_weights(self, y: AnyArray) -> Array | float:
        """Weights of the terms of ``column_loss``; broadcast with the scores."""
        return 1.0

    def signs(self, y: AnyArray, scores: Array) -> Array:
        """Factors that turn scores into margins of ``column_loss``; broadcast with the scores."""
        raise TypeError(f"{self!r} is not a function of a margin, nor of one for each class")

    def curvature_product(self, y: AnyArray, scores: Array, V: Array) -> Array:
        """Second derivative with respect to the scores times V, both (n, k)."""
        raise TypeError(f"{self!r} defines no curvature")

    def curvature_entries(self, y: AnyArray, scores: Array) -> Entries:
        """Function of two class indices: second derivative with respect to their scores, (n,).

        It returns None where the derivative is always 0.
        """
        raise TypeError(f"{self!r} defines no curvature")

    def curvature_sum(self, y: AnyArray, scores: Array, weight: Array) -> Array:
        """Sum of ``curvature_entries`` over the samples, weighted, (k, k)."""
        raise TypeError(f"{self!r} defines no curvature")

    @property
    def spares(self) -> bool:
        """Whether samples with a large margin have zero loss, and so dual variables of 0."""
        return self.attained and self.dual_range is not None and self.dual_range[0] == 0.0

    @property
    def has_curvature(self) -> bool:
        """Whether the loss defines its second derivative."""
        return False

    @property
    def has_slope(self) -> bool:
        """Whether the loss has a useful derivative, so that it can be used for training."""
        return True

    @property
    def has_convex_model(self) -> bool:
        """Whether a quadratic model with a minimum exists at all scores."""
        return self.convex and self.has_curvature

    @property
    def has_conjugate(self) -> bool:
        """Whether the loss defines its conjugate, which lower bounds on J need."""
        return False

    def for_classes(self, k: int) -> Loss:
        """The loss for this number of classes."""
        return self if k == 2 else self.multiclass()

    def multiclass(self) -> Loss:
        """The loss for more than two classes, where y is the class index."""
        for kind in type(self).__mro__:
            if kind in MULTICLASS:
                return MULTICLASS[kind](self)
        raise NotImplementedError(f"{type(self).__qualname__} defines no loss for more classes")


class MarginLoss(Loss):
    """Base class of losses for two classes: vectorised scalar functions of the margin.

    A subclass defines ``phi`` and ``slope``. Add ``curvature`` to allow Newton's method, and
    ``conjugate`` and ``steepness`` to let fits prove how close to the minimum they are.

    See Also
    --------
    LinearClassifier : accepts a loss object as ``loss``.
    LossDisplay : plots it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import LinearClassifier, MarginLoss
    >>> class Exponential(MarginLoss):
    ...     convex = smooth = True
    ...     def phi(self, m):
    ...         return np.exp(-m)
    ...     def slope(self, m):
    ...         return -np.exp(-m)
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> clf = LinearClassifier(Exponential(), l2=0.1).fit(X, y)
    >>> clf.stop_, clf.predict([[1.2], [1.8]])
    ('tol', array([0, 1]))
    """

    def phi(self, m: Array) -> Array:
        """Value at the margin."""
        raise NotImplementedError

    def slope(self, m: Array) -> Array:
        """Derivative at the margin; at a kink, the convention of ``separatrix.losses`` applies."""
        raise NotImplementedError

    def curvature(self, m: Array) -> Array:
        """Second derivative at the margin."""
        raise NotImplementedError

    def gauss_newton(self, m: Array) -> Array:
        """For a non-convex squared loss: twice the square of the inner function's derivative.

        This is the second derivative after linearising the inner function; it is never negative.
        """
        raise NotImplementedError

    def model_curvature(self, m: Array) -> Array:
        """Curvature of a quadratic model that has a minimum: the second derivative if convex.

        Otherwise the larger of the second derivative, which may be negative, and the Gauss-Newton
        curvature, which may be half of it and then gives steps that are too long.
        """
        if self.convex:
            return self.curvature(m)
        larger: Array = np.maximum(self.curvature(m), self.gauss_newton(m))
        return larger

    def conjugate(self, alpha: Array) -> Array:
        """Smallest ``c`` with ``phi(m) >= -alpha * m - c`` for all m, at ``alpha >= 0``.

        This is phi*(-alpha) in convex analysis. It is 0 at 0, because the infimum of ``phi`` is 0.
        """
        raise NotImplementedError

    @property
    def has_curvature(self) -> bool:
        """Whether the loss defines its second derivative."""
        return type(self).curvature is not MarginLoss.curvature

    @property
    def has_slope(self) -> bool:
        """Whether the loss defines its derivative."""
        return type(self).slope is not MarginLoss.slope

    @property
    def column_loss(self) -> MarginLoss | None:
        """This loss: there is one column of scores."""
        return self

    def signs(self, y: AnyArray, scores: Array) -> Array:
        """The labels -1 and +1 as a column, (n, 1)."""
        signs: Array = y[:, None]
        return signs

    @property
    def has_convex_model(self) -> bool:
        """Whether the loss has curvature and is convex or a square."""
        square = type(self).gauss_newton is not MarginLoss.gauss_newton
        return self.has_curvature and (self.convex or square)

    @property
    def has_conjugate(self) -> bool:
        """Whether the loss defines its conjugate, which lower bounds on J need."""
        return type(self).conjugate is not MarginLoss.conjugate

    def value(self, y: AnyArray, scores: Array) -> Array:
        """Loss of each row, (n,), for y in -1, +1 and scores (n, 1)."""
        return self.phi(y * scores[:, 0])

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        """Derivative with respect to the scores, (n, 1)."""
        gradient: Array = (self.slope(y * scores[:, 0]) * y)[:, None]
        return gradient


def steepness_of_square(mean: float) -> float:
    """Bound for a loss whose slope is at most 1, or at most twice the root of the loss.

    By Jensen's inequality the mean of the roots is at most the root of the mean.
    """
    return 1.0 + mean + 2.0 * math.sqrt(max(mean, 0.0))
