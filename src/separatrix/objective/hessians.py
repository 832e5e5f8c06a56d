"""Second derivatives of a block's sum of losses with respect to scores and weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..data import Block
from ..losses import Loss
from ..numeric.standardization import Standardization
from ..numeric.types import Array

Curvature = Callable[[int, int], Array | None]
"""The second derivative of every row's loss by the scores of two classes; None if it is 0."""


def curvature_of(block: Block, loss: Loss, W: Array) -> Curvature:
    """Weighted second derivative of every row's loss by the scores of two classes.

    For a non-convex loss, the second derivative of a convex model.
    """
    weight, same = block.weight, loss.constant_curvature
    own = loss.column_loss if len(W) == 1 else None
    if own is not None and same is not None:  # at any score
        curvature = np.full(len(block.y), same) if weight is None else same * weight
        return lambda a, b: curvature
    if own is not None and not own.convex:
        model = own.model_curvature(block.y * block.rows.scores(W)[:, 0])
        curvature = np.where(block.weights != 0.0, block.weights * model, 0.0)
        return lambda a, b: curvature
    if own is not None:
        curvature = np.empty(len(block.y))
        block.rows.value_gradient(block.y, loss, W, weight, curvature=curvature)
        if not np.all(curvature >= 0.0):
            raise ValueError(
                f"{loss!r} has a negative second derivative: it is not convex; set convex = False "
                "in its class and use LBFGS()"
            )
        return lambda a, b: curvature
    entries = loss.curvature_entries(block.y, block.rows.scores(W))

    def weighted(a: int, b: int) -> Array | None:
        entry = entries(a, b)
        if entry is None or weight is None:
            return entry
        return np.where(weight != 0.0, weight * entry, 0.0)

    return weighted


def class_curvature(block: Block, loss: Loss, W: Array, of: int | None = None) -> Array:
    """Second derivative of every row's loss by the score of one class, or the mean over classes."""
    found = block.rows.class_curvature(block.y, loss, W, block.weight, of)
    if found is not None:
        return found
    curvature = curvature_of(block, loss, W)
    if of is not None:
        return np.asarray(curvature(of, of))
    entries = (curvature(c, c) for c in range(len(W)))
    return np.asarray(sum(entry for entry in entries if entry is not None) / len(W))


def hessian_of(block: Block, loss: Loss, W: Array, standardization: Standardization) -> Array:
    """The second derivative of a block's sum in all standardised variables."""
    curvature, shifts, rows = curvature_of(block, loss, W), loss.shifts, block.rows
    return assemble_hessian(
        len(W), W.shape[1], curvature, lambda c: rows.gram(c, standardization), shifts
    )


def assemble_hessian(
    k: int, d: int, curvature: Curvature, products: Callable[[Array], Array], shifts: bool = False
) -> Array:
    """The second derivative in all k * d variables, from products for every pair of classes.

    If the loss does not change when all scores are shifted together, the blocks of a class sum to
    0, and its diagonal block follows from the others.
    """
    if k == 1:
        entry = curvature(0, 0)
        return np.zeros((d, d)) if entry is None else products(entry)
    hessian = np.zeros((k * d, k * d))
    for a in range(k):
        for b in range(a + shifts, k):
            entry = curvature(a, b)
            if entry is None:
                continue
            part = products(entry)
            hessian[a * d : (a + 1) * d, b * d : (b + 1) * d] = part
            hessian[b * d : (b + 1) * d, a * d : (a + 1) * d] = part
            for c in (a, b) if shifts else ():
                hessian[c * d : (c + 1) * d, c * d : (c + 1) * d] -= part
    return hessian
