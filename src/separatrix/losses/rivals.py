"""Class with the highest score, with one tie rule for predictions and for rivals."""

from __future__ import annotations

import numpy as np

from ..numeric.types import AnyArray, Array, Ints


def predicted_numbers(scores: Array) -> Ints:
    """Index of the predicted class: on a tie the larger of two, else the first of those tied.

    ``scores`` has shape (n, k), or (n, 1) for two classes, where positive means the larger class.
    Trailing axes are kept.

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


def predicted_indicator(scores: Array) -> Ints:
    """1 for each label whose score is 0 or more, 0 for the others.

    >>> predicted_indicator(np.array([[0.0, -1.0, 2.0]]))
    array([[1, 0, 1]])
    """
    return (scores >= 0.0).astype(np.int64)


def predicted_labels(classes: AnyArray, scores: Array) -> AnyArray:
    """Labels of the predicted classes, for scores (n,) of two classes or (n, k) of more."""
    if len(classes) == 2:
        # Takes a third of the time of indexing by class number.
        return np.where(scores >= 0.0, classes[1:], classes[:1])
    labels: AnyArray = classes[predicted_numbers(scores)]
    return labels


def best_rival(y: AnyArray, scores: Array) -> tuple[Array, AnyArray, Array]:
    """Score of the true class, the best rival (the first on a tie) and its score, for each sample.

    A sample is a mistake unless its true class has the strictly highest score.

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
