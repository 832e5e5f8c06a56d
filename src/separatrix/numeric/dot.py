"""Sums of products of weights, with the same bits on any number of threads."""

from __future__ import annotations

import numpy as np

from .types import Array


def dot(a: Array, b: Array) -> float:
    """Sum of a * b, both of one shape.

    Not by BLAS: of many its threads change the last bits, and wait for more so eagerly that those
    of a solver are held up.
    """
    return float(np.einsum("i,i->", a.ravel(), b.ravel()))
