"""Newton's method for sparse penalties, on a working set of features.

Problem     min J(W) = smooth(W) + sum of l1 p_j |w_j|, or of lengths of groups of weights; smooth
            convex and twice differentiable, or squares that are not convex, of which a stationary
            point is found.
Input       J, the gradient of its smooth part, and its Hessian by the features of a working set.
Output      W after every step, J and the gradient there.
Algorithm   The working set: features with weights, and those that violate their condition at 0
            most, about as many again. The quadratic model of J in these is minimised by coordinate
            descent, and by Newton's step with the signs fixed; W goes towards its minimum as far as
            J falls. Groups move as a whole, by blocks: see ``block_model``. Features are read by
            sums over rows alone, never by column, so rows may be anywhere. Of squares that are not
            convex the model has the larger of their own curvature and Gauss and Newton's. Far from
            the minimum a second derivative of some rows alone, if they are in memory, is enough.
Paper       Lee, Sun and Saunders, Proximal Newton-type methods for minimizing composite functions,
            SIAM Journal on Optimization 24 (2014); Friedman, Hastie and Tibshirani, Regularization
            paths for generalized linear models via coordinate descent, Journal of Statistical
            Software 33 (2010); Massias, Gramfort and Salmon, Celer: a fast solver for the lasso
            with dual extrapolation (2018), for the growth of the working set; Byrd, Chin, Neveitt
            and Nocedal, On the use of stochastic Hessian information in optimization methods for
            machine learning, SIAM Journal on Optimization 21 (2011).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .. import loops
from ..data import InMemory
from ..numeric.expected import Check, array, entries, flag, indices, real
from ..numeric.linear_systems import damped_solve
from ..numeric.threads import one_blas_thread
from ..numeric.types import Array, Ints
from ..objective import Evaluation, Objective
from .base import Solver, State, Step, finite_start
from .block_model import crawls, minimise_with_groups
from .face_model import minimise_on_faces
from .line_search import backtrack
from .thresholds import FEW_OF_ROWS, ROWS_A_VARIABLE
from .working_hessian import LossHessian, model_hessian, own_variables

EPOCHS, ROUNDS = 10, 50  # epochs of coordinate descent between Newton steps, and rounds of both
SMALLEST_WORKING_SET = 50  # features: fewer hardly make a step cheaper
CHORD = 0.1  # share of the previous gain: a Hessian that gains less is not reused
ROUGH = 3e-3  # of J: after a larger gain, or none yet, a sample gives the next Hessian
ENOUGH = 1e-12  # relative to the model's gain so far: an epoch that gains less is the last


@dataclass(frozen=True, repr=False)
class ProximalNewton(Solver):
    """For ``l1``: each step minimises the second-order model of J over a working set of features.

    Weights become exactly 0. Only sums over rows are used, so rows may be in files or on a cluster.

    Parameters
    ----------
    most_variables : int
        Maximum size of the model: one weight per class for each feature in the working set. Its
        Hessian takes 8 bytes times its square, 32 MB by default, and about as much for each
        thread. If there are more non-zero weights than that, steps update them in turns.

    See Also
    --------
    Newton : without ``l1``.
    LinearClassifier : ``l1=..., solver=ProximalNewton()``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearClassifier, ProximalNewton
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = LinearClassifier(l1=0.01, solver=ProximalNewton(), standardize=True).fit(X, y)
    >>> clf.stop_, int(clf.selected_.sum())
    ('optimal', 11)
    """

    name = "ProximalNewton"
    draws = False
    monotone = True
    any_penalty = True

    most_variables: int = 2000

    def check(self, objective: Objective) -> None:
        """Only losses with a quadratic model that has a minimum are supported."""
        loss = objective.loss
        if not loss.has_convex_model:
            why = "is not convex and no square" if not loss.convex else "defines no curvature"
            raise ValueError(
                f"ProximalNewton cannot minimise {loss.name!r}, which {why}; use "
                + ("GradientDescent()" if loss.smooth else "loss='squared_hinge' or 'logistic'")
            )
        if self.most_variables < 2 * objective.shape[0]:
            raise ValueError(
                f"most_variables={self.most_variables!r} is too few: a feature and the bias have "
                f"a weight for each of {objective.shape[0]} classes"
            )
        if not self.holds_groups(objective):
            most, largest = most_features(objective, self.most_variables), _group_sizes(objective)
            raise ValueError(
                f"ProximalNewton(most_variables={self.most_variables!r}) moves groups as a whole "
                f"and has room for {most} features, but one has {largest.max()}: raise "
                "most_variables (memory is 8 bytes times its square), or use GradientDescent()"
            )

    def holds_groups(self, objective: Objective) -> bool:
        """Whether the largest group of features fits into the model."""
        most = most_features(objective, self.most_variables)
        return bool(_group_sizes(objective).max() <= most)

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One step after another, each with its own working set."""
        W = finite_start(objective, W) if state is None else state["weights"]
        at = objective.value_and_gradient(W) if W.any() else objective.at_zeros()
        kept: State = {"gain": 0.0, "trusted": False, "ahead": False} | (state or {})
        gain, trusted, ahead = kept["gain"], kept["trusted"], kept["ahead"]
        held, taken_at = _held(objective, kept) if trusted else (None, W)
        while True:
            features = working_set(objective, W, at.gradient, self.most_variables)
            fresh = held is None or not trusted or not held.has(features)
            rough = fresh and not ahead and (gain == 0.0 or gain > ROUGH * at.value)
            if held is None or fresh:
                more = self._with_next(objective, at.gradient, features) if ahead else features
                rows = _some_rows(objective, len(more)) if rough else objective
                held, taken_at = LossHessian.at(rows, W, more), W
            before = gain
            V, gain = model_minimum(objective, W, at, features, held)
            # The slope is at least twice that; as a sum it would be lost in rounding sooner.
            along = _along(objective, W, V) if objective.penalty.constrains else None
            length, W, at = backtrack(objective.value_and_gradient, W, at, V - W, -gain, along)
            decrease = gain if length > 0.0 else 0.0  # rounding prevents progress
            trusted = length == 1.0 and gain <= CHORD * before and not rough
            carried = {"weights": W, "gain": gain, "trusted": trusted, "ahead": ahead}
            if ahead:
                carried |= held._asdict()
            elif trusted:  # smaller than the Hessian itself, and the same bits
                carried |= {"features": held.features, "taken_at": taken_at}
            yield Step(
                W, carried, at.value, at.mistakes,
                predicted_decrease=decrease, gradient=at.gradient, reads=1 + fresh,
            )  # fmt: skip

    def expected_state(self, objective: Objective) -> Check:
        """Weights; and a second derivative, or where it was taken."""
        W, features = array(*objective.shape), indices(objective.shape[1] - 1, increasing=True)
        common = {"weights": W, "gain": real, "trusted": flag, "ahead": flag}
        taken = {"features": features, "taken_at": W}
        known = entries(common, {**taken, "scale": array(None), "hessian": array(None, None, None)})

        def check(name: str, state: State) -> None:
            known(name, state)
            if "hessian" in state:
                m, k = len(state["features"]) + 1, objective.shape[0]
                blocks, size = (1, k * m) if objective.loss.column_loss is None else (k, m)
                hessian = {"scale": array(m), "hessian": array(blocks, size, size)}
                entries({**common, "features": features, **hessian})(name, state)
            elif state["trusted"]:
                entries(common | taken)(name, state)

        return check

    def handed_on(self, state: State) -> State:
        """Weights and a second derivative to start with, also for the next features."""
        known = "hessian" in state
        return state | {"gain": np.inf, "trusted": known, "ahead": True}

    def _with_next(self, objective: Objective, gradient: Array, features: Ints) -> Ints:
        """A working set, and as many further features that are closest to becoming non-zero."""
        penalty, d = objective.penalty, objective.shape[1] - 1
        if penalty.groups is not None:
            return features
        most = most_features(objective, self.most_variables)
        room = min(max(2 * len(features), SMALLEST_WORKING_SET), most, d)
        pull = np.max(np.abs(gradient[:, :-1]), axis=0)
        pull /= np.maximum(np.broadcast_to(penalty.thresholds, d), np.finfo(float).tiny)
        pull[features] = np.inf
        nearest = np.argpartition(-pull, room - 1)[:room] if room > len(features) else features
        return np.sort(nearest)


