"""How far a fit can be from its minimum: a lower bound on J, proven by duality.

Every convex loss lies above its tangents, ``phi(m) >= -alpha * m - phi*(-alpha)`` with phi* the
conjugate. Put into J, with any alpha of the rows that balances (``sum c * alpha * y = 0``, as
the bias is free), the least over w is

    D(alpha) = -mean of phi*(-alpha)  -  |mean of alpha * y * x|^2 / (4 l2)   <=   min J

The slopes at some weights make such an alpha, but for the balance. What is missing is made up
by mixing with alphas that depend on the class alone: phi* is convex, so the mixture's is at most
the mixture of theirs, and both are known from J, its gradient and the class sums. So a bound
costs no read of the data once the gradient is known. Softmax is the same with probabilities for
alpha, which must meet the class counts. Losses with a kink do not tell alpha by their slopes at
the minimum: see :mod:`separatrix.solvers.dual.proximal_point`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import entr

from ..data import ArraySource
from ..losses import Columns, MarginLoss, Softmax
from ..numeric.dot import dot
from ..numeric.types import Array
from ..objective import Evaluation, Objective
from ..objective.accuracy import EXACT, SUMS, exact_tangents, exact_value, rounding
from ..solvers import Step
from ..solvers.dual.losses import has_response
from ..solvers.dual.proximal_point import bound_at

LEAST = 1e-14  # no smaller gap is asked for: J itself is not known much better
MIXTURES = 10  # shares of the mixture to try, each twice the one before


MOST_POLISHES = 3
POLISH_READS = EXACT_READS = 2
EXACT_EVERY = 3  # steps, where rounding stands in the way
STALLED = 10  # proofs without progress after which there will be none


def provable(objective: Objective) -> bool:
    """Whether there are bounds: a penalty, and a loss whose conjugate is known.

    Where a loss has a kink they need a number beside every row, and so rows in memory.
    """
    loss, known = objective.loss, objective.loss.has_conjugate
    if not loss.smooth:
        known = has_response(loss) and isinstance(objective.source, ArraySource)
    return objective.penalty.strength > 0.0 and known


@dataclass
class GapTracker:
    """Bounds met along a run: the best of them counts, whichever weights it came from.

    Proofs read the data at most as often as the steps do, and once more at the end.
    """

    objective: Objective
    tol: float
    """The gap asked for, as a share of J."""
    of_average: bool = False
    """Whether the averages of a run are asked about, where it has them, and not its weights."""
    lower_bound: float = 0.0
    """A number that no weights get below; at first, that no loss here is negative."""
    unrounded_bound: float = 0.0
    """The same, if there were no rounding."""
    iteration: int = 0
    """The pass that was looked at last."""
    evaluated: int = 0
    """The pass whose weights were evaluated last, and J there."""
    value: float = np.inf
    error: float = 0.0
    """How far J there may be from that by rounding."""
    stale: int = 0
    """Proofs in a row that brought neither a lower J nor a smaller gap."""
    best: tuple[float, float] = (np.inf, np.inf)
    reads: int = 0
    """Of the data that proofs may still make."""
    due: int = 0
    """The pass from which on a proof for a loss with a kink, which is dear, is worth its price."""
    exact_due: int = 0
    """And the one from which on sums of twice the working precision are."""

    @property
    def gap(self) -> float:
        """The duality gap: the weights evaluated last are at most this far from the minimum."""
        return max(self.value - self.lower_bound, 0.0) + self.error

    @property
    def proven(self) -> bool:
        """Whether that is as near as was asked for; J is not known beyond its rounding."""
        return self.gap <= max(self.tol, LEAST) * self.value

    @property
    def stalled(self) -> bool:
        """Whether rounding, or the solver, allows no more."""
        return self.stale >= STALLED

    def update(self, step: Step, iteration: int, due: bool) -> None:
        """Take up what the step of a pass proves of the weights that it would leave.

        Free where the step tells a bound or the gradient; else a read of the data when due.
        """
        self.reads, self.iteration = self.reads + step.reads, iteration
        kept, J = step.weights, step.objective
        if self.of_average and step.average is not None:
            kept, J = step.average, None  # what the step tells is told of its weights
        if J is not None and step.bound is not None:
            self._at(kept, J)
            self._raise(step.bound, self.error)
        elif J is not None and step.gradient is not None:
            self.evaluate(kept, Evaluation(J, step.gradient, 0.0))
        elif (due or step.solved) and iteration >= self.due:
            self.evaluate(kept)
        else:
            return
        if not self.proven and self._near and iteration >= self.exact_due:
            self.exact_due = iteration + EXACT_EVERY
            self.evaluate_exactly(kept, None if step.alpha is None else step.alpha())
        value, gap = self.best
        self.stale = 0 if self.value < value or self.gap < gap else self.stale + 1
        self.best = min(self.value, value), min(self.gap, gap)

    def _at(self, W: Array, value: float) -> None:
        self.evaluated, self.value = self.iteration, value
        self.error = rounding(self.objective, W, value)

    def _raise(self, bound: float, allowance: float) -> None:
        """A bound that rounding may have put too high by so much."""
        self.unrounded_bound = max(self.unrounded_bound, bound)
        self.lower_bound = max(self.lower_bound, bound - allowance)

    @property
    def _near(self) -> bool:
        """Whether nothing but rounding stands between the gap and what is asked for."""
        return self.value - self.unrounded_bound <= max(self.tol, LEAST) * self.value

    def evaluate(self, W: Array, at: Evaluation | None = None) -> None:
        """A bound from W, and from J and its gradient there if they are known already."""
        objective = self.objective
        if not objective.loss.smooth:
            self.due = 2 * self.iteration
            value, bound, reads, _ = bound_at(objective, W, self.reads)
            self.reads -= reads
            self._at(W, value)
            self._raise(bound, self.error)
            return
        if at is None:
            self.reads -= 1
            at = objective.value_and_gradient(W)
        self._at(W, at.value)
        self._raise(*smooth_bound(objective, W, at))
        for _ in range(MOST_POLISHES if objective.intercept else 0):
            # The bound loses in proportion to the gradient by the biases, but only to the square
            # of that by w: if nothing else is in the way, take the biases to their best place.
            rest = _without_bias(objective, at.gradient) / (4.0 * objective.penalty.strength)
            if self._near or not rest <= 0.5 * max(self.tol, LEAST) * self.value:
                return
            if self.reads < POLISH_READS:
                return
            self.reads -= POLISH_READS
            W = _polished(objective, W, at.gradient[:, -1])
            at = objective.value_and_gradient(W)
            self._raise(*smooth_bound(objective, W, at))

    def evaluate_exactly(self, W: Array, alpha: Array | None = None) -> None:
        """The same from sums of twice the working precision, for losses of margins.

        At a kink W does not tell the alphas: they are found anew if not known.
        """
        objective = self.objective
        if not isinstance(objective.loss, (MarginLoss, Columns)):
            return
        if alpha is None and not objective.loss.smooth:
            enough = 0.1 * max(self.tol, LEAST)
            _, _, reads, alpha = bound_at(objective, W, self.reads - EXACT_READS, enough)
            self.reads -= reads
        if self.reads < EXACT_READS:
            return
        self.reads -= EXACT_READS
        told = exact_tangents(objective, W, alpha)
        self.value, self.error = told.value, SUMS * told.value
        loss_mean = told.value - objective.penalty.value(W)
        sizes = loss_mean + abs(told.conjugate)
        self._raise(*lower_bound(objective, W, told.gradient, told.conjugate, SUMS * sizes))

    def close(self, W: Array, told: Array, at: int | None) -> None:
        """A last proof, of the weights kept, and J as exactly as it is told.

        At the weights told, which differ from those by rounding. ``at`` is the pass that ended with
        them, None if none did that was looked at.
        """
        self.reads += 1
        if at is None or self.evaluated != at:
            self.evaluate(W)
        if not self.proven and self._near:
            self.evaluate_exactly(W)
        if self.error > EXACT * self.value:
            self.value = exact_value(self.objective, told)
            self.error = SUMS * self.value


def _without_bias(objective: Objective, gradient: Array) -> float:
    """Square of the gradient by w, about as it is once the biases are at their best."""
    mean = objective.class_sums.sum(axis=0)[:-1] / objective.source.weight_sum
    return _square(gradient[:, :-1] - gradient[:, -1:] * mean)


def _polished(objective: Objective, W: Array, bias: Array) -> Array:
    """One Newton step in the biases alone."""
    moved = W.copy()
    moved[:, -1] -= np.linalg.lstsq(objective.bias_curvature(W), bias, rcond=1e-12)[0]
    return moved


def _square(a: Array) -> float:
    return dot(a, a)


def smooth_bound(objective: Objective, W: Array, at: Evaluation) -> tuple[float, float]:
    """A lower bound on the minimum of J from its value and gradient at W, and its rounding."""
    loss_mean = at.value - objective.penalty.value(W)
    G = at.gradient[:, :-1] - objective.penalty.gradient(W)[:, :-1]
    along = dot(G, W[:, :-1]) + dot(at.gradient[:, -1], W[:, -1])
    conjugate = along - loss_mean  # phi*(slope) = m * slope - phi(m), the mean over rows
    allowance = SUMS * (loss_mean + abs(along)) + rounding(objective, W, loss_mean)
    return lower_bound(objective, W, at.gradient, conjugate, allowance)


def lower_bound(
    objective: Objective, W: Array, gradient: Array, conjugate: float, allowance: float
) -> tuple[float, float]:
    """What tangents prove: their slopes make a gradient at W, and have a mean conjugate.

    ``allowance`` is how far the conjugate may be off.
    """
    l2 = objective.penalty.strength
    G = gradient[:, :-1] - objective.penalty.gradient(W)[:, :-1]

    def dual(share: float, level: float, towards: Array | float) -> float:
        mixed = (1.0 - share) * G + share * towards
        return -(1.0 - share) * conjugate - share * level - _square(mixed) / (4 * l2)

    mixtures = _mixtures(objective, gradient[:, -1]) if objective.intercept else [UNMIXED]
    best, alone = 0.0, dual(*UNMIXED)
    allowance += SUMS * abs(alone + conjugate)
    for mixture in mixtures:
        found = dual(*mixture)
        best = max(best, found)
        if abs(found - alone) <= allowance:
            break  # as good as balanced: what another share would change is lost in rounding
    return best, allowance


Mixture = Callable[[float], tuple[float, Array]]
"""For a share: the mean conjugate of class-wise alphas that balance at it, and their gradient."""


UNMIXED = 0.0, 0.0, np.zeros(1)


def _mixtures(objective: Objective, bias: Array) -> Iterator[tuple[float, float, Array]]:
    """Shares of class-wise alphas that make up for the gradient by the biases."""
    sums = objective.class_sums / objective.source.weight_sum
    if isinstance(objective.loss, Softmax):
        least, mixture = _of_probabilities(sums, bias)
    else:
        loss = objective.loss.binary if isinstance(objective.loss, Columns) else objective.loss
        assert isinstance(loss, MarginLoss)
        least, mixture = _of_columns(loss, sums, bias)
    if least < np.finfo(float).tiny:  # balanced as it is
        yield UNMIXED
        return
    for share in least * 2.0 ** np.arange(MIXTURES):
        if share < 1.0:
            yield float(share), *mixture(float(share))


def _of_probabilities(sums: Array, bias: Array) -> tuple[float, Mixture]:
    """Softmax: probabilities q, the same for all rows, chosen so that the class counts are met."""
    counts, means = sums[:, -1], sums[:, :-1]
    least = float(np.max(np.where(bias > 0.0, bias / (counts + np.abs(bias)), 0.0)))

    def mixture(share: float) -> tuple[float, Array]:
        q = np.maximum(counts - (1.0 - share) / share * bias, 0.0)
        return -float(entr(q).sum()), q[:, None] * means.sum(axis=0) - means

    return least, mixture


def _of_columns(loss: MarginLoss, sums: Array, bias: Array) -> tuple[float, Mixture]:
    """One -1/+1 column per class, or a single one: alpha on the side that weighs too little."""
    ones = sums[1:] if len(bias) == 1 else sums
    # A negative derivative by the bias: too much alpha on the +1 side.
    light = np.where((bias < 0.0)[:, None], sums.sum(axis=0) - ones, ones)
    sign, count = np.where(bias < 0.0, -1.0, 1.0), light[:, -1]
    least = float(np.max(np.abs(bias) / (count + np.abs(bias)), where=bias != 0.0, initial=0.0))

    def mixture(share: float) -> tuple[float, Array]:
        missing = (1.0 - share) / share * np.abs(bias)
        alpha = np.divide(missing, count, out=np.zeros_like(count), where=missing > 0.0).clip(0, 1)
        return float(count @ loss.conjugate(alpha)), -(sign * alpha)[:, None] * light[:, :-1]

    return least, mixture
