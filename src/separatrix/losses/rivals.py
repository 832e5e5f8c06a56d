"""The true class against its best rival: where a tie of two classes is decided."""

from __future__ import annotations

import numpy as np

from ..numeric.types import AnyArray, Array


def best_rival(y: AnyArray, scores: Array) -> tuple[Array, AnyArray, Array]:
    """Score of the true class, the best rival (the first on a tie) and its score, row by row.

    A row is a mistake unless its true class is strictly ahead.

    >>> scores = np.array([[1.0, 3.0, 3.0], [5.0, 4.0, 9.0]])
    >>> best_rival(np.array([0, 2]), scores)
    (array([1., 9.]), array([1, 0]), array([3., 5.]))
    """
    rows = np.arange(len(scores))
    own = scores[rows, y]
    others = scores.copy()
    others[rows, y] = -np.inf
    rival = others.argmax(axis=1)
    return own, rival, others[rows, rival]