def _some_rows(objective: Objective, features: int) -> Objective:
    """The same on a sample for a rough second derivative, if there are far more rows."""
    size = 1 << (ROWS_A_VARIABLE * (features + 1) * objective.shape[0]).bit_length()
    if not isinstance(objective.source, InMemory) or size > FEW_OF_ROWS * objective.source.n_rows:
        return objective
    return objective.on_rows(objective.sample(size).source)


def _held(objective: Objective, state: State) -> tuple[LossHessian, Array]:
    """The second derivative of the run in this state, and the weights to compute it at again."""
    if "hessian" in state:  # handed on, from another strength perhaps: it stays in the state
        return LossHessian(*(state[name] for name in LossHessian._fields)), state["weights"]
    return LossHessian.at(objective, state["taken_at"], state["features"]), state["taken_at"]


def working_set(objective: Objective, W: Array, gradient: Array, most_variables: int) -> Ints:
    """The features to update, sorted: those with non-zero weights, and as many that pull most."""
    penalty, pull = objective.penalty, pull_by_class(objective, W, gradient)
    pulls = np.max(penalty.lengths(pull), axis=0)
    weighed = np.any(penalty.lengths(W[:, :-1]) != 0.0, axis=0)
    sizes = _group_sizes(objective)
    n_weighed, most = int(sizes[weighed].sum()), most_features(objective, most_variables)
    room = min(max(2 * n_weighed, SMALLEST_WORKING_SET), most)
    chosen = weighed | (pulls > 0.0)
    if sizes[chosen].sum() > room:
        candidates = np.flatnonzero(chosen)
        # Those with non-zero weights first, unless they would take all the space.
        first = np.where(weighed, np.inf, pulls) if 2 * n_weighed <= most else pulls
        order = candidates[np.argsort(-first[candidates], kind="stable")]
        room = max(room, int(sizes[order[0]]))
        chosen[order[np.cumsum(sizes[order]) > room]] = False
    return np.flatnonzero(penalty.by_feature(chosen))


