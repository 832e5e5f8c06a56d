"""What every loss offers, what one of the margin adds, and the registry of their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..numeric.registry import Registered
from ..numeric.types import AnyArray, Array
from .rivals import best_rival

Entries = Callable[[int, int], "Array | None"]
FORMULA = frozenset({"value", "gradient", "phi", "slope", "conjugate"})
"""What defines a loss: a subclass that changes any of these is another loss."""
OF_FORMULA = ("homogeneous", "log_likelihood", "dual_range", "constant_curvature")
"""What is true of one formula: a subclass that changes the formula states it anew."""

REGISTRY: dict[str, type[Loss]] = {}
MULTICLASS: dict[type, Callable[[Any], Loss]] = {}
"""By the class of a loss for two classes, its form for more; a subclass has that of its parent.

Filled in :mod:`separatrix.losses.multiclass` and :mod:`separatrix.losses.one_vs_rest`."""


class Loss(Registered):
    """What a wrong answer costs, given the true labels and the scores, row by row.

    Solvers and proofs ask a loss what it can do, not which class it is. The attributes below are
    statements about the loss, and they are trusted. ``homogeneous``, ``log_likelihood``,
    ``dual_range`` and ``constant_curvature`` are not inherited by a subclass that changes the
    formula.

    See Also
    --------
    MarginLoss : of two classes; what to derive from.
    get_loss : one by its name.

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
    """Whether the least loss of a row is taken at some score, and not only approached."""
    max_curvature: ClassVar[float | None] = None
    """Largest second derivative, for the default step of gradient descent, where known."""
    constant_curvature: ClassVar[float | None] = None
    """The second derivative by a score, if it is the same everywhere: the loss is quadratic."""
    shifts: ClassVar[bool] = False
    """Whether only differences of scores matter, so that biases are reported with sum 0."""
    homogeneous: ClassVar[bool] = False
    """Whether scores times c > 0 cost c times as much: weights of 0 are then a useless minimum."""
    log_likelihood: ClassVar[bool] = False
    """Whether it is minus the log of a probability: its conjugate is minus the entropy of the
    probabilities, and its third derivative is no larger than its second."""
    dual_range: ClassVar[tuple[float, float] | None] = None
    """Where the conjugate is finite, if known; from 0 on for a loss that falls to 0 as margins
    grow."""

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
        """Derivative by the scores, (n, k)."""
        raise NotImplementedError

    def mistakes(self, y: AnyArray, scores: Array) -> AnyArray:
        """Rows whose true class is not strictly ahead, (n,) booleans."""
        wrong: AnyArray
        if scores.shape[1] == 1:
            wrong = np.logical_not(y * scores[:, 0] > 0)
        else:
            own, _, best = best_rival(y, scores)
            wrong = np.logical_not(own > best)
        return wrong

    def steepness(self, mean: float) -> float:
        """A bound on the mean length of the gradient by the scores, given the mean loss.

        It says how far rounded scores can change the mean loss, and proofs allow for that. A loss
        that does not define it gets a rough estimate, which is enough to compare two values of
        the objective. A proof is refused then (``has_steepness``).
        """
        return steepness_of_square(mean)

    @property
    def has_steepness(self) -> bool:
        """Whether the loss defines ``steepness``, without which nothing is proven."""
        return type(self).steepness is not Loss.steepness

    @property
    def column_loss(self) -> MarginLoss | None:
        """The loss of a margin whose sum over the columns of scores this is.

        For two classes there is one column, and it is the loss itself. None if the loss couples
        the classes.
        """
        return None

    def signs(self, y: AnyArray, scores: Array) -> Array:
        """By which scores are multiplied to get the margins of ``column_loss``; broadcasts."""
        raise TypeError(f"{self!r} is not a function of a margin, nor of one for each class")

    def curvature_product(self, y: AnyArray, scores: Array, V: Array) -> Array:
        """Second derivative by the scores times V, both (n, k)."""
        raise TypeError(f"{self!r} defines no curvature")

    def curvature_entries(self, y: AnyArray, scores: Array) -> Entries:
        """A function of two classes: the second derivative by their scores, (n,).

        None where it is always 0.
        """
        raise TypeError(f"{self!r} defines no curvature")

    def curvature_sum(self, y: AnyArray, scores: Array, weight: Array) -> Array:
        """Those entries, weighted and summed over the rows, (k, k)."""
        raise TypeError(f"{self!r} defines no curvature")

    @property
    def spares(self) -> bool:
        """Whether rows of large margin cost nothing at all, so that their alphas are 0."""
        return self.attained and self.dual_range is not None and self.dual_range[0] == 0.0

    @property
    def has_curvature(self) -> bool:
        """Whether the loss defines its second derivative."""
        return False

    @property
    def has_slope(self) -> bool:
        """Whether there is a slope to descend, so that one can train with it."""
        return True

    @property
    def has_convex_model(self) -> bool:
        """Whether it has a quadratic model with a minimum at any scores."""
        return self.convex and self.has_curvature

    @property
    def has_conjugate(self) -> bool:
        """Whether the loss defines what lower bounds on J are made of."""
        return False

    def for_classes(self, k: int) -> Loss:
        """The loss for this number of classes."""
        return self if k == 2 else self.multiclass()

    def multiclass(self) -> Loss:
        """The loss for more than two classes; y is then the number of the class."""
        for kind in type(self).__mro__:
            if kind in MULTICLASS:
                return MULTICLASS[kind](self)
        raise NotImplementedError(f"{type(self).__qualname__} defines no loss for more classes")


