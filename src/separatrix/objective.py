"""What is minimised: the weighted mean loss plus the penalty, summed over a source's blocks.

    J(W) = sum_i c_i * loss_i / sum_i c_i  +  l2 * sum_c |w_c|^2

The scaling is stated here and nowhere else. Weights have one shape everywhere: (k, d + 1),
bias last, k = 1 for two classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from . import loops
from .data import Block, Source
from .data.pool import one_blas_thread
from .loops import Rows
from .losses import Loss
from .penalties import L2
from .typing import AnyArray, Array

HESSIAN_ROWS = 512  # rows converted to float64 at a time


class Evaluation(NamedTuple):
    """J and its gradient at some weights, and the weighted mistakes there."""

    value: float
    gradient: Array
    mistakes: float


class Moments(NamedTuple):
    """Weighted mean and standard deviation of every feature."""

    mean: Array
    deviation: Array

    @property
    def mean_square(self) -> float:
        """Weighted mean of |x|^2."""
        return float(np.sum(self.mean**2 + self.deviation**2))


@dataclass(frozen=True)
class Objective:
    """A loss, a penalty and data: the function of the weights that solvers descend."""

    loss: Loss
    penalty: L2
    source: Source
    intercept: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the weights."""
        return 1, self.source.n_features + 1

    def mean(self, loss_sum: float, W: Array) -> float:
        """J at W, given the weighted sum of the losses."""
        return loss_sum / self.source.weight_sum + self.penalty.value(W)

    def value(self, W: Array) -> tuple[float, float]:
        """J at W, and the weighted mistakes there."""
        loss_sum, mistakes = self.source.total(partial(_value, loss=self.loss, W=W))
        return self.mean(loss_sum, W), mistakes

    def value_and_gradient(self, W: Array) -> Evaluation:
        """J, its gradient and the weighted mistakes at W, in one read of the data."""
        loss_sum, mistakes, gradient = self.source.total(partial(_gradient, loss=self.loss, W=W))
        return Evaluation(self.mean(loss_sum, W), self._scaled(gradient, W), mistakes)

    def _scaled(self, gradient: Array, W: Array) -> Array:
        """A sum over rows as the derivative of J: of the mean, with the penalty's at W."""
        gradient /= self.source.weight_sum
        gradient += self.penalty.gradient(W)
        if not self.intercept:
            gradient[:, -1] = 0.0
        return gradient

    def hessian(self, W: Array, share: float = 1.0) -> tuple[Evaluation, Array]:
        """What ``value_and_gradient`` gives, and the second derivative (d + 1, d + 1).

        The latter from a random share of the rows, the same ones each time, if less than 1.
        """
        rows = min(self.source.n_rows, HESSIAN_ROWS)
        with one_blas_thread(rows * W.size**2):
            loss_sum, mistakes, gradient, hessian, weight = self.source.total(
                partial(_hessian, loss=self.loss, W=W, share=share)
            )
        hessian /= weight or 1.0
        np.einsum("ii->i", hessian)[:] += self.penalty.diagonal(W.shape).ravel()
        if not self.intercept:
            hessian[-1] = hessian[:, -1] = 0.0
            hessian[-1, -1] = 1.0
        evaluation = Evaluation(self.mean(loss_sum, W), self._scaled(gradient, W), mistakes)
        return evaluation, hessian

    def hessian_product(self, W: Array, V: Array) -> Array:
        """The second derivative at W times V, both (k, d + 1)."""
        V = V.copy()
        if not self.intercept:
            V[:, -1] = 0.0
        (product,) = self.source.total(partial(_hessian_product, loss=self.loss, W=W, V=V))
        return self._scaled(product, V)  # the penalty is quadratic: its second derivative is linear

    def label_sum(self) -> Array:
        """Weighted sum of y * (x, 1): the start of the batch perceptron."""
        (total,) = self.source.total(_label_sum)
        if not self.intercept:
            total[:, -1] = 0.0
        result: Array = total
        return result

    def mistakes_of(self, candidates: Array) -> Array:
        """Weighted mistakes of several weights (m, d + 1) in one read of the data."""
        (mistakes,) = self.source.total(partial(_mistakes, loss=self.loss, candidates=candidates))
        result: Array = mistakes
        return result

    @cached_property
    def moments(self) -> Moments:
        """Mean and deviation of every feature: one read, remembered."""
        total, squares = self.source.total(_moments)
        mean = total / self.source.weight_sum
        variance = squares / self.source.weight_sum - mean**2
        # What cancels to nothing or below is a constant feature, up to rounding.
        noise = 1e-14 * squares / self.source.weight_sum
        return Moments(mean, np.sqrt(np.where(variance > noise, variance, 0.0)))


