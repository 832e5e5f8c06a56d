"""Sums of products of weights, with the same bits on any number of threads."""

from __future__ import annotations

import numpy as np

from .thresholds import ONE_THREAD_DOT
from .types import Array


def dot(a: Array, b: Array) -> float:
    """Sum of a * b, both of one shape.

    Of many not by BLAS: its threads change the last bits, and wait for more so eagerly that those
    of a solver are held up.
    """
    if a.size <= ONE_THREAD_DOT:
        return float(np.vdot(a, b))
    if a.flags.c_contiguous and b.flags.c_contiguous:
        return float(np.einsum("i,i->", a.ravel(), b.ravel()))
    axes = "ijkl"[: a.ndim]
    return float(np.einsum(f"{axes},{axes}->", a, b))  # without a copy
