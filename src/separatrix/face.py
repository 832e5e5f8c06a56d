"""The dual over some rows alone, whose alphas are inside their bounds: a quadratic."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from . import layout, loops
from .data import ArraySource, Block, Source
from .typing import Array

LITTLE = 0.002  # of the gain so far: a product that adds less is the last


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
    out = np.zeros((1, layout.shape(block.X)[1] + 1))
    loops.combine(block.X, coefficients[block.start : block.start + len(block.y)], out)
    return (out,)
