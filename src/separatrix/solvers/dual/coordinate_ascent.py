"""Dual coordinate ascent: one alpha at a time, for more features than a system can have.

Problem: ``max_alpha D(alpha)``, the dual of ``J(w, b) = sum_i p_i phi(y_i (w.x_i + b)) + l2 |w|^2``
for two classes, with a free bias or none.
Input: rows x_i, labels y_i = -1 or 1, shares p_i of the weight; l2 > 0.
Output: weights, dual variables alpha, J and the bound D of a feasible alpha.

Algorithm: rounds of epochs (see :mod:`separatrix.solvers.dual.epochs`), after each of which the gap
is evaluated. A smooth loss gives the dual a curvature of its own: some epochs are enough. For the
hinge, whose dual is curved by the rows alone, epochs find out which rows sit at a bound, and crawl
over the rest. There they are helped:

- Every epoch is taken for a direction, and spans a space with the two steps before it, in which the
  highest point is known without a look at the rows. This is conjugate gradients with an epoch for
  their preconditioner, but bounds may come and go. An epoch in one direction is no symmetric one: a
  memory of two steps took a quarter fewer epochs than one, more did not help. The order must be
  random: epochs in a fixed order got stuck.
- Gains near rounding cannot be seen that way, a free bias did not gain by it, and some problems
  are too badly conditioned for so short a memory. Then conjugate gradients solve for all alphas
  inside their bounds between epochs, see :mod:`separatrix.solvers.dual.free_variables`.

With a free bias one alpha could not move alone: the bias is held near where it stood by a penalty
about as stiff as the weights', and moved on after every round (the method of multipliers: Hestenes,
1969; Powell, 1969).

Papers: Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for
large-scale linear SVM, ICML 2008; J. J. More and G. Toraldo, On the solution of large quadratic
programming problems with bound constraints, SIAM J. Optimization 1 (1991) 93-113.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...data import InMemory
from ...data.labels_in_memory import LabelsInMemory
from ...losses import Loss
from ...numeric.threads import one_blas_thread
from ...numeric.types import Array, Ints
from ...objective import Objective
from ..base import State
from .dual_loss import DualSums
from .epochs import CoordinateEpochs, may_be_taken
from .free_variables import solve_free_variables, subspace_step_lengths
from .losses import binary_dual_loss
from .multiclass_coordinate_ascent import multiclass_iterates
from .multiclass_dual import has_multiclass_dual
from .solver import DualIterate, DualSolver
from .sums import dual_sums, present_scores, signed_dual_sums

PHASE = "coordinate ascent"
FIRST_EPOCHS, EPOCHS = 20, 8  # in a round
MOST_EPOCHS = 30  # in a round where subspace steps help
SMOOTH_BIAS_EPOCHS = 3  # where the loss is smooth, so that nothing but a bias is to be found
MEMORY = 2  # steps
IDENTIFIED = 1.8  # active rows per free alpha, below which these are known
FIRST_GAP = 1e-5  # at the end of the first round
CRAWLING = 0.8  # of the gap before an epoch is left by it: then subspace steps help
SURPRISE = 1.5  # how much worse the gap may be than expected before it is proven
GAIN_ROUNDING = 1e-14  # of the dual: gains below are not seen in it
FEWEST_PRODUCTS, MOST_PRODUCTS = 10, 100  # of conjugate gradients over the free alphas


@dataclass(frozen=True, repr=False)
class CoordinateAscent(DualSolver):
    """Climbs the dual one row at a time: for rows with features of their own.

    For the hinge, the squared hinge and, of two classes, the logistic loss, with a penalty; for
    more classes all alphas of a row move together. It needs no system of equations, however many
    rows and features there are, and each epoch costs about a read of the rows. A weak penalty, or
    features of different scales, take many. It begins at alpha = 0, wherever the weights are.

    Of rows that are not in memory an epoch visits one block after another, the rows of each in a
    random order: a read of all. Kept are labels, weights and some numbers a row, more than
    :class:`ProximalPoint` needs; ``reason``, after a fit, tells the bytes.

    >>> from separatrix import CoordinateAscent, LinearClassifier
    >>> clf = LinearClassifier("hinge", l2=0.5, solver=CoordinateAscent(), random_state=0)
    >>> clf.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).converged_
    True
    """

    name = "CoordinateAscent"
    needs_rows_in_memory = False

    def knows(self, loss: Loss) -> bool:
        """Two classes, or more."""
        return super().knows(loss) or has_multiclass_dual(loss)

    def iterates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None
    ) -> Iterator[tuple[DualIterate, State]]:
        """One for each round."""
        of_rounds = multiclass_iterates if objective.shape[0] > 1 else coordinate_iterates
        if isinstance(objective.source, InMemory):
            yield from of_rounds(objective, W, rng, state)
            return
        labels = LabelsInMemory.of(objective.source)
        for at, new in of_rounds(objective.on_rows(labels), W, rng, state):
            yield at, new | {"kept_bytes": kept_bytes(labels, new)}


def kept_bytes(labels: LabelsInMemory, state: State) -> int:
    """What is kept in memory of rows that are not: labels and weights, and what a run keeps."""
    beside = labels.y.nbytes + labels.weights.nbytes + 9 * len(labels.y)  # |x|^2, and marks
    return beside + sum(each.nbytes for each in state.values() if isinstance(each, np.ndarray))


def coordinate_iterates(
    objective: Objective, W: Array, rng: np.random.Generator, state: State | None
) -> Iterator[tuple[DualIterate, State]]:
    """One for each round, for ever."""
    run = begun(objective, W, rng) if state is None else resumed(objective, state)
    while True:
        with np.errstate(all="ignore"):
            run.round()
        at = DualIterate(
            run.weights, run.objective_value, run.mistakes, run.bound,
            alpha=lambda: run.alpha[:, None],
        )  # fmt: skip
        yield at, run.state()


def begun(objective: Objective, W: Array, rng: np.random.Generator) -> CoordinateAscentRun:
    """At alpha = 0, with the bias held near that of W."""
    return CoordinateAscentRun(
        objective, binary_dual_loss(objective), np.zeros(len(objective.in_memory.y)),
        int(rng.integers(2**62)), bias_center=float(W[0, -1]) if objective.intercept else 0.0,
    )  # fmt: skip


def resumed(objective: Objective, state: State) -> CoordinateAscentRun:
    """Where another run of the same problem stood."""
    return CoordinateAscentRun(
        objective, binary_dual_loss(objective), state["alpha"].copy(), state["seed"],
        epochs=state["epochs"], shrink_margin=state["shrink_margin"],
        bias_center=state["bias_center"], rounds=state["rounds"], subspace=state["subspace"],
        products=state["products"], step_history=state["step_history"],
        weight_history=state["weight_history"], active=state["active"], lowest=state["lowest"],
        highest=state["highest"], gaps=state["gaps"], gap=state["gap"],
    )  # fmt: skip


@dataclass
class CoordinateAscentRun(CoordinateEpochs):
    """Where an ascent stands, and how its epochs are helped."""

    bias_center: float = 0.0
    """Where the bias is held."""
    rounds: int = 0
    subspace: bool = True
    """Whether epochs are helped by steps in a subspace, or by conjugate gradients."""
    products: int = 2 * FEWEST_PRODUCTS
    step_history: Array = field(default_factory=lambda: np.empty((MEMORY, 0)))
    """Of the active alphas, where the loss has a kink: (MEMORY, active). Others did not move."""
    weight_history: Array = field(default_factory=lambda: np.empty((MEMORY, 0)))
    """What that did to the weights."""
    active: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Rows to visit in the next epoch: those that may not stay where they are."""
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
        if self.rounds == 0:
            present = self.source.present
            self.active = np.arange(len(self.alpha)) if present is None else present
            self._reset_history(self.active)
        if self.alpha.any():
            self._recompute_weights()
        else:
            self.W[0, -1] = self.bias_center

    def state(self) -> State:
        """From which to go on: arrays that the run does not write to again."""
        return {
            "phase": PHASE, "alpha": self.alpha.copy(), "seed": self.seed, "epochs": self.epochs,
            "shrink_margin": self.shrink_margin, "bias_center": self.bias_center,
            "rounds": self.rounds, "subspace": self.subspace, "products": self.products,
            "step_history": self.step_history, "weight_history": self.weight_history,
            "active": self.active, "lowest": self.lowest, "highest": self.highest,
            "gaps": self.gaps, "gap": self.gap, "W": self.weights,
        }  # fmt: skip

    def round(self) -> None:
        """Some epochs, helped where bounds hardly change any more, and then the gap."""
        self.rounds += 1
        with one_blas_thread(self.W.size * float(len(self.alpha))):
            self._climb()
            self._evaluate_gap()

    def _climb(self) -> None:
        """Epochs over the active rows, and the free variables solved for if nothing else helped."""
        rows, enough, fall = self.active, self._enough(), 0.0
        for _ in range(self._most_epochs()):
            before, rows = self.gap, self._step(rows, crawls=fall > CRAWLING)
            fall = min(1.0, self.gap / before) if 0.0 < before < np.inf else 1.0
            # What this epoch met is gone by the end of it, about as what the last one met was.
            if self.gap * min(1.0, SURPRISE * fall) <= enough:
                break
        else:
            self.subspace &= self.rounds == 1
        self.active = rows
        if self.dual_loss.nonsmooth and not self.subspace:
            inside = rows[(self.alpha[rows] > 0.0) & (self.alpha[rows] < 1.0)]
            known = len(inside) > 0 and len(rows) < IDENTIFIED * len(inside) + FEWEST_PRODUCTS
            if known and may_be_taken(self.source, len(inside)):
                self._solve_free_variables(inside)

    def _most_epochs(self) -> int:
        """In a round: fewer where a bias waits to be moved on, or free alphas to be solved for."""
        if not self.dual_loss.nonsmooth:
            return SMOOTH_BIAS_EPOCHS if self.objective.intercept else EPOCHS
        if self.subspace:
            return MOST_EPOCHS
        return FIRST_EPOCHS if self.rounds == 1 else EPOCHS

    def _enough(self) -> float:
        """The gap below the next power of ten.

        So are tolerances, mostly, and to prove the gap costs as much as some epochs.
        """
        if not len(self.gaps) or not self.gaps[-1] > 0.0:
            return FIRST_GAP  # J is 1 at 0
        digits = np.floor(np.log10(0.5 * self.gaps[-1] / self.lowest))
        return float(self.lowest * 10.0**digits)

    def _step(self, rows: Ints, crawls: bool) -> Ints:
        """An epoch; a subspace step after it where there is a kink and free alphas are known."""
        if not self.subspace:
            rows = rows[self._epoch(rows)]
            self._reset_history(rows)
            return rows
        before, before_w = self.alpha[rows], self.W[0].copy()
        known = len(rows) < IDENTIFIED * np.count_nonzero((before > 0.0) & (before < 1.0))
        if not (known and (crawls or self.step_history.any())):
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
        self.step_history = steps[:MEMORY].compress(is_active, axis=1)
        self.weight_history = moves[:MEMORY]
        return rows[is_active]

    def _reset_history(self, rows: Ints) -> None:
        """Forget the steps before, where there is a kink."""
        if self.dual_loss.nonsmooth:
            self.step_history = np.zeros((MEMORY, len(rows)))
            self.weight_history = np.zeros((MEMORY, self.W.shape[1]))

    def _subspace_step(self, rows: Ints, alpha: Array, steps: Array, moves: Array) -> Array:
        """On to the highest point of the dual in the space of some steps, back into the bounds.

        The steps of the alphas moved the weights by ``moves``. The dual is a sum of alphas less
        squares of weights, so that its slopes and curvatures need no rows.
        """
        source, w = self.source, self.W[0]
        curvatures = np.array([self._product(moves, v) for v in moves])
        slopes = self._gains(rows, steps) - self._product(moves, w)
        lengths = subspace_step_lengths(curvatures, slopes)
        if 0.5 * lengths @ slopes <= GAIN_ROUNDING * self._product(w, w):
            self.subspace = False
            return alpha
        wanted = alpha + lengths @ steps
        there = np.where((alpha > 0.0) & (alpha < 1.0), np.clip(wanted, 0.0, 1.0), alpha)
        change = lengths @ moves
        back = np.flatnonzero(there != wanted)
        if len(back):
            bounced = rows[back]
            p = self._shares(bounced) * source.y[bounced] * (there - wanted)[back]
            beyond = source.take(bounced).transpose_product(p[:, None])
            change[:-1] += self.inv_2l2 * beyond[0, :-1]
        if self._gains(rows, there - alpha) <= self._product(change, w + 0.5 * change):
            return alpha
        self.alpha[rows] = there
        w += change
        return there

    def _solve_free_variables(self, rows: Ints) -> None:
        """Conjugate gradients over the alphas inside their bounds; then back into the bounds."""
        free = self.source.take(rows).with_weight(None)
        gives = np.append(np.full(self.W.shape[1] - 1, self.inv_2l2), self.bias_inv_penalty)
        curvatures = self.row_norm2[rows] * self.inv_2l2 + self.bias_inv_penalty
        found = solve_free_variables(
            free, self.alpha[rows], self._shares(rows), self.W, curvatures, gives, self.products
        )
        if found.gain > 0.0:
            self.alpha[rows] = found.alpha
        # Longer where the bounds hardly stood in the way.
        if found.gain > 0.8 * found.hoped:
            self.products = min(2 * self.products, MOST_PRODUCTS)
        elif found.gain < 0.5 * found.hoped:
            self.products = max(self.products // 2, FEWEST_PRODUCTS)

    def _recompute_weights(self, settle: bool = False) -> DualSums:
        """The weights anew from the alphas: what adds up over many steps is not trusted.

        To settle moves the point near which the bias is held to where the bias is.
        """
        of_alphas = dual_sums if self.objective.intercept else signed_dual_sums
        sums = of_alphas(self.source, self.dual_loss, self.alpha)
        descent = -self.dual_loss.gradient(sums.weighted_rows)
        self.W[:] = self.inv_2l2 * descent
        away = self.bias_inv_penalty * float(descent[0, -1])
        if settle:
            self.bias_center += away
            self.weights = self.W.copy()
            self.weights[0, -1] = self.bias_center
        self.W[0, -1] = self.bias_center + away
        return sums

    def _evaluate_gap(self) -> None:
        """J and the bound at the alphas, and which rows to visit next."""
        source, objective = self.source, self.objective
        sums = self._recompute_weights(settle=True)
        self.bound = self.dual_loss.bound(sums, objective.penalty.l2, objective.intercept)
        weight = source.weight
        reached = present_scores(source, self.weights)[:, 0]
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
        """These in the next epoch, and those that the last steps moved."""
        before, self.active = self.active, rows
        if self.dual_loss.nonsmooth:
            self._marked[rows] = True
            self._marked[before[self.step_history.any(axis=0)]] = True
            self.active = np.flatnonzero(self._marked)
            self._marked[:] = False
            step_history = np.zeros((MEMORY, len(self.alpha)))
            step_history[:, before] = self.step_history
            self.step_history = step_history[:, self.active]
