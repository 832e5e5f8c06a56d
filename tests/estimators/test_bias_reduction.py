"""bias_reduction="mdypl" against weighted copies, closed forms and a plain minimiser."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_engine import clustered
from scipy.optimize import minimize
from sklearn.base import clone
from source_kinds import SOURCES, data, every_source

import separatrix
from separatrix import ArraySource, LinearClassifier, certify, diagnose, inference


def table(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.logspace(0.0, 2.0, d)
    y = (X[:, 0] + 0.5 * rng.standard_normal(n) > 0.0).astype(int)
    return X, y


def copies(X, y, weight=None, p=None, **options):
    """The definition, written out: rows of both labels with weights."""
    w = np.ones(len(y)) if weight is None else weight
    p = X.shape[1] + 1 if p is None else p
    a = w.sum() / (w.sum() + p)
    return LinearClassifier(l2=0.0, tol=1e-12, **options).fit(
        np.vstack([X, X]), np.r_[y, 1 - y],
        sample_weight=np.r_[w * (1.0 + a) / 2.0, w * (1.0 - a) / 2.0],
    )  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"fit_intercept": False}])
@pytest.mark.parametrize("weighted", [False, True])
def test_mdypl_is_a_fit_to_weighted_copies(options, weighted):
    X, y = table()
    w = np.random.default_rng(1).integers(0, 4, len(y)).astype(float) if weighted else None
    clf = LinearClassifier(bias_reduction="mdypl", tol=1e-12, **options).fit(X, y, sample_weight=w)
    p = X.shape[1] + options.get("fit_intercept", True)
    expected = copies(X, y, w, p, **options)
    assert clf.stop_ == "optimal"
    assert clf.gap_ <= 1e-12 * clf.objective_
    np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(clf.intercept_, expected.intercept_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(clf.objective_, expected.objective_, rtol=1e-12)


def test_mdypl_is_a_fit_to_soft_labels():
    X, y = table()
    a = len(y) / (len(y) + 4)
    clf = LinearClassifier(bias_reduction="mdypl", tol=1e-12).fit(X, y)
    soft = LinearClassifier(l2=0.0, soft_labels=True, tol=1e-12).fit(X, a * y + (1.0 - a) / 2.0)
    np.testing.assert_allclose(clf.coef_, soft.coef_, atol=1e-6)


def test_a_saturated_table_has_the_smoothed_shares():
    """Cells of 5 and 8 rows: the fitted log odds are those of the labels pulled towards 1/2."""
    X = np.repeat([[0.0], [1.0]], [5, 8], axis=0)
    y = np.r_[0, 0, 0, 0, 1, np.ones(8, dtype=int)]
    clf = LinearClassifier(bias_reduction="mdypl", tol=1e-14).fit(X, y)
    a = 13 / 15
    shares = a * np.array([1 / 5, 1.0]) + (1.0 - a) / 2.0
    logits = np.log(shares / (1.0 - shares))
    np.testing.assert_allclose(clf.intercept_[0], logits[0], rtol=1e-6)
    np.testing.assert_allclose(clf.coef_[0, 0], logits[1] - logits[0], rtol=1e-6)


def test_a_plain_minimiser_agrees():
    X, y = table(40, 2)
    a = 40 / 43
    target = a * y + (1.0 - a) / 2.0

    def loss(v):
        s = X @ v[:-1] + v[-1]
        return np.mean(np.logaddexp(0.0, s) - target * s)

    clf = LinearClassifier(bias_reduction="mdypl", tol=1e-12).fit(X, y)
    plain = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-10})
    np.testing.assert_allclose([*clf.coef_[0], clf.intercept_[0]], plain.x, rtol=1e-4)
    assert clf.objective_ - clf.gap_ <= plain.fun + 1e-15


@pytest.mark.parametrize("shape", [(20, 1), (20, 3), (60, 20)])
def test_estimates_of_separable_rows_are_finite_and_proven(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    y = (X[:, 0] > 0.0).astype(int)
    clf = LinearClassifier(bias_reduction="mdypl").fit(X, y)
    assert clf.stop_ == "optimal"
    assert np.isfinite(clf.coef_).all()
    assert clf.gap_ <= 1e-6 * clf.objective_


def test_more_features_than_rows():
    """Every label is then fitted exactly: the loss is the entropy of the labels."""
    X = np.random.default_rng(0).standard_normal((10, 40))
    y = (X[:, 0] > 0.0).astype(int)
    clf = LinearClassifier(bias_reduction="mdypl", tol=1e-10).fit(X, y)
    q = 0.5 * 41 / 51
    assert clf.stop_ == "tol"  # the weights are not unique, and no bound is computed
    assert clf.gap_ is None
    np.testing.assert_allclose(clf.objective_, -q * np.log(q) - (1 - q) * np.log1p(-q), rtol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_units_and_offsets_do_not_matter(offset):
    X, y = table()
    plain = LinearClassifier(bias_reduction="mdypl", tol=1e-10).fit(X, y)
    scale = np.array([1e-6, 1.0, 1e6])
    other = LinearClassifier(bias_reduction="mdypl", tol=1e-10).fit(X * scale + [0, offset, 0], y)
    np.testing.assert_allclose(other.coef_ * scale, plain.coef_, rtol=1e-3, atol=1e-7)


def test_duplicated_and_constant_columns():
    X, y = table(d=2)
    clf = LinearClassifier(bias_reduction="mdypl").fit(
        np.column_stack([X, X[:, 0], 0 * y + 3.0]), y
    )
    assert clf.stop_ == "optimal"


@every_source
def test_every_source(kind):
    X, y, classes, weight = data(2, True)
    clf = LinearClassifier(bias_reduction="mdypl", tol=1e-11).fit(
        SOURCES[kind](X, y, classes, weight)
    )
    expected = copies(X, (y > 0).astype(int), weight)
    assert clf.stop_ == "optimal"
    np.testing.assert_allclose(clf.coef_, expected.coef_, atol=1e-5)
    np.testing.assert_allclose(clf.objective_, expected.objective_, rtol=1e-10)


@pytest.mark.parametrize("standardize", [False, True])
def test_parts_of_a_cluster(standardize):
    X, y, classes, _ = data(2, False)
    parts = clustered(X, y, classes, None, [0, 100, 100, 240])
    clf = LinearClassifier(bias_reduction="mdypl", standardize=standardize, tol=1e-11).fit(parts)
    np.testing.assert_allclose(clf.coef_, copies(X, (y > 0).astype(int)).coef_, atol=1e-5)


def test_weights_are_numbers_of_rows():
    X, y = table(30)
    w = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = LinearClassifier(bias_reduction="mdypl", tol=1e-12).fit(X, y, sample_weight=w)
    repeated = LinearClassifier(bias_reduction="mdypl", tol=1e-12).fit(
        np.repeat(X, w, axis=0), np.repeat(y, w)
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)


def test_huge_weights_are_huge_numbers_of_rows():
    """They are stored in another unit; labels are then hardly pulled at all."""
    X, y = table()
    y[:10] = 1 - y[:10]  # so that there is a maximum of the likelihood
    likelihood = LinearClassifier(l2=0.0, tol=1e-12).fit(X, y)
    for power in (50, 600):
        w = np.full(len(y), np.ldexp(1.0, power))
        clf = LinearClassifier(bias_reduction="mdypl", tol=1e-12).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(clf.coef_, likelihood.coef_, rtol=1e-5)
    tiny = LinearClassifier(bias_reduction="mdypl").fit(X, y, sample_weight=np.full(60, 1e-200))
    np.testing.assert_allclose(tiny.coef_, 0.0, atol=1e-12)


def test_sparse_rows():
    X, y = table()
    X[np.abs(X) < 0.5] = 0.0
    sparse = LinearClassifier(bias_reduction="mdypl", tol=1e-12).fit(sp.csr_array(X), y)
    dense = LinearClassifier(bias_reduction="mdypl", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-7)


def test_labels_are_kept_and_models_saved(tmp_path):
    X, y = table()
    words = np.array(["no", "yes"])[y]
    clf = LinearClassifier(bias_reduction="mdypl").fit(X, words)
    assert clf.classes_.tolist() == ["no", "yes"]
    assert clf.score(X, words) > 0.8
    separatrix.save(clf, str(tmp_path / "m.sep"))
    again = separatrix.load(str(tmp_path / "m.sep"))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert (again.bias_reduction, clone(clf).bias_reduction) == ("mdypl", "mdypl")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bias_reduction": "jeffreys"}, "must be None, 'mdypl'"),
        ({"bias_reduction": True}, "must be None, 'mdypl'"),
        ({"loss": "squared"}, "for loss='logistic'"),
        ({"l2": 0.1}, "takes the place of a penalty, so l2"),
        ({"l1": 0.1}, "takes the place of a penalty, so l1"),
        ({"penalty_weights": [1.0, 0.0, 1.0]}, "so penalty_weights"),
        ({"penalty": separatrix.L2(0.0)}, "so penalty must"),
        ({"class_weight": "balanced"}, "changes the likelihood"),
        ({"device": "cpu"}, "leave out device"),
    ],
)
def test_settings_that_are_refused(options, words):
    X, y = table()
    clf = LinearClassifier(**({"bias_reduction": "mdypl"} | options))
    with pytest.raises(ValueError, match=words):
        clf.fit(X, y)
    assert not hasattr(clf, "coef_")


def test_what_is_refused():
    X, y = table()
    clf = LinearClassifier(bias_reduction="mdypl")
    with pytest.raises(ValueError, match="the rows have 3 classes"):
        clf.fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="several labels"):
        clf.fit(X, np.column_stack([y, 1 - y, np.arange(len(y)) % 2]))
    with pytest.raises(ValueError, match="only one class"):
        clf.fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="partial_fit is not for"):
        clf.partial_fit(X, y)
    clf.fit(ArraySource(X, np.where(y > 0, 1.0, -1.0), np.arange(2)))
    for ask in (certify, diagnose, inference):
        with pytest.raises(ValueError, match="bias_reduction='mdypl'"):
            ask(clf, X, y)


def test_an_offset_is_that_of_both_copies():
    rng = np.random.default_rng(0)
    X, offset = rng.standard_normal((60, 2)), rng.standard_normal(60)
    y = (X[:, 0] + offset > 0.0).astype(int)  # separable together with the offset
    clf = LinearClassifier(tol=1e-12, bias_reduction="mdypl").fit(X, y, offset=offset)
    a = 60 / 63
    weight = np.repeat([(1 + a) / 2, (1 - a) / 2], 60)
    copies = LinearClassifier(l2=0.0, tol=1e-12).fit(
        np.tile(X, (2, 1)), np.r_[y, 1 - y], weight, offset=np.tile(offset, 2)
    )
    assert clf.stop_ == "optimal"
    assert clf.coef_ == pytest.approx(copies.coef_, rel=1e-6)
    assert clf.predict_proba(X, offset=offset) == pytest.approx(
        copies.predict_proba(X, offset=offset), rel=1e-6
    )
