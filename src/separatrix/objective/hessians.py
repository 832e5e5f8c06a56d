"""How much losses bend: second derivatives of a block's sum, by the scores and by the weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import loops
from ..data import Block
from ..losses import Joint, Loss, MarginLoss, Squared
from ..numeric.types import Array
from .standardization import Standardization, gram

Curvature = Callable[[int, int], Array | None]
"""For two classes, the second derivative of every row by their scores; None if it is 0."""


def curvature_of(block: Block, loss: Loss, W: Array) -> Curvature:
    """Weighted second derivative of every row by the scores of two classes."""
    weight = block.weight
    if type(loss) is Squared:  # the same at any score
        bend = np.full(len(block.y), 2.0) if weight is None else 2.0 * weight
        return lambda a, b: bend
    if isinstance(loss, MarginLoss):
        bend = np.empty(len(block.y))
        loops.batch_pass(block.X, block.y, loss, W, weight=weight, curvature=bend)
        if not np.all(bend >= 0.0):
            raise ValueError(
                f"{loss!r} has a negative second derivative: it is not convex; set convex = False "
                "in its class and use LBFGS()"
            )
        return lambda a, b: bend
    entries = _joint(loss).curvature_entries(block.y, loops.scores(block.X, W))

    def weighted(a: int, b: int) -> Array | None:
        entry = entries(a, b)
        if entry is None or weight is None:
            return entry
        return np.where(weight != 0.0, weight * entry, 0.0)

    return weighted


def class_curvature(block: Block, loss: Loss, W: Array, of: int | None = None) -> Array:
    """Of every row by the score of one class, or their mean."""
    curvature = curvature_of(block, loss, W)
    if of is not None:
        return np.asarray(curvature(of, of))
    entries = (curvature(c, c) for c in range(len(W)))
    return np.asarray(sum(entry for entry in entries if entry is not None) / len(W))


def bias_curvature(block: Block, loss: Loss, W: Array) -> tuple[Array]:
    """Second derivative of a block's sum by the biases, (k, k)."""
    if isinstance(loss, MarginLoss):
        return (np.sum(np.asarray(curvature_of(block, loss, W)(0, 0))).reshape(1, 1),)
    weight = np.ones(len(block.y)) if block.weight is None else block.weight
    present = weight != 0.0  # others may have scores that are not finite
    scores = loops.scores(block.X, W)[present]
    return (_joint(loss).curvature_sum(block.y[present], scores, weight[present]),)


def hessian_of(block: Block, loss: Loss, W: Array, standardization: Standardization) -> Array:
    """The second derivative of a block's sum by all standardised variables."""
    curvature = curvature_of(block, loss, W)
    return assemble_hessian(
        len(W), W.shape[1], curvature, lambda c: gram(block.X, c, standardization)
    )


def assemble_hessian(
    k: int, d: int, curvature: Curvature, products: Callable[[Array], Array]
) -> Array:
    """The second derivative by all k * d variables, from products for every pair of classes."""
    hessian = np.zeros((k * d, k * d))
    for a in range(k):
        for b in range(a, k):
            entry = curvature(a, b)
            if entry is None:
                continue
            part = products(entry)
            hessian[a * d : (a + 1) * d, b * d : (b + 1) * d] = part
            hessian[b * d : (b + 1) * d, a * d : (a + 1) * d] = part
    return hessian


def hessian_product(block: Block, loss: Loss, W: Array, V: Array) -> tuple[Array]:
    """The second derivative of a block's sum at W times V, both (k, d + 1)."""
    product = np.zeros(V.shape)
    if isinstance(loss, MarginLoss):
        curvature = curvature_of(block, loss, W)(0, 0)
        loops.hessian_product(block.X, np.asarray(curvature), V[0], product[0])
        return (product,)
    scores, turn = loops.scores(block.X, W), loops.scores(block.X, V)
    change = _joint(loss).curvature_product(block.y, scores, turn)
    weight = np.ones(len(change)) if block.weight is None else block.weight
    loops.transpose_product(block.X, weight[:, None] * change, product)
    return (product,)


def _joint(loss: Loss) -> Joint:
    if not isinstance(loss, Joint):
        raise TypeError(f"{loss!r} defines no curvature")
    return loss
