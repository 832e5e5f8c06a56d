"""Interior point method for the dual, for few rows per feature or fewer rows than features.

Problem: ``max_alpha D(alpha)``, the dual of ``J(w, b) = sum_i p_i phi(y_i (w.x_i + b)) + l2 |w|^2``
for the hinge and its square, with a free bias or none. (More classes:
:mod:`separatrix.solvers.dual.multiclass_interior_point`.)
Input: rows x_i in memory, labels y_i = -1 or 1, shares p_i of the weight; l2 > 0.
Output: weights, dual variables alpha, J and the bound D of a feasible alpha.

Algorithm: with xi the losses and ``slack = xi - (1 - m)``, the hinge is the least sum of xi with
``slack >= 0`` and ``xi >= 0``; ``p_i alpha_i`` is the multiplier of the former and
``p_i upper_slack_i``, where ``upper_slack = 1 - alpha``, that of the latter. At the minimum one of
each pair ``alpha, slack`` and ``upper_slack, xi`` is 0. Here all four stay positive: see
:mod:`separatrix.solvers.dual.predictor_corrector`. The squared hinge has ``xi = alpha / 2`` and
only the first pair.

If rows are few, so that they are nearly separable, and the penalty is weak, active-set methods
change the set of rows at a bound with every step, and hundreds of steps led nowhere. Here about
twenty are enough for any penalty and scales. Each uses all rows in one system, of the features or
of the rows, whichever is smaller. Near the minimum, differences of nearly equal numbers are
divided by small ones: the last digits are left to proximal points.

Papers: S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J.
Optimization 2 (1992) 575-601; M. C. Ferris and T. S. Munson, Interior-point methods for massive
support vector machines, SIAM J. Optimization 13 (2002) 783-804.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...data import InMemory
from ...loops import HingePairs
from ...numeric.dot import dot
from ...numeric.expected import Check, array, entries
from ...numeric.linear_systems import cholesky_solver
from ...numeric.tolerances import SMALLEST_NORMAL
from ...numeric.types import Array
from ...objective import Objective
from ...objective.sums import Gram
from ...objective.thresholds import GRAM_TILE
from ...proofs.binary_dual import binary_dual_loss
from ...proofs.dual_sums import dual_sums
from ...rows.thresholds import OWN_GRAM_FEATURES
from .. import thresholds
from ..base import State
from ..row_systems import RowSpaceSystem
from ..system_size import drowns_penalty, in_feature_space, unknowns
from .multiclass_interior_point import multiclass_run, multiclass_state
from .predictor_corrector import PHASE, AnyRun, PredictorCorrector
from .solver import DualIterate, DualSolver

LEAP = 5e-7  # of J: the gap to which compiled steps go, far from the rounding of their products
ROWS = 2048  # copied at a time to compute their products


@dataclass(frozen=True, repr=False)
class InteriorPoint(DualSolver):
    """Interior point method for the dual: for few rows per feature, or few weights.

    For the hinge (Crammer and Singer's for more than two classes) and, for two classes, the squared
    hinge; with a penalty, and rows in memory. About twenty linear systems, with as many unknowns
    as there are rows or weights, whichever are fewer, solve it for any penalty. It starts in the
    interior, whatever the initial weights, and stops when rounding prevents progress, at a gap of
    about 1e-8 of J; after that, it repeats the same weights.

    See Also
    --------
    DualAscent : chooses between this and two other methods.

    Examples
    --------
    >>> from separatrix import InteriorPoint, LinearClassifier
    >>> clf = LinearClassifier("hinge", l2=0.5, solver=InteriorPoint())
    >>> clf.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).converged_
    True
    """

    name = "InteriorPoint"
    draws = False

    def check(self, objective: Objective) -> None:
        """Like all dual solvers; also bounded alphas and small systems."""
        super().check(objective)
        if not objective.loss.attained:
            raise ValueError(
                "InteriorPoint keeps alphas between bounds that those of 'logistic' never reach; "
                "use Newton(), LBFGS() or ProximalPoint()"
            )
        size, values = unknowns(objective), objective.source.n_rows * unknowns(objective)
        most = thresholds.AFFORDABLE_UNKNOWNS
        if size > most or (objective.shape[0] > 1 and values > thresholds.AFFORDABLE_VALUES):
            raise ValueError(
                f"InteriorPoint would factor systems of {size} unknowns made of "
                f"{objective.source.n_rows} rows, which is too much; use DualAscent()"
            )

    def iterates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None
    ) -> Iterator[tuple[DualIterate, State]]:
        """Steps until rounding prevents progress, then the last one repeatedly."""
        run = interior_run(objective, state)
        yield from interior_iterates(run)
        while True:
            yield iterate(run), run.state()

    def phases(self, objective: Objective) -> dict[str, Check]:
        if objective.shape[0] > 1:
            return {PHASE: multiclass_state(objective)}
        rows = array(objective.source.length)
        pairs = dict.fromkeys(("alpha", "upper_slack", "slack", "xi"), rows)
        return {PHASE: entries({"W": array(*objective.shape), **pairs})}


def interior_run(objective: Objective, state: State | None) -> AnyRun:
    """A run for two or more classes, from the interior or from a state."""
    if objective.shape[0] > 1:
        return multiclass_run(objective, state)
    at = None
    if state is not None:
        at = PairPoint(
            state["W"], state["alpha"], state["upper_slack"], state["slack"], state["xi"]
        )
    return InteriorPointRun(objective, at)


def interior_iterates(run: AnyRun) -> Iterator[tuple[DualIterate, State]]:
    """Steps until rounding prevents progress."""
    while run.advance():
        yield iterate(run), run.state()


def iterate(run: AnyRun) -> DualIterate:
    """The iterate of a run; only reported if it improves something."""
    alpha = run.at.alpha[:, None] if isinstance(run, InteriorPointRun) else None
    return DualIterate(
        run.W, run.objective_value, run.mistakes, run.bound, reported=False,
        alpha=None if alpha is None else lambda: alpha,
    )  # fmt: skip


def dual_variables(objective: Objective, state: State) -> Array:
    """Dual variables of every row at a state, (n, columns)."""
    alpha: Array = state["alpha"][:, None] if objective.shape[0] == 1 else state["shares"]
    return alpha


class PairPoint(NamedTuple):
    """Weights, and the complementary pairs of every row."""

    W: Array
    alpha: Array
    upper_slack: Array  # 1 - alpha, if alpha has an upper bound
    slack: Array
    xi: Array


class PairMove(NamedTuple):
    """Change of a point; the change of the upper slack is minus that of alpha."""

    W: Array
    alpha: Array
    slack: Array
    xi: Array


Products = tuple[Array, Array]  # targets for ``alpha, slack`` and ``upper_slack, xi``


class InteriorPointRun(PredictorCorrector[PairPoint, PairMove, Products]):
    """State of an ascent for the hinge or squared hinge."""

    def __init__(self, objective: Objective, at: PairPoint | None = None) -> None:
        self.objective, self.source = objective, objective.in_memory
        self.dual_loss = binary_dual_loss(objective)
        n, d = len(self.source.y), self.source.n_features
        self.share = self.source.weights / self.source.weight_sum
        self.l2 = objective.penalty.l2
        self.at = self._interior() if at is None else at
        in_rows = n <= d and not in_feature_space(objective)
        self.products = self.source.gram() / (2.0 * self.l2) if in_rows else np.empty(0)
        self._evaluate_gap()

    def _interior(self) -> PairPoint:
        """At weights of 0, with losses above those that the offset leaves."""
        n, W = len(self.source.y), self.objective.zeros
        alpha = np.full(n, 0.5 if self.dual_loss.nonsmooth else 3.0)
        xi, margins = np.full(n, 2.0 if self.dual_loss.nonsmooth else 1.5), np.zeros(n)
        if self.source.has_offset:
            margins = self._margins(self.source, W)
            xi -= np.minimum(margins, 0.0)
            alpha = alpha if self.dual_loss.nonsmooth else 2.0 * xi
        return PairPoint(W, alpha, 1.0 - alpha, xi - 1.0 + margins, xi)

    def state(self) -> State:
        return {"phase": PHASE, **self.at._asdict()}

    def step(self) -> None:
        """One step; far from the minimum of a small hinge many, in a compiled loop."""
        if not (self._has_loop() and self._leap()):
            super().step()

    def _has_loop(self) -> bool:
        """Whether there is a loop, which threads and BLAS would not beat, and which has no fits of
        alphas to the weights, so that rounding must not matter."""
        n, d = len(self.at.alpha), self.source.n_features
        small = n * d <= thresholds.SMALL_TABLE and d <= OWN_GRAM_FEATURES
        by_features = not len(self.products) and self.source.visitable
        known = small and by_features and self.dual_loss.nonsmooth
        return known and not drowns_penalty(self.objective)

    def _leap(self) -> bool:
        """Steps of the loop, which leaves those to the last digits; whether there were any."""
        W, *pairs = (np.array(each) for each in self.at)
        taken = self.source.interior_points(
            self.share, HingePairs(W[0], *pairs), l2=self.l2, intercept=self.objective.intercept,
            standardization=self.objective.standardization, enough=LEAP,
        )  # fmt: skip
        if taken:
            self.at = PairPoint(W, *pairs)
            self._evaluate_gap()
            self._fit_alphas()
        return taken > 0

    def _multiplications(self) -> float:
        n, d = float(len(self.at.alpha)), float(self.at.W.shape[1])
        return n * d * min(n, d)

    def _complementarity(self, at: PairPoint) -> float:
        first = dot(self.share, at.alpha * at.slack)
        if not self.dual_loss.nonsmooth:
            return first
        return 0.5 * (first + dot(self.share, at.upper_slack * at.xi))

    def _bounded(self, move: PairMove) -> list[tuple[Array, Array]]:
        pairs = [(self.at.alpha, move.alpha), (self.at.slack, move.slack)]
        if self.dual_loss.nonsmooth:
            pairs += [(self.at.upper_slack, -move.alpha), (self.at.xi, move.xi)]
        return pairs

    def _moved(self, move: PairMove, length: float) -> PairPoint:
        W, alpha, upper_slack, slack, xi = self.at
        return PairPoint(
            W + length * move.W, alpha + length * move.alpha, upper_slack - length * move.alpha,
            slack + length * move.slack, xi + length * move.xi,
        )  # fmt: skip

    def _to_zero(self) -> Products:
        return -self.at.alpha * self.at.slack, -self.at.upper_slack * self.at.xi

    def _corrected(self, wish: Products, move: PairMove, aim: float) -> Products:
        first, second = wish
        first = first + (aim - move.alpha * move.slack)
        return first, second + (aim + move.alpha * move.xi)

    def _newton(self) -> Callable[[Products], PairMove]:
        _, alpha, upper_slack, slack, xi = self.at
        nonsmooth, y, p = self.dual_loss.nonsmooth, self.source.y, self.share
        curvature = slack / alpha + (xi / upper_slack if nonsmooth else 0.5)
        solve = self._system(curvature)

        def move(wish: Products) -> PairMove:
            first, second = wish
            hoped = first / alpha - (second / upper_slack if nonsmooth else 0.0)
            rest = self.source.transpose_product((p * y * hoped / curvature)[:, None])
            direction = solve(self.gradient - rest)
            turn = self._turns(direction)
            change = (hoped - turn) / curvature
            xi_change = (second + xi * change) / upper_slack if nonsmooth else 0.5 * change
            return PairMove(direction, change, xi_change + turn, xi_change)

        return move

    def _fitted(self) -> PairPoint:
        """By a Newton step as if the alphas were the slopes of a logistic loss."""
        _, alpha, upper_slack, _, _ = self.at
        room = alpha * (upper_slack if self.dual_loss.nonsmooth else 1.0)
        change = -room * self._turns(self._system(1.0 / room)(self.gradient))
        # No alpha reaches a bound: the required change is small, or impossible.
        change *= min(1.0, 0.5 / max(float(np.abs(change / room).max()), SMALLEST_NORMAL))
        return self.at._replace(alpha=alpha + change, upper_slack=upper_slack - change)

    def _turns(self, direction: Array) -> Array:
        """Change of the margins with a change of the weights."""
        return self._margins(self.source.without_offset, direction)

    def _margins(self, source: InMemory, W: Array) -> Array:
        """Margins of all rows, 0 for those without weight."""
        scores = source.scores(W)[:, 0]
        margins: Array = np.where(self.share > 0.0, self.source.y * scores, 0.0)
        return margins

    def _system(self, curvature: Array) -> Callable[[Array], Array]:
        """Factorise the system; the result solves for Newton's direction."""
        if len(self.products):
            return self._in_row_space(curvature)
        return self._in_feature_space(curvature)

    def _in_feature_space(self, curvature: Array) -> Callable[[Array], Array]:
        """Factorise the system with one unknown per feature."""
        objective, standardization = self.objective, self.objective.standardization
        weighted = self.source.with_weight(self.share / curvature)
        tiled = ROWS if self.source.n_features >= GRAM_TILE else None
        (hessian,) = weighted.total(Gram(standardization, tiled))
        objective.add_penalty(hessian, standardization)
        objective.regularise_biases(hessian)
        inverse = cholesky_solver(hessian, min_pivot=0.0)

        def solve(gradient: Array) -> Array:
            if not objective.intercept:
                gradient[:, -1] = 0.0
            u = inverse(-standardization.gradient(gradient)[0])
            return standardization.to_weights(u[None])

        return solve

    def _in_row_space(self, curvature: Array) -> Callable[[Array], Array]:
        """Factorise the system with one unknown per row."""
        root = np.sqrt(self.share / curvature)
        system = root[:, None] * self.products * root
        rows, intercept = self.source.without_offset, self.objective.intercept
        return RowSpaceSystem(system, root, rows, self.l2, intercept, min_pivot=0.0).solve

    def _evaluate_gap(self) -> None:
        """J and the bound, and the gradient with respect to the weights at these alphas."""
        source, objective, dual_loss = self.source, self.objective, self.dual_loss
        self.W = self.at.W
        sums = dual_sums(source, dual_loss, np.clip(self.at.alpha, 0.0, dual_loss.most))
        self.bound = dual_loss.bound(sums, self.l2, objective.intercept)
        self.gradient = dual_loss.gradient(sums.weighted_rows) + objective.penalty.gradient(self.W)
        self.misfit = float(np.sum(self.gradient[:, :-1] ** 2)) / (4.0 * self.l2)
        margins, weight = self._margins(source, self.W), self.share * source.weight_sum
        total = dot(weight, dual_loss.loss.phi(margins))
        self.objective_value = objective.mean(total, self.W)
        self.mistakes = float(np.sum(weight, where=margins <= 0.0))
