"""Newton systems with one unknown per row, for fewer rows than features.

Problem     (sum_i p_i c_i (x_i, 1)(x_i, 1)' + 2 l2 diag(1, ..., 1, 0)) u = -g for two classes, with
            c_i the curvature of row i's loss by its score.
Input       The products X X' of all rows, the curvatures, l2 > 0, the gradient g.
Output      The direction u.
Algorithm   Sherman, Morrison and Woodbury's identity, and a Cholesky factorisation. Products of
            rows are those of features as they are: large ones drown the others, and the penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..data import InMemory
from ..losses import MarginLoss
from ..numeric.linear_systems import MIN_PIVOT, cholesky_solver
from ..numeric.threads import one_blas_thread
from ..numeric.types import Array
from ..objective import Objective
from .system_size import drowns_penalty


def has_row_systems(objective: Objective) -> bool:
    """Whether equivalent Newton systems with one unknown per row are smaller.

    For two classes, rows in memory and a penalty that is not lost in products of rows.
    """
    source = objective.source
    fewer = isinstance(source, InMemory) and source.n_rows < source.n_features
    if not fewer or objective.shape[0] > 1 or not objective.penalty.l2 > 0.0:
        return False
    return objective.mean_square < np.inf and not drowns_penalty(objective)


@dataclass
class RowSpaceSystem:
    """Newton system for two classes in the space of n rows, factored.

    With U the rows times the root of their curvature and q = U (w, b) the unknowns,
    ``(1 + U U' / (2 l2)) q = root * b - U g / (2 l2)``, and ``root.q = -g_b`` gives b.
    """

    system: Array  # ``U U' / (2 l2)``, (n, n): overwritten
    root: Array
    rows: InMemory
    l2: float
    intercept: bool
    min_pivot: float = MIN_PIVOT
    _inverse: Callable[[Array], Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        np.einsum("ii->i", self.system)[:] += 1.0
        self._inverse = cholesky_solver(self.system, self.min_pivot)
        self._by_bias = self._inverse(self.root) if self.intercept else np.empty(0)

    def solve(self, gradient: Array) -> Array:
        """Newton direction for a gradient (1, d + 1)."""
        twice, without_bias = 2.0 * self.l2, gradient.copy()
        without_bias[:, -1] = 0.0
        q, bias = self._inverse(-self.root * self.rows.scores(without_bias)[:, 0] / twice), 0.0
        if self.intercept:
            curvature = self.root @ self._by_bias
            bias = -(gradient[0, -1] + self.root @ q) / curvature if curvature > 0.0 else 0.0
            q = q + bias * self._by_bias
        direction = -(gradient + self.rows.transpose_product((self.root * q)[:, None])) / twice
        direction[0, -1] = bias
        return direction


@dataclass(frozen=True)
class RowNewton:
    """Newton directions for rows in memory, whose products are computed once."""

    objective: Objective
    loss: MarginLoss
    products: Array

    @classmethod
    def of(cls, objective: Objective) -> RowNewton:
        """For an objective that :func:`has_row_systems`."""
        loss, source = objective.loss.column_loss, objective.in_memory
        assert loss is not None
        with one_blas_thread(source.n_rows**2 * source.n_features):
            return cls(objective, loss, source.gram())

    def direction(self, W: Array, gradient: Array) -> Array:
        """Direction at weights (1, d + 1), given the gradient there."""
        objective, source = self.objective, self.objective.in_memory
        curvature = self.loss.curvature(source.y * source.scores(W)[:, 0])
        if source.weight is not None:
            curvature = curvature * source.weight
        root, l2 = np.sqrt(curvature / source.weight_sum), objective.penalty.l2
        with one_blas_thread(len(root) ** 3):
            system = root[:, None] * self.products * (root / (2.0 * l2))
            rows = source.without_offset
            return RowSpaceSystem(system, root, rows, l2, objective.intercept).solve(gradient)
