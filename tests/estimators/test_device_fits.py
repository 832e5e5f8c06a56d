"""Fits of arrays on a device, without a GPU: see ``emulated_gpu.py``."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from emulated_gpu import COMPILER, EmulatedGpu, Tensor
from sklearn.base import clone

import separatrix as sx
from separatrix.data import Subset, device_arrays, device_source
from separatrix.data.device_arrays import device_number, on_device
from separatrix.rows import DenseRows
from separatrix.rows.device import DeviceVectors, cuda

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs g++ to run the kernels as C++")


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """Every number of a GPU stands for the emulated one."""
    device = EmulatedGpu()
    for module in (device_arrays, device_source):
        monkeypatch.setattr(module, "cuda", lambda number: device)
    return device


def table(k=2, n=150, d=4):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((n, d))
    return X, (X[:, :k] + 1.5 * rng.standard_normal((n, k))).argmax(axis=1)


def pair(loss="logistic", k=2, sample_weight=None, **options):
    """A fit on the device and one on the host."""
    X, y = table(k)
    options = {"l2": 0.01, "tol": 1e-9, **options}
    fits = [
        sx.LinearClassifier(loss, **options).fit(given, y, sample_weight)
        for given in (Tensor(X), X)
    ]
    return *fits, X, y


@needs_compiler
@pytest.mark.parametrize(("loss", "k"), [("hinge", 2), ("one_vs_rest_hinge", 3)])
def test_the_hinge_takes_no_step_that_visits_rows(loss, k):
    ours, theirs, _, _ = pair(loss, k)
    assert "interior point" not in str(ours.solver_)
    assert ours.stop_ == theirs.stop_ == "optimal"
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=2e-9)


@pytest.mark.sampled(1)
@needs_compiler
@pytest.mark.parametrize("k", [2, 3])
def test_a_fit_on_a_device_is_the_fit_on_the_host(k):
    ours, theirs, X, y = pair(k=k)
    assert ours.stop_ == theirs.stop_ == "optimal"
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-13)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    assert type(ours.coef_) is np.ndarray
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        found = getattr(ours, method)(Tensor(X))
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, getattr(theirs, method)(X), atol=1e-7)
    assert ours.score(Tensor(X), Tensor(y)) == theirs.score(X, y)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("standardize", [False, True])
def test_lbfgs_with_vectors_on_the_device(standardize, monkeypatch):
    monkeypatch.setattr("separatrix.rows.device.vectors.HOST_WEIGHTS", 0)
    ours, theirs, *_ = pair(k=3, solver=sx.LBFGS(), standardize=standardize)
    assert ours.stop_ == theirs.stop_ == "optimal"
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-12)
    assert ours.objective_ - ours.gap_ <= theirs.objective_


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    ("loss", "options"),
    [
        ("logistic", {"solver": sx.LBFGS()}), ("logistic", {"solver": sx.Newton(direct_weights=1)}),
        ("logistic", {"l1": 0.01}), ("logistic", {"l1": 0.01, "groups": "classes"}),
        ("logistic", {"penalty_weights": np.arange(4.0)}),
        ("logistic", {"standardize": True, "solver": sx.LBFGS()}),
        ("logistic", {"fit_intercept": False}), ("logistic", {"class_weight": "balanced"}),
        ("logistic", {"sample_weight": np.arange(150.0) % 3}), ("squared", {}),
        ("squared_hinge", {}), ("tanh_squared", {}), ("one_vs_rest_logistic", {}), ("hinge", {}),
        ("squared", {"solver": sx.LeastSquares(direct_size=1)}),
    ],
    ids=repr,
)  # fmt: skip
def test_losses_penalties_and_solvers(loss, options, k):
    ours, theirs, *_ = pair(loss, k, **options)
    assert ours.stop_ == theirs.stop_
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-9)
    if ours.gap_ is not None:
        assert ours.objective_ - ours.gap_ <= theirs.objective_


class Exponential(sx.MarginLoss):
    """A loss of the user; its functions note what they are called with."""

    convex = smooth = True
    seen: ClassVar = set()

    def phi(self, m):
        self.seen.add(type(m).__name__)
        return np.exp(-m)

    def slope(self, m):
        return -np.exp(-m)

    def curvature(self, m):
        return np.exp(-m)


class Converting(Exponential):
    def slope(self, m):
        return -np.exp(-np.asarray(m))


class HostResult(Exponential):
    def slope(self, m):
        return -np.exp(-np.asarray(getattr(m, "held", m)))


class OtherValues(Exponential):
    def slope(self, m):
        return -np.exp(-m) if isinstance(m, np.ndarray) else -2.0 * np.exp(-m)


@pytest.mark.sampled(1)
@needs_compiler
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("loss", "options"),
    [
        ("logistic", {"solver": sx.LBFGS()}), ("logistic", {"solver": sx.Newton(direct_weights=1)}),
        ("squared", {}), ("squared_hinge", {"standardize": True}), ("hinge", {}),
        ("logistic", {"class_weight": "balanced"}), ("hinge", {"class_weight": {1: 3.0}}),
    ],
    ids=repr,
)  # fmt: skip
def test_several_labels_per_row(loss, options, sparse):
    X, _ = table()
    X = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0)) if sparse else X
    Y = (X[:, :3] + np.random.default_rng(1).standard_normal((150, 3)) > 0.3).astype(int)
    clf = sx.LinearClassifier(loss, l2=0.01, device="cuda", random_state=0, **options)
    ours, theirs = clf.fit(X, Y), clone(clf).set_params(device=None).fit(X, Y)
    assert ours.stop_ == theirs.stop_ == "optimal"
    assert ours.objective_ - ours.gap_ <= theirs.objective_
    assert theirs.objective_ - theirs.gap_ <= ours.objective_
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.sampled
@needs_compiler
@pytest.mark.parametrize("solver", [sx.LBFGS(), sx.Newton()], ids=repr)
@pytest.mark.parametrize("loss", [Exponential, HostResult, OtherValues, Converting])
def test_a_loss_of_the_user_gets_device_arrays_if_it_takes_them(loss, solver, caplog):
    caplog.set_level("INFO", "separatrix")
    weight = np.arange(150.0) % 3
    ours, theirs, X, _ = pair(loss(), l2=0.1, solver=solver, sample_weight=weight)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-12)
    assert ("is evaluated in main memory" in caplog.text) == (loss is not Exponential)
    Exponential.seen.clear()
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    W, rows = np.ones((1, 5)), device_arrays.placed(X, "cuda")
    sums = rows.value_gradient(y, loss(), W, weight, gradient := np.zeros((1, 5)))
    expected = DenseRows(X).value_gradient(y, loss(), W, weight, other := np.zeros((1, 5)))
    np.testing.assert_allclose(sums, expected, rtol=1e-13)
    np.testing.assert_allclose(gradient, other, rtol=1e-12)
    if loss is Exponential:
        assert "DeviceArray" in Exponential.seen


@needs_compiler
def test_a_loss_of_the_user_for_many_classes():
    ours, theirs, *_ = pair(Exponential(), k=3, l2=0.1)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-12)


@needs_compiler
@pytest.mark.slow
def test_cross_validation_certify_separability_and_checkpoints(tmp_path):
    X, y = table()
    options = {"cv": 3, "scoring": "loss", "l2s": [0.1, 0.01]}
    ours, theirs = (sx.LinearClassifierCV(**options).fit(given, y) for given in (Tensor(X), X))
    assert ours.l2_ == theirs.l2_
    clf = sx.LinearClassifier(l2=0.01).fit(Tensor(X), y)
    assert sx.certify(clf, Tensor(X), y).gap <= 1e-6
    assert str(sx.separability(Tensor(X), y)) == str(sx.separability(X, y))
    assert "Nothing wrong" in str(sx.diagnose(clf, Tensor(X), y))
    here, there = (device_arrays.placed(X, name) for name in (None, "cuda"))
    prints = [
        sx.ArraySource(rows, 2.0 * y - 1.0, np.arange(2)).fingerprint() for rows in (here, there)
    ]
    assert prints[0] == prints[1]


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["loss", None])
def test_folds_are_weights_of_the_same_rows(scoring, monkeypatch):
    X, y = table()
    options = {"cv": 2, "scoring": scoring, "l2s": [0.1, 0.01], "tol": 1e-9}
    theirs = sx.LinearClassifierCV(**options).fit(X, y)

    def copied(*_):
        raise AssertionError("rows are copied")

    monkeypatch.setattr(Subset, "block", copied)
    for given, device in ((Tensor(X), None), (X, "cuda")):
        ours = sx.LinearClassifierCV(device=device, **options).fit(given, y)
        assert ours.l2_ == theirs.l2_
        found, expected = (each.cv_results_["mean_test_score"] for each in (ours, theirs))
        np.testing.assert_allclose(found, expected, rtol=1e-4)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


@pytest.mark.sampled(1)
@needs_compiler
@pytest.mark.parametrize("sparse", [False, True])
def test_device_moves_rows(sparse, gpu):
    X, y = table()
    X = sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0)) if sparse else X
    moved = sx.LinearClassifier(l2=0.01, device="cuda", solver=sx.LBFGS()).fit(X, y)
    assert gpu.launched
    stays = sx.LinearClassifier(l2=0.01, solver=sx.LBFGS()).fit(X, y)
    assert moved.objective_ == pytest.approx(stays.objective_, rel=1e-9)
    gpu.launched.clear()
    source = sx.ArraySource(
        sx.rows.CsrRows.of_scipy(X) if sparse else X, 2.0 * y - 1.0, np.arange(2)
    )
    again = sx.LinearClassifier(l2=0.01, device="cuda", solver=sx.LBFGS()).fit(source)
    assert gpu.launched
    assert np.array_equal(again.coef_, moved.coef_)


@needs_compiler
def test_cpu_brings_rows_home(gpu):
    X, y = table()
    clf = sx.LinearClassifier(l2=0.01, device="cpu").fit(Tensor(X), y)
    assert "dense_pass" not in {kernel.name for kernel in gpu.launched}
    assert np.array_equal(clf.coef_, sx.LinearClassifier(l2=0.01).fit(X, y).coef_)


@needs_compiler
def test_a_source_of_files_moves_to_the_device(tmp_path, gpu):
    pytest.importorskip("pyarrow")
    X, y = table()
    path = tmp_path / "rows.csv"
    rows = np.column_stack([X, y])
    np.savetxt(path, rows, delimiter=",", header="a,b,c,d,y", comments="", fmt="%.6f")
    source = sx.read(path, target="y")
    moved = sx.LinearClassifier(l2=0.01, device="cuda", solver=sx.LBFGS()).fit(source)
    assert gpu.launched
    stays = sx.LinearClassifier(l2=0.01, solver=sx.LBFGS()).fit(sx.read(path, target="y"))
    assert moved.objective_ == pytest.approx(stays.objective_, rel=1e-9)
    assert moved.score(sx.read(path, target="y", like=moved)) == stays.score(source)


@needs_compiler
def test_other_layouts_are_copied_once(caplog):
    X, y = table()
    caplog.set_level("INFO", "separatrix")
    turned = sx.LinearClassifier(l2=0.01).fit(Tensor(np.asfortranarray(X)), y)
    assert "copied once" in caplog.text
    assert np.array_equal(turned.coef_, sx.LinearClassifier(l2=0.01).fit(Tensor(X), y).coef_)


def flawed(value):
    X, _ = table()
    X[3, 1] = value
    return Tensor(X)


@needs_compiler
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (flawed(np.nan), ValueError, "NaN or infinity"),
        (flawed(-np.inf), ValueError, "NaN or infinity"),
        (Tensor(np.ones((150, 2), np.int64)), TypeError, "has the type int64 on a GPU"),
        (Tensor(np.ones((150, 2), np.complex64)), TypeError, "has the type complex64"),
        (Tensor(np.ones((0, 2))), ValueError, r"0 sample\(s\)"),
        (Tensor(np.ones((150, 0))), ValueError, r"0 feature\(s\)"),
        (Tensor(np.ones(150)), ValueError, "Expected 2D array, got 1D"),
        (Tensor(np.ones((150, 2))[::-1]), ValueError, "negative strides"),
        (Tensor(np.ones((150, 2)), requires_grad=True), ValueError, r"pass X.detach\(\)"),
        (Tensor(np.ones((150, 2)), number=1), ValueError, "X is on cuda:1, but y is on cuda:0"),
    ],
)
def test_bad_input_changes_nothing(X, error, message):
    rows, y = table()
    clf = sx.LinearClassifier(l2=0.01).fit(rows, y)
    before = dict(vars(clf))
    with pytest.raises(error, match=message):
        clf.fit(X, Tensor(y))
    assert vars(clf) == before


@needs_compiler
@pytest.mark.parametrize(
    "clf", [sx.Perceptron(), sx.LinearClassifier(solver=sx.CoordinateDescent())], ids=repr
)
def test_methods_that_visit_rows_one_after_another_refuse(clf):
    X, y = table()
    with pytest.raises(TypeError, match=r"one after another, .* use a batch solver"):
        clf.fit(Tensor(X), y)


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cuda:-1", 0, "CPU"])
def test_unknown_devices(device):
    X, y = table()
    with pytest.raises(ValueError, match="device must be None, 'cpu', 'cuda' or 'cuda:1', got"):
        sx.LinearClassifier(device=device).fit(X, y)
    assert (device_number("cpu"), device_number("cuda"), device_number("cuda:2")) == (None, 0, 2)


@needs_compiler
def test_another_device_than_that_of_x():
    X, y = table()
    with pytest.raises(ValueError, match="X decides where a fit runs"):
        sx.LinearClassifier(device="cuda:1").fit(Tensor(X), y)


def test_without_cupy(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "cupy", None)
    cuda.cache_clear()
    with pytest.raises(ImportError, match=r"CuPy, which is not installed: .*gpu-cuda13"):
        cuda(0)


@pytest.mark.parametrize("X", [None, [[1.0]], np.ones((1, 1)), "rows", object()])
def test_other_objects_are_not_on_a_device(X):
    assert not on_device(X)
    assert on_device(Tensor([[1.0]]))


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("scoring", [None, "loss"])
def test_cross_validation_with_labels_and_weights_on_the_device(scoring):
    X, y = table(3)
    weight = np.random.default_rng(0).random(len(y))
    options = {"cv": 3, "l2s": [0.1, 0.01], "scoring": scoring}
    ours = sx.LinearClassifierCV(**options).fit(Tensor(X), Tensor(y), sample_weight=Tensor(weight))
    theirs = sx.LinearClassifierCV(**options).fit(X, y, sample_weight=weight)
    assert ours.l2_ == theirs.l2_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


def test_copies_of_vectors_are_read_only_and_are_not_copied_back(gpu):
    vectors = DeviceVectors(gpu)
    v = vectors.asarray(np.ones((2, 3)))
    copy = vectors.to_host(v)
    assert vectors.to_host(v) is copy
    assert vectors.asarray(copy) is v
    with pytest.raises(ValueError, match="read-only"):
        copy[0, 0] = 2.0
    constant = np.arange(3.0)
    assert vectors.kept(constant) is vectors.kept(constant)
    column = v[:, -1]
    assert vectors.to_host(column) is not vectors.to_host(column)  # made for one call, not kept


@pytest.mark.parametrize(
    ("offsets", "indices", "expected"),
    [
        ([0, 0, 2, 2, 4, 4], [0, 3, 1, 2], True), ([0, 2, 4], [0, 3, 3, 2], False),
        ([0, 2, 4], [1, 1, 0, 2], False), ([0, 0, 0], [], True), ([0, 1], [3], True),
        ([0, 0, 3], [0, 2, 1], False), ([0, 1, 2, 3], [3, 2, 1], True),
    ],
)  # fmt: skip
def test_columns_of_csr_must_increase_in_every_row(gpu, offsets, indices, expected):
    given = (gpu.upload(np.array(each, np.int64)) for each in (indices, offsets))
    assert device_arrays._increasing(gpu, *given) is expected
