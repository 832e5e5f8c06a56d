"""Proximal steps near the minimum: what is solved stays solved."""

from __future__ import annotations

import numpy as np

from separatrix import L2, ArraySource, Objective, get_loss
from separatrix.solvers.dual.proximal_point import from_zeros, proximal_iterates


def test_kinks_get_no_sharper_where_the_center_stands_still():
    """All rows of the larger class end at the kink: with ever sharper ones alphas lose digits."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(80, 20, (2000, 10)).round(), np.ones(2000)])
    y = np.where(rng.random(2000) < 0.1, 1.0, -1.0)
    source = ArraySource(X, y, np.array([False, True]))
    objective = Objective(get_loss("hinge"), L2(7.8e-5), source, intercept=False)
    steps = proximal_iterates(objective, from_zeros(objective, np.zeros(objective.shape)))
    for _ in range(60):
        at, state = next(steps)
    margins = y * (X @ at.weights[0, :-1])
    assert np.sum(np.abs(margins - 1.0) < 1e-9) > 1500
    assert state["penalty_parameter"] < 1e6
    assert at.objective - at.lower_bound < 1e-12 * at.objective
