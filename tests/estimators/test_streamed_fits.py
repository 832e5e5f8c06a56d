"""Rows that do not fit into the memory of a device are copied there in every sum, without a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from emulated_gpu import COMPILER, EmulatedGpu
from sklearn.base import clone
from source_kinds import Chunked

import separatrix as sx
from separatrix.data import device_arrays, device_source
from separatrix.data.device_source import StreamedSource
from separatrix.loops import Interrupted, clear_stop, request_stop
from separatrix.rows import CsrRows
from separatrix.rows.device import DeviceRows
from separatrix.rows.device.staging import HostBytes
from separatrix.rows.device.thresholds import LOCKED_BYTES

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs g++ to run the kernels as C++")
N, D, ROWS = 150, 4, 32  # rows of a block


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """A device with too little memory for the rows, which then come in four or five blocks."""
    device = EmulatedGpu(free=10_900)
    for module in (device_arrays, device_source):
        monkeypatch.setattr(module, "cuda", lambda number: device)
    monkeypatch.setattr(device_source, "STREAMED_BYTES", ROWS * (8 * D + 32))
    return device


def table(k=2, sparse=False, kind="float64", n=N):
    rng = np.random.default_rng(k)
    X = np.round(8.0 * rng.standard_normal((n, D))) / 8.0
    y = (X[:, :k] + 1.5 * rng.standard_normal((n, k))).argmax(axis=1)
    X = np.where(np.abs(X) > 0.7, X, 0.0).astype(kind)
    return (sp.csr_array(X) if sparse else X), y


def pair(X, y, loss="logistic", sample_weight=None, **options):
    """A fit of streamed rows, and one on the host."""
    options = {"l2": 0.01, "tol": 1e-9, **options}
    return [
        sx.LinearClassifier(loss, device=device, **options).fit(X, y, sample_weight)
        for device in ("cuda", None)
    ]


def alike(ours, theirs, rel=1e-9):
    assert ours.stop_ == theirs.stop_
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=rel)
    assert (ours.gap_ is None) == (theirs.gap_ is None)
    if ours.gap_ is not None:
        assert ours.objective_ - ours.gap_ <= theirs.objective_
        assert theirs.objective_ - theirs.gap_ <= ours.objective_


@pytest.mark.sampled(1)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_a_fit_of_streamed_rows_is_the_fit_on_the_host(k, sparse, gpu):
    X, y = table(k, sparse)
    ours, theirs = pair(X, y, solver=sx.LBFGS())
    assert len(gpu.copied) >= 4 * ours.n_iter_
    assert max(gpu.copied) <= ROWS * 8 * D
    alike(ours, theirs)
    again = clone(ours).fit(X, y)
    assert np.array_equal(again.coef_, ours.coef_)
    assert again.gap_ == ours.gap_


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    ("loss", "options"),
    [
        ("logistic", {}), ("logistic", {"solver": sx.Newton()}),
        ("logistic", {"solver": sx.Newton(direct_weights=1)}),
        ("logistic", {"solver": sx.GradientDescent(), "tol": 1e-3}),
        ("logistic", {"l1": 0.01}), ("logistic", {"l1": 0.01, "groups": "classes"}),
        ("logistic", {"standardize": True}), ("logistic", {"fit_intercept": False}),
        ("logistic", {"class_weight": "balanced"}),
        ("logistic", {"sample_weight": np.arange(150.0) % 3}),
        ("squared", {}), ("squared", {"solver": sx.LeastSquares(direct_size=1)}),
        ("squared_hinge", {}), ("tanh_squared", {}), ("one_vs_rest_logistic", {}), ("hinge", {}),
    ],
    ids=repr,
)  # fmt: skip
def test_losses_penalties_and_solvers(loss, options, k, gpu):
    ours, theirs = pair(*table(k), loss, **options)
    assert len(gpu.copied) > 8
    if "GradientDescent" in repr(options):
        assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-3)
        return
    alike(ours, theirs)


def test_columns_far_from_zero_and_a_constant_one(gpu):
    X, y = table()
    X = np.column_stack([X + np.array([1e5, 0.0, -3.0, 1.0]), np.full(N, 7.0)])
    alike(*pair(X, y, standardize=True, solver=sx.LBFGS(), tol=1e-7), rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_read_only_and_mapped_rows(kind, tmp_path):
    X, y = table(kind=kind)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    X.flags.writeable = False
    fits = [
        sx.LinearClassifier(l2=0.01, device="cuda", solver=sx.LBFGS()).fit(given, y)
        for given in (X, mapped)
    ]
    assert np.array_equal(fits[0].coef_, fits[1].coef_)


def sources(X, y, tmp_path):
    """Of arrays, of blocks, and of files."""
    rows = CsrRows.of_scipy(X) if sp.issparse(X) else X
    labels = 2.0 * y - 1.0
    yield sx.ArraySource(rows, labels, np.arange(2))
    yield Chunked(rows, labels, np.arange(2), None) if not sp.issparse(X) else None
    yield sx.read(lambda: iter([(X[:70], y[:70]), (X[70:], y[70:])]), block_rows=60)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("sparse", [False, True])
def test_sources(sparse, tmp_path, gpu):
    X, y = table(sparse=sparse, n=240)
    plain = sx.LinearClassifier(l2=0.01, solver=sx.LBFGS()).fit(X, y)
    for source in sources(X, y, tmp_path):
        if source is None:
            continue
        gpu.copied.clear()
        clf = sx.LinearClassifier(l2=0.01, solver=sx.LBFGS(), device="cuda").fit(source)
        assert len(gpu.copied) > 4
        alike(clf, plain)


def streamed(gpu, sparse=False, weighted=True):
    X, y = table(sparse=sparse)
    rows = CsrRows.of_scipy(X) if sparse else X
    weight = (np.arange(N) % 4).astype(float) if weighted else None
    source = sx.ArraySource(rows, 2.0 * y - 1.0, np.arange(2), weight)
    return source, StreamedSource(source, gpu)


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_samples_and_facts(sparse, gpu):
    source, there = streamed(gpu, sparse)
    before, starts = 0, []
    for block in there.blocks():
        own = source.block(block.at)
        np.testing.assert_array_equal(block.rows.to_dense(), own.rows.to_dense())
        np.testing.assert_array_equal(block.y, own.y)
        np.testing.assert_array_equal(block.weights, own.weights)
        assert block.start == before
        before += len(block.y)
        starts.append(block.start)
    assert before == N
    gpu.free *= 2
    again = StreamedSource(source, gpu).blocks()
    assert starts == [block.start for block in again]  # whatever memory is free
    gpu.free //= 4
    assert len(list(StreamedSource(source, gpu).blocks())) > len(starts)  # unless it is short
    assert there.fingerprint() == source.fingerprint()
    assert not there.visitable
    assert (there.n_rows, there.weight_sum) == (source.n_rows, source.weight_sum)
    some = there.take(np.array([3, 120])).block()
    assert isinstance(some.rows, DeviceRows)
    np.testing.assert_array_equal(
        some.rows.to_dense(), source.take(np.array([3, 120])).block().rows.to_dense()
    )
    sample = there.sample(10)
    np.testing.assert_array_equal(
        sample.block().rows.to_dense(),
        source.sample(len(sample.y)).block().rows.to_dense(),
    )


def test_each_block_is_copied_before_the_one_before_it_is_used(gpu):
    _, there = streamed(gpu)
    blocks, seen = there.blocks(), []
    for _ in blocks:
        seen.append(len(gpu.copied))
    assert seen[:3] == [2, 3, 4]
    assert seen[-1] == len(gpu.copied) == len(seen)


def test_a_request_to_stop_ends_a_sum(gpu):
    _, there = streamed(gpu)
    blocks = there.blocks()
    next(blocks)
    request_stop()
    try:
        with pytest.raises(Interrupted):
            list(blocks)
    finally:
        clear_stop()


@pytest.mark.parametrize(
    "clf", [sx.Perceptron(), sx.LinearClassifier(solver=sx.CoordinateDescent(), device="cuda")]
)
def test_methods_that_visit_rows_refuse(clf, gpu):
    _, there = streamed(gpu)
    with pytest.raises(TypeError, match="one after another"):
        clf.fit(there)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"l1_ratio": 1.0, "strengths": 3}])
def test_cross_validation(options, gpu):
    X, y = table()
    options = {"l2s": [0.1, 0.01], "cv": 2, "scoring": "loss", "device": "cuda", **options}
    ours = sx.LinearClassifierCV(**options).fit(X, y)
    assert len(gpu.copied) > 20
    source = Chunked(X, 2.0 * y - 1.0, np.arange(2), None)
    theirs = sx.LinearClassifierCV(**{**options, "device": None}).fit(source)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-4)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-5)
    with pytest.raises(TypeError, match="needs rows in memory, but StreamedSource reads"):
        sx.LinearClassifierCV(device="cuda", scoring="roc_auc").fit(X, y)


def test_spans_are_cut_at_multiples():
    piece = LOCKED_BYTES
    assert list(HostBytes(5, piece).pieces()) == [(5, piece)]
    parts = [(piece - 1, piece), (piece, 2 * piece), (2 * piece, 2 * piece + 1)]
    assert list(HostBytes(piece - 1, 2 * piece + 1).pieces()) == parts
    assert list(HostBytes(7, 7).pieces()) == []
