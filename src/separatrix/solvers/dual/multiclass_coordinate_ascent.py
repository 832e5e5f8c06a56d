"""Dual coordinate ascent for Crammer and Singer's loss: all alphas of one row at a time.

Problem: ``max_alpha D(alpha)``, the dual of ``J(W) = sum_i p_i phi_i(W) + l2 |w|^2``, where the
alphas of a row are its shares in all classes, on a simplex; with or without free biases. Input:
rows x_i in memory, class indices, shares p_i of the weight; l2 > 0. Output: weights, dual variables
alpha, J and the bound D of a feasible alpha.

Algorithm: rounds of epochs; after each round the gap is evaluated. An epoch reads every row once to
compute its scores; its alphas are set to their best values with the others fixed. Rows whose
alphas will not change are skipped until the next round (shrinking). If epochs are slow and most
remaining rows are shared among classes, epochs are used as search directions
(:mod:`separatrix.solvers.dual.multiclass_subspace`); if that is not enough, or with free biases,
conjugate gradients solve for all alphas inside their bounds between epochs
(:mod:`separatrix.solvers.dual.multiclass_free_variables`). With free biases the alphas of a single
row could not change. Therefore the biases are kept near their last values by a penalty about as
strong as that of the weights, and moved after every round (the method of multipliers: Hestenes,
1969; Powell, 1969).

Paper: S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh and C.-J. Lin, A sequential dual
method for large scale multi-class linear SVMs, KDD 2008.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ...data import Shuffle
from ...data.blocks import random_order
from ...data.without_zeros import without_zeros
from ...loops import from_lines, line_width
from ...numeric.dot import dot
from ...numeric.expected import Check, array, entries, flag, indices, real, whole
from ...numeric.threads import one_blas_thread
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from ...proofs.dual_loss import DualSums, best_share
from ...proofs.dual_sums import dual_sums, present_scores
from ..base import State
from .epochs import (
    AIM,
    CAREFUL,
    FEWEST_PRODUCTS,
    IDENTIFIED,
    MIXED_STRETCHES,
    MOST_PRODUCTS,
    bias_inverse_penalty,
)
from .multiclass_dual import CrammerSingerDual, multiclass_dual
from .multiclass_free_variables import FreeVariables
from .multiclass_subspace import SubspaceSteps
from .solver import DualIterate

PHASE = "coordinate ascent"
EPOCHS_BEFORE_PRODUCTS = 5  # per round, at least, if conjugate gradients follow
MOST_EPOCHS, MOST_EPOCHS_WITH_SUBSPACE = 30, 60  # per round
FIRST_GAP = 1e-6  # of the first round; a decade of epochs costs about as much as a proof
CRAWLING = 0.8  # share of the gap left by an epoch, above which acceleration starts
SURPRISE = 1.2  # share of the gap left by an epoch, relative to the previous one


def multiclass_iterates(
    objective: Objective,
    W: Array,
    rng: np.random.Generator,
    state: State | None,
    alpha: Array | None = None,
) -> Iterator[tuple[DualIterate, State]]:
    """One iterate per round, without end."""
    objective = replace(objective, source=without_zeros(objective.in_memory))
    run = begun(objective, W, rng, alpha) if state is None else resumed(objective, state)
    while True:
        with np.errstate(all="ignore"):
            run.round()
        at = DualIterate(
            run.weights, run.objective_value, run.mistakes, run.bound, alpha=lambda: run.alpha
        )
        yield at, run.state()


def begun(
    objective: Objective, W: Array, rng: np.random.Generator, alpha: Array | None = None
) -> MulticlassAscentRun:
    """Start at weights 0, or between them and the alphas of another penalty.

    The biases are kept near those of W.
    """
    dual, source = multiclass_dual(objective), objective.in_memory
    rows = np.arange(len(source.y)) if source.present is None else source.present
    run = MulticlassAscentRun(
        objective, dual, dual.start(source.y), int(rng.integers(2**62)), rows, W[:, -1].copy()
    )
    if alpha is not None:
        run.begin_at(alpha)
    return run


def resumed(objective: Objective, state: State) -> MulticlassAscentRun:
    return MulticlassAscentRun(
        objective, multiclass_dual(objective), state["alpha"].copy(), state["seed"],
        state["active"], state["bias_center"].copy(), epochs=state["epochs"],
        shrink_margin=state["shrink_margin"], lowest=state["lowest"], highest=state["highest"],
        gaps=state["gaps"], products=state["products"],
        subspace=state["subspace"],
    )  # fmt: skip


def multiclass_state(objective: Objective, n: int) -> Check:
    """Checks for the state of a run over n rows."""
    k = objective.shape[0]
    return entries({
        **dict.fromkeys(("shrink_margin", "lowest", "highest"), real), "alpha": array(n, k),
        "seed": whole(0, 2**63 - 1), "active": indices(n, increasing=True), "epochs": whole(),
        "bias_center": array(k), "products": whole(0, MOST_PRODUCTS), "subspace": flag,
        "gaps": array(None), "W": array(*objective.shape),
    })  # fmt: skip


@dataclass
class MulticlassAscentRun:
    """Every row's alphas, the corresponding weights, and what epochs have found out."""

    objective: Objective
    dual: CrammerSingerDual
    alpha: Array  # (n, k)
    seed: int
    active: Ints  # rows to visit in the next epoch: those whose alphas may change
    bias_center: Array  # values that the biases are kept near, (k,)
    epochs: int = 0
    shrink_margin: float = np.inf
    """Distance from the next change of its alphas at which a row need not be visited again."""
    lowest: float = np.inf
    highest: float = 0.0
    products: int = 2 * FEWEST_PRODUCTS
    """Maximum number of conjugate gradient steps over the free alphas."""
    subspace: bool = True
    """Whether epochs are accelerated by subspace steps: no bias, and they have been useful."""
    gaps: Array = field(default_factory=lambda: np.empty(0))
    """Between the lowest J and the highest bound, after every round."""
    objective_value: float = field(default=np.inf, init=False)
    mistakes: float = field(default=0.0, init=False)
    bound: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.source = self.objective.in_memory
        self.row_norm2 = self.objective.row_norm2
        self.inv_2l2 = 0.5 / self.objective.penalty.l2
        self.bias_inv_penalty = bias_inverse_penalty(self.objective)
        self._is_tall = self.source.n_rows > self.source.n_features
        self.subspace = self.subspace and not self.objective.intercept
        k, width = self.objective.shape
        self.weights = np.zeros((k, width))
        self.lines = np.zeros((width, line_width(k)))
        self._marked = np.zeros(len(self.source.y), dtype=bool)
        if self.epochs:
            self._recompute_weights()
        else:
            self.weights[:, -1] = self.lines[-1, :k] = self.bias_center

    def begin_at(self, alpha: Array) -> None:
        """Start at the maximum of the dual between the start and these alphas."""
        start, source = self.alpha, self.source
        self.alpha = alpha
        self._recompute_weights()
        gain = dot(source.weights, 1.0 - alpha[start > 0.0]) / source.weight_sum
        if source.offset is not None:
            of_offset = np.sum((alpha - start) * source.offset, axis=1)
            gain += dot(source.weights, of_offset) / source.weight_sum
        share = best_share(0.5 * gain, gain, self.objective.penalty.value(self.weights))
        self.alpha = share * alpha + (1.0 - share) * start
        self.lines *= share
        self.lines[-1, : len(self.weights)] += (1.0 - share) * self.bias_center

    def state(self) -> State:
        """State to continue from, in arrays that the run does not modify."""
        return {
            "phase": PHASE, "alpha": self.alpha.copy(), "seed": self.seed, "epochs": self.epochs,
            "shrink_margin": self.shrink_margin, "bias_center": self.bias_center.copy(),
            "active": self.active, "lowest": self.lowest, "highest": self.highest,
            "gaps": self.gaps, "products": self.products, "subspace": self.subspace,
            "W": self.weights,
        }  # fmt: skip

    def round(self) -> None:
        with one_blas_thread(self.weights.size * float(len(self.alpha))):
            reached, rows = self._climb(self.active, self._enough())
            self.subspace &= reached or not len(self.gaps)
            # If rows share few features, epochs are as good, and cheaper.
            if self._is_tall and not self.subspace:
                self._solve_free_variables(rows)
            self._evaluate_gap()

    def _climb(self, rows: Ints, enough: float) -> tuple[bool, Ints]:
        """Run epochs on active rows; return if the gap is about small enough, and rows to visit."""
        measured, crawls = np.inf, False
        fewest, most = self._numbers_of_epochs()
        history = SubspaceSteps(self.source, self.inv_2l2)
        for number in range(1, most + 1):
            last = measured
            before = self._before_help(rows) if crawls or history.steps else None
            again, measured = self._epoch(rows)
            if before is not None:
                history.take(rows, *before, self.alpha, self.lines)
            else:
                history.forget()
            rows = rows[history.keep(again)]
            if self.objective.intercept:
                self._move_biases()
            # This epoch reduces the gap that it measured about as much as the previous one did.
            fall = measured / last if 0.0 < measured < last < np.inf else 1.0
            crawls = last < np.inf and fall > CRAWLING
            if number >= fewest and measured * min(1.0, SURPRISE * fall) <= enough:
                return True, rows
        return False, rows

    def _numbers_of_epochs(self) -> tuple[int, int]:
        """Minimum and maximum number of epochs per round."""
        if self.subspace:
            return 1, MOST_EPOCHS_WITH_SUBSPACE
        return EPOCHS_BEFORE_PRODUCTS if self._is_tall else 1, MOST_EPOCHS

    def _before_help(self, rows: Ints) -> tuple[Array, Array] | None:
        """Current alphas and lines, if most of these rows have shares inside their bounds.

        The free shares are then known, and an epoch gives a search direction.
        """
        if not self.subspace:
            return None
        alpha = self.alpha.take(rows, axis=0)
        inside = np.count_nonzero(np.count_nonzero(alpha, axis=1) > 1)
        return (alpha, self.lines.copy()) if len(rows) < IDENTIFIED * inside else None

    def _move_biases(self) -> None:
        """Keep the biases near their current values, and extrapolate them by as much again."""
        k = len(self.weights)
        away = self.lines[-1, :k] - self.bias_center
        self.bias_center = self.lines[-1, :k].copy()
        self.lines[-1, :k] += away

    def _solve_free_variables(self, rows: Ints) -> None:
        """Conjugate gradients over the alphas inside their bounds, if these are known by now."""
        free = self.dual.is_free(self.alpha[rows])
        inside = free.any(axis=1)
        if len(rows) > IDENTIFIED * np.count_nonzero(inside):
            return
        rows, free = rows[inside], free[inside]
        source, k = self.source, len(self.weights)
        gives = np.append(np.full(len(self.lines) - 1, self.inv_2l2), self.bias_inv_penalty)
        found = FreeVariables(
            self.dual, source.take(rows).with_weight(None), self.alpha[rows], free,
            source.weights[rows, None] / source.weight_sum,
            self.row_norm2[rows] * self.inv_2l2 + self.bias_inv_penalty, gives,
        ).solve(from_lines(self.lines, k), self.products)  # fmt: skip
        if found.gain > 0.0:
            self.alpha[rows] = found.alpha
        self.products = found.next_products(self.products)

    def _enough(self) -> float:
        """The next power of ten of J below the last gap, as tolerances usually are."""
        if not len(self.gaps) or not self.gaps[-1] > 0.0:
            return FIRST_GAP  # J is 1 at 0
        digits = np.floor(np.log10(0.5 * self.gaps[-1] / self.lowest))
        return float(AIM * self.lowest * 10.0**digits)

    def _epoch(self, rows: Ints) -> tuple[AnyArray, float]:
        """One epoch over these rows in random order; return rows to revisit, and the gap."""
        source = self.source
        shuffle = Shuffle(self.seed, self.epochs)
        order = rows[random_order(len(rows), shuffle, source.row_bytes, MIXED_STRETCHES)]
        self.epochs += 1
        found = source.multiclass_epoch(
            self.alpha, self.lines, order,
            inv_weight_sum=1.0 / source.weight_sum, row_norm2=self.row_norm2,
            inv_2l2=self.inv_2l2, bias_inv_penalty=self.bias_inv_penalty,
            shrink_margin=self.shrink_margin,
        )  # fmt: skip
        self._marked[order[: found.n_active]] = True
        again = self._marked[rows]
        self._marked[rows] = False
        self.shrink_margin = CAREFUL * found.violation / (found.n_active or 1)
        return again, found.gap

    def _recompute_weights(self, settle: bool = False) -> DualSums:
        """Recompute weights and lines from the alphas, because rounding errors accumulate.

        With ``settle``, the biases are from now on kept near their current values.
        """
        sums = dual_sums(self.source, self.dual.loss, self.alpha)
        descent = -self.dual.loss.gradient(sums.weighted_rows)
        self.weights = self.inv_2l2 * descent
        away = self.bias_inv_penalty * descent[:, -1]
        if settle:
            self.bias_center = self.bias_center + away
        self.weights[:, -1] = self.bias_center
        self.lines[:, : len(descent)] = self.weights.T
        self.lines[-1, : len(descent)] += away
        return sums

    def _evaluate_gap(self) -> None:
        source, objective = self.source, self.objective
        sums = self._recompute_weights(settle=True)
        self.bound = self.dual.loss.bound(sums, objective.penalty.l2, objective.intercept)
        scores = present_scores(source, self.weights)
        c = source.weights
        self.objective_value = objective.mean(
            float(c @ objective.loss.value(source.y, scores)), self.weights
        )
        self.mistakes = float(c @ objective.loss.mistakes(source.y, scores))
        stays = self.dual.stays(source.y, scores, self.alpha, self.shrink_margin) | (c == 0.0)
        self.active = np.flatnonzero(~stays)
        self.lowest = min(self.lowest, self.objective_value)
        self.highest = max(self.highest, self.bound)
        self.gaps = np.append(self.gaps, self.lowest - self.highest)
