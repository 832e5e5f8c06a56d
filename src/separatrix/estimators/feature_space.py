"""How far a kernel perceptron moves, for the rules that say when it has settled."""

from __future__ import annotations

import numpy as np

from ..numeric.expected import Check, array, entries
from ..numeric.types import Array
from ..solvers import Step
from ..training.stopping import WeightSpace


class FeatureSpace(WeightSpace):
    """Lengths in feature space, ``|w|^2 = sum_i a_i s_i`` with scores s, which cost nothing.

    What repeats in a cycle are the training scores: the coefficients of a run that goes in
    circles still grow.
    """

    what = "scores"
    remedy = "lower gamma, degree or learning_rate"

    def norm(self, step: Step) -> float:
        """Norm of the weights; 0 where a kernel is no inner product."""
        square = float(np.vdot(step.weights, step.state["scores"]))
        return float(np.sqrt(square)) if not square < 0.0 else 0.0

    def distance(self, step: Step, before: Step) -> float:
        """Norm of the difference."""
        scores = step.state["scores"] - before.state["scores"]
        return float(np.sqrt(max(0.0, float(np.vdot(step.weights - before.weights, scores)))))

    def position(self, step: Step) -> Array:
        """The training scores."""
        scores: Array = step.state["scores"]
        return scores

    def seen(self, step: Step) -> Step:
        """With the scores."""
        return Step(step.weights, {"scores": step.state["scores"]}, step.objective)

    def expected_state(self, shape: tuple[int, ...]) -> Check:
        """Scores, as many as coefficients."""
        return entries({"scores": array(*shape)})
