"""Weights of many classes in lines: a line holds one feature's weights, or all biases.

For a sparse row, the weights of each feature then lie together in memory.
"""

from __future__ import annotations

import numpy as np

from ..numeric.types import Array

LANES = 8  # doubles in a line, as `kLanes` in cpp/simd/doubles.hpp
AT_ONCE = 512  # lines copied together: they stay in the cache for all classes


def line_width(k: int) -> int:
    """Doubles in a line for k classes: a multiple of the widest vector."""
    return -(-k // LANES) * LANES


def to_lines(W: Array) -> Array:
    """Weights (k, d + 1) as lines (d + 1, line_width(k)), with zeros after the last class."""
    k, size = W.shape
    lines = np.zeros((size, line_width(k)))
    lines[:, :k] = W.T
    return lines


def from_lines(lines: Array, k: int) -> Array:
    W = np.empty((k, len(lines)))
    for first in range(0, len(lines), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        W[:, some] = lines[some, :k].T
    return W
