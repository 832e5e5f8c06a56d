"""The perceptron compared with its theory: never above the bound, and refused where none holds."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from conftest import CORNERS, LOGIC, overlapping
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

from separatrix import InverseScaling, Perceptron
from separatrix.separation import separability

AND = np.array(LOGIC["and"])
ALONG = st.lists(st.integers(-4, 4), min_size=3, max_size=3)


@st.composite
def separable(draw):
    """Rows on a grid with two classes or three, labelled by some weights without a tie."""
    columns = draw(st.integers(1, 3))
    k = draw(st.sampled_from([2, 3]))
    X = np.array(draw(st.lists(ALONG, min_size=4, max_size=20)), dtype=float)[:, :columns]
    W = np.array(draw(st.lists(ALONG, min_size=k, max_size=k)), dtype=float)[:, :columns]
    b = np.array(draw(st.lists(st.integers(-4, 4), min_size=k, max_size=k)), dtype=float)
    scores = X @ W.T + b
    best = np.sort(scores, axis=1)
    clear = best[:, -1] > best[:, -2]
    X, y = X[clear], scores[clear].argmax(axis=1)
    assume(len(np.unique(y)) >= 2)
    return X, y


@given(separable(), st.booleans(), st.integers(0, 3))
def test_never_more_mistakes_than_the_bound(data, shuffle, seed):
    X, y = data
    theory = separability(X, y)
    assert theory.verdict == "separable"
    clf = Perceptron(10**6, shuffle=shuffle, patience=None, random_state=seed, monitor=theory)
    clf.fit(X, y)
    history = clf.history_
    assert clf.stop_ == "no mistakes"
    np.testing.assert_array_equal(history["mistakes_so_far"], np.cumsum(history["mistakes"]))
    assert history["mistakes_so_far"][-1] == clf.n_updates_
    assert np.all(history["mistakes_so_far"] <= history["mistake_bound"])


@given(separable(), st.sampled_from(["sum", "zeros"]))
def test_never_more_batch_passes_than_the_bound(data, start):
    X, y = data
    theory = separability(X, y)
    clf = Perceptron(10**5, update="batch", start=start, patience=None, monitor=theory).fit(X, y)
    history = clf.history_
    assert clf.stop_ == "no mistakes"
    np.testing.assert_array_equal(
        history["passes_with_mistakes"], np.cumsum(history["mistakes"] > 0)
    )
    assert np.all(history["passes_with_mistakes"] <= history["pass_bound"])


def test_the_batch_inequality_holds_with_equality_at_the_bound():
    theory = separability(CORNERS, AND)
    clf = Perceptron(update="batch", start="sum", monitor=theory).fit(CORNERS, AND)
    w, b, longest = (AND[:, None] * CORNERS).sum(axis=0), AND.sum(), 0.0
    first = w @ w + b * b
    for passes, bound in enumerate(clf.history_["pass_bound"]):
        wrong = np.flatnonzero(AND * (CORNERS @ w + b) <= 0)
        step = np.append((AND[wrong, None] * CORNERS[wrong]).sum(axis=0), AND[wrong].sum())
        longest = max(longest, step @ step)
        w, b = w + step[:-1], b + step[-1]
        left = (4 + bound) ** 2 * theory.margin**2
        np.testing.assert_allclose(left, first + bound * longest, rtol=1e-9)
        assert clf.history_["passes_with_mistakes"][passes] == min(passes + 1, clf.n_iter_ - 1)


def test_the_bound_of_the_proof_on_and():
    theory = separability(CORNERS, AND)
    clf = Perceptron(shuffle=False, monitor=theory).fit(CORNERS, AND)
    mistakes = oracles.perceptron(CORNERS, AND, 100)["mistakes"]
    np.testing.assert_array_equal(clf.history_["mistakes_so_far"], np.cumsum(mistakes))
    np.testing.assert_allclose(clf.history_["mistake_bound"], 3 / theory.margin**2, rtol=1e-6)
    assert list(clf.history_)[-2:] == ["mistakes_so_far", "mistake_bound"]
    # The run itself is as without a monitor, and a constant step only rescales.
    plain = Perceptron(shuffle=False).fit(CORNERS, AND)
    np.testing.assert_array_equal(clf.coef_, plain.coef_)
    scaled = Perceptron(shuffle=False, learning_rate=0.1, monitor=theory).fit(CORNERS, AND)
    np.testing.assert_array_equal(
        scaled.history_["mistakes_so_far"], clf.history_["mistakes_so_far"]
    )


@pytest.mark.parametrize("offset", [1e8, 1e12])
def test_far_from_the_origin_the_bound_is_that_of_the_rows_of_the_fit(offset):
    X, y = offset + np.array([[0.0], [1.0], [3.0]]), np.array([0, 1, 1])
    theory = separability(X, y)
    exact = oracles.exact_square_margin(oracles.signed(X, y))
    clf = Perceptron(1, monitor=theory, shuffle=False, patience=None).fit(X, y)
    square = Fraction(X[-1, 0]) ** 2 + 1
    assert square / exact <= Fraction(clf.history_["mistake_bound"][-1])
    assert clf.history_["mistake_bound"][-1] == pytest.approx(theory.mistake_bound, rel=1e-12)
    # A margin that is smaller by far less than the rounding of R is noticed.
    nearer = X - [[0.0], [0.5], [0.0]]
    with pytest.raises(ValueError, match="monitor is of other data"):
        Perceptron(1, monitor=theory).fit(nearer, y)


def test_a_certificate_for_planes_through_the_origin_is_refused():
    theory = separability([[1e9], [-1e9]], [1, 0], fit_intercept=False)
    with pytest.raises(ValueError, match="planes through the origin"):
        Perceptron(monitor=theory).fit([[1e9], [-1e9]], [1, 0])


@pytest.mark.parametrize("form", [sp.csr_array, lambda X: X.astype(np.float32)])
def test_sparse_and_float32_rows(form):
    theory = separability(CORNERS, AND)
    clf = Perceptron(shuffle=False, monitor=theory).fit(form(CORNERS), AND)
    assert clf.history_["mistakes_so_far"][-1] == clf.n_updates_


def test_it_survives_clone_and_pickle():
    theory = separability(CORNERS, AND)
    clf = Perceptron(shuffle=False, monitor=theory)
    assert clf.get_params()["monitor"] is theory
    for copy in (clone(clf), pickle.loads(pickle.dumps(clf)), clone(clf.fit(CORNERS, AND))):
        copy.fit(CORNERS, AND)
        np.testing.assert_array_equal(copy.history_["mistake_bound"], clf.history_["mistake_bound"])


def test_callbacks_are_called_as_ever():
    seen = []
    theory = separability(CORNERS, AND)
    Perceptron(monitor=theory, callbacks=(lambda step, info: seen.append(info),)).fit(CORNERS, AND)
    assert seen


def test_after_a_monitored_fit_partial_fit_goes_on_without():
    clf = Perceptron(monitor=separability(CORNERS, AND), random_state=0).fit(CORNERS, AND)
    with pytest.raises(ValueError, match="set monitor=None, or call fit"):
        clf.partial_fit(CORNERS, AND)
    clf.set_params(monitor=None).partial_fit(CORNERS, AND)
    assert len(clf.history_["pass"]) == clf.n_iter_
    assert "mistake_bound" not in clf.history_


SETTINGS = [
    ({"l2": 0.1}, "expects no penalty, got l2=0.1"),
    ({"fit_intercept": False}, "set fit_intercept=True"),
    ({"class_weight": "balanced"}, "rows of weight 1"),
    ({"learning_rate": InverseScaling()}, "expects a constant step"),
    ({"start": "random"}, "set start='zeros'"),
    ({"start": "sum"}, "set start='zeros'"),
    ({"update": "batch", "start": "random"}, "start='sum' or 'zeros'"),
    ({"update": "batch", "start": "sum", "learning_rate": 0.5}, "at learning_rate=1, got 0.5"),
]


@pytest.mark.parametrize(("settings", "says"), SETTINGS)
def test_what_the_theory_presumes(settings, says):
    clf = Perceptron(monitor=separability(CORNERS, AND), **settings)
    with pytest.raises(ValueError, match=says):
        clf.fit(CORNERS, AND)
    assert not hasattr(clf, "coef_")


def test_weights_and_warm_starts_are_refused():
    clf = Perceptron(monitor=separability(CORNERS, AND), warm_start=True, random_state=0)
    with pytest.raises(ValueError, match="drop sample_weight"):
        clf.fit(CORNERS, AND, sample_weight=[1, 1, 1, 2])
    clf.fit(CORNERS, AND, sample_weight=[1, 1, 1, 1])
    before = clf.coef_
    with pytest.raises(ValueError, match="warm_start=False"):
        clf.fit(CORNERS, AND)
    assert clf.coef_ is before


def test_data_of_which_the_monitor_says_nothing():
    with pytest.raises(TypeError, match=r"separatrix\.separability"):
        Perceptron(monitor="yes").fit(CORNERS, AND)
    xor = np.array(LOGIC["xor"])
    with pytest.raises(ValueError, match="the data is overlapping"):
        Perceptron(monitor=separability(CORNERS, xor)).fit(CORNERS, xor)
    theory = separability(CORNERS, AND)
    with pytest.raises(ValueError, match=r"of shape \(1, 3\), and this data asks for \(1, 2\)"):
        Perceptron(monitor=theory).fit(CORNERS[:, :1], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="of other data"):
        Perceptron(monitor=theory).fit(CORNERS, LOGIC["or"])
    with pytest.raises(ValueError, match="of other data"):
        Perceptron(monitor=theory).fit(2.0 * CORNERS, AND)
    X, y = overlapping(30, 2)
    with pytest.raises(ValueError, match="of other data"):
        Perceptron(monitor=theory).fit(X, y)
    # Some of the rows are covered by what is known of all.
    Perceptron(monitor=theory).fit(CORNERS[1:], AND[1:])
