"""Second derivatives by the scores of all classes, a tile of rows at a time.

``rows`` are :class:`DeviceRows`, which call these functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...losses import Loss
from ...numeric.types import AnyArray, Array
from .kernels import THREADS, WARP, CudaKernel
from .losses import MARGINS, SOFTMAX, KernelLoss, kernel_loss

ROOTS, DIAGONAL, PRODUCT = range(3)  # as class_curvature.cu numbers them


def curved(loss: Loss, W: Any) -> KernelLoss | None:
    """The loss if the kernels know its second derivative for these classes; else None."""
    known = kernel_loss(loss)
    if known is None or not loss.convex or not loss.has_curvature:
        return None
    return known if known.form in (MARGINS, SOFTMAX) else None


def class_curvature(
    rows: Any, y: AnyArray, loss: KernelLoss, W: Any, weight: Array | None, of: int | None
) -> Any:
    """Weight times second derivative by the score of one class, or the mean over classes: (n,)."""
    device, k = rows.device, len(W)
    at_weights, labels, weights = rows.on_device(W), rows.labels_of(y, k), rows.weights_of(weight)
    bend = device.empty((rows.shape[0],))
    for at, tile in rows.tiles(k):
        sums = device.empty((at.stop - at.start, 2))
        some = None if weights is None else weights[at]
        scores = tile.scores(at_weights)
        rows.losses(loss, scores, labels[at], some, sums, False, bend[at], of)
    return bend


def curvature_product(
    rows: Any, y: AnyArray, loss: KernelLoss, W: Any, V: Any, weight: Array | None
) -> Any:
    """The second derivative of the sum of losses at W times V, (k, d + 1) on the device."""
    device, k = rows.device, len(W)
    at_weights, along = rows.on_device(W), rows.on_device(V)
    labels, weights = rows.labels_of(y, k), rows.weights_of(weight)
    out = device.zeros(V.shape)
    for at, tile in rows.tiles(k):
        turn = tile.products(along)
        _launch(rows, loss, PRODUCT, tile, at_weights, turn, labels, weights, at)
        tile.add_transpose(turn, out)
    return out


def curvature_sum(rows: Any, y: AnyArray, loss: KernelLoss, W: Any, weight: Array | None) -> Array:
    """Sum over the rows of the second derivative by the scores of every two classes: (k, k)."""
    device, k = rows.device, len(W)
    at_weights, labels, weights = rows.on_device(W), rows.labels_of(y, k), rows.weights_of(weight)
    diagonal, products = device.zeros((k,)), device.zeros((k, k))
    for at, tile in rows.tiles(k):
        if loss.form == MARGINS:
            found = _launch(rows, loss, DIAGONAL, tile, at_weights, None, labels, weights, at)
            rows.column_sums(found, diagonal, add=True)
        else:
            roots = _launch(rows, loss, ROOTS, tile, at_weights, None, labels, weights, at)
            device.multiply(roots, roots, products, turn_a=True, add=True)
    if loss.form == MARGINS:
        return np.diag(device.download(diagonal))
    off: Array = -device.download(products)
    # The rows of the matrix sum to 0, so the diagonal is minus the sum of the others.
    np.fill_diagonal(off, 0.0)
    np.fill_diagonal(off, -off.sum(axis=1))
    return off


def _launch(
    rows: Any, loss: KernelLoss, mode: int, tile: Any, W: Any, turn: Any,
    labels: Any, weights: Any, at: slice,
) -> Any:  # fmt: skip
    """The scores of a tile, replaced as the mode says."""
    scores = tile.scores(W)
    count, k = scores.shape
    lanes = 1 if k <= 4 else WARP
    kernel = CudaKernel.of(
        "class_curvature", FORM=loss.form, LOSS=loss.margin, LANES=lanes, MODE=mode
    )
    rows.device.launch(
        kernel, rows.blocks(count, THREADS // lanes), scores, scores if turn is None else turn,
        np.int64(count), np.int32(k), labels[at], None if weights is None else weights[at],
    )  # fmt: skip
    return scores
