"""Dual coordinate ascent for two classes: one alpha at a time.

Problem: ``max_alpha D(alpha)``, the dual of ``J(w, b) = sum_i p_i phi(y_i (w.x_i + b)) + l2 |w|^2``
for two classes, with or without a free bias.
Input: rows x_i, labels y_i = -1 or 1, shares p_i of the weight; l2 > 0.
Output: weights, dual variables alpha, J and the bound D of a feasible alpha.

Algorithm: rounds of epochs (see :mod:`separatrix.solvers.dual.epochs`); after each round the gap is
evaluated. A smooth loss gives the dual its own curvature, so few epochs are enough. For the hinge,
whose dual is curved only by the rows, epochs find which rows are at a bound and then converge
slowly for the others; so they do for smooth losses if the penalty is weak. Two methods help:

- Every epoch is used as a search direction, together with the two previous steps. The maximum in
  the space that they span is known without a read of the rows (for the logistic loss, of a local
  quadratic model). This is conjugate gradients preconditioned by an epoch, except that bounds may
  change. An epoch in one order is not symmetric: remembering two steps took a quarter fewer epochs
  than one, more did not help. The order must be random: epochs in a fixed order got stuck.
- Gains near rounding are invisible to that method, a free bias did not benefit, and some problems
  are too ill-conditioned for so short a memory. Then, for the hinge, conjugate gradients solve for
  all alphas inside their bounds between epochs, see
  :func:`separatrix.solvers.dual.epochs.solve_free_variables`.

With a free bias a single alpha could not change. Therefore the bias is kept near its last value by
a penalty about as strong as that of the weights, and moved after every round (the method of
multipliers: Hestenes, 1969; Powell, 1969).

Papers: Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for
large-scale linear SVM, ICML 2008; J. J. More and G. Toraldo, On the solution of large quadratic
programming problems with bound constraints, SIAM J. Optimization 1 (1991) 93-113.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...numeric.dot import dot
from ...numeric.expected import Check, array, entries, flag, real, whole
from ...numeric.threads import one_blas_thread
from ...numeric.types import Array, Ints
from ...objective import Objective
from ...proofs.binary_dual import binary_dual_loss
from ...proofs.dual_loss import DualSums, best_dual_scaling, best_share
from ...proofs.dual_sums import dual_sums, mean_gain, present_scores, signed_dual_sums
from ...proofs.rounding import drift_of_bound
from ..base import State
from ..thresholds import LITTLE_DRIFT
from .epochs import (
    AIM,
    FEWEST_PRODUCTS,
    IDENTIFIED,
    MOST_PRODUCTS,
    CoordinateEpochs,
    solve_free_variables,
)
from .solver import DualIterate

PHASE = "coordinate ascent"
FIRST_EPOCHS, EPOCHS = 20, 8  # per round
MOST_EPOCHS = 30  # per round if subspace steps help
PROOF_EPOCHS = 4  # over all rows: the approximate cost of a proof
SMOOTH_BIAS_EPOCHS = 3  # for smooth losses, where only the bias is left to find
FIRST_GAP = 1e-5  # of J, at the end of the first round


def binary_iterates(
    objective: Objective,
    W: Array,
    rng: np.random.Generator,
    state: State | None,
    alpha: Array | None = None,
) -> Iterator[tuple[DualIterate, State]]:
    """One iterate per round, without end."""
    run = begun(objective, W, rng, alpha) if state is None else resumed(objective, state)
    while True:
        with np.errstate(all="ignore"):
            run.round()
        at = DualIterate(
            run.weights, run.objective_value, run.mistakes, run.bound,
            alpha=lambda: run.alpha[:, None],
        )  # fmt: skip
        yield at, run.state()


def begun(
    objective: Objective, W: Array, rng: np.random.Generator, alpha: Array | None = None
) -> CoordinateAscentRun:
    """Start at alpha = 0, or between it and the alphas of another penalty.

    The bias is kept near that of W.
    """
    run = CoordinateAscentRun(
        objective, binary_dual_loss(objective), np.zeros(len(objective.in_memory.y)),
        int(rng.integers(2**62)), bias_center=float(W[0, -1]) if objective.intercept else 0.0,
    )  # fmt: skip
    if alpha is not None:
        run.begin_at(alpha)
    return run


def resumed(objective: Objective, state: State) -> CoordinateAscentRun:
    run = CoordinateAscentRun(
        objective, binary_dual_loss(objective), state["alpha"], state["seed"],
        scores=state["scores"], epochs=state["epochs"], shrink_margin=state["shrink_margin"],
        bias_center=state["bias_center"], rounds=state["rounds"], subspace=state["subspace"],
        products=state["products"], visits=state["visits"],
        step_history=state["step_history"], weight_history=state["weight_history"],
        lowest=state["lowest"], highest=state["highest"], gaps=state["gaps"], gap=state["gap"],
    )  # fmt: skip
    if not objective.intercept:  # without a bias, the weights match the alphas after every round
        run.W[:] = state["W"]
    return run


def binary_state(objective: Objective, n: int) -> Check:
    """Checks for the state of a run over n rows."""
    width = objective.shape[1]
    counts = dict.fromkeys(("epochs", "rounds"), whole())
    names = ("shrink_margin", "bias_center", "lowest", "highest", "gap", "visits")
    known = entries({
        **counts, **dict.fromkeys(names, real), "seed": whole(0, 2**63 - 1),
        "products": whole(0, MOST_PRODUCTS), "subspace": flag, "alpha": array(n),
        "scores": array(n), "gaps": array(None), "W": array(1, width),
        "step_history": array(2, None), "weight_history": array(2, None),
    })  # fmt: skip

    def check(name: str, state: State) -> None:
        known(name, state)
        # Without a bias the last two steps are remembered; otherwise none.
        steps = state["step_history"].shape[1] > 0 or not objective.intercept
        for history, length in (("step_history", n), ("weight_history", width)):
            array(2, length if steps else 0)(f"{name}.{history}", state[history])

    return check


@dataclass
class CoordinateAscentRun(CoordinateEpochs):
    """State of an ascent, and how its epochs are accelerated."""

    bias_center: float = 0.0  # value that the bias is kept near
    rounds: int = 0
    products: int = 2 * FEWEST_PRODUCTS
    lowest: float = np.inf
    highest: float = 0.0
    gaps: Array = field(default_factory=lambda: np.empty(0))
    """Between the lowest J and the highest bound, after every round."""
    scores: Array = field(default_factory=lambda: np.empty(0))
    """Scores of all rows at the weights, (n,)."""
    objective_value: float = field(default=np.inf, init=False)
    mistakes: float = field(default=0.0, init=False)
    bound: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.weights = self.W
        if self.objective.intercept and self.alpha.any():
            self._recompute_weights()
        else:
            self.W[0, -1] = self.bias_center

    def begin_at(self, alpha: Array) -> None:
        """Start at the maximum of the dual between 0 and these alphas, which may be too large."""
        conjugate, c = self.dual_loss.loss.conjugate, self.source.weights * self.inv_weight_sum
        self.alpha[:] = alpha
        self._recompute_weights()
        half, whole = -dot(c, conjugate(0.5 * alpha)), -dot(c, conjugate(alpha))
        if self.source.offset is not None:
            of_offset = dot(c, alpha * self.source.y * self.source.offset[:, 0])
            half, whole = half - 0.5 * of_offset, whole - of_offset
        share = best_share(half, whole, self.objective.penalty.value(self.W))
        self.alpha *= share
        self.W *= share
        self.visits = np.inf  # the weights differ from those of the alphas by rounding
        self.W[0, -1] += (1.0 - share) * self.bias_center

    def state(self) -> State:
        """State to continue from, in arrays that the run does not modify."""
        return {
            "phase": PHASE, "alpha": self.alpha, "seed": self.seed, "epochs": self.epochs,
            "shrink_margin": self.shrink_margin, "bias_center": self.bias_center,
            "rounds": self.rounds, "subspace": self.subspace, "products": self.products,
            "step_history": self.step_history, "weight_history": self.weight_history,
            "scores": self.scores, "lowest": self.lowest, "highest": self.highest,
            "gaps": self.gaps, "gap": self.gap, "W": self.weights, "visits": self.visits,
        }  # fmt: skip

    def round(self, enough: float | None = None) -> None:
        """Run some epochs, accelerated once bounds hardly change, and evaluate the gap.

        They end at the required gap, in units of J; if none is given, at the next power of ten.
        """
        self.active = self._rows_to_visit()
        if self.rounds:  # the last state keeps its own arrays
            self.alpha, self.step_history = self.alpha.copy(), self.step_history.copy()
            self.weight_history = self.weight_history.copy()
        self.rounds += 1
        # BLAS uses threads for dot products from 10,000 numbers on.
        with one_blas_thread(20.0 * len(self.alpha)):
            reached = self._climb(self._most_epochs(), self._enough() if enough is None else enough)
            if self.dual_loss.nonsmooth:
                self.subspace &= reached or self.rounds == 1
                if not self.subspace:
                    self._help()
            self._evaluate_gap()

    def _help(self) -> None:
        """Solve for the free variables, if these are known and epochs alone would be slow."""
        rows = self.active
        inside = rows[(self.alpha[rows] > 0.0) & (self.alpha[rows] < 1.0)]
        if len(inside) > 0 and len(rows) < IDENTIFIED * len(inside) + FEWEST_PRODUCTS:
            self._solve_free_variables(inside)

    def _most_epochs(self) -> int:
        """Epochs per round: fewer if the bias must move or free alphas can be solved for.

        More if few rows are active: they then cost little compared with a proof over all rows.
        """
        if not self.dual_loss.nonsmooth:
            return SMOOTH_BIAS_EPOCHS if self.objective.intercept else MOST_EPOCHS
        if self.subspace:
            return max(MOST_EPOCHS, PROOF_EPOCHS * len(self.alpha) // max(1, len(self.active)))
        return FIRST_EPOCHS if self.rounds == 1 else EPOCHS

    def _enough(self) -> float:
        """The gap below the next power of ten, in units of J.

        Tolerances are usually powers of ten, and proving the gap costs as much as some epochs.
        """
        if not len(self.gaps) or not self.gaps[-1] > 0.0:
            return AIM * FIRST_GAP
        digits = np.floor(np.log10(0.5 * self.gaps[-1] / self.lowest))
        return AIM * min(FIRST_GAP, float(10.0**digits))

    def _solve_free_variables(self, rows: Ints) -> None:
        """Conjugate gradients over the alphas inside their bounds, then back into the bounds."""
        free = self.source.take(rows).with_weight(None)
        gives = np.append(np.full(self.W.shape[1] - 1, self.inv_2l2), self.bias_inv_penalty)
        curvatures = self.row_norm2[rows] * self.inv_2l2 + self.bias_inv_penalty
        found = solve_free_variables(
            free, self.alpha[rows], self._shares(rows), self.W, curvatures, gives, self.products
        )
        if found.gain > 0.0:
            self.alpha[rows], self.visits = found.alpha, np.inf
        self.products = found.next_products(self.products)

    def _recompute_weights(self, settle: bool = False) -> DualSums:
        """Recompute the weights from the alphas, because rounding errors accumulate.

        With ``settle``, the bias is from now on kept near its current value.
        """
        of_alphas = dual_sums if self.objective.intercept else signed_dual_sums
        sums = of_alphas(self.source, self.dual_loss, self.alpha)
        descent = -self.dual_loss.gradient(sums.weighted_rows)
        self.W[:] = self.inv_2l2 * descent
        away = self.bias_inv_penalty * float(descent[0, -1])
        if settle:
            self.bias_center += away
        self.W[0, -1] = self.bias_center + away
        self.visits = 0.0
        return sums

    def _bound(self) -> float:
        """The bound from the alphas, allowing for the rounding of weights computed from them.

        A free bias needs the sums of each class, and settles.
        """
        l2, intercept = self.objective.penalty.l2, self.objective.intercept
        drift = drift_of_bound(self.visits)
        if not intercept and drift <= LITTLE_DRIFT * self.gap:
            gain = mean_gain(self.source, self.dual_loss, self.alpha)
            return best_dual_scaling(gain, self.objective.penalty.value(self.W)) - drift
        sums = self._recompute_weights(settle=True)
        return self.dual_loss.bound(sums, l2, intercept)

    def _evaluate_gap(self) -> None:
        source, objective = self.source, self.objective
        self.bound = self._bound()
        self.weights = self.W.copy()
        self.weights[0, -1] = self.bias_center
        weight = source.weight
        reached = present_scores(source, self.weights)[:, 0]
        if objective.intercept:
            shift = self.dual_loss.best_bias(source.y, reached, weight)
            reached += shift
            self.weights[0, -1] += shift
        self.scores, margins = reached, source.y * reached
        values = self.dual_loss.loss.phi(margins)
        total = float(values.sum() if weight is None else weight @ values)
        self.objective_value = objective.mean(total, self.weights)
        wrong = margins <= 0.0
        self.mistakes = float(np.count_nonzero(wrong) if weight is None else weight @ wrong)
        self.lowest = min(self.lowest, self.objective_value)
        self.highest = max(self.highest, self.bound)
        self.gaps = np.concatenate([self.gaps, [self.lowest - self.highest]])

    def _rows_to_visit(self) -> Ints:
        """All rows except those that are at a bound and whose margins show that they will stay."""
        if self.rounds == 0:
            present = self.source.present
            return np.arange(len(self.alpha)) if present is None else present.copy()
        weight, margins = self.source.weight, self.source.y * self.scores
        stays = (self.alpha <= 0.0) & (margins > 1.0 + self.shrink_margin)
        if self.dual_loss.nonsmooth:
            stays |= (self.alpha >= 1.0) & (margins < 1.0 - self.shrink_margin)
        if weight is not None:
            stays |= weight == 0.0
        if self.subspace:  # the effect of the last steps on the weights is remembered
            stays &= ~self.step_history.any(axis=0)
        return np.flatnonzero(~stays)
