"""Sums over rows on a device: the kernels run as C++, thread by thread, against NumPy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from device_rows import DeviceArray
from emulated_gpu import COMPILER, EmulatedGpu

import separatrix as sx
from separatrix.data import Block
from separatrix.data.device_arrays import uploaded
from separatrix.numeric.standardization import Standardization
from separatrix.objective.sums import BiasCurvature, ClassHessian, HessianProduct
from separatrix.proofs.rounding import ExactValue
from separatrix.rows import CsrRows, DenseRows
from separatrix.rows.device import CudaKernel, DeviceDenseRows, csr, tiled
from separatrix.rows.device.residents import Residents
from separatrix.rows.device.team import Team

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs g++ to run the kernels as C++")
LOSSES = ("logistic", "squared", "squared_hinge", "tanh_squared", "hinge", "perceptron")


def bfloat16(X):
    """The bits of values that bfloat16 can hold."""
    return (X.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def both(n, d, kind="float64", k=2, seed=0):
    """The same rows on the device and on the host, labels, and weights with zeros."""
    rng = np.random.default_rng(seed)
    X = np.round(8.0 * rng.standard_normal((n, d))) / 8.0
    gpu = EmulatedGpu()
    held = bfloat16(X) if kind == "bfloat16" else X.astype(kind)
    weight = rng.random(n)
    weight[::7] = 0.0
    y = rng.choice([-1.0, 1.0], n) if k == 2 else rng.integers(0, k, n)
    return DeviceDenseRows(gpu, gpu.upload(held), kind), DenseRows(X), y, weight


def compare(there, here, y, weight, loss, W, rtol=1e-13):
    k, d = W.shape
    gradients, curvatures = np.ones((2, k, d)), np.zeros((2, len(y)))
    bend = loss.has_curvature and k == 1
    sums = [
        rows.value_gradient(y, loss, W, weight, gradients[i], curvatures[i] if bend else None)
        for i, rows in enumerate((there, here))
    ]
    np.testing.assert_allclose(sums[0], sums[1], rtol=rtol)
    np.testing.assert_allclose(*gradients, atol=10 * rtol * np.abs(gradients).max())
    np.testing.assert_allclose(*curvatures, rtol=rtol, atol=rtol)


@pytest.mark.parametrize(
    ("kind", "d"), [("float64", 5), ("float32", 64), ("float16", 3), ("bfloat16", 130)]
)
def test_one_read_for_two_classes(kind, d):
    there, here, y, weight = both(75, d, kind)
    W = np.random.default_rng(1).standard_normal((1, d + 1))
    compare(there, here, y, weight, sx.get_loss("logistic"), W)
    assert [kernel.name for kernel in there.device.launched] == ["dense_pass", "sum_rows"]


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 33, 600, 1100, 2100, 4200])
@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
def test_rows_of_any_width(kind, d):
    there, here, y, weight = both(41, d, kind)
    W = np.random.default_rng(1).standard_normal((1, d + 1)) / np.sqrt(d)
    compare(there, here, y, weight, sx.get_loss("logistic"), W)


def test_wider_rows_take_tiles():
    assert Team.of(9000, 8, aligned=True) is None
    there, here, y, weight = both(9, 9000)
    W = np.random.default_rng(1).standard_normal((1, 9001)) / 90.0
    compare(there, here, y, weight, sx.get_loss("squared"), W, rtol=1e-12)
    assert "dense_pass" not in {kernel.name for kernel in there.device.launched}


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_of_two_classes(loss):
    there, here, y, weight = both(64, 4)
    W = np.random.default_rng(1).standard_normal((1, 5))
    compare(there, here, y, weight, sx.get_loss(loss), W)


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 40])
@pytest.mark.parametrize("loss", [*LOSSES, "one_vs_rest_logistic", "one_vs_rest_hinge"])
def test_losses_of_many_classes(loss, k):
    there, here, y, weight = both(50, 4, k=k)
    W = np.random.default_rng(1).standard_normal((k, 5))
    compare(there, here, y, weight, sx.get_loss(loss).for_classes(k), W)


def test_softmax_at_ties_and_extremes():
    there, here, y, _ = both(40, 4, k=5)
    loss = sx.get_loss("logistic").for_classes(5)
    for W in (np.zeros((5, 5)), 300.0 * np.eye(5)):
        compare(there, here, y, None, loss, W)


def test_second_derivatives():
    there, here, y, weight = both(60, 4, k=3)
    W, V = np.random.default_rng(2).standard_normal((2, 3, 5))
    loss, how = sx.get_loss("logistic").for_classes(3), Standardization(np.ones(4), np.full(5, 2.0))
    ours, theirs = (sx.ArraySource(rows.X, y, np.arange(3), weight) for rows in (there, here))
    for sum in (HessianProduct(loss, W, V), BiasCurvature(loss, W), ClassHessian(loss, W, how)):
        found, expected = ours.total(sum)[0], theirs.total(sum)[0]
        np.testing.assert_allclose(found, expected, atol=1e-12)
    products = np.zeros((2, 3, 5))
    for rows, out in zip((there, here), products, strict=True):
        rows.hessian_product(weight, V, out)
    np.testing.assert_allclose(*products, atol=1e-12)


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_other_sums(kind):
    there, here, group, weight = both(90, 7, kind, k=3)
    rng = np.random.default_rng(3)
    W, C, shift = rng.standard_normal((2, 8)), rng.standard_normal((90, 2)), rng.random(7)
    np.testing.assert_allclose(there.scores(W), here.scores(W), atol=1e-13)
    np.testing.assert_allclose(there.squared_norms(), here.squared_norms(), rtol=1e-13)
    sums = np.ones((2, 2, 8))
    for rows, out in zip((there, here), sums, strict=True):
        rows.transpose_product(C, out)
    np.testing.assert_allclose(*sums, atol=1e-12)
    for of, at in ((None, None), (group % 2, shift), (group, shift)):
        count = 1 if of is None else int(of.max()) + 1
        shape = (7,) if of is None else (count, 7)
        found = [(np.zeros(shape), np.zeros(7)) for _ in range(2)]
        for rows, (sum, squares) in zip((there, here), found, strict=True):
            rows.moments(weight, of, at, sum, squares)
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
    how = Standardization(shift, np.append(shift + 0.5, 2.0))
    for c in (weight, weight - 0.5):
        np.testing.assert_allclose(there.gram(c, how), here.gram(c, how), atol=1e-11)
    for ours, theirs in zip(there.compensated_scores(W), here.compensated_scores(W), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    pairs = [rows.compensated_transpose_product(C) for rows in (there, here)]
    ours, theirs = (high + low for high, low in pairs)  # which may be split in another way
    np.testing.assert_allclose(ours, theirs, rtol=1e-15)


def test_rows_are_taken_on_the_device_and_copied_home():
    there, here, _, _ = both(30, 5, "float16")
    at = np.array([4, 2, 29])
    for ours, theirs in [
        (there.take(at), here.take(at)), (there.part(3, 9), here.part(3, 9)),
        (there.take_features(at[:2]), here.take_features(at[:2])),
        (DeviceDenseRows.concatenated([there.part(0, 3), there.part(9, 30)]),
         DenseRows(np.concatenate([here.X[:3], here.X[9:]]))),
    ]:  # fmt: skip
        np.testing.assert_array_equal(ours.to_dense(), theirs.to_dense())
    assert there.home().dtype == there.dtype == np.float32
    assert not there.visitable


def test_products_of_bfloat16_pairs_keep_five_digits():
    there, here, y, weight = both(60, 4, "float32", k=3)
    W, loss = np.random.default_rng(1).standard_normal((3, 5)), sx.get_loss("logistic")
    gradients, sums = np.zeros((2, 3, 5)), []
    for rows, gradient in zip((there, here), gradients, strict=True):
        of = loss.for_classes(3)
        sums.append(rows.value_gradient(y, of, W, weight, gradient, float32_sums=True))
    assert "split_bfloat16" in {kernel.name for kernel in there.device.launched}
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-5)
    np.testing.assert_allclose(*gradients, atol=3e-5 * np.abs(gradients).max())
    assert np.abs(gradients[0] - gradients[1]).max() > 0.0


def test_small_memory_makes_small_tiles():
    there, here, y, weight = both(300, 3, k=3)
    W = np.random.default_rng(1).standard_normal((3, 4))
    loss = sx.get_loss("logistic").for_classes(3)
    compare(there, here, y, weight, loss, W)
    size, there.device.free = there.tile_rows(3), 1
    assert there.tile_rows(3) < size
    compare(there, here, y, weight, loss, W)


def test_sparse_rows():
    rng = np.random.default_rng(0)
    matrix = sp.random_array((120, 30), density=0.1, format="csr", rng=rng)
    matrix = sp.vstack([matrix, sp.csr_array((3, 30))], format="csr")  # rows without values
    here = CsrRows.of_scipy(matrix)
    there = uploaded(here, EmulatedGpu())
    weight, y = rng.random(123), rng.integers(0, 3, 123)
    compare(there, here, y, weight, sx.get_loss("logistic").for_classes(3), rng.random((3, 31)))
    sign = np.where(y > 0, 1.0, -1.0)
    compare(there, here, sign, weight, sx.get_loss("logistic"), rng.random((1, 31)))
    part, same = there.part(20, 90), here.part(20, 90)
    compare(part, same, y[20:90], None, sx.get_loss("logistic").for_classes(3), rng.random((3, 31)))
    found = [(np.zeros((2, 30)), np.zeros(30)) for _ in range(2)]
    for rows, (sum, squares) in zip((there, here), found, strict=True):
        rows.moments(weight, (y > 0).astype(np.int64), None, sum, squares)
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-13)
    at = np.array([7, 0, 122])
    np.testing.assert_array_equal(there.take(at).to_dense(), here.take(at).to_dense())
    for ours, theirs in ((there, here), (part, same)):
        np.testing.assert_allclose(ours.squared_norms(), theirs.squared_norms(), rtol=1e-15)
        W = 1e8 * rng.standard_normal((2, 31))
        pairs = zip(ours.compensated_scores(W), theirs.compensated_scores(W), strict=True)
        (high, expected), (low, rest) = pairs
        np.testing.assert_array_equal(high, expected)
        np.testing.assert_allclose(low, rest, rtol=1e-12, atol=1e-24)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_exact_sums_of_sparse_rows(loss):
    rng = np.random.default_rng(0)
    here = CsrRows.of_scipy(sp.random_array((80, 9), density=0.4, format="csr", rng=rng))
    there, y = uploaded(here, EmulatedGpu()), rng.choice([-1.0, 1.0], 80)
    weight, W = np.arange(80.0) % 3, 30.0 * rng.standard_normal((1, 10))
    asked = ExactValue(sx.get_loss(loss), W)
    for c in (None, weight):
        found, expected = (asked.of(Block(rows, y, c, 0)) for rows in (there, here))
        np.testing.assert_allclose(found, expected, rtol=1e-15)
    high, low = there.compensated_scores(W)
    assert there.exact_sums(y, sx.get_loss(loss), None, np.full((1, 10), 1e308), None) is None
    assert high.shape == low.shape == (80, 1)


def test_columns_of_many_entries_are_cut(monkeypatch):
    monkeypatch.setattr(csr, "SEGMENT", 7)
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((90, 5)) < [1.0, 0.5, 0.0, 0.1, 0.3], rng.random((90, 5)), 0.0)
    here = CsrRows.of_scipy(sp.csr_array(dense))
    there, C = uploaded(here, EmulatedGpu()), rng.random((90, 2))
    sums = np.zeros((2, 2, 6))
    for rows, out in zip((there, here), sums, strict=True):
        rows.transpose_product(C, out)
    np.testing.assert_allclose(*sums, rtol=1e-13)
    (turned,) = there.turned.values()
    assert turned.segments == sum(-(-int(n) // 7) for n in np.count_nonzero(dense, axis=0))


def test_sums_of_many_rows_are_made_in_parts(monkeypatch):
    monkeypatch.setattr(tiled, "SUMMED_ROWS", 10)
    there, _, _, _ = both(5, 3)
    gpu, values = there.device, np.random.default_rng(0).random((97, 3))
    for width, start in ((1, 0.0), (2, 1.0), (3, 1.0)):
        out = gpu.upload(np.full(width, start))
        some = np.ascontiguousarray(values[:, :width])
        there.column_sums(gpu.upload(some), out, add=start > 0.0)
        np.testing.assert_allclose(out.held, start + some.sum(axis=0), rtol=1e-14)


def test_runs_have_the_same_bits():
    there, _, y, weight = both(200, 6)
    W, found = np.random.default_rng(1).standard_normal((1, 7)), []
    for _ in range(2):
        gradient = np.zeros((1, 7))
        sums = there.value_gradient(y, sx.get_loss("logistic"), W, weight, gradient)
        found.append((*sums, *gradient[0]))
    assert found[0] == found[1]


def test_labels_are_copied_once_and_only_while_they_are_the_same():
    gpu = EmulatedGpu()
    residents, y = Residents(gpu), np.arange(10.0)
    residents.keep(y)
    whole = residents.on_device(y)
    part = residents.on_device(y[3:7])
    assert np.shares_memory(whole.held, part.held)
    np.testing.assert_array_equal(part.held, y[3:7])
    for other in (y.copy(), y[::2], y.astype(np.float32), y[:0]):
        found = residents.on_device(other)
        assert not np.shares_memory(whole.held, found.held)
        np.testing.assert_array_equal(found.held, other)


def test_vectors_of_the_device_stay_there():
    there, here, y, _ = both(80, 5)
    W = np.random.default_rng(1).standard_normal((1, 6))
    gpu, loss = there.device, sx.get_loss("logistic")
    value, _, gradient = there.value_gradient_on_threads(
        y, loss, gpu.upload(W), None, None, 1, False
    )
    assert type(gradient) is DeviceArray
    expected = np.zeros((1, 6))
    assert value == pytest.approx(here.value_gradient(y, loss, W, None, expected)[0])
    np.testing.assert_allclose(gradient.held, expected, atol=1e-12)


def test_kernels_are_text_with_macros():
    kernel = CudaKernel.of("sum_rows", COLUMNS=2, ADD=0)
    assert kernel.options == ("-DADD=0", "-DCOLUMNS=2")
    assert "#include" not in CudaKernel.of("dense_pass").source
    assert pickle.loads(pickle.dumps(kernel)) == kernel
