"""Sums of products of weights, with the same bits on any number of threads."""

from __future__ import annotations

import numpy as np

from .types import Array

FEW = 10_000  # numbers, of which OpenBLAS sums the products with one thread


def dot(a: Array, b: Array) -> float:
    """Sum of a * b, both of one shape.

    Of many not by BLAS: its threads change the last bits, and wait for more so eagerly that those
    of a solver are held up.
    """
    if a.size <= FEW:
        return float(np.vdot(a, b))
    return float(np.einsum("i,i->", a.ravel(), b.ravel()))
