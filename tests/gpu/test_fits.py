"""Fits on a GPU against fits of the same data on the CPU."""

from __future__ import annotations

import os
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from scipy import special

import separatrix as sx

from .arrays import KINDS, cupy_rows, jax_rows, problem, torch_rows

FITS = [
    ("logistic", {}), ("logistic", {"solver": sx.LBFGS()}), ("logistic", {"solver": sx.Newton()}),
    ("logistic", {"solver": sx.Newton(direct_weights=1)}),
    ("logistic", {"solver": sx.GradientDescent(), "tol": 1e-6}),
    ("logistic", {"l1": 0.01}), ("logistic", {"l1": 0.01, "groups": "classes"}),
    ("logistic", {"penalty_weights": np.arange(12.0)}),
    ("logistic", {"standardize": True}), ("logistic", {"fit_intercept": False}),
    ("logistic", {"class_weight": "balanced"}), ("squared", {}),
    ("squared", {"solver": sx.LeastSquares(direct_size=1)}), ("squared_hinge", {}),
    ("tanh_squared", {}), ("one_vs_rest_logistic", {}), ("hinge", {}), ("one_vs_rest_hinge", {}),
    ("hinge", {"solver": sx.ProximalPoint()}), ("logistic", {"solver": sx.ProximalNewton()}),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:GradientDescent")  # it may stop far from the minimum
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(("loss", "options"), FITS, ids=repr)
def test_fits_reach_the_minimum_of_the_cpu(loss, options, k):
    if loss == "hinge" and "solver" in options and k > 2:
        pytest.skip("ProximalPoint is for two classes here")
    X, y = problem(k=k, n=800)
    options = {"l2": 0.01, "tol": 1e-9, "max_iter": 3000} | options
    weight = np.random.default_rng(0).random(len(y))
    ours = sx.LinearClassifier(loss, **options).fit(torch_rows(X, "float64"), y, weight)
    theirs = sx.LinearClassifier(loss, **options).fit(X, y, weight)
    if loss == "one_vs_rest_hinge" and k > 2:  # its dual visits single rows
        assert theirs.objective_ - theirs.gap_ <= ours.objective_ < 1.1 * theirs.objective_
        return
    assert ours.stop_ == theirs.stop_
    near = 1e-5 if "GradientDescent" in repr(options) else 1e-9
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=near)
    assert (ours.gap_ is None) == (theirs.gap_ is None)
    if ours.gap_ is not None:
        assert ours.objective_ - ours.gap_ <= theirs.objective_
        assert theirs.objective_ - theirs.gap_ <= ours.objective_
    assert ours.score(torch_rows(X, "float64"), y) == theirs.score(X, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("library", [torch_rows, cupy_rows, jax_rows])
def test_every_library_and_type(library, k, kind):
    if (library, kind) == (cupy_rows, "bfloat16"):
        pytest.importorskip("ml_dtypes")
    X, y = problem(k=k, n=700, kind=kind)
    there = library(X, kind)
    options = {"l2": 1e-3, "solver": sx.LBFGS(), "tol": 1e-8}
    ours = sx.LinearClassifier(**options).fit(there, y)
    theirs = sx.LinearClassifier(**options).fit(X.astype(np.float64), y)
    assert ours.stop_ == theirs.stop_ == "optimal"
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-8)
    assert type(ours.coef_) is np.ndarray
    assert ours.coef_.dtype == np.float64
    np.testing.assert_allclose(
        ours.decision_function(there), ours.decision_function(X.astype(np.float64)), atol=1e-11
    )
    np.testing.assert_array_equal(ours.predict(there), ours.predict(X))
    np.testing.assert_allclose(
        ours.predict_proba(there), ours.predict_proba(X.astype(np.float64)), atol=1e-11
    )
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        return  # scikit-learn cannot be set so: `make test-gpu` sets the variable
    with sklearn.config_context(array_api_dispatch=True):
        assert type(ours.predict_proba(there)) is type(there)
        assert ours.score(there, y) == theirs.score(X, y)


@pytest.mark.parametrize("k", [2, 5])
def test_runs_have_identical_bits(k):
    import torch

    torch.manual_seed(0)
    X = torch.randn(200_000, 64, device="cuda")
    y = torch.randint(k, (200_000,), device="cuda")
    fits = [sx.LinearClassifier(l2=1e-4, solver=sx.LBFGS()).fit(X, y) for _ in range(3)]
    for other in fits[1:]:
        assert np.array_equal(fits[0].coef_, other.coef_)
        assert fits[0].gap_ == other.gap_


def test_the_gap_holds_in_long_double():
    X, y = problem(n=500, kind="float32")
    clf = sx.LinearClassifier(l2=1e-4, tol=1e-7).fit(torch_rows(X, "float32"), y)
    best = sx.LinearClassifier(l2=1e-4, tol=1e-13).fit(X.astype(np.float64), y)

    def value(model):
        w, b = model.coef_[0].astype(np.longdouble), np.longdouble(model.intercept_[0])
        m = (2 * y - 1) * (X.astype(np.longdouble) @ w + b)
        return np.logaddexp(np.longdouble(0), -m).mean() + np.longdouble(1e-4) * (w @ w)

    assert float(value(clf) - value(best)) <= clf.gap_
    assert clf.objective_ == pytest.approx(float(value(clf)), rel=1e-12)


