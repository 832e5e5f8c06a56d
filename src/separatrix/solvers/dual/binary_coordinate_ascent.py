"""Dual coordinate ascent for two classes: one alpha at a time.

Problem: ``max_alpha D(alpha)``, the dual of ``J(w, b) = sum_i p_i phi(y_i (w.x_i + b)) + l2 |w|^2``
for two classes, with a free bias or none.
Input: rows x_i, labels y_i = -1 or 1, shares p_i of the weight; l2 > 0.
Output: weights, dual variables alpha, J and the bound D of a feasible alpha.

Algorithm: rounds of epochs (see :mod:`separatrix.solvers.dual.epochs`), after each of which the gap
is evaluated. A smooth loss gives the dual a curvature of its own: some epochs are enough. For the
hinge, whose dual is curved by the rows alone, epochs find out which rows sit at a bound, and crawl
over the rest, and so they do for smooth losses where the penalty is weak. There they are helped:

- Every epoch is taken for a direction, and spans a space with the two steps before it, in which the
  highest point is known without a look at the rows (of the logistic loss that of a quadratic near
  its dual). This is conjugate gradients with an epoch for their preconditioner, but bounds may
  come and go. An epoch in one direction is no symmetric one: a memory of two steps took a quarter
  fewer epochs than one, more did not help. The order must be random: epochs in a fixed order got
  stuck.
- Gains near rounding cannot be seen that way, a free bias did not gain by it, and some problems
  are too badly conditioned for so short a memory. Then, for the hinge, conjugate gradients solve
  for all alphas inside their bounds between epochs, see
  :func:`separatrix.solvers.dual.epochs.solve_free_variables`.

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
from .epochs import AIM, IDENTIFIED, CoordinateEpochs, may_be_taken, solve_free_variables
from .solver import DualIterate

PHASE = "coordinate ascent"
FIRST_EPOCHS, EPOCHS = 20, 8  # in a round
MOST_EPOCHS = 30  # in a round where subspace steps help
PROOF_EPOCHS = 4  # over all rows: what a proof costs, about
SMOOTH_BIAS_EPOCHS = 3  # where the loss is smooth, so that nothing but a bias is to be found
FIRST_GAP = 1e-5  # of J, at the end of the first round
FEWEST_PRODUCTS, MOST_PRODUCTS = 10, 100  # of conjugate gradients over the free alphas


def binary_iterates(
    objective: Objective,
    W: Array,
    rng: np.random.Generator,
    state: State | None,
    alpha: Array | None = None,
) -> Iterator[tuple[DualIterate, State]]:
    """One for each round, for ever."""
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
    """At alpha = 0, or between there and alphas of another penalty.

    The bias is held near that of W.
    """
    run = CoordinateAscentRun(
        objective, binary_dual_loss(objective), np.zeros(len(objective.in_memory.y)),
        int(rng.integers(2**62)), bias_center=float(W[0, -1]) if objective.intercept else 0.0,
    )  # fmt: skip
    if alpha is not None:
        run.begin_at(alpha)
    return run


def resumed(objective: Objective, state: State) -> CoordinateAscentRun:
    """Where another run of the same problem stood."""
    run = CoordinateAscentRun(
        objective, binary_dual_loss(objective), state["alpha"], state["seed"],
        scores=state["scores"], epochs=state["epochs"], shrink_margin=state["shrink_margin"],
        bias_center=state["bias_center"], rounds=state["rounds"], subspace=state["subspace"],
        products=state["products"], visits=state["visits"],
        step_history=state["step_history"], weight_history=state["weight_history"],
        lowest=state["lowest"], highest=state["highest"], gaps=state["gaps"], gap=state["gap"],
    )  # fmt: skip
    if not objective.intercept:  # the weights of a bias are those of the alphas after every round
        run.W[:] = state["W"]
    return run


def binary_state(objective: Objective, n: int) -> Check:
    """Checks the state of a run over n rows."""
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
        # Without a bias the last two steps are remembered; else there are none.
        steps = state["step_history"].shape[1] > 0 or not objective.intercept
        for history, length in (("step_history", n), ("weight_history", width)):
            array(2, length if steps else 0)(f"{name}.{history}", state[history])

    return check


@dataclass
class CoordinateAscentRun(CoordinateEpochs):
    """Where an ascent stands, and how its epochs are helped."""

    bias_center: float = 0.0
    """Where the bias is held."""
    rounds: int = 0
    products: int = 2 * FEWEST_PRODUCTS
    lowest: float = np.inf
    highest: float = 0.0
    gaps: Array = field(default_factory=lambda: np.empty(0))
    """Between the lowest J and the highest bound, after every round."""
    scores: Array = field(default_factory=lambda: np.empty(0))
    """Of all rows, by the weights, (n,)."""
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
        """At the highest point of the dual between 0 and these alphas: they may be too large."""
        conjugate, c = self.dual_loss.loss.conjugate, self.source.weights * self.inv_weight_sum
        self.alpha[:] = alpha
        self._recompute_weights()
        half, whole = -dot(c, conjugate(0.5 * alpha)), -dot(c, conjugate(alpha))
        share = best_share(half, whole, self.objective.penalty.value(self.W))
        self.alpha *= share
        self.W *= share
        self.visits = np.inf  # not to the last digit those of the alphas
        self.W[0, -1] += (1.0 - share) * self.bias_center

    def state(self) -> State:
        """From which to go on: arrays that the run does not write to again."""
        return {
            "phase": PHASE, "alpha": self.alpha, "seed": self.seed, "epochs": self.epochs,
            "shrink_margin": self.shrink_margin, "bias_center": self.bias_center,
            "rounds": self.rounds, "subspace": self.subspace, "products": self.products,
            "step_history": self.step_history, "weight_history": self.weight_history,
            "scores": self.scores, "lowest": self.lowest, "highest": self.highest,
            "gaps": self.gaps, "gap": self.gap, "W": self.weights, "visits": self.visits,
        }  # fmt: skip

    def round(self, enough: float | None = None) -> None:
        """Some epochs, helped where bounds hardly change any more, and then the gap.

        They end at a gap that is enough, in units of J; if none is told, at the next power of ten.
        """
        self.active = self._rows_to_visit()
        if self.rounds:  # the last state keeps its own
            self.alpha, self.step_history = self.alpha.copy(), self.step_history.copy()
            self.weight_history = self.weight_history.copy()
        self.rounds += 1
        # BLAS splits dot products of 10,000 numbers on.
        with one_blas_thread(20.0 * len(self.alpha)):
            reached = self._climb(self._most_epochs(), self._enough() if enough is None else enough)
            if self.dual_loss.nonsmooth:
                self.subspace &= reached or self.rounds == 1
                if not self.subspace:
                    self._help()
            self._evaluate_gap()

    def _help(self) -> None:
        """Solve for the free variables, where these are known and epochs alone would crawl."""
        rows = self.active
        inside = rows[(self.alpha[rows] > 0.0) & (self.alpha[rows] < 1.0)]
        known = len(inside) > 0 and len(rows) < IDENTIFIED * len(inside) + FEWEST_PRODUCTS
        if known and may_be_taken(self.source, len(inside)):
            self._solve_free_variables(inside)

    def _most_epochs(self) -> int:
        """In a round: fewer where a bias waits to be moved on, or free alphas to be solved for.

        More where few rows are active: what they cost is then little beside the proof of all.
        """
        if not self.dual_loss.nonsmooth:
            return SMOOTH_BIAS_EPOCHS if self.objective.intercept else MOST_EPOCHS
        if self.subspace:
            return max(MOST_EPOCHS, PROOF_EPOCHS * len(self.alpha) // max(1, len(self.active)))
        return FIRST_EPOCHS if self.rounds == 1 else EPOCHS

    def _enough(self) -> float:
        """The gap below the next power of ten, in units of J.

        So are tolerances, mostly, and to prove the gap costs as much as some epochs.
        """
        if not len(self.gaps) or not self.gaps[-1] > 0.0:
            return AIM * FIRST_GAP
        digits = np.floor(np.log10(0.5 * self.gaps[-1] / self.lowest))
        return AIM * min(FIRST_GAP, float(10.0**digits))

    def _solve_free_variables(self, rows: Ints) -> None:
        """Conjugate gradients over the alphas inside their bounds; then back into the bounds."""
        free = self.source.take(rows).with_weight(None)
        gives = np.append(np.full(self.W.shape[1] - 1, self.inv_2l2), self.bias_inv_penalty)
        curvatures = self.row_norm2[rows] * self.inv_2l2 + self.bias_inv_penalty
        found = solve_free_variables(
            free, self.alpha[rows], self._shares(rows), self.W, curvatures, gives, self.products
        )
        if found.gain > 0.0:
            self.alpha[rows], self.visits = found.alpha, np.inf
        # Longer where the bounds hardly stood in the way.
        if found.gain > 0.8 * found.hoped:
            self.products = min(2 * self.products, MOST_PRODUCTS)
        elif found.gain < 0.5 * found.hoped:
            self.products = max(self.products // 2, FEWEST_PRODUCTS)

    def _recompute_weights(self, settle: bool = False) -> DualSums:
        """The weights anew from the alphas: what adds up over many steps is not trusted for ever.

        To settle moves the point near which the bias is held to where the bias is.
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
        """What the alphas prove, from weights that are theirs up to rounding, which is allowed for.

        A free bias asks for the sums of either class, and settles.
        """
        l2, intercept = self.objective.penalty.l2, self.objective.intercept
        drift = drift_of_bound(self.visits)
        if not intercept and drift <= LITTLE_DRIFT * self.gap:
            gain = mean_gain(self.source, self.dual_loss, self.alpha)
            return best_dual_scaling(gain, self.objective.penalty.value(self.W)) - drift
        sums = self._recompute_weights(settle=True)
        return self.dual_loss.bound(sums, l2, intercept)

    def _evaluate_gap(self) -> None:
        """J and the bound at the alphas."""
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
        """All but those that sit at a bound, and whose margins say that they will stay."""
        if self.rounds == 0:
            present = self.source.present
            return np.arange(len(self.alpha)) if present is None else present.copy()
        weight, margins = self.source.weight, self.source.y * self.scores
        stays = (self.alpha <= 0.0) & (margins > 1.0 + self.shrink_margin)
        if self.dual_loss.nonsmooth:
            stays |= (self.alpha >= 1.0) & (margins < 1.0 - self.shrink_margin)
        if weight is not None:
            stays |= weight == 0.0
        if self.subspace:  # what the last steps did to the weights is remembered
            stays &= ~self.step_history.any(axis=0)
        return np.flatnonzero(~stays)
