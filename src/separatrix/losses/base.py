"""What every loss offers, what one of the margin adds, and the registry of their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..numeric.registry import Registered
from ..numeric.types import AnyArray, Array
from .rivals import best_rival

REGISTRY: dict[str, type[Loss]] = {}
MULTICLASS: dict[type, Callable[[Any], Loss]] = {}
"""By the class of a loss for two classes, its form for more; a subclass has that of its parent.

Filled in :mod:`separatrix.losses.multiclass` and :mod:`separatrix.losses.one_vs_rest`."""


class Loss(Registered):
    """What a wrong answer costs, given the true labels and the scores, row by row.

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

    @property
    def has_curvature(self) -> bool:
        """Whether the loss defines its second derivative."""
        return False

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
    ``conjugate`` only if fits should prove how near their minimum they are.

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
