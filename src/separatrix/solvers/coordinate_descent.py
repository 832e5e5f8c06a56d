"""Coordinate descent for sparse penalties, by columns.

Problem     min J(W) = smooth(W) + sum of l1 p_j |w_j|, for a convex margin loss.
Input       J and the gradient of its smooth part; the columns of a working set of features.
Output      W after every round, J and the gradient there.
Algorithm   The working set contains the features with non-zero weights and those that violate
            their optimality condition most. J restricted to it is minimised before all features
            are checked again: coordinate descent on its quadratic model (``model_descent``),
            then a line search, and so on; it is solved fully if no other feature would become
            non-zero and that costs no more than another check. A free bias follows every change
            of a weight. After a step that was shortened a lot, the next model uses the mean
            curvature of the loss between each margin and 0.
Paper       Massias, Gramfort and Salmon, Celer: a fast solver for the lasso with dual extrapolation
            (2018), for working sets; Friedman, Hastie and Tibshirani, Regularization paths for
            generalized linear models via coordinate descent, Journal of Statistical Software 33
            (2010).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data import InMemory
from ..data.labels import signs_of
from ..losses import MarginLoss
from ..numeric.dot import dot
from ..numeric.expected import Check, array, entries
from ..numeric.types import Array, Ints
from ..objective import Objective
from ..objective.columns import FeatureColumns
from ..penalties import Penalty
from ..rows import DenseRows
from .base import Solver, State, Step, finite_start
from .line_search import backtrack
from .model_descent import ModelDescent
from .proximal_newton import balanced

SETTLED = 1e-1  # relative to the gain of a round: a model that predicts less is the last
SETTLED_WELL, AS_A_LOOK = 1e-10, 2.0  # used instead while epochs cost no more than this many reads
NEARLY = 0.1  # of a threshold: a feature closer to it may become non-zero next
FIRST_LOOK = 0.1  # of that: if a first epoch gains no more, no further epochs follow
NOTHING = 1e-29  # of J: the gain of epochs from the rounding of slopes alone
MOST_MODELS = 20  # in a round
AS_IT_IS = np.array([[1.0, 0.0]])  # weight and bias
TOO_SHORT, NEAR_0 = 1 / 16, 1e-6  # of a step, and of a margin to use the tangent
SMALLEST_WORKING_SET, SHARE = 50, 1 / 50  # number of features, and share of all stored values


@dataclass(frozen=True, repr=False)
class CoordinateDescent(Solver):
    """Coordinate descent for ``l1`` on the columns of a working set.

    Suited to few rows or very many features. Rows must be in memory. The columns of the working
    set (at least a fiftieth of all values, and about two columns for each selected feature) are
    copied when they enter it: 8 bytes per dense value, up to 16 per stored sparse value.

    See Also
    --------
    ProximalNewton : for many rows, in memory or not.
    LinearClassifier : ``l1=..., solver=CoordinateDescent()``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from separatrix import CoordinateDescent, LinearClassifier
    >>> X, y = make_classification(100, 2000, random_state=0)
    >>> clf = LinearClassifier(l1=0.08, solver=CoordinateDescent()).fit(X, y)
    >>> clf.stop_, int(clf.selected_.sum())
    ('optimal', 13)
    """

    name = "CoordinateDescent"
    draws = False
    monotone = True
    any_penalty = True
    needs_visits = True  # columns are copied

    def check(self, objective: Objective) -> None:
        """Only convex margin losses, one-vs-rest for more classes, and rows in memory."""
        super().check(objective)
        loss = objective.loss
        if not loss.has_curvature or not loss.convex:
            why = "is not convex" if not loss.convex else "defines no curvature"
            remedy = "ProximalNewton()" if loss.has_convex_model else "GradientDescent()"
            raise ValueError(
                f"CoordinateDescent cannot minimise {loss.name!r}, which {why}; use "
                + (remedy if loss.smooth else "loss='squared_hinge' or 'logistic'")
            )
        if loss.column_loss is None:
            raise ValueError(
                f"CoordinateDescent takes each class by itself, which {loss.name!r} of more than "
                f"two does not; use ProximalNewton(), or loss='one_vs_rest_{loss.name}'"
            )
        if not isinstance(objective.source, InMemory):
            raise ValueError(
                "CoordinateDescent copies columns, for which the rows must be in memory; use "
                "ProximalNewton()"
            )

    def check_penalty(self, penalty: Penalty) -> None:
        """Groups are not supported."""
        if penalty.groups is not None:
            raise ValueError(
                "CoordinateDescent moves one weight at a time, which groups do not allow; use "
                "ProximalNewton() or GradientDescent()"
            )

    def expected_state(self, objective: Objective) -> Check:
        return entries({"weights": array(*objective.shape)})

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One round after another, each with its own working set."""
        W = finite_start(objective, W) if state is None else state["weights"]
        at = objective.value_and_gradient(W) if W.any() else objective.at_zeros()
        while True:
            features, whole = working_set(objective, W, at.gradient)
            columns = objective.columns(features)
            affordable = AS_A_LOOK * columns.epochs_a_read if whole else 0.0
            V, gain = minimum_on(objective, columns, W, affordable)
            # it falls on the columns, but rounding may hide this in the sum over rows
            length, W, at = backtrack(objective.value_and_gradient, W, at, V - W, -gain)
            yield Step(
                W, {"weights": W}, at.value, at.mistakes,
                predicted_decrease=gain if length > 0.0 else 0.0, gradient=at.gradient, reads=2,
            )  # fmt: skip


