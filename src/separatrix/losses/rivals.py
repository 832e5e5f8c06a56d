"""Which class has the highest score, also on a tie: when predicting, and among rivals."""

from __future__ import annotations

import numpy as np

from ..numeric.types import AnyArray, Array, Ints


def predicted_numbers(scores: Array) -> Ints:
    """Number of the predicted class of each row: on a tie of two the larger, of more the first.

    ``scores`` has the shape (n, k), for two classes (n, 1): positive for the larger. More axes at
    the end are kept.

    >>> predicted_numbers(np.array([[0.0], [-1.0]]))
    array([1, 0])
    >>> predicted_numbers(np.array([[1.0, 3.0, 3.0]]))
    array([1])
    """
    if scores.shape[1] == 1:
        numbers: Ints = (scores[:, 0] >= 0.0).astype(np.intp)
    else:
        numbers = scores.argmax(axis=1)
    return numbers


def predicted_labels(classes: AnyArray, scores: Array) -> AnyArray:
    """The same as labels, for scores (n,) of two classes or (n, k) of more."""
    if len(classes) == 2:
        # A third of the time that it takes to pick by number.
        return np.where(scores >= 0.0, classes[1:], classes[:1])
    labels: AnyArray = classes[predicted_numbers(scores)]
    return labels


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
