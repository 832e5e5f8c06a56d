"""The recording of a linear model: its text, and the theory of the run."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...data import ArraySource
from ...data.feature_map import FeatureMap
from ...data.labels import class_numbers
from ...numeric.types import Array
from ...objective import Objective
from ...proofs.gap import GapTracker
from ...proofs.provable import provable
from ...proofs.units import GivenUnits, seen_weights
from ...schedules import Constant, as_schedule
from ...solvers import BatchPerceptron, Rosenblatt, Solver, Step
from ...solvers.dual.proximal_point import reduced_run
from ..mistake_bound import MistakeBoundCallback, mistake_bound_callback
from .columns import StepColumns, evaluated, with_ones
from .proof import proven
from .recording import MOST_ENTRIES, Recording
from .words import Story


class Recipe(NamedTuple):
    """Solver, start and seed of a run."""

    solver: Solver
    start: Array
    seed: int
    features: FeatureMap | None
    stop: str | None


def linear_recording(
    recipe: Recipe, objective: Objective, given: ArraySource, columns: StepColumns
) -> Recording:
    """Record a run on an objective, with the rows as given to it."""
    k = len(given.classes)
    included = len(given.y) * given.n_features <= MOST_ENTRIES
    x = with_ones(given.X) if included else None
    standardized = recipe.features is not None and recipe.features.standardization is not None
    story = Story(
        recipe.solver, objective.loss, objective.penalty.l2, objective.intercept, standardized,
        given.classes.tolist(), x, given.y, columns,
    )  # fmt: skip
    method = {
        "solver": _written(recipe.solver), "loss": objective.loss.name,
        "l2": float(objective.penalty.l2), "fit_intercept": objective.intercept, "kernel": None,
        "seed": int(recipe.seed),
    }  # fmt: skip
    bounds = _most_updates(recipe, objective, given, columns) | {
        "objective": _lower_bound(objective, columns, recipe.features, given)
    }
    return Recording(
        method, given.classes.tolist(), None if x is None else x[:, :-1],
        class_numbers(given.y, k).astype(np.int64), columns, bounds, story.arithmetic,
        story.sentence, recipe.stop,
        evaluate=partial(evaluated, objective) if recipe.features is None else None,
    )  # fmt: skip


def _written(solver: Solver) -> dict[str, Any] | None:
    try:
        return solver.to_dict()
    except TypeError:  # a user-defined function has no name
        return None


def _most_updates(
    recipe: Recipe, objective: Objective, given: ArraySource, columns: StepColumns
) -> dict[str, Any]:
    """Bound on the number of updates of a perceptron, if the theory applies."""
    solver, nothing = recipe.solver, {"updates": None}
    if not isinstance(solver, (Rosenblatt, BatchPerceptron)) or recipe.features is not None:
        return nothing
    if objective.penalty.l2 or not objective.intercept:
        return nothing
    if not isinstance(as_schedule(solver.learning_rate), Constant):
        return nothing
    theory = proven(given, fit_intercept=objective.intercept)
    if theory is None:
        return nothing | {"undecided": True}
    try:
        bound = mistake_bound_callback(
            theory, objective, recipe.start, learning_rate=solver.learning_rate,
            update="online" if isinstance(solver, Rosenblatt) else "batch",
            l2=objective.penalty.l2,
        )  # fmt: skip
    except ValueError:  # the theory does not apply: not separable, ...
        return nothing
    return {"updates": _batch_bound(bound, columns) if bound.batch else bound.bound()}


def _batch_bound(bound: MistakeBoundCallback, columns: StepColumns) -> float | None:
    """Bound for batch updates, from the longest sum of mistakes in the run."""
    weights = columns.weights
    if weights is None or len(weights) < 2:
        return None
    moved = np.linalg.norm(np.diff(weights, axis=0), axis=(1, 2))
    bound.longest = float(moved.max()) / bound.step
    return bound.bound()


def _lower_bound(
    objective: Objective, columns: StepColumns, features: FeatureMap | None, given: ArraySource
) -> float | None:
    """A lower bound on J, proven by duality at the last weights; None if there is none."""
    weights = columns.weights
    if weights is None or not provable(objective) or not np.isfinite(columns.objective[-1]):
        return None
    W = seen_weights(weights[-1], features)
    found = GapTracker(objective, 0.0, reduced_run, units=GivenUnits(objective, features, given))
    found.update(Step(W, {}), 1, due=True, last=True)
    return float(found.lower_bound) or None  # 0 is trivial: losses are not negative
