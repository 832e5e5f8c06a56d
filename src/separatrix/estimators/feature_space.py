"""Distances of a kernel perceptron in feature space, for the stopping rules."""

from __future__ import annotations

import numpy as np

from ..numeric.expected import Check, array, entries
from ..numeric.types import Array
from ..solvers import Step
from ..training.stopping import WeightSpace


class FeatureSpace(WeightSpace):
    """Lengths in feature space, ``|w|^2 = sum_i a_i s_i`` with scores s, at no extra cost.

    In a cycle the training scores repeat, while the coefficients still grow.
    """

    what = "scores"
    remedy = "lower gamma, degree or learning_rate"

    def norm(self, step: Step) -> float:
        """Norm of the weights; 0 if a kernel is not an inner product."""
        square = float(np.vdot(step.weights, step.saved["scores"]))
        return float(np.sqrt(square)) if not square < 0.0 else 0.0

    def distance(self, step: Step, before: Step) -> float:
        scores = step.saved["scores"] - before.saved["scores"]
        return float(np.sqrt(max(0.0, float(np.vdot(step.weights - before.weights, scores)))))

    def position(self, step: Step) -> Array:
        scores: Array = step.saved["scores"]
        return scores

    def seen(self, step: Step) -> Step:
        return Step(step.weights, {"scores": step.saved["scores"]}, step.objective)

    def expected_state(self, shape: tuple[int, ...]) -> Check:
        """Check for scores, as many as coefficients."""
        return entries({"scores": array(*shape)})
