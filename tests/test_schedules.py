from __future__ import annotations

import numpy as np
import pytest

from separatrix import Constant, InverseScaling, Pegasos, StepDecay
from separatrix.schedules import as_schedule, step_sizes


def test_sizes_are_those_of_the_formulas():
    t = np.arange(1, 8)
    np.testing.assert_allclose(step_sizes(InverseScaling(2.0, 0.25), 1, 7), 2 / t**0.25)
    np.testing.assert_allclose(
        step_sizes(InverseScaling(2.0, 1.0, delay=4.0), 1, 7), 2 / (1 + (t - 1) / 4)
    )
    np.testing.assert_allclose(
        step_sizes(StepDecay(1.0, 0.1, every=3), 1, 7), [1, 1, 1, 0.1, 0.1, 0.1, 0.01]
    )
    np.testing.assert_allclose(step_sizes(as_schedule(Pegasos(), 0.01), 1, 7), 50 / t)
    np.testing.assert_array_equal(step_sizes(Constant(0.5), 3, 7), [0.5])


def test_any_callable_is_called_with_whole_numbers():
    seen = []

    def step(t):
        seen.append(t)
        return 0.5 if t < 3 else 0.25

    np.testing.assert_array_equal(step_sizes(as_schedule(step), 2, 3), [0.5, 0.25, 0.25])
    assert seen == [2, 3, 4]


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan])
def test_numbers_out_of_range(bad):
    with pytest.raises(ValueError, match="positive and finite"):
        as_schedule(bad)


@pytest.mark.parametrize("bad", ["fast", True, None, [0.1]])
def test_what_is_no_learning_rate(bad):
    with pytest.raises(TypeError, match="number, a schedule or a callable"):
        as_schedule(bad)


def test_pegasos_needs_a_penalty():
    with pytest.raises(ValueError, match="needs l2 > 0"):
        as_schedule(Pegasos(), 0.0)


def test_a_schedule_that_turns_negative_is_named():
    with pytest.raises(ValueError, match=r"step size -0.5 at t = 4"):
        step_sizes(lambda t: 1.5 - 0.5 * t, 1, 5)