def working_set(objective: Objective, W: Array, gradient: Array) -> tuple[Ints, bool]:
    """The features to update, in increasing order, and whether all others satisfy their condition.

    All with non-zero weights, and as many again or as many as are cheap compared with a check of
    all features: those with the largest gradients relative to their thresholds.
    """
    scale, penalty = objective.standardization.scale[:-1], objective.penalty
    pull = np.abs(balanced(objective, gradient)[:, :-1])
    beyond = np.max(pull - penalty.thresholds, axis=0) / scale
    beyond[np.any(W[:, :-1] != 0.0, axis=0) | (penalty.thresholds == 0.0)] = np.inf
    cheap = int(SHARE * len(beyond))
    size = max(2 * int(np.count_nonzero(beyond == np.inf)), SMALLEST_WORKING_SET, cheap)
    candidates = np.flatnonzero(beyond > -NEARLY * penalty.thresholds / scale)
    if len(candidates) <= size:
        return candidates, True
    chosen = candidates[np.argpartition(-beyond[candidates], size)[:size]]
    return np.sort(chosen), int(np.count_nonzero(beyond > 0.0)) <= size


def minimum_on(
    objective: Objective, columns: FeatureColumns, W: Array, affordable: float
) -> tuple[Array, float]:
    """Minimise J over the features of these columns, the others fixed as in W; also the gain.

    Solved roughly, or more accurately while that takes only a few epochs over all columns.
    """
    source, features = objective.in_memory, columns.features
    present = slice(None) if source.present is None else source.present
    share, y = source.weights[present] / source.weight_sum, source.y[present]
    thresholds = np.broadcast_to(objective.penalty.thresholds, source.n_features)[features]
    ridge = objective.penalty.diagonal(W.shape)
    binary = objective.loss.column_loss
    if binary is None:
        raise TypeError(f"{objective.loss!r} is no loss of margins")
    V, total, offset = W.copy(), 0.0, source.offset
    for c, w in enumerate(W):
        signs = y if len(W) == 1 else signs_of(y, c)
        weighs = objective.loss.weighs_columns
        each = np.asarray(objective.loss.column_weights(y))[:, c] if weighs else 1.0
        own = Restricted(
            binary, signs, share * each, columns, thresholds, ridge[c, features],
            objective.intercept, None if offset is None else offset[present, c],
        )  # fmt: skip
        centre = columns.means[features]
        u, gain = own.minimum(np.append(w[features], w[-1] + dot(centre, w[features])), affordable)
        V[c, features] = u[:-1]
        if objective.intercept:
            V[c, -1] = u[-1] - dot(centre, u[:-1])
        total += gain
    return V, total


