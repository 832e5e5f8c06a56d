"""Ascent of the dual one alpha at a time, for more features than a system can have.

A smooth loss bends the dual by itself: some passes of single alphas are enough. For the hinge,
whose dual bends by the rows alone, passes find out which rows sit at a bound, and crawl over the
rest. There they are helped:

- Every pass is taken for a direction, and spans a space with the two steps before it, in which the
  highest point is known without a look at the rows. This is conjugate gradients with a pass for
  their preconditioner, but bounds may come and go. A pass in one direction is no symmetric one: a
  memory of two steps took a quarter fewer passes than one, more did not help. The order must be
  random: passes in a fixed order got stuck.
- Gains near rounding cannot be seen that way, a free bias did not gain by it, and some problems
  are too badly conditioned for so short a memory. Then conjugate gradients solve for all alphas
  inside their bounds between passes (the gradient projection and conjugate gradients of More and
  Toraldo, 1991, with coordinate passes for the former).

With a free bias one alpha could not move alone: the bias is held near where it stood by a penalty
about as stiff as the weights', and moved on after every round (method of multipliers).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...data import ArraySource, Subset
from ...numeric.rows import take_rows
from ...numeric.threads import one_blas_thread
from ...numeric.types import Array, Ints
from .epochs import CoordinatePasses
from .free_variables import best_lengths, best_of_face, combined, pulls_of, scores
from .losses import Pulls

FIRST_PASSES, PASSES = 20, 8  # of single alphas in a round
MOST_PASSES = 30  # where they are quickened
FEW_PASSES = 3  # where the loss is smooth: there is no face to be found
MEMORY = 2  # steps
IDENTIFIED = 1.8  # rows still visited per alpha inside its bounds, below which a face is known
ROUGHLY = 1e-4  # slope at the end of the first round
EASILY = 1e-3  # of what is enough: then fewer passes than usual will do
ROUNDING = 1e-14  # of the dual: gains below are not seen in it
SHORTEST, LONGEST = 10, 100  # products in the solution of a face


@dataclass
class Coordinates(CoordinatePasses):
    """Where an ascent stands, and how its passes are helped."""

    center: float = 0.0
    """Where the bias is held."""
    rounds: int = 0
    quick: bool = True
    """Whether passes are helped by planes, or by conjugate gradients."""
    products: int = 2 * SHORTEST
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

    def __post_init__(self) -> None:
        super().__post_init__()
        self.quick = self.quick and self.response.kinked and not self.objective.intercept
        self.weights = self.W
        if self.visited is None:
            present = self.source.present
            self.visited = np.arange(len(self.alpha)) if present is None else present
            self._forget(self.visited)
        self._follow()

    def round(self) -> None:
        """Some passes, quickened where bounds hardly change any more, and a measurement."""
        self.rounds += 1
        with one_blas_thread(self.W.size * float(len(self.alpha))):
            self._climb()
            self._measure()

    def _climb(self) -> None:
        """Passes over the rows to visit, and the face they end on if nothing else helped."""
        rows, enough = self.visited, self._enough()
        assert rows is not None
        if not self.response.kinked:
            for _ in range(FEW_PASSES):
                rows = rows[self._pass(rows)]
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
            rows = rows[self._pass(rows)]
            self._forget(rows)
            return rows
        again = self._pass(rows)
        alpha = self.alpha[rows]
        steps = np.vstack([alpha - before, self.moved])
        moves = np.vstack([self.W[0] - before_w, self.moved_weights])
        steps[0] = self._quicken(rows, alpha, steps, moves) - before
        moves[0] = self.W[0] - before_w
        again |= steps[1:MEMORY].any(axis=0)  # what they did to the weights stays in memory
        self.moved, self.moved_weights = steps[:MEMORY].compress(again, axis=1), moves[:MEMORY]
        return rows[again]

    def _forget(self, rows: Ints) -> None:
        """The steps before, where there is a kink."""
        if self.response.kinked:
            self.moved = np.zeros((MEMORY, len(rows)))
            self.moved_weights = np.zeros((MEMORY, self.W.shape[1]))

    def _quicken(self, rows: Ints, alpha: Array, steps: Array, moves: Array) -> Array:
        """On to the highest point of the dual in the space of some steps, back into the bounds.

        The steps of the alphas moved the weights by ``moves``. The dual is a sum of alphas less
        squares of weights, so that its slopes and bends need no rows.
        """
        source, w = self.source, self.W[0]
        bends = np.array([self._product(moves, v) for v in moves])
        slopes = self._gains(rows, steps) - self._product(moves, w)
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
            change[:-1] += self.give * combined(Subset(source, rows[back]), pull)[0, :-1]
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
            take_rows(source.X, rows), source.y[rows], source.classes, n_jobs=source.n_jobs
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
        self.bound = self.response.bound(pulls, objective.penalty.l2, objective.intercept)
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
