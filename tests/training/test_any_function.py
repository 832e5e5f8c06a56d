"""Gradient descent on any function: the second chapter of the course."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import InverseScaling, gradient_descent


def parabola(step, start=-1, **rest):
    return gradient_descent(lambda x: x**2, lambda x: 2 * x, start, learning_rate=step, **rest)


@pytest.mark.parametrize(
    ("step", "stop"),
    [(1.0, "oscillating"), (0.4, "converged"), (1.1, "diverging"), (1e-6, "max_iter"),
     (1.001, "diverging"), (0.99, "converged"), (0.5, "converged"), (1e200, "diverging")],
)  # fmt: skip
def test_the_square_from_minus_one(step, stop):
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


def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


def rosenbrock_slope(p):
    across = p[1] - p[0] ** 2
    return np.array([-2 * (1 - p[0]) - 400 * p[0] * across, 200 * across])


def logarithm(x):
    return np.log1p(x**2)


def logarithm_slope(x):
    return 2 * x / (1 + x**2)


def well(x):
    return (x**2 - 1) ** 2


def well_slope(x):
    return 4 * x * (x**2 - 1)


@pytest.mark.parametrize(
    ("function", "gradient", "start", "step", "end"),
    [
        pytest.param(
            rosenbrock, rosenbrock_slope, [-1.2, 1.0], 1e-3, [1.0, 1.0], marks=pytest.mark.slow
        ),
        (well, well_slope, 1e-3, 0.05, 1.0),  # steps grow longer on the way from the top
        (well, well_slope, -1e-12, 0.05, -1.0),
        (logarithm, logarithm_slope, 30.0, 0.9, 0.0),  # as they do from the flat outside
        (lambda x: x**4 / 4 - x**2 / 2, lambda x: x**3 - x, 1e-6, 0.1, 1.0),
        (lambda x: 1e12 + 1e-12 * x**2, lambda x: 2e-12 * x, 1.0, 4e11, 0.0),
        (lambda x: 7.0, lambda x: 0.0 * x, [1.0, 2.0], 0.1, [1.0, 2.0]),
        (lambda p: p[0] ** 2 - p[1] ** 2, lambda p: [2 * p[0], -2 * p[1]], [1, 0], 0.1, [0, 0]),
    ],
    ids=["rosenbrock", "well", "top of the well", "logarithm", "quartic", "offset", "constant",
         "saddle"],
)  # fmt: skip
def test_runs_that_arrive_are_converged(function, gradient, start, step, end):
    result = gradient_descent(function, gradient, start, learning_rate=step, max_iter=100_000)
    assert result.stop == "converged"
    np.testing.assert_allclose(result.x, end, atol=1e-4)


@pytest.mark.parametrize("max_iter", [1, 24, 25, 26, 100, 1000, 3000])
def test_no_piece_of_a_run_that_arrives_is_said_to_diverge(max_iter):
    for function, gradient, start, step in (
        (rosenbrock, rosenbrock_slope, [-1.2, 1.0], 1e-3),
        (well, well_slope, 1e-3, 0.05),
        (well, well_slope, 1e-100, 0.05),
        (logarithm, logarithm_slope, 30.0, 0.9),
    ):
        result = gradient_descent(function, gradient, start, learning_rate=step, max_iter=max_iter)
        assert result.stop in ("converged", "max_iter")
        if result.stop == "max_iter":
            assert len(result.path) == max_iter + 1


@pytest.mark.parametrize(
    ("function", "gradient", "step"),
    [
        (lambda x: 1e-6 * x**2, lambda x: 2e-6 * x, 0.1),
        (lambda x: x**2, lambda x: 2 * x, 1e-9),
        (lambda x: 1e6 + x**2, lambda x: 2 * x, 1e-6),
        (lambda x: x**2, lambda x: 2 * x, 1e-20),  # its steps are lost in rounding
        (lambda x: x**2, lambda x: 2 * x, 1.0 - 1e-9),  # to and fro, and yet nearer every time
        (lambda x: x**2, lambda x: 2 * x, 1.0 - 1e-12),
        (lambda x: x**2, lambda x: 2 * x, lambda t: 1.0 if t < 1001 else 0.5),  # not decided yet
        (lambda x: np.exp(-x), lambda x: -np.exp(-x), 0.1),
    ],
)
def test_runs_that_have_hardly_begun_are_nothing_yet(function, gradient, step):
    result = gradient_descent(function, gradient, 1.0, learning_rate=step)
    assert result.stop == "max_iter"
    assert len(result.path) == 1001


@pytest.mark.parametrize(("rate", "period"), [(3.2, 2), (3.5, 4), (3.55, 8), (3.83, 3), (3.74, 5)])
def test_circles_of_any_length_are_oscillating(rate, period):
    """Steps of length 1 along x - rate * x * (1 - x) are the logistic map."""

    def function(x):
        return x**2 / 2 - rate * (x**2 / 2 - x**3 / 3)

    result = gradient_descent(
        function, lambda x: x - rate * x * (1 - x), 0.3, learning_rate=1.0, max_iter=5000
    )
    assert result.stop == "oscillating"
    on = result.path[-1]
    circle = []
    for _ in range(period):
        on = rate * on * (1 - on)
        circle.append(on)
    assert circle[-1] == pytest.approx(result.x, abs=1e-12)
    assert np.diff(np.sort(circle)).min() > 1e-3


def test_chaos_is_nothing_in_particular():
    """The logistic map at a rate without a stable circle."""
    result = gradient_descent(
        lambda x: 0.0, lambda x: x - 3.99 * x * (1 - x), 0.3, learning_rate=1.0, max_iter=3000
    )
    assert result.stop == "max_iter"


@pytest.mark.sampled
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 0.3, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("offset", [0.0, 1e9, -1e9])
def test_the_verdict_depends_on_neither_scale_nor_offset(scale, offset):
    stops = [
        gradient_descent(
            lambda x: scale * x**2 + offset, lambda x: 2 * scale * x, -1.0,
            learning_rate=step / scale,
        ).stop
        for step in (1.0, 1.1, 0.4)
    ]  # fmt: skip
    assert stops == ["oscillating", "diverging", "converged"]


def test_rising_at_first_is_not_diverging():
    """Where curvature is too large for the step, from a start at which the function is quadratic.

    Further out it is not, and the run ends up between two points there.
    """
    for start in (1e-3, 1e-10, 1e-100):
        result = gradient_descent(logarithm, logarithm_slope, start, learning_rate=1.5)
        assert result.stop == "oscillating"
        assert abs(result.x) == pytest.approx(np.sqrt(0.5))


def test_what_falls_at_an_even_pace_is_reported_from_nothing():
    """It might be a long way to a minimum, as it is for the second."""
    for function, gradient in (
        (lambda x: -x, lambda x: -1.0),
        (lambda x: abs(x - 1e9), lambda x: np.sign(x - 1e9)),
    ):
        assert gradient_descent(function, gradient, 0.0).stop == "max_iter"
    beyond = gradient_descent(lambda x: -x, lambda x: -1.0, 0.0, learning_rate=1e308)
    assert beyond.stop == "diverging"


def test_a_start_where_the_gradient_is_0_stays():
    result = parabola(0.1, 0.0)
    assert (result.stop, result.x, len(result.path)) == ("converged", 0.0, 1)


def test_a_gradient_as_small_as_was_asked_for():
    for tol in (1e-2, 1e-8, 1e-14):
        result = parabola(0.3, tol=tol)
        slopes = np.abs(2 * result.path)
        assert slopes[-1] <= tol * slopes.max() < slopes[-2]


def test_where_there_is_no_number_it_is_undefined():
    def function(x):
        return x - np.log(x) if x > 0 else np.nan

    result = gradient_descent(function, lambda x: 1 - 1 / x, 3.0, learning_rate=5.0)
    assert (result.stop, len(result.path)) == ("undefined", 2)
    assert gradient_descent(lambda x: x, lambda x: np.nan, 3.0).stop == "undefined"
    huge = gradient_descent(lambda x: x**4, lambda x: 4 * x**3, 3.0)
    assert huge.stop == "diverging"


def test_falling_for_ever_is_diverging():
    assert gradient_descent(lambda x: -(x**2), lambda x: -2 * x, 1.0).stop == "diverging"


def test_a_gradient_that_writes_on_its_argument_does_no_harm():
    def gradient(x):
        x *= 2
        return x

    result = gradient_descent(lambda x: x @ x, gradient, [1.0, 1.0], max_iter=2)
    np.testing.assert_allclose(result.path[1], [0.8, 0.8])


def test_it_finds_the_basin_it_starts_in():
    for start, end in ((0.1, 1.0), (-0.1, -1.0), (0.0, 0.0)):
        result = gradient_descent(well, well_slope, start, learning_rate=0.05)
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


def test_a_coordinate_that_moves_slowly_next_to_a_large_one_is_no_circle():
    def gradient(z):
        x, y = z
        return np.array([2.0 * x if y > 1.0 else x, min(y, 1.0) * 0.1])

    found = gradient_descent(
        lambda z: z[0] ** 2 + abs(z[1]), gradient, [1e15, 50.0], learning_rate=1.0
    )
    assert found.stop == "converged"