def pull_by_class(objective: Objective, W: Array, gradient: Array) -> Array:
    """Violation of the optimality condition by each weight (k, d).

    In variables in which J has curvature about 1, with the biases at their optimum.
    """
    pull = objective.penalty.violation(W, balanced(objective, gradient))[:, :-1]
    by_scale: Array = pull / objective.standardization.scale[:-1]
    return by_scale


def balanced(objective: Objective, gradient: Array) -> Array:
    """The approximate gradient once the biases are at their optimum."""
    found = gradient.copy()
    if objective.intercept:
        found[:, :-1] -= gradient[:, -1:] * objective.standardization.mean
    return found


def most_features(objective: Objective, most_variables: int) -> int:
    """Maximum working-set size."""
    k, penalty = objective.shape[0], objective.penalty
    # The classes of a column loss have a Hessian each, unless groups tie them; others share it.
    tied = penalty.groups is not None and penalty.numbers is None
    by_class = k if objective.loss.column_loss is None or tied else np.sqrt(k)
    return max(int(most_variables / by_class) - 1, 1)


def _group_sizes(objective: Objective) -> Ints:
    """Size of the group of each feature; features without a group have their own."""
    penalty, d = objective.penalty, objective.shape[1] - 1
    if penalty.numbers is not None:
        return np.bincount(penalty.numbers, minlength=len(penalty.thresholds))
    return np.ones(d, dtype=np.int64)


