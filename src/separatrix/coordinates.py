"""Ascent of the dual one alpha at a time, for more features than a system can have.

A smooth loss bends the dual by itself: some passes of single alphas are enough, and two threads
climb a part of the rows each (see cpp/dual.hpp). For the hinge, whose dual bends by the rows
alone, parts would halve every step; there passes find out which rows sit at a bound, and smooth
the rest. What they leave crawls: so between them conjugate gradients solve for the alphas inside
their bounds (the gradient projection and conjugate gradients of More and Toraldo, 1991, with
coordinate passes for the former).

With a free bias one alpha could not move alone: the bias is held near where it stood by a penalty
as stiff as the weights', and moved on after every round (method of multipliers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from . import layout, loops
from .data import ArraySource, Block, Shuffle
from .data.arrays import random_order
from .data.pool import n_threads, ordered_sum
from .direction import in_memory
from .objective import Objective
from .response import MarginResponse, Pulls
from .typing import Array, Ints

FIRST_PASSES, PASSES = 20, 8  # of single alphas in a round
FEW_PASSES = 3  # where the loss is smooth: there is no face to be found
PARTS = 2  # of the rows, climbed at the same time; more take more passes: 4 a third more
MIXED = 16  # stretches of neighbouring rows whose order is mixed: about a cache full
CAREFUL = 3.0  # times the mean slope: how far beyond its kink a row at a bound may be left out
IDENTIFIED = 1.3  # rows still visited per alpha inside its bounds, below which a face is solved
SHORTEST, LONGEST = 10, 100  # products in the solution of a face
LITTLE = 0.002  # of the gain so far: a product that adds less is the last
HALVINGS = 6


@dataclass
class Coordinates:
    """Where an ascent stands: every row's alpha, and the weights that follow from them."""

    objective: Objective
    response: MarginResponse
    alpha: Array
    center: float
    """Where the bias is held."""
    seed: int
    rounds: int = 0
    passes: int = 0
    products: int = 2 * SHORTEST
    safe: float = np.inf
    visited: Ints | None = None
    """Rows to visit in the next pass: those that may not stay where they are."""
    lowest: float = np.inf
    highest: float = 0.0
    gaps: Array = field(default_factory=lambda: np.empty(0))
    """Between the lowest J and the highest bound, after every round."""
    objective_value: float = field(default=np.inf, init=False)
    mistakes: float = field(default=0.0, init=False)
    bound: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        source = self.source
        self.square = np.empty(len(source.y))
        source.total(partial(_squares, out=self.square))
        self.parts = 1 if self.response.kinked else PARTS
        self.share = 1.0 / source.weight_sum
        self.give = 0.5 / self.objective.penalty.strength
        self.bias_give = 0.0
        if self.objective.intercept:  # as stiff as a feature of the rows' own size
            weight = np.ones(len(source.y)) if source.weight is None else source.weight
            self.bias_give = self.give * (float(weight @ self.square) * self.share or 1.0)
        if self.visited is None:
            present = source.present
            self.visited = np.arange(len(source.y)) if present is None else present
        self.W = self.weights = np.zeros(self.objective.shape)
        self._follow()

    @property
    def source(self) -> ArraySource:
        """Rows in memory."""
        return in_memory(self.objective)

    def round(self) -> None:
        """Some passes, a solution of the face they end on, and an exact measurement."""
        self.rounds += 1
        rows = self.visited
        assert rows is not None
        for _ in range(self._passes):
            rows = self._pass(rows)
        if self.response.kinked:
            inside = rows[(self.alpha[rows] > 0.0) & (self.alpha[rows] < 1.0)]
            if len(inside) > 0 and len(rows) < IDENTIFIED * len(inside) + SHORTEST:
                self._solve_face(inside)
        self._measure()

    @property
    def _passes(self) -> int:
        if not self.response.kinked:
            return FEW_PASSES
        return FIRST_PASSES if self.rounds == 1 else PASSES

    def _pass(self, rows: Ints) -> Ints:
        """One of single alphas over all rows given, in a random order; those to visit again."""
        source = self.source
        shuffle = Shuffle(self.seed, self.passes)
        drawn = random_order(len(rows), shuffle, source.row_bytes, MIXED)
        self.passes += 1
        moved, slope, kept = ordered_sum(
            self._climb_part, np.array_split(rows[drawn], self.parts), n_threads(source.n_jobs)
        )
        self.W[0] += moved / self.parts
        if self.response.bounded:
            self.safe = CAREFUL * slope / max(sum(map(len, kept)), 1)
        again = np.zeros(len(source.y), dtype=bool)
        again[np.concatenate(kept)] = True
        return np.flatnonzero(again)

    def _climb_part(self, order: Ints) -> tuple[Array, float, list[Ints]]:
        source, w = self.source, self.W[0].copy()
        kept, slope = loops.dual_pass(
            source.X, source.y, self.response.loss, self.alpha, w, order, share=self.share,
            square=self.square, give=self.give, bias_give=self.bias_give, parts=self.parts,
            weight=source.weight, safe=self.safe,
        )  # fmt: skip
        return w - self.W[0], slope, [order[:kept]]

    def _solve_face(self, rows: Ints) -> None:
        """Conjugate gradients over the alphas inside their bounds; then back into the bounds.

        In variables in which the dual bends by 1 for each alone.
        """
        source, W = self.source, self.W
        y = source.y[rows]
        p = np.full(len(rows), self.share)
        if source.weight is not None:
            p *= source.weight[rows]
        face = ArraySource(layout.pick(source.X, rows), y, source.classes, n_jobs=source.n_jobs)
        scale = 1.0 / (p * np.sqrt(np.maximum(self.square[rows] * self.give + self.bias_give,
                                              1e-300)))  # fmt: skip
        lack = 1.0 - y * _scores(face, W)
        gives = np.append(np.full(W.shape[1] - 1, self.give), self.bias_give)

        def moved(change: Array) -> Array:
            (total,) = face.total(partial(_combine, coefficients=(p * y * change)[:, None]))
            out: Array = total * gives
            return out

        def product(u: Array) -> Array:
            out: Array = scale * p * y * _scores(face, moved(scale * u))
            return out

        u, hoped = _climb(product, scale * p * lack, self.products)
        length = 1.0
        for _ in range(HALVINGS):
            alpha = np.clip(self.alpha[rows] + length * scale * u, 0.0, 1.0)
            change = alpha - self.alpha[rows]
            step = moved(change)
            # The dual falls by half of what the pulls themselves turn the margins by.
            gain = float((p * change) @ (lack - 0.5 * y * _scores(face, step)))
            if gain >= 0.1 * length * hoped:
                break
            length *= 0.5
        if gain > 0.0:
            self.alpha[rows] = alpha
        # Longer where the bounds hardly stood in the way.
        if gain > 0.8 * hoped:
            self.products = min(2 * self.products, LONGEST)
        elif gain < 0.5 * hoped:
            self.products = max(self.products // 2, SHORTEST)

    def _follow(self, settle: bool = False) -> Pulls:
        """The weights anew from the alphas: what adds up over many steps is not trusted.

        To settle moves the point near which the bias is held to where the bias is.
        """
        sums, gains = self.source.total(partial(_pulls, response=self.response, alpha=self.alpha))
        pulls = Pulls(sums * self.share, gains * self.share)
        pull = -self.response.gradient(pulls.sums)
        self.W[:] = self.give * pull
        away = self.bias_give * float(pull[0, -1])
        if settle:
            self.center += away
            self.weights = self.W.copy()
            self.weights[0, -1] = self.center
        self.W[0, -1] = self.center + away
        return pulls

    def _measure(self) -> None:
        """J and the bound at the alphas, and which rows to visit next."""
        source, objective = self.source, self.objective
        pulls = self._follow(settle=True)
        self.bound = self.response.bound(pulls, objective.penalty.strength, objective.intercept)
        weight = source.weight
        scores = _scores(source, self.weights)
        if weight is not None:
            scores[weight == 0.0] = 0.0  # as if absent, even where its score overflows
        if objective.intercept:
            shift = self.response.best_bias(source.y, scores, weight)
            scores += shift
            self.weights[0, -1] += shift
        margins = source.y * scores
        values = self.response.loss.phi(margins)
        total = float(values.sum() if weight is None else weight @ values)
        self.objective_value = objective.mean(total, self.weights)
        wrong = margins <= 0.0
        self.mistakes = float(np.count_nonzero(wrong) if weight is None else weight @ wrong)
        stays = (self.alpha <= 0.0) & (margins > 1.0 + self.safe)
        if self.response.kinked:
            stays |= (self.alpha >= 1.0) & (margins < 1.0 - self.safe)
        if weight is not None:
            stays |= weight == 0.0
        self.visited = np.flatnonzero(~stays)
        self.lowest = min(self.lowest, self.objective_value)
        self.highest = max(self.highest, self.bound)
        self.gaps = np.append(self.gaps, self.lowest - self.highest)


def _climb(product: Callable[[Array], Array], right: Array, most: int) -> tuple[Array, float]:
    """Conjugate gradients towards the highest ``right.u - u.product(u) / 2``, and what it gains."""
    u, r, p = np.zeros_like(right), right, right
    size, gain = float(r @ r), 0.0
    for _ in range(most):
        image = product(p)
        bend = float(p @ image)
        if not bend > 0.0:
            break
        length = size / bend
        u = u + length * p
        r = r - length * image
        gain += 0.5 * length * size
        if 0.5 * length * size <= LITTLE * gain:
            break
        size, before = float(r @ r), size
        p = r + size / before * p
    return u, gain


def _scores(source: ArraySource, W: Array) -> Array:
    out = np.empty((len(source.y), 1))
    source.total(partial(_score, W=W, out=out))
    return out[:, 0]


# Parts of a sum, one block each.


def _squares(block: Block, out: Array) -> tuple[()]:
    out[block.start : block.start + len(block.y)] = layout.squared_norms(block.X)
    return ()


def _score(block: Block, W: Array, out: Array) -> tuple[()]:
    loops.scores(block.X, W, out[block.start : block.start + len(block.y)])
    return ()


def _combine(block: Block, coefficients: Array) -> tuple[Array]:
    out = np.zeros((coefficients.shape[1], layout.shape(block.X)[1] + 1))
    at = slice(block.start, block.start + len(block.y))
    loops.combine(block.X, coefficients[at], out)
    return (out,)


def _pulls(block: Block, response: MarginResponse, alpha: Array) -> tuple[Array, Array]:
    at = slice(block.start, block.start + len(block.y))
    pull, gain = response.coefficients(block.y, alpha[at, None])
    if block.weight is not None:
        pull, gain = pull * block.weight[:, None], gain * block.weight[:, None]
    out = np.zeros((response.groups, layout.shape(block.X)[1] + 1))
    loops.combine(block.X, pull, out)
    return out, gain.sum(axis=0)
