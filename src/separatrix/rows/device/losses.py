"""Which losses have kernels: those that are compiled for the CPU, too."""

from __future__ import annotations

from typing import NamedTuple

from ...loops import compiled
from ...losses import Loss
from ...losses.margin import (
    Hinge,
    Logistic,
    PerceptronLoss,
    Squared,
    SquaredHinge,
    TanhSquared,
)

MARGINS, SOFTMAX, CRAMMER_SINGER, JOINT_PERCEPTRON = range(4)  # forms, as class_losses.cu has them
OF_MARGIN = Logistic(), Squared(), SquaredHinge(), TanhSquared(), Hinge(), PerceptronLoss()
"""In the order of their numbers in margin_losses.cuh."""
NUMBERS = {compiled(loss): number for number, loss in enumerate(OF_MARGIN)}
JOINT = {
    compiled(loss.multiclass()): form
    for loss, form in (
        (Logistic(), SOFTMAX), (Hinge(), CRAMMER_SINGER), (PerceptronLoss(), JOINT_PERCEPTRON),
    )
}  # fmt: skip


class KernelLoss(NamedTuple):
    """How the kernels know a loss."""

    form: int
    margin: int  # the number of the loss of each column, if the form is ``MARGINS``


def kernel_loss(loss: Loss) -> KernelLoss | None:
    """The numbers of a loss; None for a loss without kernels, such as a user's."""
    number, own = compiled(loss), loss.column_loss
    if number is None or loss.several_labels:  # the kernels take the number of a class
        return None
    if own is None:
        return KernelLoss(JOINT[number], 0) if number in JOINT else None
    margin = NUMBERS.get(compiled(own))
    return None if margin is None else KernelLoss(MARGINS, margin)
