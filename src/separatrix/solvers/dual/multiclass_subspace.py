"""Subspace steps for many classes: epochs used as search directions.

Problem: maximise Crammer and Singer's dual, without biases, over the space of three steps: that of
the last epoch, and the two before it. Input: alphas and weights before and after an epoch. Output:
both updated and projected onto the simplices; the history with one more step.
Algorithm: the dual is a quadratic: its slopes and curvatures along three directions follow from
their effects on the weights, without a read of the rows. This is conjugate gradients
preconditioned by an epoch, except that bounds may change. The version for two classes is compiled
with its rounds (``cpp/dual/subspace_step.hpp``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...data import InMemory
from ...numeric.dot import dot
from ...numeric.tolerances import EPS
from ...numeric.types import AnyArray, Array, Ints
from ...proofs.crammer_singer import project_to_simplex

REMEMBERED = 2  # steps before the last epoch's
DEPENDENT = 1e-10  # of a direction's curvature: less counts as linearly dependent
SUM_ROUNDING = 4 * EPS  # of the sum of a row's shares, by class


@dataclass
class SubspaceSteps:
    """The last steps of the alphas of some rows, newest first, and their effect on the weights.

    One more count of a row moves the weights by ``inv_2l2`` times it.
    """

    source: InMemory
    inv_2l2: float
    steps: list[Array] = field(default_factory=list)  # (rows, classes) each
    moves: list[Array] = field(default_factory=list)
    """Effects on the weights, as lines, (d + 1, width) each."""

    def forget(self) -> None:
        """Start again without history."""
        self.steps, self.moves = [], []

    def keep(self, again: AnyArray) -> AnyArray:
        """Rows to visit again, including those in a remembered step, as in ``moves``."""
        left_out = np.flatnonzero(~again)
        if self.steps and len(left_out):
            again = again.copy()
            again[left_out] = np.any([step[left_out].any(axis=1) for step in self.steps], axis=0)
            self.steps = [step[again] for step in self.steps]
        return again

    def take(
        self, rows: Ints, alpha_before: Array, lines_before: Array, alpha: Array, lines: Array
    ) -> None:
        """After an epoch over these rows, update their alphas and the lines."""
        here = alpha.take(rows, axis=0)
        k = here.shape[1]
        p = self.source.weights[rows] / self.source.weight_sum
        own = np.arange(0, here.size, k) + self.source.y[rows]  # index in the flat array
        steps, moves = [here - alpha_before, *self.steps], [lines - lines_before, *self.moves]
        flat = np.array([move.ravel() for move in moves])
        offset = None if self.source.offset is None else self.source.offset[rows]

        def gain(step: Array) -> float:
            """What a step adds to the dual, but for the weights."""
            found = -float(p @ step.ravel()[own])
            return found if offset is None else found + float(p @ np.sum(step * offset, axis=1))

        gains = np.array([gain(step) for step in steps])
        slopes = gains - flat @ lines.ravel() / self.inv_2l2
        lengths = _highest(slopes, flat @ flat.T / self.inv_2l2)
        there = here + sum(a * step for a, step in zip(lengths, steps, strict=True))
        move = (lengths @ flat).reshape(lines.shape)
        # Small steps are differences of rounded alphas: scaling amplifies deviations from sum 0.
        sums = np.abs(there.sum(axis=1) - 1.0)
        off = np.flatnonzero((there < 0.0).any(axis=1) | (sums > SUM_ROUNDING * k))
        if len(off):
            wanted = there[off]
            there[off] = project_to_simplex(wanted)
            back = self.source.take(rows[off]).transpose_product(
                p[off, None] * (wanted - there[off])
            )
            move[:-1, :k] += self.inv_2l2 * back[:, :-1].T
        step = there - here
        # The dual decreases by half the effect of the changes on the slopes.
        fall = (dot(move, lines) + 0.5 * dot(move, move)) / self.inv_2l2
        if gain(step) > fall:
            alpha[rows] = there
            lines += move
            steps[0] += step
            moves[0] += move
        self.steps, self.moves = steps[:REMEMBERED], moves[:REMEMBERED]


def _highest(slopes: Array, curvatures: Array) -> Array:
    """Stationary point of a quadratic with these derivatives at 0; nearby if it is flat."""
    diagonal = curvatures.diagonal()
    scale = np.divide(1.0, np.sqrt(diagonal), where=diagonal > 0.0, out=np.zeros(len(slopes)))
    scaled = curvatures * scale * scale[:, None]
    scaled += DEPENDENT * np.eye(len(slopes))
    lengths: Array = scale * np.linalg.solve(scaled, scale * slopes)
    return lengths
