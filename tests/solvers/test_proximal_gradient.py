"""Steps of proximal gradient descent: Barzilai and Borwein's length, where it is known."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from separatrix import L2, ArraySource, ElasticNet, Objective, get_loss
from separatrix.solvers.proximal_gradient import proximal_gradient


@pytest.mark.parametrize("spread", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("l2", [0.1, 0.3, 7.0])
@pytest.mark.parametrize("l1", [0.0, 0.2])
def test_the_second_step_reaches_the_minimum_along_a_line(l1, l2, spread):
    """Three equal features keep equal weights w; the step is 1 / curvature once it is measured."""
    rng = np.random.default_rng(0)
    x, y = spread * rng.standard_normal(40), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    x += 0.5 * spread * y
    l1, l2 = l1 * spread, l2 * spread**2
    penalty = ElasticNet(l1, l2) if l1 else L2(l2)
    source = ArraySource(np.column_stack([x, x, x]), y, np.array(["a", "b"]))
    objective = Objective(get_loss("squared"), penalty, source, False)
    # J = mean (1 - 3 y x w)^2 + 3 l1 |w| + 3 l2 w^2
    slope = np.mean(x * y)
    minimum = np.sign(slope) * max(abs(slope) - 0.5 * l1, 0.0) / (3.0 * np.mean(x * x) + l2)
    assert minimum != 0.0
    steps = list(islice(proximal_gradient(objective, np.zeros((1, 4)), None, False), 2))
    assert steps[0].weights[0, 0] != pytest.approx(minimum, rel=1e-2)
    np.testing.assert_allclose(steps[1].weights[0, :3], minimum, rtol=1e-9)
