"""What epochs over rows of many classes find, taken for directions.

Problem: the highest point of Crammer and Singer's dual, without biases, in the space of three
steps: that of the last epoch, and the two before it. Input: alphas and weights before and after an
epoch. Output: both moved on, and back onto the simplices; the history with one step more.
Algorithm: the dual is a quadratic: of three directions its slopes and curvatures follow from
products of what they do to the weights, without a look at the rows. This is conjugate gradients
with an epoch for their preconditioner, but bounds may come and go. As for two classes, whose
rounds are compiled with it (``cpp/dual/subspace_step.hpp``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...data import InMemory
from ...numeric.dot import dot
from ...numeric.tolerances import EPS
from ...numeric.types import AnyArray, Array, Ints
from ...proofs.crammer_singer import project_to_simplex

REMEMBERED = 2  # steps before that of the last epoch
DEPENDENT = 1e-10  # of a direction's curvature: less is no new direction
SUM_ROUNDING = 4 * EPS  # of the sum of a row's shares, by class


@dataclass
class SubspaceSteps:
    """The last steps of the alphas of some rows, newest first, and what these did to the weights.

    A row counted once more moves the weights by ``inv_2l2`` times it.
    """

    source: InMemory
    inv_2l2: float
    steps: list[Array] = field(default_factory=list)
    """(rows, classes) each."""
    moves: list[Array] = field(default_factory=list)
    """Of the weights in lines, (d + 1, width) each."""

    def forget(self) -> None:
        """Begin anew."""
        self.steps, self.moves = [], []

    def keep(self, again: AnyArray) -> AnyArray:
        """Which rows to visit again: also those whose part in a remembered step is in ``moves``."""
        left_out = np.flatnonzero(~again)
        if self.steps and len(left_out):
            again = again.copy()
            again[left_out] = np.any([step[left_out].any(axis=1) for step in self.steps], axis=0)
            self.steps = [step[again] for step in self.steps]
        return again

    def take(
        self, rows: Ints, alpha_before: Array, lines_before: Array, alpha: Array, lines: Array
    ) -> None:
        """After an epoch over these rows: writes their alphas, and the lines."""
        here = alpha.take(rows, axis=0)
        k = here.shape[1]
        p = self.source.weights[rows] / self.source.weight_sum
        own = np.arange(0, here.size, k) + self.source.y[rows]  # in the flat array
        steps, moves = [here - alpha_before, *self.steps], [lines - lines_before, *self.moves]
        flat = np.array([move.ravel() for move in moves])
        gains = np.array([-(p @ step.ravel()[own]) for step in steps])
        slopes = gains - flat @ lines.ravel() / self.inv_2l2
        lengths = _highest(slopes, flat @ flat.T / self.inv_2l2)
        there = here + sum(a * step for a, step in zip(lengths, steps, strict=True))
        move = (lengths @ flat).reshape(lines.shape)
        # Small steps are differences of rounded alphas: lengths multiply what they lack in sum 0.
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
        # The dual falls by half of what the changes themselves do to the slopes.
        fall = (dot(move, lines) + 0.5 * dot(move, move)) / self.inv_2l2
        if -float(p @ step.ravel()[own]) > fall:
            alpha[rows] = there
            lines += move
            steps[0] += step
            moves[0] += move
        self.steps, self.moves = steps[:REMEMBERED], moves[:REMEMBERED]


def _highest(slopes: Array, curvatures: Array) -> Array:
    """Where the gradient of a quadratic vanishes that has these at 0; near, where it is flat."""
    diagonal = curvatures.diagonal()
    scale = np.divide(1.0, np.sqrt(diagonal), where=diagonal > 0.0, out=np.zeros(len(slopes)))
    scaled = curvatures * scale * scale[:, None]
    scaled += DEPENDENT * np.eye(len(slopes))
    lengths: Array = scale * np.linalg.solve(scaled, scale * slopes)
    return lengths
