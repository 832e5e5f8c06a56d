"""The voted perceptron: every weight vector of a run votes, by the number of rows it survived.

Y. Freund and R. E. Schapire, Large margin classification using the perceptron algorithm, Machine
Learning 37 (1999). Memory is bounded: of many vectors those with the most votes are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappush, heappushpop
from typing import Any

import numpy as np

from ..data.scoring import scores
from ..numeric.types import Array
from ..objective import Objective
from ..rows import host_rows_of
from ..training.trace import Trace

SCORES_AT_ONCE = 1 << 22  # of all survivors for some rows: 32 MB


def survivors_of(trace: Trace, objective: Objective, most: int) -> tuple[Array, Array]:
    """The weight vectors of a finished run with the most votes, and these; earlier ones in a tie.

    Weights (m, k, d + 1) and votes (m,), in the order of their creation. The run is repeated
    update by update, because the compiled passes of the fit keep no weights.
    """
    kept: list[tuple[int, int, Array]] = []  # votes, minus the number of the vector, weights
    for number, (votes, W) in enumerate(_lives(trace, objective)):
        if len(kept) < most:
            heappush(kept, (votes, -number, W))
        else:
            heappushpop(kept, (votes, -number, W))
    kept.sort(key=lambda entry: -entry[1])
    survived = np.array([float(votes) for votes, _, _ in kept])
    return np.stack([W for _, _, W in kept]), survived


def _lives(trace: Trace, objective: Objective) -> Iterator[tuple[int, Array]]:
    """The votes and the weights of every vector that an update created, in order.

    A vector lives from the visit that created it to the visit before the next update. Without any
    update the start has all votes.
    """
    visits = created = 0
    W = np.array(trace.start)
    for step in trace.replayed(objective):
        visits += step.n_visited
        if step.ends_pass:
            continue
        if created:
            yield visits - created, W
        created, W = visits, np.array(step.weights)
    yield visits + 1 - max(created, 1), W


def voted_scores(X: Any, survivors: Array, votes: Array) -> Array:
    """Sums of votes of checked rows, (n, 1) or (n, k).

    Two classes: votes for the larger, which score 0 counts for, minus votes for the other. More:
    votes for each; the first of the largest scores has the vote.
    """
    rows = host_rows_of(X)
    n, (m, k, _) = rows.shape[0], survivors.shape
    out = np.zeros((n, k))
    at_once = max(1, SCORES_AT_ONCE // (m * k))
    W = survivors.reshape(m * k, -1)
    for first in range(0, n, at_once):
        found = scores(rows.part(first, min(first + at_once, n)).X, W)
        if not np.isfinite(found).all():
            raise ValueError(
                "the scores of some rows overflow floating point: scale the features (e.g. with "
                "sklearn's StandardScaler)"
            )
        some = out[first : first + at_once]
        if k == 1:
            some[:, 0] = np.where(found >= 0.0, votes, -votes).sum(axis=1)
            continue
        best = found.reshape(len(found), m, k).argmax(axis=2)
        for c in range(k):
            some[:, c] = (best == c) @ votes
    return out