def model_minimum(
    objective: Objective, W: Array, at: Evaluation, features: Ints, held: LossHessian
) -> tuple[Array, float]:
    """Minimum of the second-order model of J, other features fixed as in W.

    Also a lower bound on the decrease.
    """
    whole, some = objective.standardization, np.append(features, -1)
    own, hessian = own_variables(objective, features), model_hessian(objective, held, features)
    u, slope = (
        np.ascontiguousarray(values[:, some])
        for values in (whole.from_weights(W), whole.gradient(at.gradient))
    )
    penalty = objective.penalty
    if penalty.constrains:
        X = np.column_stack([W[:, features], u[:, -1] / own.scale[-1]])
        some_of = penalty.on_features(features)
        gain = minimise_on_faces(hessian, some_of, own.scale, X, slope)
        u[:, -1] = own.scale[-1] * X[:, -1]
    elif penalty.groups is not None:
        gain = minimise_with_groups(hessian, penalty, features, own.scale, u, slope)
    else:
        thresholds = np.zeros(u.shape)
        per_feature = np.broadcast_to(penalty.thresholds, whole.mean.shape)[features]
        thresholds[:, :-1] = per_feature / own.scale[:-1]
        shape = (len(hessian), -1)
        parts = zip(hessian, *(v.reshape(shape) for v in (thresholds, u, slope)), strict=True)
        gain = sum(minimise_quadratic(*part) for part in parts)
    V = W.copy()
    V[:, features] = X[:, :-1] if penalty.constrains else u[:, :-1] / own.scale[:-1]
    if objective.intercept:
        moved = np.sum((V - W)[:, :-1] * whole.mean, axis=1)
        before = whole.from_weights(W)[:, -1]
        V[:, -1] += (u[:, -1] - before) / own.scale[-1] - moved
    return V, gain


def _along(objective: Objective, W: Array, V: Array) -> Callable[[float], Array]:
    """Allowed weights from W to V, without rounding at the end."""
    return lambda length: V if length == 1.0 else objective.penalty.feasible(W + length * (V - W))


def minimise_quadratic(hessian: Array, thresholds: Array, u: Array, slope: Array) -> float:
    """Minimise ``quadratic(u) + sum of thresholds |u|`` over u, in place.

    Return a bound on the decrease: from its minimum it rises by half of ``way' H way`` or more.
    """
    gained, start, before, free = 0.0, u.copy(), np.inf, bool(np.any(thresholds == 0.0))
    for _ in range(ROUNDS):
        signs = np.sign(u)
        result = loops.coordinate_descent(
            hessian, thresholds, u, slope, max_epochs=EPOCHS, enough=ENOUGH * gained
        )
        gained += result.gain
        if result.gain <= ENOUGH * gained:
            break
        gain = newton_step(hessian, thresholds, u, slope)
        gained += gain
        # A bias, or a shift of all classes, may have no curvature: such steps still make progress.
        if not free and crawls(gain, before, gained) and np.array_equal(np.sign(u), signs):
            break
        before = gain
    way = u - start
    with one_blas_thread(float(len(u)) ** 2):
        return float(0.5 * way @ (hessian @ way))


def newton_step(hessian: Array, thresholds: Array, u: Array, slope: Array) -> float:
    """Step to the minimum with the signs fixed, or as far as signs hold; return the gain.

    A variable whose sign would change is set to 0; all of them at once if that gains more than
    the step to the first of them.
    """
    moving = np.flatnonzero(((u != 0.0) | (thresholds == 0.0)) & (hessian.diagonal() > 0.0))
    if not len(moving):
        return 0.0
    sign = np.where(thresholds[moving] > 0.0, np.sign(u[moving]), 0.0)
    here, H = u[moving], hessian[np.ix_(moving, moving)]
    pull = slope[moving] + thresholds[moving] * sign
    # If H is flat, as for a shift of all classes, the step is long and ends at a sign change.
    best = here + damped_solve(H, -pull)
    crossed = (sign != 0.0) & (sign * best <= 0.0)
    if not np.all(np.isfinite(best)):
        return 0.0
    ends = [np.where(crossed, 0.0, best)]
    if crossed.any():
        share = np.min(here[crossed] / (here - best)[crossed])
        first = crossed & (here / np.where(crossed, here - best, np.inf) <= share)
        ends.append(np.where(first, 0.0, here + share * (best - here)))
    with one_blas_thread(float(len(u)) * len(moving)):
        gains = [-(pull @ (end - here) + 0.5 * (end - here) @ H @ (end - here)) for end in ends]
        taken = int(np.argmax(gains))
        if not gains[taken] > 0.0:
            return 0.0
        slope += hessian[:, moving] @ (ends[taken] - here)
    u[moving] = ends[taken]
    return float(gains[taken])
