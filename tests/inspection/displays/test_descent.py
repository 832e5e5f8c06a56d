"""Steps against the recursion of the slide, x <- x - step * f'(x)."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import DescentDisplay, StepDecay, gradient_descent


def square(x):
    return x**2


def slope(x):
    return 2 * x


@pytest.mark.parametrize(
    ("step", "word"), [(0.1, "converged"), (1.0, "oscillating"), (1.1, "diverging")]
)
def test_the_square_converges_goes_round_or_runs_away(step, word):
    display = DescentDisplay.from_function(square, slope, -1, learning_rate=step, steps=8)
    drawn = len(display.points_.get_xdata())
    np.testing.assert_allclose(display.points_.get_xdata(), -((1 - 2 * step) ** np.arange(drawn)))
    np.testing.assert_allclose(display.points_.get_ydata(), display.points_.get_xdata() ** 2)
    assert display.ax_.get_title() == f"step {step:g}: {word}"
    np.testing.assert_allclose(display.steps_.U, np.diff(display.path))
    np.testing.assert_allclose(display.steps_.V, np.diff(display.path**2))
    x, height = display.curve_.get_data()
    np.testing.assert_allclose(height, x**2)
    assert x[0] < display.path.min()
    assert display.path.max() < x[-1]


def test_each_start_ends_in_the_minimum_of_its_own_valley():
    def f(x):
        return x**4 - 3 * x**2 + x

    def g(x):
        return 4 * x**3 - 6 * x + 1

    true = np.sort(np.roots([4, 0, -6, 1]).real)
    for start, number in ((-2.0, 0), (2.0, 2)):
        display = DescentDisplay.from_function(
            f, g, start, learning_rate=0.02, steps=60, limits=(-2.2, 2.2)
        )
        assert display.path[-1] == pytest.approx(true[number], abs=1e-2)
        np.testing.assert_allclose(display.minima, true[[0, 2]], atol=0.01)  # the lowest first
        labels = [line.get_label() for line in display.minima_]
        assert labels == ["lowest minimum here", "local minimum"]


def test_a_run_that_was_made_before_and_a_schedule():
    run = gradient_descent(square, slope, 3.0, learning_rate=0.25)
    display = DescentDisplay.from_descent(square, run, steps=4, curve_kwargs={"c": "red"})
    np.testing.assert_array_equal(display.path, [3.0, 1.5, 0.75, 0.375, 0.1875])
    assert display.curve_.get_color() == "red"
    assert display.ax_.get_title() == "converged"
    named = DescentDisplay.from_function(square, slope, 1.0, learning_rate=StepDecay(0.4, 5))
    assert named.name.startswith("StepDecay(")


def test_a_start_that_stays_has_a_picture_too():
    display = DescentDisplay.from_function(square, slope, 0.0)
    assert display.path.tolist() == [0.0]
    assert display.grid[0] < 0 < display.grid[-1]


def test_what_is_not_a_curve_is_refused():
    plane = gradient_descent(lambda x: x @ x, lambda x: 2 * x, [1.0, 2.0])
    with pytest.raises(ValueError, match="the run has 2 variables"):
        DescentDisplay.from_descent(square, plane)
    with pytest.raises(ValueError, match="a smaller and a larger number"):
        DescentDisplay.from_function(square, slope, 1.0, limits=(2, 1))
    with pytest.raises(ValueError, match="steps must be 1 or more"):
        DescentDisplay.from_function(square, slope, 1.0, steps=0)
