"""Newton's direction for a J whose kinks are rounded off: only rows near a kink bend."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ... import loops
from ...data import ArraySource, Block
from ...numeric.linear_systems import conjugate_gradients, solve
from ...numeric.rows import row_products, take_rows
from ...numeric.threads import one_blas_thread
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from ...objective.hessians import assemble_hessian
from ...objective.standardization import Standardization, gram
from .losses import Response

DIRECT = 1500  # unknowns up to which a system is factored
LOOSE = 1e-2  # of the squared residual, where a system is solved by products


@dataclass(frozen=True)
class Bend:
    """The second derivative of the smooth J at some weights, and the gradient there."""

    objective: Objective
    response: Response
    scores: Array
    alpha: Array
    gradient: Array
    sharpness: float
    weight_sum: float

    @property
    def source(self) -> ArraySource:
        """Rows in memory."""
        return self.objective.in_memory

    def direction(self) -> Array:
        """From the smaller of two systems, or by products where both are large."""
        free = self.response.free(self.alpha)
        if self.source.weight is not None:
            free = free & (self.source.weight != 0.0)
        count = int(np.count_nonzero(free))
        k, d = self.gradient.shape
        with one_blas_thread(max(count, d) * d**2):
            if k == 1 and 0 < count < min(d, DIRECT):
                return self._by_rows(np.flatnonzero(free))
            if k * d <= DIRECT:
                return self._by_weights(free)
            return self._by_products(np.flatnonzero(free))

    def _by_weights(self, free: AnyArray) -> Array:
        """From the second derivative by the weights."""
        k, d = self.gradient.shape
        standardization = self.objective.standardization
        (hessian,) = self.source.total(
            partial(
                _hessian, response=self.response, free=free, scores=self.scores,
                alpha=self.alpha, sharpness=self.sharpness, standardization=standardization,
            )
        )  # fmt: skip
        hessian /= self.weight_sum
        self.objective.add_penalty(hessian, standardization)
        biases = slice(d - 1, None, d)
        if not self.objective.intercept:
            self.objective.regularise_biases(hessian)
        elif not free.any():  # nothing bends by the bias: any step along its slope
            hessian[biases, biases] += np.eye(k)
        elif k > 1:  # a shift of all biases costs nothing
            hessian[biases, biases] += self.sharpness / k
        u = solve(hessian, -standardization.gradient(self.gradient).ravel())
        return standardization.to_weights(u.reshape(self.gradient.shape))

    def _bend(self, rows: Ints) -> Array:
        """Second derivative of the rows by their scores, weighted, (rows, k, k)."""
        source = self.source
        bend = self.response.curvature(
            self.scores[rows], source.y[rows], self.alpha[rows], self.sharpness
        )
        if source.weight is not None:
            bend = bend * source.weight[rows][:, None, None]
        bend /= self.weight_sum
        return bend

    def _by_rows(self, rows: Ints) -> Array:
        """From the products of the rows that bend, where they are fewer than the features.

        With U the rows times the root of their curvature and q = U (w, b) the unknowns,
        ``(1 + U U' / (2 l2)) q = root * b - U g / (2 l2)``, and ``root.q = -g_b`` gives b.
        """
        root = np.sqrt(self._bend(rows)[:, 0, 0])
        picked = take_rows(self.source.X, rows)
        g, twice = self.gradient[0], 2.0 * self.objective.penalty.l2
        right = -root * loops.scores(picked, np.append(g[:-1], 0.0)[None])[:, 0] / twice
        system = root[:, None] * row_products(picked) * (root / twice)
        np.einsum("ii->i", system)[:] += 1.0
        if self.objective.intercept:
            both = np.stack([solve(system, right), solve(system, root)])
            bias = -(g[-1] + root @ both[0]) / (root @ both[1])
            q = both[0] + bias * both[1]
        else:
            bias, q = 0.0, solve(system, right)
        direction = np.zeros_like(self.gradient)
        loops.transpose_product(picked, (root * q)[:, None], direction)
        direction[0] = -(g + direction[0]) / twice
        direction[0, -1] = bias
        return direction

    def _by_products(self, rows: Ints) -> Array:
        """By conjugate gradients, each product a read of the rows that bend."""
        bend = self._bend(rows)
        source = ArraySource(take_rows(self.source.X, rows), self.source.y[rows],
                             self.source.classes, n_jobs=self.source.n_jobs)  # fmt: skip
        total = max(float(np.einsum("icc->", bend)) / len(self.gradient), 1e-300)
        mean, deviation = self.objective.moments
        twice = 2.0 * self.objective.penalty.l2
        scale = np.sqrt(total * (deviation**2 + mean**2) + twice)
        standardization = Standardization(np.zeros_like(mean), np.append(scale, np.sqrt(total)))

        def product(u: Array) -> Array:
            V = standardization.to_weights(u)
            if not self.objective.intercept:
                V[:, -1] = 0.0
            (out,) = source.total(partial(_product, bend=bend, V=V)) if len(rows) else (0.0 * V,)
            out += self.objective.penalty.gradient(V)
            if not self.objective.intercept:
                out[:, -1] = 0.0
            return standardization.gradient(out)

        right = -standardization.gradient(self.gradient)
        return standardization.to_weights(conjugate_gradients(product, right, LOOSE))


# Parts of a sum, one block each.


def _hessian(
    block: Block,
    response: Response,
    free: AnyArray,
    scores: Array,
    alpha: Array,
    sharpness: float,
    standardization: Standardization,
) -> tuple[Array]:
    """Second derivative of the smooth losses in standardised variables."""
    k, d = scores.shape[1], len(standardization.scale)
    rows = np.flatnonzero(free[block.start : block.start + len(block.y)])
    if not len(rows):
        return (np.zeros((k * d, k * d)),)
    at = block.start + rows
    bend = response.curvature(scores[at], block.y[rows], alpha[at], sharpness)
    if block.weight is not None:
        bend = bend * block.weight[rows][:, None, None]
    picked = take_rows(block.X, rows)

    def products(c: Array) -> Array:
        some = np.flatnonzero(c)
        return gram(take_rows(picked, some), c[some], standardization)

    return (assemble_hessian(k, d, lambda a, b: bend[:, a, b], products),)


def _product(block: Block, bend: Array, V: Array) -> tuple[Array]:
    out = np.zeros_like(V)
    here = bend[block.start : block.start + len(block.y)]
    change = np.einsum("iab,ib->ia", here, loops.scores(block.X, V))
    loops.transpose_product(block.X, change, out)
    return (out,)
