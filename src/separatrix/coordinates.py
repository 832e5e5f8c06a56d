"""Ascent of the dual one alpha at a time, for more features than a system can have.

A smooth loss bends the dual by itself: some passes of single alphas are enough, and two threads
climb a part of the rows each (see cpp/dual.hpp). For the hinge, whose dual bends by the rows
alone, passes find out which rows sit at a bound, and crawl over the rest. There they are helped:

- Every pass is taken for a direction, and spans a space with the two steps before it, in which the
  highest point is known without a look at the rows. This is conjugate gradients with a pass for
  their preconditioner, but bounds may come and go. A pass in one direction is no symmetric one:
  a memory of two steps took a quarter fewer passes than one, more did not help. Two threads climb
  a part each, as it is found out how far to go. The order must be random: passes in a fixed order
  got stuck.
- Gains near rounding cannot be seen that way, a free bias did not gain by it, and some problems
  are too badly conditioned for so short a memory. Then conjugate gradients solve for all alphas
  inside their bounds between passes (the gradient projection and conjugate gradients of More and
  Toraldo, 1991, with coordinate passes for the former).

With a free bias one alpha could not move alone: the bias is held near where it stood by a penalty
about as stiff as the weights', and moved on after every round (method of multipliers).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from . import layout, loops
from .data import ArraySource, Block, RowsOf, Shuffle
from .data.arrays import random_order
from .data.pool import one_blas_thread, ordered_sum
from .face import best_lengths, best_of_face, combined, pulls_of, scores
from .objective import Objective
from .response import MarginResponse, Pulls
from .typing import AnyArray, Array, Ints

FIRST_PASSES, PASSES = 20, 8  # of single alphas in a round
MOST_PASSES = 30  # where they are quickened
FEW_PASSES = 3  # where the loss is smooth: there is no face to be found
PARTS = 2  # of the rows, climbed at the same time; more take more passes: 4 a third more
PIECES = 8  # of a pass before a face is known; after each the parts hear of each other
COPIED = 32  # times their copies of the weights are the rows of a piece, at least
MEMORY = 2  # steps
MIXED = 16  # stretches of neighbouring rows whose order is mixed: about a cache full
CAREFUL = 6.0  # times the mean slope: how far beyond its kink a row at a bound may be left out
IDENTIFIED = 1.8  # rows still visited per alpha inside its bounds, below which a face is known
ROUGHLY = 1e-4  # slope at the end of the first round
EASILY = 1e-3  # of what is enough: then fewer passes than usual will do
TOO_FAR = 0.4  # of a pass: if its best length is so much shorter, parts are in each other's way
ROUNDING = 1e-14  # of the dual: gains below are not seen in it
# Of a smooth loss: rows that bend much in the units of the penalty take many passes, of which a
# stiff bias, as one more feature of all rows, would take twice as many; where they bend little, a
# soft one would take many rounds. Measured on text.
SOFT, SOFTEST = 0.25, 0.1
SHORTEST, LONGEST = 10, 100  # products in the solution of a face


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
    alone: int = 0
    """Passes still to come that are not shared by parts, because those were in each other's way."""
    caution: int = 1
    """How many that will be the next time."""
    quick: bool = True
    """Whether passes are helped by planes, or by conjugate gradients."""
    products: int = 2 * SHORTEST
    safe: float = np.inf
    moved: Array = field(default_factory=lambda: np.empty((MEMORY, 0)))
    """The rows to visit by the last steps, where the loss has a kink. Others did not move."""
    moved_weights: Array = field(default_factory=lambda: np.empty((MEMORY, 0)))
    """What that did to the weights."""
    visited: Ints | None = None
    """Rows to visit in the next pass: those that may not stay where they are."""
    lowest: float = np.inf
    highest: float = 0.0
    gaps: Array = field(default_factory=lambda: np.empty(0))
    """Between the lowest J and the highest bound, after every round."""
    objective_value: float = field(default=np.inf, init=False)
    mistakes: float = field(default=0.0, init=False)
    bound: float = field(default=0.0, init=False)
    slope: float = field(default=np.inf, init=False)
    """Mean distance to its kink of those rows whose alpha could follow, in the last pass."""

    def __post_init__(self) -> None:
        self.source = source = self.objective.in_memory
        self.square = np.empty(len(source.y))
        source.total(partial(_squares, out=self.square))
        self.share = 1.0 / source.weight_sum
        self.give = 0.5 / self.objective.penalty.strength
        self.bias_give = 0.0
        if self.objective.intercept:  # as stiff as a feature of the rows' own size
            weight = np.ones(len(source.y)) if source.weight is None else source.weight
            square = float(weight @ self.square) * self.share or 1.0
            self.bias_give = self.give * square
            if not self.response.kinked:
                bend = (self.response.loss.max_curvature or 1.0) * square * self.give * self.share
                self.bias_give *= min(1.0, max(SOFTEST, SOFT / bend))
        self.quick = self.quick and self.response.kinked and not self.objective.intercept
        self.again = np.zeros(len(source.y), dtype=bool)
        self.W = self.weights = np.zeros(self.objective.shape)
        if self.visited is None:
            present = source.present
            self.visited = np.arange(len(source.y)) if present is None else present
            self._forget(self.visited)
        self._follow()

    def round(self) -> None:
        """Some passes, quickened where bounds hardly change any more, and a measurement."""
        self.rounds += 1
        # BLAS's own threads wait for work so eagerly that those which climb would be held up.
        with one_blas_thread(self.W.size * float(len(self.alpha))):
            self._climb()
            self._measure()

    def _climb(self) -> None:
        """Passes over the rows to visit, and the face they end on if nothing else helped."""
        rows, enough = self.visited, self._enough()
        assert rows is not None
        if not self.response.kinked:
            for _ in range(FEW_PASSES):
                rows = rows[self._pass(rows, PARTS)]
            return
        least = FIRST_PASSES if self.rounds == 1 else PASSES
        for number in range(1, (MOST_PASSES if self.quick else least) + 1):
            rows = self._step(rows)
            if self.slope <= (enough if number >= least else EASILY * enough):
                break
        else:
            self.quick &= self.rounds == 1
        self.visited = rows
        if not self.quick:
            inside = rows[(self.alpha[rows] > 0.0) & (self.alpha[rows] < 1.0)]
            if len(inside) > 0 and len(rows) < IDENTIFIED * len(inside) + SHORTEST:
                self._solve_face(inside)

    def _enough(self) -> float:
        """The slope at which the gap, which it bounds, is below the next power of ten.

        So are tolerances, mostly, and to measure the gap costs as much as some passes.
        """
        if not len(self.gaps) or not self.gaps[-1] > 0.0:
            return ROUGHLY  # J is 1 at 0
        digits = np.floor(np.log10(0.5 * self.gaps[-1] / self.lowest))
        return float(self.lowest * 10.0**digits)

    def _step(self, rows: Ints) -> Ints:
        """A pass where there is a kink; on to the best of a plane where a face is known."""
        before, before_w = self.alpha[rows], self.W[0].copy()
        known = len(rows) < IDENTIFIED * np.count_nonzero((before > 0.0) & (before < 1.0))
        if not (known and self.quick):
            rows = rows[self._early_pass(rows)]
            self._forget(rows)
            return rows
        again = self._pass(rows, self._parts())
        alpha = self.alpha[rows]
        steps = np.vstack([alpha - before, self.moved])
        moves = np.vstack([self.W[0] - before_w, self.moved_weights])
        steps[0] = self._quicken(rows, alpha, steps, moves) - before
        moves[0] = self.W[0] - before_w
        again |= steps[1:MEMORY].any(axis=0)  # what they did to the weights stays in memory
        self.moved, self.moved_weights = steps[:MEMORY].compress(again, axis=1), moves[:MEMORY]
        return rows[again]

    def _parts(self) -> int:
        """Of the rows, climbed at the same time in the next pass."""
        self.alone -= (alone := self.alone > 0)
        return 1 if alone else PARTS

    def _go_alone(self) -> None:
        self.alone, self.caution = self.caution, 2 * self.caution

    def _forget(self, rows: Ints) -> None:
        """The steps before, where there is a kink."""
        if self.response.kinked:
            self.moved = np.zeros((MEMORY, len(rows)))
            self.moved_weights = np.zeros((MEMORY, self.W.shape[1]))

    def _early_pass(self, rows: Ints) -> AnyArray:
        """In pieces that are worth the copies of the weights that parts make, or by one part."""
        pieces = int(len(rows) * self.source.row_bytes / (COPIED * self.W.nbytes))
        if self.quick and pieces > 1 and self._parts() > 1:
            return self._pass(rows, PARTS, min(pieces, PIECES))
        return self._pass(rows, 1)

    def _pass(self, rows: Ints, parts: int, pieces: int = 0) -> AnyArray:
        """One of single alphas over all rows given, in a random order; which to visit again.

        After each of the pieces, if any, parts go back to where together they are highest.
        """
        source = self.source
        shuffle = Shuffle(self.seed, self.passes)
        drawn = random_order(len(rows), shuffle, source.row_bytes, MIXED)
        self.passes += 1
        # With a kink the parts' moves are added: how far to go along their sum is found out.
        held = 1 if self.response.kinked else parts
        part = partial(self._climb_part, parts=held)
        total = 0.0
        for piece in np.array_split(rows[drawn], max(pieces, 1)):
            before = self.alpha[piece] if pieces else None
            moved, slope, kept = ordered_sum(
                part, np.array_split(piece.copy(), parts), source.threads
            )
            if before is not None:
                self._shorten(piece, before, moved)
            self.W[0] += moved / held
            total += slope
            for some in kept:
                self.again[some] = True
        again = self.again[rows]
        self.again[rows] = False
        if self.response.bounded:
            self.slope = total * self.share
            self.safe = CAREFUL * total / (np.count_nonzero(again) or 1)
        return again

    def _climb_part(self, order: Ints, parts: int) -> tuple[Array, float, list[Ints]]:
        source, w = self.source, self.W[0].copy()
        kept, slope = loops.dual_pass(
            source.X, source.y, self.response.loss, self.alpha, w, order, share=self.share,
            square=self.square, give=self.give, bias_give=self.bias_give, parts=parts,
            weight=source.weight, safe=self.safe,
        )  # fmt: skip
        w -= self.W[0]
        return w, slope, [order[:kept]]

    def _shorten(self, rows: Ints, before: Array, moved: Array) -> None:
        """Back along what parts did without each other, to where the dual is highest."""
        change = self.alpha[rows] - before
        bend = self._product(moved, moved)
        beyond = self._product(moved, self.W[0]) + bend - self._gains(rows, change)
        if not beyond > 0.0:
            return
        length = 1.0 - beyond / bend
        self.alpha[rows] = np.clip(before + length * change, 0.0, 1.0)
        moved *= length
        if length < 1.0 - TOO_FAR:
            self._go_alone()

    def _gains(self, rows: Ints, steps: Array) -> Any:
        """Of the dual's linear part, by each step of these rows' alphas."""
        weight = self.source.weight
        return self.share * (steps.sum(axis=-1) if weight is None else steps @ weight[rows])

    def _product(self, v: Array, w: Array) -> Any:
        """Of weights as the dual has it, where there is no bias."""
        return v[..., :-1] @ w[:-1] / self.give

    def _quicken(self, rows: Ints, alpha: Array, steps: Array, moves: Array) -> Array:
        """On to the highest point of the dual in the space of some steps, back into the bounds.

        The steps of the alphas moved the weights by ``moves``. The dual is a sum of alphas less
        squares of weights, so that its slopes and bends need no rows.
        """
        source, w = self.source, self.W[0]
        bends = np.array([self._product(moves, v) for v in moves])
        slopes = self._gains(rows, steps) - self._product(moves, w)
        if slopes[0] < -TOO_FAR * bends[0, 0]:
            self._go_alone()
        lengths = best_lengths(bends, slopes)
        if 0.5 * lengths @ slopes <= ROUNDING * self._product(w, w):
            self.quick = False
            return alpha
        wanted = alpha + lengths @ steps
        there = np.where((alpha > 0.0) & (alpha < 1.0), np.clip(wanted, 0.0, 1.0), alpha)
        change = lengths @ moves
        back = np.flatnonzero(there != wanted)
        if len(back):
            p = self.share if source.weight is None else self.share * source.weight[rows[back]]
            pull = p * source.y[rows[back]] * (there - wanted)[back]
            change[:-1] += self.give * combined(RowsOf(source, rows[back]), pull)[0, :-1]
        if self._gains(rows, there - alpha) <= self._product(change, w + 0.5 * change):
            return alpha
        self.alpha[rows] = there
        w += change
        return there

    def _solve_face(self, rows: Ints) -> None:
        """Conjugate gradients over the alphas inside their bounds; then back into the bounds."""
        source, p = self.source, np.full(len(rows), self.share)
        if source.weight is not None:
            p *= source.weight[rows]
        face = ArraySource(
            layout.pick(source.X, rows), source.y[rows], source.classes, n_jobs=source.n_jobs
        )
        gives = np.append(np.full(self.W.shape[1] - 1, self.give), self.bias_give)
        bends = self.square[rows] * self.give + self.bias_give
        found = best_of_face(face, self.alpha[rows], p, self.W, bends, gives, self.products)
        if found.gain > 0.0:
            self.alpha[rows] = found.alpha
        # Longer where the bounds hardly stood in the way.
        if found.gain > 0.8 * found.hoped:
            self.products = min(2 * self.products, LONGEST)
        elif found.gain < 0.5 * found.hoped:
            self.products = max(self.products // 2, SHORTEST)

    def _follow(self, settle: bool = False) -> Pulls:
        """The weights anew from the alphas: what adds up over many steps is not trusted.

        To settle moves the point near which the bias is held to where the bias is.
        """
        pulls = pulls_of(self.source, self.response, self.alpha)
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
        reached = scores(source, self.weights)
        if weight is not None:
            reached[weight == 0.0] = 0.0  # as if absent, even where its score overflows
        if objective.intercept:
            shift = self.response.best_bias(source.y, reached, weight)
            reached += shift
            self.weights[0, -1] += shift
        margins = source.y * reached
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
        self._visit(np.flatnonzero(~stays))
        self.lowest = min(self.lowest, self.objective_value)
        self.highest = max(self.highest, self.bound)
        self.gaps = np.append(self.gaps, self.lowest - self.highest)

    def _visit(self, rows: Ints) -> None:
        """These in the next pass, and those that the last steps moved."""
        before, self.visited = self.visited, rows
        if self.response.kinked:
            assert before is not None
            self.again[rows] = True
            self.again[before[self.moved.any(axis=0)]] = True
            self.visited = np.flatnonzero(self.again)
            self.again[:] = False
            moved = np.zeros((MEMORY, len(self.alpha)))
            moved[:, before] = self.moved
            self.moved = moved[:, self.visited]


# Parts of a sum, one block each.


def _squares(block: Block, out: Array) -> tuple[()]:
    out[block.start : block.start + len(block.y)] = layout.squared_norms(block.X)
    return ()
