"""Which losses have kernels."""

from __future__ import annotations

from typing import NamedTuple

from ...losses import Loss
from ...losses.margin import (
    Hinge,
    Logistic,
    PerceptronLoss,
    Squared,
    SquaredHinge,
    TanhSquared,
)
from ...losses.multiclass import CrammerSinger, JointPerceptron, Softmax
from ...losses.one_vs_rest import OneVsRest

MARGINS, SOFTMAX, CRAMMER_SINGER, JOINT_PERCEPTRON = range(4)
NUMBERS: dict[type[Loss], int] = {
    Logistic: 0, Squared: 1, SquaredHinge: 2, TanhSquared: 3, Hinge: 4, PerceptronLoss: 5,
}  # fmt: skip
JOINT: dict[type[Loss], int] = {
    Softmax: SOFTMAX, CrammerSinger: CRAMMER_SINGER, JointPerceptron: JOINT_PERCEPTRON,
}  # fmt: skip


class KernelLoss(NamedTuple):
    """How the kernels know a loss."""

    form: int
    margin: int
    """The number of the loss of each column, if the form is ``MARGINS``."""


def kernel_loss(loss: Loss) -> KernelLoss | None:
    """The numbers of a loss; None for a loss without kernels, such as a user's."""
    own = loss.column_loss
    if own is not None:  # a user's subclass may have another formula, or labels of another form
        known = type(own) in NUMBERS and (own is loss or type(loss) is OneVsRest)
        return KernelLoss(MARGINS, NUMBERS[type(own)]) if known else None
    return KernelLoss(JOINT[type(loss)], 0) if type(loss) in JOINT else None
