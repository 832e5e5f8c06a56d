"""Every loss, each a function of the margin ``m = y * (w.x + b)``.

================= =================== ===========================================
name              value               slope
================= =================== ===========================================
``zero_one``      1 if m <= 0 else 0  none: a measure, never a training loss
``perceptron``    max(0, -m)          -1 if m <= 0 else 0
``logistic``      log(1 + e^-m)       -1 / (1 + e^m)
``squared``       (1 - m)^2           -2 (1 - m)
``tanh_squared``  (1 - tanh m)^2      -2 (1 - tanh m) (1 - tanh^2 m)
``hinge``         max(0, 1 - m)       -1 if m < 1 else 0
``squared_hinge`` max(0, 1 - m)^2     -2 max(0, 1 - m)
================= =================== ===========================================

The convention at the kinks: a margin of exactly 0 is a mistake, so the perceptron's slope
there is -1; a margin of exactly 1 satisfies the hinge, so its slope there is 0.

For more than two classes ``multiclass()`` gives the joint form: softmax for ``logistic``, the
multiclass perceptron, Crammer and Singer's hinge, and one -1/+1 column per class for the rest.
That is also the form of ``one_vs_rest_logistic`` and ``one_vs_rest_hinge``, which on two classes
are the logistic loss and the hinge. An estimator that is fitted to an indicator matrix, whose rows
may have several labels, sums the loss over its columns (``MultiLabel``).

A subclass that sets ``name`` registers itself and can then be asked for by that name:

>>> import numpy as np, separatrix
>>> class Exponential(separatrix.MarginLoss):
...     name = "exponential"
...     def phi(self, m): return np.exp(-m)
...     def slope(self, m): return -np.exp(-m)
>>> "exponential" in separatrix.losses.names()
True
>>> del separatrix.losses.REGISTRY["exponential"]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..numeric import registry
from .base import REGISTRY, Loss, MarginLoss
from .margin import (
    Hinge,
    Logistic,
    PerceptronLoss,
    Squared,
    SquaredHinge,
    TanhSquared,
    ZeroOne,
)
from .multiclass import CrammerSinger, Joint, JointPerceptron, Softmax
from .multilabel import MultiLabel, WeightedMultiLabel
from .one_vs_rest import ONE_VS_REST, OneVsRest

__all__ = [
    "REGISTRY",
    "CrammerSinger",
    "Hinge",
    "Joint",
    "JointPerceptron",
    "Logistic",
    "Loss",
    "MarginLoss",
    "MultiLabel",
    "OneVsRest",
    "PerceptronLoss",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "TanhSquared",
    "ZeroOne",
    "from_dict",
    "get_loss",
    "names",
]

FORMS = {ONE_VS_REST + loss.name: OneVsRest(loss) for loss in (Logistic(), Hinge())}
"""Names that differ from another loss only for more than two classes."""
OTHER_NAMES = {
    "log_loss": "logistic", "log": "logistic", "logloss": "logistic", "logit": "logistic",
    "cross_entropy": "logistic", "softmax": "logistic", "multinomial": "logistic",
    "ovr": "one_vs_rest_logistic", "squared_error": "squared", "squared_loss": "squared",
    "least_squares": "squared", "crammer_singer": "hinge", "svm": "hinge",
}  # fmt: skip
"""Names of losses in other libraries."""
SUMS = {"one_vs_rest": OneVsRest, "multilabel": MultiLabel}
"""Sums of a two-class loss over the columns of scores, as ``to_dict`` names them."""


def names() -> tuple[str, ...]:
    """Names of all registered losses.

    See Also
    --------
    get_loss : returns the loss with a given name.

    Examples
    --------
    >>> names()[:3]
    ('zero_one', 'perceptron', 'logistic')
    """
    return tuple(REGISTRY)


def from_dict(data: Mapping[str, Any]) -> Loss:
    """Create a loss from the dict that ``to_dict`` returned.

    Parameters
    ----------
    data : dict
        The result of a loss's ``to_dict``.

    See Also
    --------
    get_loss : returns the loss with a given name.

    Examples
    --------
    >>> Hinge().to_dict()
    {'loss': 'hinge'}
    >>> from_dict({"loss": "logistic", "multiclass": True})
    Softmax(binary=Logistic())
    >>> from_dict({"loss": "logistic", "multiclass": "one_vs_rest"})
    OneVsRest(binary=Logistic())
    """
    form = data.get("multiclass") if isinstance(data, Mapping) else None
    weights = None
    if form is True or (isinstance(form, str) and form in SUMS):
        weights = data.get("weights") if form == "multilabel" else None
        own = ("multiclass",) if weights is None else ("multiclass", "weights")
        data = {key: value for key, value in data.items() if key not in own}
    loss = registry.from_dict(Loss, data)
    if weights is not None and loss.column_loss is not None:
        return WeightedMultiLabel(loss.column_loss, _pairs(weights))
    if isinstance(form, str) and form in SUMS and loss.column_loss is not None:
        return SUMS[form](loss.column_loss)
    return loss.multiclass() if form else loss


def _pairs(weights: Any) -> tuple[tuple[float, float], ...]:
    """Weights of labels from a file; ValueError unless they are two positive numbers for each."""
    found = [tuple(pair) for pair in weights if isinstance(pair, (list, tuple))] if isinstance(
        weights, (list, tuple)
    ) else []  # fmt: skip
    numbers = [value for pair in found for value in pair]
    sound = all(isinstance(value, float) and 0.0 < value < math.inf for value in numbers)
    if not found or len(found) < len(weights) or not sound or {*map(len, found)} != {2}:
        raise ValueError(
            "weights of labels: expected a list with two numbers above 0 for each label"
        )
    return tuple((first, second) for first, second in found)


def get_loss(loss: str | Loss) -> Loss:
    """Return the loss with this name, or the given object, if it can be used for training.

    Parameters
    ----------
    loss : str or Loss
        A name, or a loss object, which is returned unchanged.

    See Also
    --------
    losses.names : lists all names.

    Examples
    --------
    >>> get_loss("hinge"), get_loss("one_vs_rest_logistic")
    (Hinge(), OneVsRest(binary=Logistic()))
    """
    found = known_loss(loss)
    if not found.has_slope:
        raise ValueError(
            f"loss={found.name!r} counts mistakes and has no slope to descend; train with "
            "'logistic' or 'hinge', or use separatrix.Perceptron, and measure the zero-one loss as "
            "1 - score(X, y)"
        )
    return found


def known_loss(loss: str | Loss) -> Loss:
    """Like ``get_loss``, but also accept losses that cannot be used for training."""
    if isinstance(loss, str) and loss in FORMS:
        return FORMS[loss]
    if isinstance(loss, str):
        if loss not in REGISTRY:
            trained = (*(name for name, each in REGISTRY.items() if each().has_slope), *FORMS)
            known = ", ".join(trained)
            also = OTHER_NAMES.get(loss)
            hint = "" if also is None else f"; {loss!r} of other libraries is {also!r} here"
            raise ValueError(
                f"unknown loss {loss!r}; choose one of {known}, or pass a Loss object{hint}"
            )
        return REGISTRY[loss]()
    # ``loss`` comes from the user and may be of any type.
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be a name or a Loss object, got {loss!r} of type {type(loss).__name__}"
        )
    return loss


def one_vs_rest_name(loss: Loss) -> str | None:
    """Name of this loss in its one-vs-rest form; None if it has none.

    >>> [one_vs_rest_name(each) for each in (Hinge(), SquaredHinge(), PerceptronLoss())]
    ['one_vs_rest_hinge', 'squared_hinge', None]
    """
    own = loss.column_loss
    name = "" if own is None else OneVsRest(own).name
    return name if name in REGISTRY or name in FORMS else None
