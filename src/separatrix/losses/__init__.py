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
from .multiclass import Columns, CrammerSinger, Joint, JointPerceptron, Softmax

__all__ = [
    "REGISTRY",
    "Columns",
    "CrammerSinger",
    "Hinge",
    "Joint",
    "JointPerceptron",
    "Logistic",
    "Loss",
    "MarginLoss",
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


def names() -> tuple[str, ...]:
    """All losses by name.

    >>> names()[:3]
    ('zero_one', 'perceptron', 'logistic')
    """
    return tuple(REGISTRY)


def from_dict(data: Mapping[str, Any]) -> Loss:
    """The loss that ``to_dict`` wrote down as plain data.

    >>> Hinge().to_dict()
    {'loss': 'hinge'}
    >>> from_dict({"loss": "logistic", "multiclass": True})
    Softmax(binary=Logistic())
    """
    several = isinstance(data, Mapping) and data.get("multiclass") is True
    if several:
        data = {key: value for key, value in data.items() if key != "multiclass"}
    loss = registry.from_dict(Loss, data)
    return loss.multiclass() if several else loss


def get_loss(loss: str | Loss) -> Loss:
    """A loss by name, or the object itself, if one can be trained with it.

    >>> get_loss("hinge")
    Hinge()
    """
    if isinstance(loss, str):
        if loss not in REGISTRY:
            known = ", ".join(name for name in REGISTRY if name != ZeroOne.name)
            raise ValueError(f"unknown loss {loss!r}; choose one of {known}, or pass a Loss object")
        loss = REGISTRY[loss]()
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be a name or a Loss object, got {loss!r} of type {type(loss).__name__}"
        )
    if isinstance(loss, ZeroOne):
        raise ValueError(
            "loss='zero_one' counts mistakes and has no slope to descend; train with 'logistic' "
            "or 'hinge', or use separatrix.Perceptron, and measure the zero-one loss as "
            "1 - score(X, y)"
        )
    return loss
