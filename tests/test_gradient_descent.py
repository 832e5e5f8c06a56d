"""Gradient descent on any function: the lecture's detour."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import InverseScaling, gradient_descent


def parabola(step, start=-1, **rest):
    return gradient_descent(lambda x: x**2, lambda x: 2 * x, start, learning_rate=step, **rest)


@pytest.mark.parametrize(
    ("step", "stop"),
    [(1.0, "oscillating"), (0.4, "converged"), (1.1, "diverging"), (1e-6, "max_iter"),
     (0.99, "converged"), (0.5, "converged"), (1e200, "diverging")],
)  # fmt: skip
def test_the_lectures_example(step, stop):
    result = parabola(step)
    assert result.stop == stop
    assert f"stop='{stop}'" in repr(result)
    assert len(result.path) == len(result.values)


def test_the_path_is_the_formula():
    result = parabola(0.4)
    np.testing.assert_allclose(result.path, -(0.2 ** np.arange(len(result.path))))
    np.testing.assert_allclose(result.values, result.path**2)
    assert isinstance(result.x, float)
    assert abs(result.x) < 1e-3


def test_arrays_and_schedules():
    target = np.array([1.0, -2.0])
    result = gradient_descent(
        lambda x: np.sum((x - target) ** 2),
        lambda x: 2 * (x - target),
        [0, 0],
        learning_rate=InverseScaling(0.3, 0.1),
        tol=1e-12,
    )
    assert result.stop == "converged"
    np.testing.assert_allclose(result.x, target, atol=1e-5)
    assert result.path.shape == (len(result.values), 2)


@pytest.mark.parametrize("start", [-1e-5, -1e-100, -1e5])
def test_the_verdict_does_not_depend_on_scale(start):
    stops = [parabola(step, start).stop for step in (1.0, 1.1, 0.4)]
    assert stops == ["oscillating", "diverging", "converged"]


def test_falling_for_ever_is_diverging():
    assert gradient_descent(lambda x: -(x**2), lambda x: -2 * x, 1.0).stop == "diverging"


def test_a_gradient_that_writes_on_its_argument_does_no_harm():
    def gradient(x):
        x *= 2
        return x

    result = gradient_descent(lambda x: x @ x, gradient, [1.0, 1.0], max_iter=2)
    np.testing.assert_allclose(result.path[1], [0.8, 0.8])


def test_it_finds_the_basin_it_starts_in():
    def double_well(x):
        return (x**2 - 1) ** 2

    def slope(x):
        return 4 * x * (x**2 - 1)

    for start, end in ((0.1, 1.0), (-0.1, -1.0), (0.0, 0.0)):
        result = gradient_descent(double_well, slope, start, learning_rate=0.05)
        assert result.stop == "converged"
        assert result.x == pytest.approx(end, abs=1e-3)


def test_rising_for_a_while_is_not_diverging():
    """From a steep wall the first steps overshoot, then it settles."""
    result = gradient_descent(lambda x: x**4, lambda x: 4 * x**3, 1.0, learning_rate=0.3)
    assert result.stop in ("converged", "max_iter")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tol": -1.0}, "tol must be a number and not negative"),
        ({"tol": None}, "tol must be a number and not negative"),
        ({"max_iter": None}, "max_iter must be a whole number"),
        ({"start": "a"}, "start must be a number or an array"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"start": np.nan}, "start must be finite"),
        ({"step": -0.1}, "learning_rate must be positive"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        parabola(arguments.pop("step", 0.1), **arguments)


def test_functions_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"gradient returned an array of shape \(3,\)"):
        gradient_descent(lambda x: 0.0, lambda x: np.ones(3), [1.0, 2.0])
    with pytest.raises(ValueError, match="expected a single number"):
        gradient_descent(lambda x: x, lambda x: x, [1.0, 2.0])
