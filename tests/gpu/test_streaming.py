"""On a GPU: rows that are streamed, limits of memory, Ctrl-C, and memory that runs out."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
import scipy.sparse as sp

import separatrix as sx
from separatrix.data import device_source
from separatrix.data.device_source import StreamedSource

BLOCK = 16 << 20


@pytest.fixture
def pool(monkeypatch):
    """CuPy's memory pool, whose limit a test may set; blocks are small."""
    import cupy

    monkeypatch.setattr(device_source, "STREAMED_BYTES", BLOCK)
    found = cupy.get_default_memory_pool()
    found.free_all_blocks()
    yield found
    found.set_limit(size=0)
    found.free_all_blocks()


@pytest.fixture
def streams(monkeypatch):
    """How many blocks were streamed."""
    count, blocks = [], StreamedSource.blocks

    def counted(self):
        for block in blocks(self):
            count.append(len(block.y))
            yield block

    monkeypatch.setattr(StreamedSource, "blocks", counted)
    return count


def table(n=300_000, d=100, kind="float32", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=kind)
    return X, (X[:, 0] + X[:, 1] + rng.standard_normal(n) > 0).astype(int)


def fit(X, y, device="cuda", **options):
    options = {"l2": 1e-4, "solver": sx.LBFGS(), "tol": 1e-9} | options
    return sx.LinearClassifier(device=device, **options).fit(X, y)


def given(how, X, tmp_path):
    """The same rows in other containers."""
    if how == "read-only":
        X.flags.writeable = False
    elif how == "memmap":
        np.save(tmp_path / "rows.npy", X)
        return np.load(tmp_path / "rows.npy", mmap_mode="r")
    elif how == "torch":
        import torch

        return torch.from_numpy(X)
    return X


@pytest.mark.parametrize("how", ["array", "read-only", "memmap", "torch"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_streamed_rows_have_the_minimum_of_resident_ones(how, kind, pool, streams, tmp_path):
    X, y = table(kind=kind)
    resident = fit(X, y, tol=1e-12)
    assert not streams
    pool.set_limit(size=X.nbytes - 1)
    fits = [fit(given(how, X, tmp_path), y, tol=1e-12)]
    assert len(streams) >= 6 * fits[0].n_iter_
    pool.set_limit(size=X.nbytes - (20 << 20))
    fits.append(fit(X, y, tol=1e-12))
    assert np.array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].gap_ == fits[1].gap_
    assert fits[0].objective_ == pytest.approx(resident.objective_, rel=2e-12)
    np.testing.assert_allclose(fits[0].coef_, resident.coef_, atol=1e-7)


@pytest.mark.parametrize("options", [{"l1": 1e-3, "solver": "auto"}, {"standardize": True}])
def test_other_streamed_fits(options, pool, streams):
    X, y = table()
    resident = fit(X, y, tol=1e-7, **options)
    pool.set_limit(size=X.nbytes - 1)
    streamed = fit(X, y, tol=1e-7, **options)
    assert streams
    assert streamed.stop_ == resident.stop_
    assert streamed.objective_ == pytest.approx(resident.objective_, rel=2e-7)


def test_streamed_classes_and_sources(pool, streams):
    X, _ = table(n=200_000)
    y = (X[:, :5] + np.random.default_rng(1).standard_normal((len(X), 5))).argmax(axis=1)
    resident = fit(X, y, tol=1e-8)
    pool.set_limit(size=X.nbytes - 1)
    at = range(0, len(X), 50_000)
    source = sx.read(lambda: iter([(X[i : i + 50_000], y[i : i + 50_000]) for i in at]))
    for rows, labels in ((X, y), (source, None)):
        streams.clear()
        assert fit(rows, labels, tol=1e-8).objective_ == pytest.approx(
            resident.objective_, rel=1e-8
        )
        assert streams


def test_streamed_sparse_rows(pool, streams):
    rng = np.random.default_rng(0)
    n, d, each = 200_000, 5000, 20
    columns = np.sort(rng.integers(0, d - each, (n, each)), axis=1) + np.arange(each)
    X = sp.csr_array(
        (rng.standard_normal(n * each), columns.ravel(), np.arange(0, n * each + 1, each)), (n, d)
    )
    y = (X @ rng.standard_normal(d) > 0).astype(int)
    resident = fit(X, y, tol=1e-8)
    assert not streams
    pool.set_limit(size=100 << 20)
    fits = [fit(X, y, tol=1e-8) for _ in range(2)]
    assert streams
    assert np.array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].objective_ == pytest.approx(resident.objective_, rel=1e-8)


@pytest.mark.parametrize("k", [2, 30])
@pytest.mark.parametrize("options", [{}, {"solver": sx.Newton()}, {"standardize": True}])
def test_memory_in_addition_to_the_rows(k, options, pool):
    if k > 2 and "solver" in options:
        pytest.skip("Newton's system is for few classes")
    import cupy

    n, d = 2_000_000, 128
    X = cupy.random.default_rng(0).standard_normal((n, d), dtype=cupy.float32)
    y = cupy.asnumpy(X[:, :k].argmax(axis=1))
    sx.LinearClassifier(tol=1e-4, **options).fit(X[:1000], y[:1000])  # handles of libraries
    pool.free_all_blocks()
    pool.set_limit(size=int(pool.used_bytes() + 0.02 * X.nbytes + 32 * n + 1e9))
    assert sx.LinearClassifier(tol=1e-4, **options).fit(X, y).converged_


def press_ctrl_c(step, info):
    """After the third pass."""
    if info.iteration == 3:
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_keeps_the_model():
    X, y = table()
    X *= np.logspace(0, -4, X.shape[1], dtype=np.float32)
    options = {"l2": 1e-12, "solver": sx.GradientDescent(), "callbacks": [press_ctrl_c]}
    with pytest.warns(UserWarning, match="interrupted after 3 passes"):
        clf = fit(X, y, **options)
    assert clf.stop_ == "interrupted"
    assert clf.score(X, y) > 0.6


def test_ctrl_c_in_the_middle_of_a_pass_of_streamed_rows(pool, streams, monkeypatch):
    X, y = table()
    X *= np.logspace(0, -4, X.shape[1], dtype=np.float32)
    pool.set_limit(size=X.nbytes // 2)
    counted = StreamedSource.blocks

    def pressed(self):
        for block in counted(self):
            if len(streams) == 70:
                os.kill(os.getpid(), signal.SIGINT)
            yield block

    monkeypatch.setattr(StreamedSource, "blocks", pressed)
    with pytest.warns(UserWarning, match="interrupted after"):
        clf = fit(X, y, l2=1e-12, solver=sx.GradientDescent())
    assert clf.stop_ == "interrupted"
    assert 70 <= len(streams) < 90  # the last pass, for the proof, reads all rows
    assert clf.score(X, y) > 0.6


def test_memory_that_runs_out(pool):
    import torch

    X, y = table()
    clf = fit(X, y)
    before = dict(vars(clf))
    rows = torch.from_numpy(X).cuda()
    torch.cuda.synchronize()
    fill = torch.empty(torch.cuda.mem_get_info()[0] - (8 << 20), dtype=torch.uint8, device="cuda")
    with pytest.raises(MemoryError, match=r"cuda:0 is exhausted: .* GB of .* GB are free") as error:
        clf.fit(rows, np.arange(len(rows)) % 20_000)  # vectors of 16 MB
    assert "\n" not in str(error.value)
    assert vars(clf) == before
    del fill, error
    torch.cuda.empty_cache()
    again = fit(rows, y)
    np.testing.assert_allclose(again.coef_, clf.coef_, atol=1e-6)
