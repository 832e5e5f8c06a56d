"""ProximalPointRun of the dual one alpha at a time, for more features than a system can have.

A smooth loss curvatures the dual by itself: some epochs of single alphas are enough. For the hinge,
whose dual curvatures by the rows alone, epochs find out which rows sit at a bound, and crawl over the
rest. There they are helped:

- Every pass is taken for a direction, and spans a space with the two steps before it, in which the
  highest point is known without a look at the rows. This is conjugate gradients with a pass for
  their preconditioner, but bounds may come and go. A pass in one direction is no symmetric one: a
  memory of two steps took a quarter fewer epochs than one, more did not help. The order must be
  random: epochs in a fixed order got stuck.
- Gains near rounding cannot be seen that way, a free bias did not gain by it, and some problems
  are too badly conditioned for so short a memory. Then conjugate gradients solve for all alphas
  inside their bounds between epochs (the gradient projection and conjugate gradients of More and
  Toraldo, 1991, with coordinate epochs for the former).

With a free bias one alpha could not move alone: the bias is held near where it stood by a penalty
about as stiff as the weights', and step_history on after every round (method of multipliers).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...data import ArraySource, Subset
from ...numeric.rows import take_rows
from ...numeric.threads import one_blas_thread
from ...numeric.types import Array, Ints
from .epochs import CoordinateEpochs
from .free_variables import subspace_step_lengths, solve_free_variables, combined, dual_sums, scores
from .losses import DualSums

FIRST_EPOCHS, EPOCHS = 20, 8  # of single alphas in a round
MOST_EPOCHS = 30  # where they are quickened
SMOOTH_EPOCHS = 3  # where the loss is smooth: there is no face to be found
MEMORY = 2  # steps
IDENTIFIED = 1.8  # rows still active per alpha inside its bounds, below which a face is known
ROUGHLY = 1e-4  # slope at the end of the first round
EASILY = 1e-3  # of what is enough: then fewer epochs than usual will do
ROUNDING = 1e-14  # of the dual: gains below are not seen in it
SHORTEST, LONGEST = 10, 100  # products in the solution of a face


@dataclass
class CoordinateAscentRun(CoordinateEpochs):
    """Where an ascent stands, and how its epochs are helped."""

    bias_center: float = 0.0
    """Where the bias is held."""
    rounds: int = 0
    subspace: bool = True
    """Whether epochs are helped by planes, or by conjugate gradients."""
    products: int = 2 * SHORTEST
    step_history: Array = field(default_factory=lambda: np.empty((MEMORY, 0)))
    """The rows to visit by the last steps, where the loss has a kink. Others did not move."""
    weight_history: Array = field(default_factory=lambda: np.empty((MEMORY, 0)))
    """What that did to the weights."""
    active: Ints | None = None
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
        self.subspace = self.subspace and self.dual_loss.nonsmooth and not self.objective.intercept
        self.weights = self.W
        if self.active is None:
            present = self.source.present
            self.active = np.arange(len(self.alpha)) if present is None else present
            self._reset_history(self.active)
        self._recompute_weights()

    def round(self) -> None:
        """Some epochs, quickened where bounds hardly change any more, and a measurement."""
        self.rounds += 1
        with one_blas_thread(self.W.size * float(len(self.alpha))):
            self._climb()
            self._evaluate_gap()

    def _climb(self) -> None:
        """Passes over the rows to visit, and the face they end on if nothing else helped."""
        rows, enough = self.active, self._enough()
        assert rows is not None
        if not self.dual_loss.nonsmooth:
            for _ in range(SMOOTH_EPOCHS):
                rows = rows[self._epoch(rows)]
            return
        least = FIRST_EPOCHS if self.rounds == 1 else EPOCHS
        for number in range(1, (MOST_EPOCHS if self.subspace else least) + 1):
            rows = self._step(rows)
            if self.slope <= (enough if number >= least else EASILY * enough):
                break
        else:
            self.subspace &= self.rounds == 1
        self.active = rows
        if not self.subspace:
            inside = rows[(self.alpha[rows] > 0.0) & (self.alpha[rows] < 1.0)]
            if len(inside) > 0 and len(rows) < IDENTIFIED * len(inside) + SHORTEST:
                self._solve_free_variables(inside)

    def _enough(self) -> float:
        """The slope at which the gap, which it bounds, is below the next power of ten.

        So are tolerances, mostly, and to measure the gap costs as much as some epochs.
        """
        if not len(self.gaps) or not self.gaps[-1] > 0.0:
            return ROUGHLY  # J is 1 at 0
        digits = np.floor(np.log10(0.5 * self.gaps[-1] / self.lowest))
        return float(self.lowest * 10.0**digits)

    def _step(self, rows: Ints) -> Ints:
        """A pass where there is a kink; on to the best of a plane where a face is known."""
        before, before_w = self.alpha[rows], self.W[0].copy()
        known = len(rows) < IDENTIFIED * np.count_nonzero((before > 0.0) & (before < 1.0))
        if not (known and self.subspace):
            rows = rows[self._epoch(rows)]
            self._reset_history(rows)
            return rows
        is_active = self._epoch(rows)
        alpha = self.alpha[rows]
        steps = np.vstack([alpha - before, self.step_history])
        moves = np.vstack([self.W[0] - before_w, self.weight_history])
        steps[0] = self._subspace_step(rows, alpha, steps, moves) - before
        moves[0] = self.W[0] - before_w
        is_active |= steps[1:MEMORY].any(axis=0)  # what they did to the weights stays in memory
        self.step_history, self.weight_history = (
            steps[:MEMORY].compress(is_active, axis=1),
            moves[:MEMORY],
        )
        return rows[is_active]

    def _reset_history(self, rows: Ints) -> None:
        """The steps before, where there is a kink."""
        if self.dual_loss.nonsmooth:
            self.step_history = np.zeros((MEMORY, len(rows)))
            self.weight_history = np.zeros((MEMORY, self.W.shape[1]))

    def _subspace_step(self, rows: Ints, alpha: Array, steps: Array, moves: Array) -> Array:
        """On to the highest point of the dual in the space of some steps, back into the bounds.

        The steps of the alphas step_history the weights by ``moves``. The dual is a sum of alphas less
        squares of weights, so that its slopes and curvatures need no rows.
        """
        source, w = self.source, self.W[0]
        curvatures = np.array([self._product(moves, v) for v in moves])
        slopes = self._gains(rows, steps) - self._product(moves, w)
        lengths = subspace_step_lengths(curvatures, slopes)
        if 0.5 * lengths @ slopes <= ROUNDING * self._product(w, w):
            self.subspace = False
            return alpha
        wanted = alpha + lengths @ steps
        there = np.where((alpha > 0.0) & (alpha < 1.0), np.clip(wanted, 0.0, 1.0), alpha)
        change = lengths @ moves
        back = np.flatnonzero(there != wanted)
        if len(back):
            p = (
                self.inv_weight_sum
                if source.weight is None
                else self.inv_weight_sum * source.weight[rows[back]]
            )
            pull = p * source.y[rows[back]] * (there - wanted)[back]
            change[:-1] += self.inv_2l2 * combined(Subset(source, rows[back]), pull)[0, :-1]
        if self._gains(rows, there - alpha) <= self._product(change, w + 0.5 * change):
            return alpha
        self.alpha[rows] = there
        w += change
        return there

    def _solve_free_variables(self, rows: Ints) -> None:
        """Conjugate gradients over the alphas inside their bounds; then back into the bounds."""
        source, p = self.source, np.full(len(rows), self.inv_weight_sum)
        if source.weight is not None:
            p *= source.weight[rows]
        face = ArraySource(
            take_rows(source.X, rows), source.y[rows], source.classes, n_jobs=source.n_jobs
        )
        gives = np.append(np.full(self.W.shape[1] - 1, self.inv_2l2), self.bias_inv_penalty)
        curvatures = self.row_norm2[rows] * self.inv_2l2 + self.bias_inv_penalty
        found = solve_free_variables(
            face, self.alpha[rows], p, self.W, curvatures, gives, self.products
        )
        if found.gain > 0.0:
            self.alpha[rows] = found.alpha
        # Longer where the bounds hardly stood in the way.
        if found.gain > 0.8 * found.hoped:
            self.products = min(2 * self.products, LONGEST)
        elif found.gain < 0.5 * found.hoped:
            self.products = max(self.products // 2, SHORTEST)

    def _recompute_weights(self, settle: bool = False) -> DualSums:
        """The weights anew from the alphas: what adds up over many steps is not trusted.

        To settle moves the point near which the bias is held to where the bias is.
        """
        pulls = dual_sums(self.source, self.dual_loss, self.alpha)
        pull = -self.dual_loss.gradient(pulls.weighted_rows)
        self.W[:] = self.inv_2l2 * pull
        away = self.bias_inv_penalty * float(pull[0, -1])
        if settle:
            self.bias_center += away
            self.weights = self.W.copy()
            self.weights[0, -1] = self.bias_center
        self.W[0, -1] = self.bias_center + away
        return pulls

    def _evaluate_gap(self) -> None:
        """J and the bound at the alphas, and which rows to visit next."""
        source, objective = self.source, self.objective
        pulls = self._recompute_weights(settle=True)
        self.bound = self.dual_loss.bound(pulls, objective.penalty.l2, objective.intercept)
        weight = source.weight
        reached = scores(source, self.weights)
        if weight is not None:
            reached[weight == 0.0] = 0.0  # as if absent, even where its score overflows
        if objective.intercept:
            shift = self.dual_loss.best_bias(source.y, reached, weight)
            reached += shift
            self.weights[0, -1] += shift
        margins = source.y * reached
        values = self.dual_loss.loss.phi(margins)
        total = float(values.sum() if weight is None else weight @ values)
        self.objective_value = objective.mean(total, self.weights)
        wrong = margins <= 0.0
        self.mistakes = float(np.count_nonzero(wrong) if weight is None else weight @ wrong)
        stays = (self.alpha <= 0.0) & (margins > 1.0 + self.shrink_margin)
        if self.dual_loss.nonsmooth:
            stays |= (self.alpha >= 1.0) & (margins < 1.0 - self.shrink_margin)
        if weight is not None:
            stays |= weight == 0.0
        self._visit(np.flatnonzero(~stays))
        self.lowest = min(self.lowest, self.objective_value)
        self.highest = max(self.highest, self.bound)
        self.gaps = np.append(self.gaps, self.lowest - self.highest)

    def _visit(self, rows: Ints) -> None:
        """These in the next pass, and those that the last steps step_history."""
        before, self.active = self.active, rows
        if self.dual_loss.nonsmooth:
            assert before is not None
            self.is_active[rows] = True
            self.is_active[before[self.step_history.any(axis=0)]] = True
            self.active = np.flatnonzero(self.is_active)
            self.is_active[:] = False
            step_history = np.zeros((MEMORY, len(self.alpha)))
            step_history[:, before] = self.step_history
            self.step_history = step_history[:, self.active]
