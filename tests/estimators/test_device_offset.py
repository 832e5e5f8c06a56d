"""Fits with an offset on a device, without a GPU: see ``emulated_gpu.py``."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from emulated_gpu import COMPILER, EmulatedGpu, Tensor
from offset_oracles import objective, table, weights_of

import separatrix as sx
from separatrix.data import device_arrays, device_source
from separatrix.rows import CsrRows, rows_of, with_offset
from separatrix.rows.device import DeviceOffsetRows

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs g++ to run the kernels as C++")


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """Every number of a GPU stands for the emulated one."""
    device = EmulatedGpu()
    for module in (device_arrays, device_source):
        monkeypatch.setattr(module, "cuda", lambda number: device)
    return device


def fits(X, y, offset, weight=None, loss="logistic", **options):
    """A fit on the device and one on the host."""
    options = {"l2": 0.01, "tol": 1e-9, **options}
    on_device = Tensor(X) if isinstance(X, np.ndarray) else X
    given = {} if isinstance(X, np.ndarray) else {"device": "cuda"}
    return (
        sx.LinearClassifier(loss, **options, **given).fit(on_device, y, weight, offset=offset),
        sx.LinearClassifier(loss, **options).fit(X, y, weight, offset=offset),
    )


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("standardize", [False, True])
def test_a_fit_on_a_device_is_the_fit_on_the_host(k, standardize):
    X, y, offset = table(n=150, k=k)
    ours, theirs = fits(X, y, offset, standardize=standardize)
    assert ours.stop_ == theirs.stop_ == "optimal"
    assert ours.uses_offset_
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-12)
    if not standardize:
        value = objective("logistic", X, y, offset, weights_of(ours), 0.01)
        assert ours.objective_ == pytest.approx(value, rel=1e-13)
    for method in ("predict", "decision_function", "predict_proba"):
        found = getattr(ours, method)(Tensor(X), offset=offset)
        np.testing.assert_allclose(found, getattr(ours, method)(X, offset=offset), atol=1e-9)
    assert ours.score(Tensor(X), y, offset=offset) == ours.score(X, y, offset=offset)
    with pytest.raises(ValueError, match="was fitted with an offset"):
        ours.predict(Tensor(X))


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "k", "options"), [
    ("logistic", 2, {"solver": sx.LBFGS()}), ("logistic", 3, {"solver": sx.LBFGS()}),
    ("logistic", 3, {"solver": sx.Newton()}), ("logistic", 2, {"solver": sx.Newton()}),
    ("logistic", 3, {"solver": sx.Newton(direct_weights=1)}),
    ("squared_hinge", 2, {}), ("squared", 3, {}), ("hinge", 2, {"tol": 1e-6}),
    ("logistic", 2, {"l1": 0.01}), ("logistic", 2, {"l2": 0.0, "tol": 1e-8}),
], ids=str)  # fmt: skip
@pytest.mark.parametrize(("sparse", "vectors"), [(False, False), (True, True)])
def test_every_solver_has_the_offset_there(loss, k, options, sparse, vectors, monkeypatch):
    if vectors:  # the weights live on the device, too
        monkeypatch.setattr("separatrix.rows.device.vectors.HOST_WEIGHTS", 0)
    X, y, offset = table(n=150, k=k)
    weight = np.arange(150) % 3.0
    ours, theirs = fits(sp.csr_array(X) if sparse else X, y, offset, weight, loss, **options)
    assert ours.stop_ == theirs.stop_ == "optimal"
    tol = options.get("tol", 1e-9)
    assert abs(ours.objective_ - theirs.objective_) <= 2.0 * tol * theirs.objective_


def test_rows_that_do_not_fit_are_copied_with_their_offset(monkeypatch):
    monkeypatch.setattr(device_arrays, "fits", lambda *_: False)
    monkeypatch.setattr(device_source, "fits", lambda *_: False)
    monkeypatch.setattr(device_source, "STREAMED_BYTES", 1 << 11)
    X, y, offset = table(n=150)
    ours = sx.LinearClassifier(l2=0.01, tol=1e-9, device="cuda").fit(X, y, offset=offset)
    theirs = sx.LinearClassifier(l2=0.01, tol=1e-9).fit(X, y, offset=offset)
    assert ours.stop_ == "optimal"
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-8)


def test_files_are_placed_with_their_offset(tmp_path):
    X, y, offset = table(n=150)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, o=offset)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    source = sx.read(tmp_path / "rows.csv", target="y", offset="o", block_rows=40, dtype="float64")
    ours = sx.LinearClassifier(l2=0.01, tol=1e-9, device="cuda").fit(source)
    theirs = sx.LinearClassifier(l2=0.01, tol=1e-9).fit(X, y, offset=offset)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-8)


def test_a_search_and_a_loss_of_the_users_own():
    X, y, offset = table(n=150)
    given = {"l2s": [1e-3, 1e-1], "cv": 3, "scoring": "loss"}
    ours = sx.LinearClassifierCV(**given).fit(Tensor(X), y, offset=offset)
    theirs = sx.LinearClassifierCV(**given).fit(X, y, offset=offset)
    found, expected = (each.cv_results_["mean_test_score"] for each in (ours, theirs))
    np.testing.assert_allclose(found, expected, rtol=1e-4)

    class Mine(type(sx.get_loss("logistic"))):
        pass

    ours, theirs = fits(X, y, offset, loss=Mine(), solver=sx.LBFGS())
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-8)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_sums_of_rows_on_a_device_with_an_offset(kind, gpu):
    """Against the same rows in main memory, sum by sum; what is linear does not see the offset."""
    rng = np.random.default_rng(0)
    X, offset = rng.normal(size=(50, 4)), rng.normal(size=(50, 3))
    given = X if kind == "dense" else CsrRows.of_scipy(sp.csr_array(X))
    there = with_offset(device_arrays.uploaded(given, gpu), offset)
    here = with_offset(rows_of(given), offset)
    assert isinstance(there, DeviceOffsetRows)
    W, V = rng.normal(size=(2, 3, 5))
    y, c = rng.integers(0, 3, 50), rng.random(50)
    loss = sx.get_loss("logistic").for_classes(3)
    np.testing.assert_allclose(there.scores(W), here.scores(W), atol=1e-13)
    both = np.concatenate([W, V])  # two models at once
    np.testing.assert_allclose(there.scores(both), here.scores(both), atol=1e-13)
    for mine, theirs in zip(there.compensated_scores(W), here.compensated_scores(W), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-14)
    sums = []
    for rows in (
        there,
        here,
        there.part(10, 30),
        here.part(10, 30),
        there.take(np.arange(9, -1, -1)),
    ):
        n = rows.shape[0]
        gradient = np.zeros((3, 5))
        sums.append((*rows.value_gradient(y[:n], loss, W, c[:n], gradient), gradient))
    for mine, theirs in ((0, 1), (2, 3)):
        for a, b in zip(sums[mine], sums[theirs], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    flat = np.zeros((3, 5))
    here.take(np.arange(9, -1, -1)).value_gradient(y[:10], loss, W, c[:10], flat)
    np.testing.assert_allclose(sums[4][2], flat, atol=1e-12)
    turned = there.curvature_product(y, loss, W, V, c)
    step = 1e-6
    ends = [np.zeros((3, 5)), np.zeros((3, 5))]
    for end, sign in zip(ends, (1.0, -1.0), strict=True):
        here.value_gradient(y, loss, W + sign * step * V, c, end)
    np.testing.assert_allclose(turned, (ends[0] - ends[1]) / (2.0 * step), atol=1e-6)
    outs = [np.zeros((3, 5)), np.zeros((3, 5))]
    for rows, out in zip((there, here), outs, strict=True):
        rows.hessian_product(c, V, out)
    np.testing.assert_allclose(*outs, atol=1e-12)
    assert there.without_offset.offset is None
    np.testing.assert_array_equal(there.offset, offset)