class MarginPoint(NamedTuple):
    """J, and the margin of every row with the second derivative of its loss."""

    value: float
    margins: Array
    curvature: Array


@dataclass(frozen=True)
class Restricted:
    """J of one class against the rest as a function of some weights and the bias, (m + 1,)."""

    loss: MarginLoss
    signs: Array
    share: Array  # share of each row in the total weight
    columns: FeatureColumns
    thresholds: Array
    ridge: Array
    bias: bool
    offset: Array | None = None  # added to the score of each row, (n,)

    def at(self, u: Array) -> MarginPoint:
        w, curvature = u[:-1], np.empty(len(self.signs))
        scores = self.columns.scores(w) + u[-1]
        if self.offset is not None:
            scores += self.offset
        mean, _ = DenseRows(scores[:, None]).value_gradient(
            self.signs, self.loss, AS_IT_IS, self.share, curvature=curvature
        )  # here a row is its score
        penalty = dot(self.thresholds, np.abs(w)) + 0.5 * dot(self.ridge * w, w)
        return MarginPoint(mean + penalty, self.signs * scores, curvature)

    def minimum(self, u: Array, affordable: float) -> tuple[Array, float]:
        """Minimise from u by a sequence of models; also a lower bound on the gain.

        If a model was far too optimistic, the next uses the larger curvature; if it happens
        again, the next two, four and so on.
        """
        at, gained, spent, careful, doubt = self.at(u), 0.0, 0.0, 0, 1
        for _ in range(MOST_MODELS):
            curvature = self.mean_curvature(at) if careful else at.curvature
            settled = SETTLED if spent >= affordable else SETTLED_WELL
            v, gain, epochs = self.model_minimum(u, at, curvature, FIRST_LOOK * settled * gained)
            spent += epochs
            length, u, at = backtrack(self.at, u, at, v - u, -gain)
            if length > 0.0:
                gained += length * gain
            elif careful:
                break
            if gain <= max(settled * gained, NOTHING * at.value):
                break
            if careful:
                careful -= 1
            elif length <= TOO_SHORT:
                careful, doubt = doubt, 2 * doubt
        return u, gained

    def model_minimum(
        self, u: Array, at: MarginPoint, curvature: Array, enough: float
    ) -> tuple[Array, float, float]:
        """Minimum of a second-order model, a lower bound on the decrease, and the number of epochs.

        An epoch over all weights that gains no more than ``enough`` is the last.
        """
        slope = self.share * self.signs * self.loss.slope(at.margins)
        model = self.columns.rows.column_model(curvature, self.ridge, self.thresholds, self.bias)
        descent = ModelDescent(model, self.columns, u[:-1].copy(), slope)
        descent.run(enough, NOTHING * at.value)
        way = descent.w - u[:-1]
        change = self.columns.scores(way) + descent.shift
        gain = 0.5 * (dot(curvature * change, change) + dot(self.ridge * way, way))
        return np.append(descent.w, u[-1] + descent.shift), gain, descent.epochs

    def mean_curvature(self, at: MarginPoint) -> Array:
        """Mean curvature of the loss between each margin and 0: far from 0 there is none.

        The logistic loss never exceeds the model with this curvature (Jaakkola and Jordan, Bayesian
        parameter estimation via variational methods, 2000).
        """
        m = np.where(np.abs(at.margins) > NEAR_0, at.margins, NEAR_0)
        secant = (self.loss.slope(m) - self.loss.slope(np.zeros(1))) / m
        larger: Array = np.maximum(self.share * secant, at.curvature)
        return larger
