"""Step sizes of gradient descent, from bounds on the curvature of rows and batches.

Input: an objective, and the batch size. Output: a step size for which no update increases the loss
of its row, if that is smooth, for any length and weight of the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block, Sum
from ..numeric.threads import one_blas_thread
from ..objective import Objective
from ..objective.objective import SAMPLE_ROWS
from .thresholds import EIGEN_FEATURES

NO_FURTHER = 2.0  # times the distance to a row's own minimum
LARGER = 1.2  # a sample's largest eigenvalue may be smaller than that of all rows


def safe_step(objective: Objective, batch: int | None = 1, shuffle: bool = True) -> float:
    """Inverse of a bound on the curvature of the mean loss of a batch; None: of all rows.

    The mean of |x|^2 + 1 bounds the largest eigenvalue of the mean of (x, 1)(x, 1)'; for larger
    batches that eigenvalue itself is used, estimated on a sample of the rows. Single rows, and
    batches in a given order, may be much longer or heavier than the mean: none is left further
    beyond its own minimum than it was before it.
    """
    curvature = objective.loss.max_curvature or 1.0
    objective.checked_standardization()  # refuses features that such a step would never move
    with np.errstate(over="ignore"):
        trace = objective.moments.mean_square + objective.intercept
    if not np.isfinite(trace):
        raise ValueError(
            "the features are too large: the mean of their squares overflows floating point; "
            "scale them, e.g. with sklearn.preprocessing.StandardScaler"
        )
    bound = row = trace if batch is None else max(trace, largest_row(objective) / NO_FURTHER)
    if batch is not None and batch > 1:
        largest = largest_second_moment(objective, trace, LARGER)
        bound = row / batch + (1.0 - 1.0 / batch) * largest
        if not shuffle and objective.source.n_features <= EIGEN_FEATURES:
            bound = max(bound, LARGER * largest_batch(objective, batch) / NO_FURTHER)
    bound = curvature * bound + 2.0 * objective.penalty.l2
    return 1.0 / bound if bound > 0.0 else 1.0


def largest_second_moment(objective: Objective, trace: float, larger: float = 1.0) -> float:
    """Bound on the largest eigenvalue of the mean of (x, 1)(x, 1)', whose trace is given.

    A sample's eigenvalue, enlarged; for many features the trace itself.
    """
    if objective.source.n_features > EIGEN_FEATURES:
        return trace
    return min(trace, larger * objective.largest_eigenvalue())


def largest_row(objective: Objective) -> float:
    """Largest contribution of a single row to the second derivative, relative to ``max_curvature``.

    Its weight, relative to the mean weight, times |x|^2 + 1.
    """
    source = objective.source
    (largest,) = source.total(LargestRow(objective.intercept))
    return float(max(largest)) * (source.n_rows / source.weight_sum)


@dataclass(frozen=True)
class LargestRow(Sum[tuple[list[float]]]):
    """Largest contribution of a row in each block, as lists that are concatenated."""

    intercept: bool

    def of(self, block: Block) -> tuple[list[float]]:
        squares = block.rows.squared_norms() + self.intercept
        return ([float(np.max(squares if block.weight is None else block.weight * squares))],)


def largest_batch(objective: Objective, batch: int) -> float:
    """The same for batches in the given order, estimated on some of them from all over the data."""
    source, ask = objective.source, LargestBatch(batch, objective.intercept)
    if source.parts is None:
        largest = max(max(ask.of(block)[0]) for block, _ in source.visits())
    else:
        largest = max(source.total(ask)[0])
    return largest * (source.n_rows / source.weight_sum)


@dataclass(frozen=True)
class LargestBatch(Sum[tuple[list[float]]]):
    """Largest contribution of one of some batches in each block."""

    batch: int
    intercept: bool
    whole_parts = True  # batches follow each other without a gap

    def of(self, block: Block) -> tuple[list[float]]:
        X, y, weight = block.rows, block.y, block.weight
        rows = np.arange(len(y)) if block.present is None else block.present
        count, largest = -(-len(rows) // self.batch), 0.0
        some = np.linspace(0, count - 1, min(count, max(2, SAMPLE_ROWS // self.batch)))
        for start in (self.batch * some.astype(np.int64)).tolist():
            at = rows[start : start + self.batch]
            x = np.column_stack([X.take(at).to_dense(), np.full(len(at), float(self.intercept))])
            if weight is not None:
                x *= np.sqrt(weight[at])[:, None]
            with one_blas_thread(x.size * min(x.shape)):
                products = x @ x.T if len(x) < x.shape[1] else x.T @ x
                largest = max(largest, float(np.linalg.eigvalsh(products)[-1]) / len(at))
        return ([largest],)