class MarginLoss(Loss):
    """A loss for two classes: scalar functions of the margin, vectorised.

    A subclass defines ``phi`` and ``slope``; ``curvature`` only if Newton should take it, and
    ``conjugate`` and ``steepness`` only if fits should prove how near their minimum they are.

    See Also
    --------
    LinearClassifier : takes one as its ``loss``.
    LossDisplay : draws it.

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
        """Derivative at the margin; at a kink, the one of the module's convention."""
        raise NotImplementedError

    def curvature(self, m: Array) -> Array:
        """Second derivative at the margin."""
        raise NotImplementedError

    def gauss_newton(self, m: Array) -> Array:
        """Of a loss that is not convex, a square: twice the squared slope of what is squared.

        The second derivative of its model with that function made linear, never negative.
        """
        raise NotImplementedError

    def model_curvature(self, m: Array) -> Array:
        """That of a quadratic model with a minimum: the second derivative.

        Of a loss that is not convex Gauss and Newton's, where that is larger: the second derivative
        alone may be negative, and Gauss and Newton's may be half of it, so that steps are too long.
        """
        if self.convex:
            return self.curvature(m)
        larger: Array = np.maximum(self.curvature(m), self.gauss_newton(m))
        return larger

    def conjugate(self, alpha: Array) -> Array:
        """The least ``c`` with ``phi(m) >= -alpha * m - c`` for all m, at ``alpha >= 0``.

        Convex analysts write it phi*(-alpha). It is 0 at 0: ``phi`` comes down to 0.
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
        """Itself: there is one column of scores."""
        return self

    def signs(self, y: AnyArray, scores: Array) -> Array:
        """The labels, -1 and +1: (n, 1)."""
        signs: Array = y[:, None]
        return signs

    @property
    def has_convex_model(self) -> bool:
        """Whether it is curved, and convex or a square."""
        square = type(self).gauss_newton is not MarginLoss.gauss_newton
        return self.has_curvature and (self.convex or square)

    @property
    def has_conjugate(self) -> bool:
        """Whether the loss defines its conjugate, from which lower bounds on J are made."""
        return type(self).conjugate is not MarginLoss.conjugate

    def value(self, y: AnyArray, scores: Array) -> Array:
        """Loss of each row, (n,), for y in -1, +1 and scores (n, 1)."""
        return self.phi(y * scores[:, 0])

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        """Derivative by the scores, (n, 1)."""
        gradient: Array = (self.slope(y * scores[:, 0]) * y)[:, None]
        return gradient


def steepness_of_square(mean: float) -> float:
    """A bound for a loss whose slope s is at most 1, or at most twice the loss's root.

    By Jensen's inequality: the mean of the roots is at most the root of the mean.
    """
    return 1.0 + mean + 2.0 * float(np.sqrt(max(mean, 0.0)))
