"""The quadratic model of J plus lengths of groups of weights.

Problem     min over u of a quadratic with Hessian H and, over blocks b, the sum of t_b |u_b|.
Input       H, u and the slope of the quadratic there; the groups of a penalty.
Output      The minimiser u, and a lower bound on the decrease.
Algorithm   Rotating the variables of a block does not change its length, so each block is rotated
            into the eigenvectors of its part of H, which is then diagonal, and its minimum is
            one equation in one unknown. Epochs of these, block by block, alternate with Newton
            steps in the non-zero blocks, where a length is smooth.
Paper       Qin, Scheinberg and Goldfarb, Efficient block-coordinate descent algorithms for the
            group lasso, Mathematical Programming Computation 5 (2013).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from .. import loops
from ..numeric.linear_systems import solve
from ..numeric.threads import one_blas_thread
from ..numeric.types import AnyArray, Array, Ints
from ..penalties import Penalty

EPOCHS, ROUNDS = 10, 50  # epochs of coordinate descent between Newton steps, and rounds of both
FLAT = 1e-10  # added to a Hessian, relative to its diagonal
CRAWL = 0.9, 1e-3  # of the previous Newton step's gain, and of all gains: more means no convergence
CRAWLED = 5  # such steps in a row end the model: norms are curved, so one step proves little
FLATTEST = 1e-12  # relative to a block's largest curvature; smaller curvatures are raised to this
ENOUGH = 1e-12  # relative to the model's gain so far: an epoch that gains less is the last
LENGTHS = 0.5 ** np.arange(8)  # trial lengths of a Newton step


def minimise_with_groups(
    hessian: Array, penalty: Penalty, features: Ints, scale: Array, u: Array, slope: Array
) -> float:
    """Move u (k, m) to the minimum of the model and return a lower bound on the decrease.

    ``hessian`` (1 or k, ...) is for all classes or one per class; the variables are these features
    and the biases, with the given scale (m,).
    """
    labels, thresholds = _blocks(penalty, features, scale, len(u))
    if penalty.numbers is None and len(hessian) > 1:  # groups couple the classes
        hessian = block_diag(*hessian)[None]
    parts, gain = len(hessian), 0.0
    variables, slopes = u.reshape(parts, -1), slope.reshape(parts, -1)
    for number, own in enumerate(labels.reshape(parts, -1)):
        model = BlockModel.rotated(hessian[number], own, thresholds)
        gain += model.minimise(variables[number], slopes[number])
    return gain


def crawls(gain: float, before: float, gained: float) -> bool:
    """Whether a Newton step gains about as much as the previous one, beyond rounding.

    With unchanged signs the previous step would have found the minimum of a quadratic, unless its
    Hessian is flatter than the damping or its own rounding.
    """
    return gain > CRAWL[0] * before and gain > CRAWL[1] * gained


def _blocks(penalty: Penalty, features: Ints, scale: Array, k: int) -> tuple[Ints, Array]:
    """Block number of every variable, (k, m), and the thresholds of the blocks.

    An unpenalised variable, such as a bias, is its own block.
    """
    m, costs = len(features) + 1, penalty.by_feature(penalty.thresholds)
    thresholds = np.zeros(m)
    thresholds[:-1] = (costs if len(costs) == 1 else costs[features]) / scale[:-1]
    labels = np.zeros((k, m), dtype=np.int64)
    if penalty.numbers is None:
        labels[:, :-1] = np.arange(m - 1)
    else:
        groups, own = np.unique(penalty.numbers[features], return_inverse=True)
        labels[:, :-1] = len(groups) * np.arange(k)[:, None] + own
    alone, known = np.broadcast_to(thresholds == 0.0, labels.shape), k * m
    labels[alone] = known + np.arange(np.count_nonzero(alone))
    of_blocks = np.zeros(known + np.count_nonzero(alone))
    of_blocks[labels] = thresholds
    return labels, of_blocks


@dataclass(frozen=True)
class BlockModel:
    """A quadratic in variables that are sorted by block and rotated within each."""

    hessian: Array
    order: Ints
    starts: Ints  # start of each block, and the number of variables
    thresholds: Array
    rotations: list[tuple[Ints, Array]]
    """For each block size: the variables (blocks, size) and the eigenvectors."""

    @classmethod
    def rotated(cls, hessian: Array, labels: Ints, thresholds: Array) -> BlockModel:
        """Build the model for variables with these block numbers."""
        order = np.argsort(labels, kind="stable")
        begins = np.flatnonzero(np.diff(labels[order], prepend=-1))
        sizes, rotations = np.diff(begins, append=len(order)), []
        H = hessian[np.ix_(order, order)]
        for size in np.unique(sizes[sizes > 1]).tolist():
            at = begins[sizes == size][:, None] + np.arange(size)
            inside = at[:, :, None], at[:, None, :]
            with one_blas_thread(float(len(H)) * at.size * size):
                curvatures, Q = np.linalg.eigh(H[inside])
                H[at] = Q.transpose(0, 2, 1) @ H[at]
                H[:, at] = (H[:, at].transpose(1, 0, 2) @ Q).transpose(1, 0, 2)
            most = curvatures[:, -1:]
            least = np.where(most > 0.0, FLATTEST * most, 1.0)
            H[inside] = np.maximum(curvatures, least)[:, :, None] * np.eye(size)
            rotations.append((at, Q))
        starts, own = np.append(begins, len(order)), thresholds[labels[order[begins]]]
        return cls(np.ascontiguousarray(H), order, starts, own, rotations)

    def minimise(self, u: Array, slope: Array) -> float:
        """Move u to the minimum; the decrease is at least half of ``way' H way``."""
        start, steep = self._turned(u[self.order]), self._turned(slope[self.order])
        at, gained, before, crawled = start.copy(), 0.0, np.inf, 0
        for _ in range(ROUNDS):
            signs = np.sign(at)
            result = loops.block_coordinate_descent(
                self.hessian, self.starts, self.thresholds, at, steep, max_epochs=EPOCHS,
                enough=ENOUGH * gained,
            )  # fmt: skip
            gained += result.gain
            if result.gain <= ENOUGH * gained:
                break
            gain = self._newton_step(at, steep)
            gained += gain
            same = np.array_equal(np.sign(at), signs)
            crawled = crawled + 1 if same and crawls(gain, before, gained) else 0
            if crawled == CRAWLED:
                break
            before = gain
        way = at - start
        there = u[self.order] + self._turned(way, back=True)
        left = self._spread(np.logical_or.reduceat(at != 0.0, self.starts[:-1]))
        u[self.order] = np.where(left, there, 0.0)
        with one_blas_thread(float(len(u)) ** 2):
            return float(0.5 * way @ (self.hessian @ way))

    def _turned(self, values: Array, back: bool = False) -> Array:
        """Rotate into the eigenvectors of each block, or back."""
        turned = values.copy()
        for at, Q in self.rotations:
            turned[at] = np.einsum("bij,bj->bi" if back else "bji,bj->bi", Q, values[at])
        return turned

    def _newton_step(self, u: Array, slope: Array) -> float:
        """Take the best fraction of a Newton step in the non-zero blocks and return its gain.

        A block that would be reversed is set to 0 if that gains more.
        """
        lengths, free = np.sqrt(self._sum(u * u)), self.thresholds == 0.0
        bound = ~free & (lengths > 0.0)
        steep = self._spread(np.where(bound, self.thresholds, 0.0) / np.where(bound, lengths, 1.0))
        moving = np.flatnonzero(self._spread(free | bound) & (self.hessian.diagonal() > 0.0))
        pull, H = (slope + steep * u)[moving], self.hessian[np.ix_(moving, moving)]
        step = np.zeros(len(u))
        step[moving] = solve(self._curved(H, moving, u, steep), -pull)
        if not np.all(np.isfinite(step)):
            return 0.0
        turning = self._spread(bound & (self._sum(u * (u + step)) <= 0.0))
        steps = np.vstack([np.where(turning, -u, step), LENGTHS[:, None] * step])
        with one_blas_thread(float(len(u)) * len(moving)):
            some = steps[:, moving]
            gains = -(some @ pull + 0.5 * np.sum(some * (some @ H), axis=1))
            gains -= self._lengthened(u, steps, lengths, bound)
            taken = int(np.argmax(gains))
            if not gains[taken] > 0.0:
                return 0.0
            slope += self.hessian[:, moving] @ some[taken]
        u += steps[taken]
        return float(gains[taken])

    def _curved(self, H: Array, moving: Ints, u: Array, steep: Array) -> Array:
        """H plus the curvature of the lengths, ``t / |u| * (1 - u u' / |u|^2)`` by block."""
        H = H + np.diag(FLAT * H.diagonal())
        place = np.zeros(len(u), dtype=np.int64)
        place[moving] = np.arange(len(moving))
        for blocks, _ in self.rotations:
            at = blocks[steep[blocks[:, 0]] > 0.0]
            unit = u[at] / np.sqrt(np.sum(u[at] ** 2, axis=1, keepdims=True))
            across = np.eye(at.shape[1]) - unit[:, :, None] * unit[:, None, :]
            inside = place[at]
            H[inside[:, :, None], inside[:, None, :]] += steep[at[:, :1, None]] * across
        return H

    def _lengthened(self, u: Array, steps: Array, lengths: Array, bound: Array) -> Array:
        """Increase of the lengths along each step beyond their slope at u."""
        after = np.sqrt(self._sum((u + steps) ** 2))
        both = np.where(bound, lengths + after, 1.0)
        along = self._sum(u * steps) / np.where(bound, lengths, 1.0)
        excess = (self._sum(steps * steps) - along * (after - lengths)) / both
        lengthened: Array = np.sum(np.where(bound, self.thresholds * excess, 0.0), axis=-1)
        return lengthened

    def _sum(self, values: Array) -> Array:
        """Sum over every block along the last axis."""
        total: Array = np.add.reduceat(values, self.starts[:-1], axis=-1)
        return total

    def _spread(self, of_blocks: AnyArray) -> AnyArray:
        """Expand block values to the variables."""
        return np.repeat(of_blocks, np.diff(self.starts))
