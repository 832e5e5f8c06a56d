"""Weights of many classes in lines: those of one feature, or the biases, for all classes.

So sparse rows find what they need of a feature in one place.
"""

from __future__ import annotations

import numpy as np

from ..numeric.types import Array

LANES = 8
AT_ONCE = 512  # lines that stay in a cache while one class after another is taken from them


def line_width(k: int) -> int:
    """Doubles in a line of the weights of k classes: whole vectors of the widest level."""
    return -(-k // LANES) * LANES


def to_lines(W: Array) -> Array:
    """Weights (k, d + 1) as lines (d + 1, line_width(k)), with zeros after the last class."""
    k, size = W.shape
    lines = np.zeros((size, line_width(k)))
    lines[:, :k] = W.T
    return lines


def from_lines(lines: Array, k: int) -> Array:
    """And back, for the k classes."""
    W = np.empty((k, len(lines)))
    for first in range(0, len(lines), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        W[:, some] = lines[some, :k].T
    return W
