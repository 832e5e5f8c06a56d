"""The model of a step whose weights have constraints, minimised face by face.

Problem     min q(u) + sum of t_j |w_j| over allowed weights w = u / scale; q convex and quadratic.
Input       the Hessian and slope of q; a penalty that knows its proximal operator and its faces.
Output      w and the bias, how far q fell.
Algorithm   In turns: projected gradient steps, which find the weights at bounds, at kinks, and
            equal to their neighbours in a chain; and Newton's step in the others, which form a
            face. That step is projected too, and halved as long as this gains more.
Paper       More and Toraldo, On the solution of large quadratic programming problems with bound
            constraints, SIAM Journal on Optimization 1 (1991); Barzilai and Borwein, IMA Journal of
            Numerical Analysis 8 (1988), for the lengths of gradient steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..numeric.linear_systems import damped_solve
from ..numeric.threads import one_blas_thread
from ..numeric.types import Array
from ..penalties import Penalty

EPOCHS, ROUNDS = 10, 50  # gradient steps between Newton steps, and rounds of both
ENOUGH = 1e-12  # relative to the gain so far: a round that gains less is the last
SUFFICIENT = 0.1  # of the decrease that a gradient step of that length promises
MOST_HALVINGS = 40  # of a step
LONGER = 10.0  # factor of a gradient step along which q is linear


def minimise_on_faces(
    hessian: Array, penalty: Penalty, scale: Array, W: Array, slope: Array
) -> float:
    """Minimise in place over W (k, m), bias last, with these variables' scales; also the gain.

    ``hessian`` is (1, km, km) or (k, m, m) and, as the slope (k, m), by the variables ``scale *
    W``. The penalty is on these m - 1 features.
    """
    classes = len(W) // len(hessian)
    gained = 0.0
    for number, block in enumerate(hessian):
        rows = slice(number * classes, (number + 1) * classes)
        model = FaceModel(block, penalty, scale, W[rows], slope[rows].ravel().copy())
        with one_blas_thread(float(len(block)) ** 2):
            gained += model.minimise()
        W[rows] = model.W
    return gained


@dataclass
class FaceModel:
    """Weights of one class, or of all if they are coupled, and the slope of q there."""

    hessian: Array
    penalty: Penalty
    scale: Array
    W: Array
    slope: Array
    length: float = 1.0
    """Of the next gradient step."""

    def minimise(self) -> float:
        """Take steps until they hardly gain; return the gain."""
        gained = 0.0
        for _ in range(ROUNDS):
            before = gained
            gained += self._gradient_steps(gained)
            gained += self._newton_step()
            if gained - before <= ENOUGH * gained:
                break
        return gained

    def _gradient_steps(self, total: float) -> float:
        """Steps until the face no longer changes."""
        gained, labels = 0.0, None
        for _ in range(EPOCHS):
            gain = self._gradient_step()
            gained += gain
            face = self.penalty.faces(self.W).labels
            if gain <= ENOUGH * (total + gained):
                break
            if labels is not None and np.array_equal(labels, face):
                break
            labels = face
        return gained

    def _gradient_step(self) -> float:
        """One projected gradient step; 0 if none gains."""
        g = self.slope.reshape(self.W.shape) / self.scale
        for _ in range(MOST_HALVINGS):
            there = self.penalty.prox(self.W - self.length * g, self.length / self.scale**2)
            gain, change, bent = self._gain(there)
            square = float(change @ change)
            if gain >= SUFFICIENT * square / self.length or square == 0.0:
                break
            self.length *= 0.5
        else:
            return 0.0
        if not gain > 0.0:
            return 0.0
        self._go(there, bent)
        along = float(change @ bent)
        longer = square / along if along > 0.0 else np.inf
        self.length = longer if longer < np.inf else LONGER * self.length
        return gain

    def _gain(self, there: Array) -> tuple[float, Array, Array]:
        """How much smaller the model is there; the change of the variables, and Hessian times it.

        Differences are formed before products, so that small gains keep their digits.
        """
        moved = there - self.W
        change = (self.scale * moved).ravel()
        bent = self.hessian @ change
        t = self.penalty.by_feature(self.penalty.thresholds)
        longer = float(np.sum(t * (np.abs(there[:, :-1]) - np.abs(self.W[:, :-1]))))
        return -float(self.slope @ change + 0.5 * (change @ bent)) - longer, change, bent

    def _go(self, there: Array, bent: Array) -> None:
        self.W = there
        self.slope = self.slope + bent

    def _newton_step(self) -> float:
        """Newton's step in the face, or as much of it as gains most; 0 if none gains."""
        way = self._newton_direction()
        if way is None or not np.all(np.isfinite(way)):
            return 0.0
        kinks = self.penalty.by_feature(self.penalty.thresholds) > 0.0
        best, found, share = 0.0, None, 1.0
        for _ in range(MOST_HALVINGS):
            there = self.W + share * way
            crossed = kinks & (there[:, :-1] * self.W[:, :-1] < 0.0)
            there[:, :-1][crossed] = 0.0
            there = self.penalty.feasible(there)
            gain, _, bent = self._gain(there)
            if found is not None and not gain > best:
                break
            if gain > best:
                best, found = gain, (there, bent)
            share *= 0.5
        if found is None:
            return 0.0
        self._go(*found)
        return best

    def _newton_direction(self) -> Array | None:
        """The change of W that leads to the minimum on the face; None if nothing can move."""
        faces, diagonal = self.penalty.faces(self.W), self.hessian.diagonal()
        biases = faces.labels.size + np.arange(len(self.W))[:, None]
        labels = np.hstack([faces.labels, biases]).ravel()
        moving = np.flatnonzero((labels >= 0) & (diagonal > 0.0))
        if not len(moving):
            return None
        slope = self.slope.copy().reshape(self.W.shape)
        slope[:, :-1] += faces.slope / self.scale[:-1]
        known, columns = np.unique(labels[moving], return_inverse=True)
        if len(known) == len(moving):  # each by itself
            H = self.hessian[np.ix_(moving, moving)]
            step = damped_solve(H, -slope.ravel()[moving])
        else:
            ways = np.ones(self.W.shape)
            ways[:, :-1] = np.broadcast_to(faces.way, ways[:, :-1].shape) * self.scale[:-1]
            ways = ways.ravel()[moving]
            together = sp.csr_array((ways, (columns, np.arange(len(moving)))))
            H = self.hessian[np.ix_(moving, moving)]
            H = together @ (together @ H).T
            step = together.T @ damped_solve(H, -(together @ slope.ravel()[moving]))
        change = np.zeros(self.W.size)
        change[moving] = step
        found: Array = change.reshape(self.W.shape) / self.scale
        return found
