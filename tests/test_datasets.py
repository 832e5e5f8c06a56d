"""The datasets that teach: each must have the property that it is there to show."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from separatrix import GradientDescent, LinearClassifier, Newton, Perceptron, datasets


def signed_rows(X, y):
    sign = np.where(y == 1, 1.0, -1.0)
    return sign[:, None] * np.column_stack([X, np.ones(len(X))])


def can_be_separated(X, y):
    """Whether some (w, b) gives every row a margin of at least 1."""
    Z = signed_rows(X, y)
    d = Z.shape[1]
    result = linprog(np.zeros(d), A_ub=-Z, b_ub=-np.ones(len(Z)), bounds=[(None, None)] * d)
    assert result.status in (0, 2)
    return result.status == 0


def best_weak_margins(X, y):
    """Largest sum of margins of a (w, b) in the unit cube that has none below 0."""
    Z = signed_rows(X, y)
    result = linprog(-Z.sum(axis=0), A_ub=-Z, b_ub=np.zeros(len(Z)), bounds=[(-1, 1)] * Z.shape[1])
    assert result.status == 0
    return -result.fun


# ---- logic -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "gate"), [("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)]
)
def test_the_truth_tables(name, gate):
    X, y = datasets.logic(name)
    np.testing.assert_array_equal(X, [[0, 0], [0, 1], [1, 0], [1, 1]])
    np.testing.assert_array_equal(y, gate(X[:, 0], X[:, 1]))
    assert X.dtype == np.float64
    assert y.dtype == np.int64


def test_only_xor_cannot_be_separated():
    separated = [can_be_separated(*datasets.logic(name)) for name in ("and", "or", "xor")]
    assert separated == [True, True, False]


def test_any_two_labels():
    assert datasets.logic("xor", (-1, 1))[1].tolist() == [-1, 1, 1, -1]
    assert datasets.logic("and", ("no", "yes"))[1].tolist() == ["no", "no", "no", "yes"]


def test_the_table_is_a_new_one_every_time():
    datasets.logic("and")[0][:] = 7.0
    assert datasets.logic("and")[0].max() == 1.0


# ---- separable ---------------------------------------------------------------------------


def check_certificate(data, tolerance):
    """Both bounds of the largest margin: what v reaches, and what no unit vector can exceed."""
    v = np.append(data.coef, data.intercept)
    Z = signed_rows(data.X, data.y)
    assert abs(np.linalg.norm(v) - 1.0) < 1e-14
    reached = (Z @ v).min()
    assert data.weights.min() > 0.0
    assert abs(data.weights.sum() - 1.0) < 1e-14
    nearest = data.weights @ Z[data.support]
    assert abs(np.linalg.norm(nearest) - reached) <= tolerance
    assert abs(reached - data.margin) <= tolerance
    np.testing.assert_allclose(nearest, data.margin * v, rtol=0, atol=tolerance)


@given(
    st.integers(2, 60),
    st.integers(1, 30),
    st.floats(1e-6, 10.0),
    st.integers(0, 2**32),
)
def test_the_margin_of_separable_is_proven_by_its_support(n, d, margin, seed):
    data = datasets.separable(n, d, margin, seed)
    assert data.X.shape == (n, d)
    assert data.margin == margin
    check_certificate(data, 1e-12)


@pytest.mark.parametrize("margin", [1e-10, 1e-3, 1.0, 1e3, 1e10])
@pytest.mark.parametrize("d", [1, 2, 300])
def test_the_margin_at_its_extremes(margin, d):
    data = datasets.separable(500, d, margin, 0)
    check_certificate(data, 1e-14 * max(1.0, margin) * np.sqrt(d))


def test_only_the_support_touches_the_margin():
    for seed in range(20):
        data = datasets.separable(40, 3, 0.2, seed)
        margins = signed_rows(data.X, data.y) @ np.append(data.coef, data.intercept)
        touching = np.flatnonzero(margins < 0.2 + 0.01)
        np.testing.assert_array_equal(touching, np.sort(data.support))
        assert len(data.support) == 4


def test_no_other_unit_vector_has_a_larger_margin(rng):
    data = datasets.separable(30, 2, 0.3, 1)
    Z = signed_rows(data.X, data.y)
    near = np.append(data.coef, data.intercept) + rng.standard_normal((20_000, 3)) * 0.1
    others = near / np.linalg.norm(near, axis=1, keepdims=True)
    margins = (others @ Z.T).min(axis=1)
    assert 0.25 < margins.max() <= 0.3


@pytest.mark.parametrize("seed", range(5))
def test_the_perceptron_keeps_its_bound(seed):
    data = datasets.separable(50, 3, 0.5, seed)
    radius = np.linalg.norm(signed_rows(data.X, data.y), axis=1).max()
    clf = Perceptron(10_000, shuffle=False, patience=None).fit(data.X, data.y)
    assert clf.stop_ == "no mistakes"
    assert 0 < clf.n_updates_ <= (radius / data.margin) ** 2


def test_both_classes_are_there_and_even():
    for n in (2, 3, 4, 5, 100):
        counts = np.bincount(datasets.separable(n, random_state=0).y, minlength=2)
        assert sorted(counts) == [n // 2, n - n // 2]


# ---- overlapping -------------------------------------------------------------------------


@given(
    st.integers(1, 6), st.integers(0, 20), st.sampled_from([0.0, 1.0, 50.0]), st.integers(0, 999)
)
def test_overlapping_clouds_are_not_even_weakly_separable(d, more, separation, seed):
    X, y = datasets.overlapping(2 * (d + 1) + more, d, separation, seed)
    assert not can_be_separated(X, y)
    assert best_weak_margins(X, y) < 1e-7


def test_the_logistic_loss_has_its_minimum_on_overlapping_clouds():
    X, y = datasets.overlapping(separation=50.0, random_state=0)
    clf = LinearClassifier("logistic", l2=0.0, solver=Newton()).fit(X, y)
    assert clf.stop_ == "optimal"
    assert np.linalg.norm(clf.coef_) < 10.0


def test_the_clouds_stand_apart_as_asked():
    X, y = datasets.overlapping(40_000, 4, 3.0, 0)
    between = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    np.testing.assert_allclose(between, 1.5, atol=0.05)
    np.testing.assert_allclose(X[y == 1].std(axis=0), 1.0, atol=0.03)


# ---- shapes that no line fits ------------------------------------------------------------


@pytest.mark.parametrize("n", [6, 7, 8, 31, 200])
@pytest.mark.parametrize("seed", range(5))
def test_the_ring_is_separated_by_its_radius_and_by_no_line(n, seed):
    X, y = datasets.ring(n, 0.0, seed)
    assert not can_be_separated(X, y)
    assert can_be_separated((X**2).sum(axis=1, keepdims=True), y)


@pytest.mark.parametrize("turns", [0.5, 1.5, 3.0])
def test_the_spirals_unwind(turns):
    X, y = datasets.spirals(101, turns, 0.0, 3)
    radius = np.hypot(X[:, 0], X[:, 1])
    assert 0.1 <= radius.min() < 0.3 < 0.9 < radius.max() <= 1.0
    turn = np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi) - turns * radius - 0.5 * y
    np.testing.assert_allclose(turn, np.round(turn), atol=1e-12)


def test_the_spirals_defy_a_line():
    assert not can_be_separated(*datasets.spirals(random_state=0))


@pytest.mark.parametrize("maker", [datasets.ring, datasets.spirals])
def test_noise_moves_the_rows_by_as_much_as_it_says(maker):
    plain, y = maker(20_000, noise=0.0, random_state=0)
    noisy, z = maker(20_000, noise=0.3, random_state=0)
    np.testing.assert_array_equal(y, z)
    np.testing.assert_allclose((noisy - plain).std(axis=0), 0.3, rtol=0.05)


# ---- blobs -------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "d"), [(2, 1), (5, 1), (2, 2), (3, 2), (7, 2), (4, 6)])
def test_blobs_have_neighbours_six_apart(k, d):
    X, y = datasets.blobs(k, 10 * k + 1, d, spread=0.0, random_state=0)
    centres = np.array([X[y == label][0] for label in range(k)])
    np.testing.assert_array_equal(X, centres[y])
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)
    np.testing.assert_allclose(np.diag(apart, 1), 6.0)
    assert apart[~np.eye(k, dtype=bool)].min() > 5.999
    assert sorted(np.bincount(y)) == [10] * (k - 1) + [11]


def test_blobs_spread_as_asked():
    X, y = datasets.blobs(3, 30_000, 4, 2.5, 0)
    for label in range(3):
        np.testing.assert_allclose(X[y == label].std(axis=0), 2.5, rtol=0.05)


# ---- traps -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_rows_sorted_by_class_lead_a_method_without_shuffle_astray(seed):
    X, y = datasets.sorted_by_class(random_state=seed)
    assert (np.diff(y) >= 0).all()
    assert np.bincount(y).tolist() == [100, 100]
    solvers = [
        GradientDescent(batch_size=1, learning_rate=1.0, shuffle=shuffle)
        for shuffle in (False, True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        in_order, shuffled = (
            LinearClassifier(solver=solver, max_iter=5, random_state=0).fit(X, y).score(X, y)
            for solver in solvers
        )
    assert in_order < 0.65 < 0.75 < shuffled


@pytest.mark.parametrize("seed", range(3))
def test_bad_scales_hold_up_gradient_descent_but_not_newton(seed):
    X, y = datasets.badly_scaled(random_state=seed)

    def descended(rows):
        """With the longest step that cannot overshoot: "auto" would scale by itself."""
        step = 4.0 / (np.mean(np.sum(rows**2, axis=1)) + 1.0)
        solver = GradientDescent(learning_rate=step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = LinearClassifier(l2=0.0, solver=solver, max_iter=1000).fit(rows, y)
        return fit.objective_

    held_up, scaled = descended(X), descended(X / X.std(axis=0))
    newton = LinearClassifier(l2=0.0, solver=Newton()).fit(X, y).objective_
    assert abs(scaled - newton) < 1e-3
    assert held_up > newton + 0.03


@pytest.mark.parametrize("decades", [0, 3, 12.5])
def test_the_scales_span_so_many_powers_of_ten(decades):
    X, _ = datasets.badly_scaled(50, 4, decades, 0)
    plain, _ = datasets.overlapping(50, 4, 2.0, 0)
    scales = [10 ** (-decades / 2), 10 ** (-decades / 6), 10 ** (decades / 6), 10 ** (decades / 2)]
    np.testing.assert_allclose(X, plain * scales, rtol=1e-12)


# ---- all ---------------------------------------------------------------------------------