# Parts of a sum, one block each: module-level functions, so that they can be sent to a worker.


def _value(block: Block, loss: Loss, W: Array) -> tuple[float, float]:
    return loops.batch_pass(block.X, block.y, loss, W, weight=block.weight)


def _gradient(block: Block, loss: Loss, W: Array) -> tuple[float, float, Array]:
    gradient = np.zeros_like(W)
    sums = loops.batch_pass(block.X, block.y, loss, W, weight=block.weight, gradient=gradient)
    return *sums, gradient


def _hessian(
    block: Block, loss: Loss, W: Array, share: float
) -> tuple[float, float, Array, Array, float]:
    n = len(block.y)
    gradient = np.zeros_like(W)
    curvature = np.empty(n)
    sums = loops.batch_pass(
        block.X, block.y, loss, W, weight=block.weight, gradient=gradient, curvature=curvature
    )
    chosen: slice | AnyArray = slice(None)
    if share < 1.0:
        rng = np.random.default_rng(block.start)
        chosen = np.sort(rng.choice(n, max(1, round(share * n)), replace=False))
    weight = np.ones(n)[chosen] if block.weight is None else block.weight[chosen]
    hessian = gram(block.X, np.sqrt(curvature), chosen)
    return *sums, gradient, hessian, float(weight.sum())


def gram(rows: Rows, root: Array, chosen: slice | AnyArray) -> Array:
    """``Z'Z`` for the chosen rows of Z = root * (rows, 1), a few at a time in float64."""
    d = loops.shape(rows)[1]
    total = np.zeros((d + 1, d + 1))
    picked = np.arange(len(root))[chosen]
    for start in range(0, len(picked), HESSIAN_ROWS):
        at = picked[start : start + HESSIAN_ROWS]
        z = np.empty((len(at), d + 1))
        np.multiply(loops.dense(loops.pick(rows, at)), root[at, None], out=z[:, :-1])
        z[:, -1] = root[at]
        total += z.T @ z
    return total


def _hessian_product(block: Block, loss: Loss, W: Array, V: Array) -> tuple[Array]:
    curvature = np.empty(len(block.y))
    loops.batch_pass(block.X, block.y, loss, W, weight=block.weight, curvature=curvature)
    product = np.zeros_like(V)
    loops.hessian_product(block.X, curvature, V[0], product[0])
    return (product,)


def _mistakes(block: Block, loss: Loss, candidates: Array) -> tuple[Array]:
    scores = loops.scores(block.X, candidates)
    weight = np.ones(len(scores)) if block.weight is None else block.weight
    return (np.array([weight @ loss.mistakes(block.y, column[:, None]) for column in scores.T]),)


def _label_sum(block: Block) -> tuple[Array]:
    coefficients = block.y if block.weight is None else block.weight * block.y
    total = np.zeros((1, loops.shape(block.X)[1] + 1))
    loops.combine(block.X, coefficients[:, None], total)
    return (total,)


def _moments(block: Block) -> tuple[Array, Array]:
    d = loops.shape(block.X)[1]
    total, squares = np.zeros(d), np.zeros(d)
    loops.moments(block.X, block.weight, total, squares)
    return total, squares
