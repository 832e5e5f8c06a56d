"""Every loss of the registry: values, slopes, kinks, and what cannot be trained with."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from conftest import TRAINABLE

import separatrix
from separatrix.losses import REGISTRY, MarginLoss, get_loss, names

MARGINS = np.array([-800.0, -40.0, -2.0, -1.0, -0.5, 0.0, 0.3, 1.0, 1.5, 2.0, 40.0, 800.0])


def test_the_registry_lists_the_losses_of_the_course():
    assert names() == (
        "zero_one", "perceptron", "logistic", "squared", "tanh_squared", "hinge",
        "squared_hinge",
    )  # fmt: skip
    assert separatrix.losses.names is names


@pytest.mark.parametrize("name", TRAINABLE)
def test_values_are_those_of_the_table(name):
    loss = get_loss(name)
    with np.errstate(over="ignore"):
        expected = [oracles.VALUE[name](m) for m in MARGINS]
    np.testing.assert_allclose(loss.phi(MARGINS), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", TRAINABLE)
def test_slopes_are_those_of_the_table_kinks_included(name):
    loss = get_loss(name)
    with np.errstate(over="ignore"):
        expected = [oracles.SLOPE[name](m) for m in MARGINS]
    np.testing.assert_allclose(loss.slope(MARGINS), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", TRAINABLE)
def test_slope_is_the_derivative_away_from_kinks(name):
    loss = get_loss(name)
    m = np.array([-3.1, -0.7, -0.2, 0.4, 0.8, 1.3, 2.2])
    h = 1e-6
    difference = (loss.phi(m + h) - loss.phi(m - h)) / (2 * h)
    np.testing.assert_allclose(loss.slope(m), difference, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", [n for n in TRAINABLE if get_loss(n).has_curvature])
def test_curvature_is_the_second_derivative_and_bounded(name):
    loss = get_loss(name)
    m = np.array([-3.1, -0.7, -0.2, 0.4, 0.8, 1.3, 2.2])
    h = 1e-6
    difference = (loss.slope(m + h) - loss.slope(m - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(m), difference, rtol=1e-7, atol=1e-9)
    grid = np.linspace(-10, 10, 100_001)
    assert loss.max_curvature * 0.99 <= loss.curvature(grid).max() <= loss.max_curvature


@pytest.mark.parametrize("name", [n for n in TRAINABLE if get_loss(n).convex])
def test_convex_losses_lie_above_their_tangents(name, rng):
    loss = get_loss(name)
    a, b = rng.normal(scale=3, size=(2, 1000))
    a[:10], b[:10] = np.array([0, 1] * 5), np.array([1, 0] * 5)
    assert np.all(loss.phi(b) >= loss.phi(a) + loss.slope(a) * (b - a) - 1e-12)


def test_kinks_by_name():
    kinks = np.array([0.0, 1.0])
    np.testing.assert_array_equal(get_loss("perceptron").slope(kinks), [-1, 0])
    np.testing.assert_array_equal(get_loss("hinge").slope(kinks), [-1, 0])
    np.testing.assert_array_equal(REGISTRY["zero_one"]().phi(kinks), [1, 0])


def test_zero_one_names_alternatives():
    with pytest.raises(ValueError, match=r"'logistic' or 'hinge'.*1 - score"):
        get_loss("zero_one")


def test_unknown_names_list_the_known():
    with pytest.raises(ValueError, match=r"unknown loss 'log'; choose one of perceptron, logistic"):
        get_loss("log")
    with pytest.raises(TypeError, match="name or a Loss object"):
        get_loss(3)


def test_a_name_belongs_to_one_class():
    with pytest.raises(ValueError, match="'hinge' exists already"):

        class Mine(MarginLoss):
            name = "hinge"


def test_large_margins_do_not_overflow():
    huge = np.array([-1e308, 1e308])
    for name in ("logistic", "hinge", "perceptron"):
        assert np.all(np.isfinite(get_loss(name).phi(huge)))
    np.testing.assert_array_equal(get_loss("tanh_squared").phi(huge), [4.0, 0.0])


# ---- one test per row of the table of losses, by hand ------------------------------------


def by_hand(name, margins, values, slopes):
    loss = REGISTRY[name]()
    np.testing.assert_allclose(loss.phi(np.array(margins)), values, rtol=1e-15)
    if slopes is not None:
        np.testing.assert_allclose(loss.slope(np.array(margins)), slopes, rtol=1e-14)


def test_loss_zero_one():
    by_hand("zero_one", [-2.0, 0.0, 1e-9, 2.0], [1, 1, 0, 0], None)


def test_loss_perceptron():
    by_hand("perceptron", [-2.0, 0.0, 1e-9, 2.0], [2, 0, 0, 0], [-1, -1, 0, 0])


def test_loss_logistic():
    by_hand("logistic", [0.0, np.log(3.0)], [np.log(2), np.log(4 / 3)], [-0.5, -0.25])


def test_loss_squared():
    by_hand("squared", [-1.0, 0.0, 1.0, 3.0], [4, 1, 0, 4], [-4, -2, 0, 4])


def test_loss_tanh_squared():
    half = np.arctanh(0.5)
    by_hand("tanh_squared", [0.0, half, -half], [1, 0.25, 2.25], [-2, -0.75, -2.25])


def test_loss_hinge():
    by_hand("hinge", [-1.0, 0.0, 1.0, 3.0], [2, 1, 0, 0], [-1, -1, 0, 0])


def test_loss_squared_hinge():
    by_hand("squared_hinge", [-1.0, 0.0, 1.0, 3.0], [4, 1, 0, 0], [-4, -2, 0, 0])


@pytest.mark.parametrize("name", [n for n in TRAINABLE if get_loss(n).has_conjugate])
def test_conjugate_bounds_the_loss_and_touches_it(name):
    loss = get_loss(name)
    m = np.linspace(-30, 30, 2001)
    alpha = -loss.slope(m)
    conjugate = loss.conjugate(alpha)
    lines = -alpha[:, None] * m - conjugate[:, None]
    assert np.all(lines <= loss.phi(m) + 1e-9)
    np.testing.assert_allclose(np.diag(lines), loss.phi(m), rtol=1e-9, atol=1e-9)
    assert loss.conjugate(np.zeros(1)) == 0.0


def test_losses_that_prove_nothing_have_no_conjugate():
    provable = {name for name in TRAINABLE if get_loss(name).has_conjugate}
    assert provable == {"logistic", "squared", "hinge", "squared_hinge"}
    assert get_loss("logistic").multiclass().has_conjugate
