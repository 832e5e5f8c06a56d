"""The dual over some rows alone, whose alphas are inside their bounds: a quadratic."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ... import loops
from ...data import ArraySource, Block, Source
from ...numeric.rows import shape_of
from ...numeric.tolerances import SAFE_DIVISOR
from ...numeric.types import Array
from .losses import Pulls, Response

LITTLE = 0.002  # of the gain so far: a product that adds less is the last
DEPENDENT = 1e-10  # of the largest bend: so little means that two directions are one
HALVINGS = 6


class Found(NamedTuple):
    """Alphas, by how much the dual is higher there, and by how much it would be without bounds."""

    alpha: Array
    gain: float
    hoped: float


def best_of_face(
    face: ArraySource, alpha: Array, p: Array, W: Array, bends: Array, gives: Array, most: int
) -> Found:
    """Conjugate gradients over all alphas of rows of shares p; then back into the bounds.

    In variables in which the dual bends by 1 for each alone. A pull of 1 moves the weights by
    ``gives``, and each row's margin by its own of ``bends``.
    """
    y = face.y
    scale = 1.0 / (p * np.sqrt(np.maximum(bends, SAFE_DIVISOR)))
    lack = 1.0 - y * scores(face, W)

    def moved(change: Array) -> Array:
        out: Array = combined(face, p * y * change) * gives
        return out

    def product(u: Array) -> Array:
        out: Array = scale * p * y * scores(face, moved(scale * u))
        return out

    u, hoped = climb(product, scale * p * lack, most)
    length = 1.0
    for _ in range(HALVINGS):
        there = np.clip(alpha + length * scale * u, 0.0, 1.0)
        change = there - alpha
        # The dual falls by half of what the pulls themselves turn the margins by.
        gain = float((p * change) @ (lack - 0.5 * y * scores(face, moved(change))))
        if gain >= 0.1 * length * hoped:
            break
        length *= 0.5
    return Found(there, gain, hoped)


def best_lengths(bends: Array, slopes: Array) -> Array:
    """Of some directions, to the highest point that they span; 0 where one adds nothing."""
    size = np.sqrt(np.maximum(np.diag(bends), SAFE_DIVISOR))
    scaled = bends / size / size[:, None]
    lengths: Array = np.linalg.lstsq(scaled, slopes / size, rcond=DEPENDENT)[0] / size
    return lengths


def scores(source: ArraySource, W: Array) -> Array:
    """Of every row, (n,)."""
    out = np.empty((len(source.y), 1))
    source.total(partial(_score, W=W, out=out))
    return out[:, 0]


def combined(source: Source, coefficients: Array) -> Array:
    """Sum of the rows (x, 1), each times its coefficient: (1, d + 1)."""
    (total,) = source.total(partial(_combine, coefficients=coefficients[:, None]))
    out: Array = total
    return out


def pulls_of(source: ArraySource, response: Response, alpha: Array) -> Pulls:
    """Of all rows, from which weights and the bound follow."""
    sums, gains = source.total(partial(_pulls, response=response, alpha=alpha))
    return Pulls(sums / source.weight_sum, gains / source.weight_sum)


def climb(product: Callable[[Array], Array], right: Array, most: int) -> tuple[Array, float]:
    """Conjugate gradients towards the highest ``right.u - u.product(u) / 2``, and what it gains."""
    u, r, p = np.zeros_like(right), right, right
    size, gain = float(r @ r), 0.0
    for _ in range(most):
        image = product(p)
        bend = float(p @ image)
        if not bend > 0.0:
            break
        length = size / bend
        u = u + length * p
        r = r - length * image
        gain += 0.5 * length * size
        if 0.5 * length * size <= LITTLE * gain:
            break
        size, before = float(r @ r), size
        p = r + size / before * p
    return u, gain


# Parts of a sum, one block each.


def _score(block: Block, W: Array, out: Array) -> tuple[()]:
    loops.scores(block.X, W, out[block.start : block.start + len(block.y)])
    return ()


def _combine(block: Block, coefficients: Array) -> tuple[Array]:
    out = np.zeros((1, shape_of(block.X)[1] + 1))
    loops.transpose_product(block.X, coefficients[block.start : block.start + len(block.y)], out)
    return (out,)


def _pulls(block: Block, response: Response, alpha: Array) -> tuple[Array, Array]:
    at = slice(block.start, block.start + len(block.y))
    pull, gain = response.coefficients(block.y, alpha[at].reshape(-1, response.columns))
    if block.weight is not None:
        pull, gain = pull * block.weight[:, None], gain * block.weight[:, None]
    out = np.zeros((response.groups, shape_of(block.X)[1] + 1))
    loops.transpose_product(block.X, pull, out)
    return out, gain.sum(axis=0)
