"""Radial basis functions, against scikit-learn's kernel and the plainest NumPy."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from threadpoolctl import threadpool_limits

from separatrix import Perceptron, features
from separatrix.datasets import logic, ring
from separatrix.features import RadialBasis

FINDERS = ["kmeans", "sample"]


def plain(X, centers, gamma):
    """The definition, in extended precision."""
    differences = X[:, None].astype(np.longdouble) - np.asarray(centers, dtype=np.longdouble)
    return np.exp(-gamma * (differences**2).sum(axis=2))


@pytest.fixture(name="X")
def some_rows(rng):
    return rng.standard_normal((60, 3))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(features, "BLOCK", 50)


# ---- scikit-learn ------------------------------------------------------------------------


@parametrize_with_checks([RadialBasis("sample", gamma=0.5), RadialBasis(n_centers=3)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_no_check_fails_at_the_defaults():
    outcomes = check_estimator(RadialBasis(), on_skip=None)
    assert {o["status"] for o in outcomes if o["status"] != "skipped"} == {"passed"}
    assert not any(o["expected_to_fail"] for o in outcomes)


def test_names_of_the_features(X):
    basis = RadialBasis(n_centers=3, random_state=0).fit(X)
    assert basis.get_feature_names_out().tolist() == [f"radialbasis{i}" for i in range(3)]
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(60) + 5)
    basis = RadialBasis(n_centers=3, random_state=0).set_output(transform="pandas").fit(frame)
    assert basis.feature_names_in_.tolist() == ["a", "b", "c"]
    assert basis.n_features_in_ == 3
    out = basis.transform(frame)
    assert out.columns.tolist() == ["radialbasis0", "radialbasis1", "radialbasis2"]
    assert out.index.equals(frame.index)


def test_it_clones_and_pickles(X):
    basis = RadialBasis(X[:4], gamma=0.3).fit(X)
    np.testing.assert_array_equal(clone(basis).fit_transform(X), basis.transform(X))
    copy = pickle.loads(pickle.dumps(basis))
    np.testing.assert_array_equal(copy.transform(X), basis.transform(X))


# ---- what it is for ----------------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [False, True])
def test_xor_becomes_separable(shuffle):
    X, y = logic("xor", labels=(-1, 1))
    clf = Perceptron(shuffle=shuffle, random_state=0)
    assert clf.fit(X, y).stop_ != "no mistakes"
    pipe = make_pipeline(RadialBasis([[1, 1], [0, 0]]), clf).fit(X, y)
    assert clf.stop_ == "no mistakes"
    assert pipe.score(X, y) == 1.0


@pytest.mark.parametrize("centers", FINDERS)
def test_the_ring_becomes_separable(centers):
    X, y = ring(100, noise=0.05, random_state=0)
    basis = RadialBasis(centers, n_centers=20, random_state=0)
    assert make_pipeline(basis, Perceptron(random_state=0)).fit(X, y).score(X, y) == 1.0


# ---- numbers -----------------------------------------------------------------------------


numbers = st.floats(-10, 10, width=32)


@given(
    arrays(np.float64, st.tuples(st.integers(1, 8), st.just(3)), elements=numbers),
    arrays(np.float64, st.tuples(st.integers(1, 5), st.just(3)), elements=numbers),
    st.floats(1e-3, 1e2),
)
def test_it_is_what_the_definition_says(X, centers, gamma):
    got = RadialBasis(centers, gamma=gamma).fit_transform(X)
    assert got.shape == (len(X), len(centers))
    # exp multiplies the relative rounding of its argument by the argument, at most 745 here.
    np.testing.assert_allclose(got, plain(X, centers, gamma), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_row_at_a_centre_gives_exactly_one(rng, dtype, offset, form):
    X = (rng.standard_normal((30, 7)) + offset).astype(dtype)
    basis = RadialBasis("sample", gamma=1e6, n_centers=30, random_state=0)
    got = basis.fit_transform(form(X))
    at_centre = (X[:, None] == basis.centers_).all(axis=2)
    assert at_centre.sum(axis=1).min() >= 1
    np.testing.assert_array_equal(got[at_centre], 1.0)


def test_near_a_far_away_centre_nothing_cancels():
    X = 1e8 + np.array([[0.0], [0.5], [1.0]])
    got = RadialBasis([[1e8]]).fit_transform(X)
    np.testing.assert_allclose(got[:, 0], np.exp([0.0, -0.25, -1.0]), rtol=1e-15)


def test_very_far_is_zero_without_a_warning():
    got = RadialBasis([[0.0], [1e200]], gamma=1e10).fit_transform([[1e200], [-1e200], [1e150]])
    np.testing.assert_array_equal(got, [[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("centers", FINDERS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_float32_stays_float32(X, centers, form):
    basis = RadialBasis(centers, random_state=0).fit(form(X.astype(np.float32)))
    assert basis.centers_.dtype == np.float32
    got = basis.transform(form(X.astype(np.float32)))
    assert got.dtype == np.float32
    assert basis.transform(form(X)).dtype == np.float64
    exact = plain(X.astype(np.float32), basis.centers_, 1.0)
    np.testing.assert_allclose(got, exact.astype(np.float64), rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float16, bool])
def test_other_numbers_become_float64(dtype):
    assert RadialBasis([[0, 0]]).fit_transform(np.eye(2, dtype=dtype)).dtype == np.float64


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_matrix])
@pytest.mark.parametrize("centers", ["sample", [[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]]])
@pytest.mark.usefixtures("small_blocks")
def test_sparse_is_dense_bit_for_bit(X, form, centers):
    X[np.abs(X) < 0.8] = 0.0
    dense, sparse = (
        RadialBasis(centers, random_state=0).fit_transform(rows) for rows in (X, form(X))
    )
    assert isinstance(sparse, np.ndarray)
    np.testing.assert_array_equal(sparse, dense)


def test_kmeans_takes_sparse_rows(X):
    X[::2, 2] = 0.0  # and no two rows alike, which k-means could mistake for each other
    dense, sparse = (RadialBasis(random_state=0).fit_transform(r) for r in (X, sp.csr_array(X)))
    assert isinstance(sparse, np.ndarray)
    np.testing.assert_allclose(sparse, dense, rtol=1e-10)


@pytest.mark.parametrize("centers", FINDERS)
def test_blocks_do_not_change_a_bit(X, centers, monkeypatch):
    whole = RadialBasis(centers, random_state=0).fit_transform(X)
    monkeypatch.setattr(features, "BLOCK", 1)
    np.testing.assert_array_equal(RadialBasis(centers, random_state=0).fit_transform(X), whole)


@pytest.mark.parametrize(("n", "d", "form"), [(20_000, 50, np.asarray), (4000, 2000, sp.csr_array)])
def test_memory_is_that_of_the_output_and_a_few_blocks(rng, n, d, form):
    X = np.zeros((n, d))
    X[:, :50] = rng.standard_normal((n, 50))
    rows = form(X)
    basis = RadialBasis("sample", n_centers=20, random_state=0).fit(rows)
    tracemalloc.start()
    try:
        out = basis.transform(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # All differences at once would take 160 MB or more, all sparse rows made dense 64 MB.
    assert peak < out.nbytes + 4 * 8 * features.BLOCK


# ---- the centres -------------------------------------------------------------------------


def test_kmeans_centres_are_those_of_kmeans(X):
    expected = KMeans(5, random_state=3).fit(X).cluster_centers_
    basis = RadialBasis(n_centers=5, random_state=3).fit(X)
    np.testing.assert_allclose(basis.centers_, expected, rtol=1e-12)


def test_threads_do_not_change_the_means(rng):
    X = rng.standard_normal((5000, 3))
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits.append(RadialBasis(random_state=0).fit(X).centers_)
    np.testing.assert_array_equal(*fits)


@pytest.mark.usefixtures("small_blocks")
def test_sampled_centres_are_different_rows():
    X = np.repeat(np.arange(20.0), 50)[:, None] * [1.0, -1.0]
    drawn = set()
    for seed in range(40):
        centers = RadialBasis("sample", n_centers=15, random_state=seed).fit(X).centers_
        assert len({tuple(c) for c in centers.tolist()}) == 15
        np.testing.assert_array_equal(centers[:, 0], -centers[:, 1])
        assert set(centers[:, 0]) <= set(range(20))
        drawn |= set(centers[:5, 0])
    assert drawn == set(range(20))


@pytest.mark.parametrize("centers", FINDERS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_with_few_different_rows_each_is_a_centre(centers, form):
    X = np.array([[1.0, 0.0], [2.0, 1.0], [1.0, -0.0], [2.0, 1.0], [0.0, 5.0]])
    basis = RadialBasis(centers, n_centers=4, random_state=0).fit(form(X))
    assert sorted(basis.centers_.tolist()) == [[0.0, 5.0], [1.0, 0.0], [2.0, 1.0]]
    assert basis.transform(form(X)).shape == (5, 3)
    assert len(basis.get_feature_names_out()) == 3


@pytest.mark.parametrize("centers", FINDERS)
def test_the_seed_decides(X, centers):
    def fitted(random_state):
        return RadialBasis(centers, random_state=random_state).fit(X).centers_

    np.testing.assert_array_equal(fitted(5), fitted(5))
    assert not np.array_equal(fitted(5), fitted(6))
    for source in (np.random.default_rng, np.random.RandomState):
        np.testing.assert_array_equal(fitted(source(1)), fitted(source(1)))


def test_given_centres_are_copied(X):
    given_centers = np.zeros((1, 3))
    basis = RadialBasis(given_centers).fit(X)
    before = basis.transform(X)
    given_centers += 1.0
    np.testing.assert_array_equal(basis.transform(X), before)


# ---- refusals ----------------------------------------------------------------------------


BAD = [
    ({"gamma": 0.0}, ValueError, "gamma must be a finite number above 0, got 0.0"),
    ({"gamma": -1}, ValueError, "gamma must be a finite number above 0, got -1"),
    ({"gamma": np.nan}, ValueError, "gamma must be a finite number above 0"),
    ({"gamma": "scale"}, TypeError, "gamma must be a finite number above 0, got 'scale'"),
    ({"n_centers": 0}, ValueError, "n_centers must be a finite number of at least 1, got 0"),
    ({"n_centers": 2.5}, ValueError, "n_centers must be a whole number of at least 1, got 2.5"),
    ({"n_centers": None}, TypeError, "n_centers must be"),
    ({"centers": "grid"}, ValueError, "centers must be 'kmeans', 'sample' or an array of points"),
    ({"centers": None}, ValueError, r"one column for each of the 3 features of X, got shape \(\)"),
    ({"centers": [0, 0, 0]}, ValueError, r"one row per centre and .* got shape \(3,\)"),
    ({"centers": [[0, 0]]}, ValueError, r"the 3 features of X, got shape \(1, 2\)"),
    ({"centers": np.empty((0, 3))}, ValueError, r"got shape \(0, 3\)"),
    ({"centers": [["a", "b", "c"]]}, ValueError, "an array of finite numbers, .* got .*'a'"),
    ({"centers": [[0, 0], [1]]}, ValueError, "an array of finite numbers"),
    ({"centers": [[0, 0, np.inf]]}, ValueError, "got NaN or infinity among them"),
    ({"random_state": -1}, ValueError, "random_state must not be negative"),
    ({"random_state": "x"}, ValueError, "random_state must be an int, a numpy Generator"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD)
def test_bad_parameters_are_refused_at_fit_and_leave_the_fit_before(X, bad, error, message):
    names = pd.DataFrame(X, columns=["a", "b", "c"])
    basis = RadialBasis(random_state=0).fit(names)
    before = basis.transform(names)
    basis.set_params(**bad)
    other = pd.DataFrame(X[:20] + 1.0, columns=["u", "v", "w"])
    with pytest.raises(error, match=message):
        basis.fit(other)
    basis.set_params(**RadialBasis().get_params())
    np.testing.assert_array_equal(basis.transform(names), before)
    assert basis.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("bad", [[[np.nan, 1.0]], [["a", "b"]], np.empty((0, 3)), [1.0, 2.0]])
def test_bad_rows_leave_the_fit_before(X, bad):
    basis = RadialBasis(random_state=0).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    before = dict(vars(basis))
    with pytest.raises(ValueError, match=r"NaN|words|minimum|2D"):
        basis.fit(bad)
    assert vars(basis) == before


def test_a_bad_gamma_after_the_fit_is_refused_too(X):
    basis = RadialBasis(random_state=0).fit(X).set_params(gamma=-1.0)
    with pytest.raises(ValueError, match="gamma must be a finite number above 0"):
        basis.transform(X)


def test_other_features_are_refused_in_transform(X):
    basis = RadialBasis(random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but RadialBasis is expecting 3"):
        basis.transform(X[:, :2])
