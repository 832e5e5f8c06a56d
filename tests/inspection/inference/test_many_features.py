"""Standard errors of some coefficients of many, by conjugate gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from inspection.inference.cases import EXACT, table
from scipy.special import expit

from separatrix import LinearClassifier, inference, read
from separatrix.inspection.inference import columns, fitted
from separatrix.training.no_minimum import Runaway

FEW = ["x3", "x1", "(intercept)"]
pytestmark = [
    pytest.mark.filterwarnings("ignore:there are .* parameters"),
    pytest.mark.filterwarnings("ignore:there are .* clusters"),
]


@pytest.fixture
def few(monkeypatch):
    """Treat any fit as one of many coefficients."""

    def compute(*args, **options):
        with monkeypatch.context() as only:
            only.setattr(fitted, "MOST_VARIABLES", 1)
            return inference(*args, **options)

    return compute


def assert_same(found, expected):
    assert found.names == expected.names
    assert found.coef.tolist() == expected.coef.tolist()
    size = np.sqrt(np.outer(np.diag(expected.cov), np.diag(expected.cov)))
    assert np.max(np.abs(found.cov - expected.cov) / size) < 1e-7
    np.testing.assert_allclose(found.intervals, expected.intervals, rtol=1e-7)
    np.testing.assert_allclose(
        np.array([found.log_likelihood], float),
        np.array([expected.log_likelihood], float),
        rtol=1e-13,
    )


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"covariance": "sandwich"},
        {"covariance": "sandwich", "small_sample": True, "weights": "probability"},
        {"covariance": "cluster", "small_sample": True},
    ],
)
def test_as_from_the_matrix_of_all_coefficients(k, l2, options, few):
    X, y = table(40 + k, n=250, d=9, k=k)
    weight = np.random.default_rng(k).integers(0, 4, len(y)).astype(float)
    options = dict(options, sample_weight=weight, features=FEW)
    if options.get("covariance") == "cluster":
        options["groups"] = np.arange(len(y)) % 60
    clf = LinearClassifier(**dict(EXACT, l2=l2)).fit(X, y, sample_weight=weight)
    found, expected = few(clf, X, y, **options), inference(clf, X, y, **options)
    assert_same(found, expected)
    if l2 and options.get("weights") != "probability":
        assert math.isnan(found.effective)
        assert found.aic is found.bic is found.to_dict()["effective_parameters"] is None
        assert "parameters" not in str(found).replace("parameters per row", "")
    elif expected.aic is not None:
        assert found.aic == pytest.approx(expected.aic, rel=1e-12)


def test_any_model_and_form_of_the_rows(few):
    X, y = table(50, n=240, d=6, k=3)
    X[:, :3] = np.where(np.random.default_rng(1).random((240, 3)) < 0.4, 0.0, X[:, :3])
    offset = np.random.default_rng(2).standard_normal((len(y), 3))
    for options in (
        {}, {"fit_intercept": False}, {"standardize": True, "l2": 1e-2},
        {"l2": 1e-2, "penalty_weights": [1.0, 0.0, 1.0, 0.5, 2.0, 1.0]},
    ):  # fmt: skip
        names = FEW if options.get("fit_intercept", True) else FEW[:2]
        for rows in (X, sp.csr_array(X), np.asfortranarray(X), X[::-1][::-1]):
            clf = LinearClassifier(**EXACT | {"tol": 1e-11} | options).fit(rows, y)
            given = {"features": names, "reference": 1}
            assert_same(few(clf, rows, y, **given), inference(clf, X, y, **given))
    clf = LinearClassifier(**EXACT).fit(X, y, offset=offset)
    given = {"features": names, "offset": offset}
    assert_same(few(clf, X, y, **given), inference(clf, X, y, **given))
    parts = read(lambda: ((X[i : i + 70], y[i : i + 70]) for i in range(0, len(y), 70)))
    clf = LinearClassifier(**EXACT).fit(parts)
    groups = np.arange(len(y)) // 3
    for own in ({"covariance": "sandwich"}, {"covariance": "cluster", "groups": groups}):
        given = {"features": names, **own}
        assert_same(few(clf, parts, **given), inference(clf, parts, **given))
    two = np.minimum(y, 1)
    for options in ({"loss": "squared"}, {"class_weight": "balanced"}):
        clf = LinearClassifier(**EXACT | options).fit(X, two)
        own = "model" if "loss" in options else "sandwich"
        given = {"features": names, "covariance": own}
        found, expected = few(clf, X, two, **given), inference(clf, X, two, **given)
        np.testing.assert_allclose(found.cov, expected.cov, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("scale", "shift"), [(1e-120, 0.0), (1e120, 0.0), (1.0, 1e7)])
def test_units_and_offsets_do_not_matter(scale, shift, few):
    X, y = table(51, n=200, d=5)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = inference(LinearClassifier(**EXACT).fit(X, y), X, y, features=["x3", "x1"])
    X = X * scale + shift
    found = few(LinearClassifier(**EXACT).fit(X, y), X, y, features=["x3", "x1"])
    np.testing.assert_allclose(found.standard_errors * scale, expected.standard_errors, rtol=1e-6)


def test_levels_of_a_category_have_exact_errors(few):
    """Without an intercept every level is a table of its own: sqrt(1 / a + 1 / b)."""
    a, b = np.random.default_rng(0).integers(2, 6, (2, 300))
    level = np.repeat(np.arange(300), a + b)
    y = np.concatenate([np.repeat([0, 1], counts) for counts in zip(a, b, strict=True)])
    X = sp.csr_array((np.ones(len(y)), (np.arange(len(y)), level)), shape=(len(y), 300))
    clf = LinearClassifier(**EXACT, fit_intercept=False).fit(X, y)
    found = few(clf, X, y, features=[7, 299])
    np.testing.assert_allclose(found.coef, np.log(b / a)[[7, 299]], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(1 / a + 1 / b)[[7, 299]], rtol=1e-8)
    assert abs(found.cov[0, 1]) < 1e-12
    assert found.effective == 300.0


def test_an_undecided_maximum_is_noted(few):
    X, y = table(54, n=100, d=3)
    clf = LinearClassifier(**EXACT).fit(X, y)
    clf._runaway = Runaway(settled=False)
    for of in (few, inference):
        with pytest.warns(UserWarning, match="whether the likelihood has a maximum was not decid"):
            found = of(clf, X, y, features="x1")
        assert "not decided" in found.notes[0]


def test_wide_sparse_rows_as_a_direct_solution():
    rng = np.random.default_rng(1)
    n, d, l2 = 400, 6000, 1e-3
    X = sp.random_array((n, d), density=0.003, format="csr", rng=rng)
    y = (X[:, :400].sum(axis=1) + 0.3 * rng.standard_normal(n) > 0.6).astype(int)
    clf = LinearClassifier(l2=l2, tol=1e-12).fit(X, y)
    at = [0, 17, 5321]
    found = inference(clf, X, y, features=at)
    p = expit(X @ clf.coef_.ravel() + clf.intercept_)
    Z = sp.hstack([X, np.ones((n, 1))], format="csr")
    own = sp.diags_array(np.r_[np.full(d, 2 * l2 * n), 0.0])
    # With w = S Z v, where S = diag(p (1 - p)), this system is (D + Z' S Z) v = c.
    whole = sp.block_array([[own, Z.T], [Z, sp.diags_array(-1 / (p * (1 - p)))]], format="csc")
    V = sp.linalg.splu(whole).solve(np.eye(d + 1 + n)[:, at])[: d + 1]
    ZV = Z @ V
    expected = ZV.T @ ((p * (1 - p))[:, None] * ZV)
    np.testing.assert_allclose(found.cov, expected, rtol=1e-7, atol=1e-7 * found.cov.max())


def test_what_is_not_possible(few, monkeypatch):
    X, y = table(52, n=200, d=5)
    clf = LinearClassifier(**EXACT).fit(X, y)
    with pytest.raises(ValueError, match="name some in features="):
        few(clf, X, y)
    with pytest.raises(ValueError, match="use intervals='wald'"):
        few(clf, X, y, features="x1", intervals="profile")
    found = few(clf, X, y, features="x1")
    with pytest.raises(ValueError, match="covariance of all coefficients"):
        found.predict_interval(X)
    with pytest.raises(ValueError, match=r"use test\(feature\)"):
        found.test_each()
    assert found.test("x1") == inference(clf, X, y).test("x1")
    own = LinearClassifier(loss="squared", l2=1e-3).fit(X, y)
    with pytest.raises(ValueError, match="effective number of parameters"):
        few(own, X, y, features="x1")
    own = LinearClassifier(bias_reduction="firth").fit(X, y)
    with pytest.raises(ValueError, match="Firth's penalty"):
        few(own, X, y, features="x1")
    monkeypatch.setattr(columns, "MOST_VALUES", 11)
    with pytest.raises(ValueError, match="name fewer features"):
        few(clf, X, y, features=["x1", "x2"])


@pytest.mark.filterwarnings("ignore:.*no minimum")
def test_coefficients_without_an_error_are_refused(few):
    X, y = table(53, n=200, d=4)
    for more in (X[:, :1] * 2.0, np.ones((200, 1)), X[:, :1] + 1e-9 * X[:, 1:2]):
        wide = np.column_stack([X, more])
        clf = LinearClassifier(**EXACT).fit(wide, y)
        with pytest.raises(ValueError, match=r"'x4' is not (accurate|determined)"):
            few(clf, wide, y, features=["x2", "x4"])
    leak = np.column_stack([X, np.where(y == 1, 1.0, -1.0)])
    clf = LinearClassifier(**EXACT).fit(leak, y)
    with pytest.raises(ValueError, match="at infinity in x4"):
        few(clf, leak, y, features="x1")