def test_other_layouts_labels_and_devices(caplog):
    import torch

    X, y = problem(n=400)
    there = torch_rows(X, "float64")
    base = sx.LinearClassifier(l2=0.01).fit(there, torch.from_numpy(y).cuda())
    caplog.set_level("INFO", "separatrix")
    turned = sx.LinearClassifier(l2=0.01).fit(there.T.contiguous().T, y)
    assert "copied once" in caplog.text
    assert np.array_equal(base.coef_, turned.coef_)
    moved = sx.LinearClassifier(l2=0.01, device="cuda").fit(X, y)
    home = sx.LinearClassifier(l2=0.01, device="cpu").fit(there, y)
    host = sx.LinearClassifier(l2=0.01).fit(X, y)
    assert np.array_equal(base.coef_, moved.coef_)
    assert np.array_equal(home.coef_, host.coef_)
    sliced = sx.LinearClassifier(l2=0.01).fit(there[:, 1:], y)
    np.testing.assert_allclose(
        sliced.coef_, sx.LinearClassifier(l2=0.01).fit(X[:, 1:], y).coef_, atol=1e-9
    )


def test_sparse_rows():
    import cupyx.scipy.sparse
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    matrix = sp.random_array((2000, 300), density=0.05, format="csr", rng=rng)
    y = (matrix @ rng.standard_normal(300) > 0).astype(int)
    theirs = sx.LinearClassifier(l2=1e-3, solver=sx.LBFGS(), tol=1e-9).fit(matrix, y)
    there = cupyx.scipy.sparse.csr_matrix(sp.csr_matrix(matrix))
    for options in ({"solver": sx.LBFGS()}, {}):
        ours = sx.LinearClassifier(l2=1e-3, tol=1e-9, **options).fit(there, y)
        assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-8)
    assert ours.score(there, y) == theirs.score(matrix, y)
    moved = sx.LinearClassifier(l2=1e-3, tol=1e-9, device="cuda", solver=sx.LBFGS()).fit(matrix, y)
    assert moved.objective_ == pytest.approx(theirs.objective_, rel=1e-9)


class Exponential(sx.MarginLoss):
    convex = smooth = True
    seen: ClassVar = set()

    def phi(self, m):
        self.seen.add(type(m).__module__.partition(".")[0])
        return np.exp(-m)

    def slope(self, m):
        return -np.exp(-m)


class FromSciPy(Exponential):
    def slope(self, m):
        return -special.exp2(-m / np.log(2.0))


@pytest.mark.parametrize("loss", [Exponential, FromSciPy])
def test_a_loss_of_the_user(loss):
    X, y = problem(n=400)
    options = {"l2": 0.1, "tol": 1e-8, "solver": sx.LBFGS()}
    theirs = sx.LinearClassifier(loss(), **options).fit(X, y)
    Exponential.seen.clear()
    ours = sx.LinearClassifier(loss(), **options).fit(torch_rows(X, "float64"), y)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-10)
    assert "cupy" in Exponential.seen


def test_cross_validation_and_separability():
    X, y = problem(n=400)
    there = torch_rows(X, "float64")
    ours, theirs = (
        sx.LinearClassifierCV(cv=3, solver=sx.LBFGS(), scoring="loss").fit(given, y)
        for given in (there, X)
    )
    moved = sx.LinearClassifierCV(cv=3, solver=sx.LBFGS(), scoring="loss", device="cuda")
    assert np.array_equal(moved.fit(X, y).coef_, ours.coef_)
    assert ours.l2_ == pytest.approx(theirs.l2_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert str(sx.separability(there, y)) == str(sx.separability(X, y))


def test_bad_input_leaves_the_estimator_as_it_was():
    import torch

    X, y = problem(n=60)
    there = torch_rows(X, "float64")
    clf = sx.LinearClassifier().fit(X, y)
    before = dict(vars(clf))
    bad = there.clone()
    bad[3, 2] = torch.nan
    for given, error in [
        (bad, "NaN or infinity"), (there.long(), "int64 on a GPU"), (there.bool(), "bool on a GPU"),
        (there.to(torch.complex64), "complex64"), (there.clone().requires_grad_(), "detach"),
        (there[:0], "0 sample"), (there[:, :0], "0 feature"), (there[0], "2D array"),
        (there.to_sparse_coo(), "expected CSR"),
    ]:  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=error):
            clf.fit(given, y if len(given.shape) < 2 or len(given) else y[:0])
    with pytest.raises(RuntimeError, match="does not exist"):
        sx.LinearClassifier(device="cuda:99").fit(X, y)
    assert vars(clf) == before
    with pytest.raises(TypeError, match="one after another"):
        sx.Perceptron().fit(there, y)


def test_certify_and_memory():
    import cupy
    import torch

    X, y = problem(n=500)
    there = torch_rows(X, "float64")
    clf = sx.LinearClassifier(l2=0.01).fit(there, y)
    report = sx.certify(clf, there, y)
    assert report.gap <= 1e-5
    rows = torch.randn(500_000, 100, device="cuda")
    labels = np.random.default_rng(0).integers(0, 2, 500_000)
    torch.cuda.synchronize()
    free = cupy.cuda.Device().mem_info[0]
    sx.LinearClassifier(l2=0.01).fit(rows, labels)
    assert free - cupy.cuda.Device().mem_info[0] < 64 << 20
