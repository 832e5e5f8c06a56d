"""Fits of rows on a GPU: `python -m benchmarks.gpu [part ...]`.

The parts are passes, logistic, large, softmax, path, sparse and streaming; by default four of them.
Rows and labels are on the GPU and the kernels are compiled before a time is taken; each time is the
median of a few runs. Needs CuPy and torch; scikit-learn and torch.optim.LBFGS are run on the same
data, unless `--no-peers` is given. `--quick` uses a tenth of the rows.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import scipy.sparse
import torch

import separatrix as sx
from separatrix.data.device_arrays import device_rows

PASS_BYTES, LARGE_BYTES, PATH_SECONDS = 16e9, 100e9, 240.0


def seconds(run: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """Median wall time, and the last result; the first run is not counted."""
    run()
    taken, result = [], None
    for _ in range(times):
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = run()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken)), result


def show(name: str, text: str) -> None:
    """One line of the report."""
    print(f"{name:<44} {text}", flush=True)


def passes(share: float) -> None:
    """Goal 1: bandwidth of value and gradient."""
    for kind in (torch.float32, torch.float64, torch.bfloat16):
        for d in (128, 256, 512):
            passes_of(kind, d, int(share * PASS_BYTES / (d * torch.finfo(kind).bits / 8)))
            release()


def passes_of(kind: torch.dtype, d: int, n: int) -> None:
    """With sums in float64 and in float32."""
    loss, rng = sx.get_loss("logistic"), np.random.default_rng(0)
    rows = device_rows(torch.randn(n, d, device="cuda").to(kind), finite=False)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    rows.keep(y)
    W = rng.standard_normal((1, d + 1)) / math.sqrt(d)
    for sums in ("float64", "float32"):

        def run(single: bool = sums == "float32") -> Any:
            return rows.value_gradient_on_threads(y, loss, W, None, no_edges, 1, single)

        took, _ = seconds(run, 9)
        show(f"pass, {kind}, d = {d}, {sums} sums", f"{rows.nbytes / took / 1e12:.2f} TB/s")


no_edges = np.empty(0, np.int64)


def release() -> None:
    """Return the memory of both libraries."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    torch.cuda.empty_cache()


def logistic_rows(n: int, d: int, correlated: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Two classes; correlated columns have the condition number 1e4."""
    torch.manual_seed(0)
    X = torch.empty(n, d, device="cuda")
    turn = torch.linalg.qr(torch.randn(d, d, device="cuda"))[0]
    scale = torch.logspace(0, -4, d, device="cuda").sqrt()
    w = torch.randn(d, device="cuda") / math.sqrt(d)
    y = torch.empty(n, dtype=torch.int64, device="cuda")
    for at in torch.arange(n).split(1_000_000):
        some = slice(int(at[0]), int(at[-1]) + 1)
        part = torch.randn(len(at), d, device="cuda")
        X[some] = (part * scale) @ turn if correlated else part
        y[some] = (X[some] @ w * 2.0 + torch.randn(len(at), device="cuda") > 0).long()
    return X, y


def objective(X: torch.Tensor, y: torch.Tensor, W: Any, l2: float) -> float:
    """J in float64, by torch alone: logistic for one row of weights, else softmax."""
    weights = torch.as_tensor(np.asarray(W), device="cuda", dtype=torch.float64)
    total = 0.0
    for some in range(0, len(X), 65_536):
        scores = X[some : some + 65_536].double() @ weights[:, :-1].T + weights[:, -1]
        label = y[some : some + 65_536]
        if scores.shape[1] == 1:
            sign = 2.0 * label - 1.0
            total += float(torch.nn.functional.softplus(-sign * scores[:, 0]).sum())
        else:
            total += float(torch.nn.functional.cross_entropy(scores, label, reduction="sum"))
    return total / len(X) + l2 * float((weights[:, :-1] ** 2).sum())


def logistic(share: float, peers: bool) -> None:
    """Goal 2: 10,000,000 x 128 to a proven 1e-6."""
    for correlated in (True, False):
        logistic_fit(int(share * 10_000_000), correlated, peers)
        release()


def logistic_fit(n: int, correlated: bool, peers: bool) -> None:
    """One of the two data sets."""
    X, y = logistic_rows(n, 128, correlated)
    name, l2 = f"logistic, {n} x 128, {'' if correlated else 'un'}correlated", 1e-6
    took, clf = seconds(lambda: sx.LinearClassifier(l2=l2, solver=sx.LBFGS()).fit(X, y))
    show(name, f"{took:.4f} s, {proof_of(clf)}")
    if peers:
        sklearn_fit(name, X, y, l2, clf.objective_ - clf.gap_, 1e-6)


def large(share: float) -> None:
    """Goal 1: 100 GB of rows to a proven 1e-6."""
    d = 256
    X, y = logistic_rows(int(share * LARGE_BYTES / (4 * d)), d, True)
    took, clf = seconds(lambda: sx.LinearClassifier(l2=1e-6, solver=sx.LBFGS()).fit(X, y))
    show(f"logistic, {X.nbytes / 1e9:.0f} GB, d = {d}", f"{took:.3f} s, {proof_of(clf)}")


def proof_of(clf: Any) -> str:
    """How a fit ended, and what it proved."""
    gap = (clf.gap_ or 0.0) / clf.objective_
    return f"{clf.stop_}, {clf.n_iter_} steps, proven {gap:.1e}"


def sklearn_fit(name: str, X: Any, y: Any, l2: float, least: float, tol: float) -> None:
    """The loosest tolerance of scikit-learn that reaches the accuracy."""
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression

    for given in (1e-3, 1e-4, 1e-5, 1e-6):
        model = LogisticRegression(C=1.0 / (2.0 * l2 * len(X)), tol=given, max_iter=1000)
        try:
            with config_context(array_api_dispatch=True):
                took, fitted = seconds(partial(model.fit, X, y), 1)
        except Exception as error:
            show(f"{name}, scikit-learn", f"failed: {error!r:.80}")
            return
        W = torch.column_stack([fitted.coef_, fitted.intercept_]).cpu().numpy()
        off = objective(X, y, W, l2) / least - 1.0
        show(f"{name}, scikit-learn", f"{took:.3f} s, {off:.1e} above the bound (tol={given})")
        if off <= tol:
            return


def torch_lbfgs(name: str, X: Any, y: Any, k: int, l2: float, least: float) -> None:
    """torch.optim.LBFGS in float32, as many steps as reach 1e-4, at most 200."""
    W = torch.zeros(k, X.shape[1] + 1, device="cuda", requires_grad=True)
    solver = torch.optim.LBFGS([W], max_iter=10, history_size=10, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        solver.zero_grad()
        total = 0.0
        for some in range(0, len(X), 131_072):
            scores = X[some : some + 131_072] @ W[:, :-1].T + W[:, -1]
            label = y[some : some + 131_072]
            part = torch.nn.functional.cross_entropy(scores, label, reduction="sum") / len(X)
            part.backward()
            total += part.detach()
        rest = l2 * (W[:, :-1] ** 2).sum()
        rest.backward()
        return total + rest.detach()

    torch.cuda.synchronize()
    start, off = time.perf_counter(), math.inf
    for _ in range(20):
        solver.step(closure)
        torch.cuda.synchronize()
        took = time.perf_counter() - start
        off = objective(X, y, W.detach().double().cpu().numpy(), l2) / least - 1.0
        if off <= 1e-4:
            break
    show(f"{name}, torch.optim.LBFGS", f"{took:.1f} s, {off:.1e} above the bound (no proof)")


def softmax_rows(n: int = 1_281_167, d: int = 1024, k: int = 1000) -> tuple[Any, Any]:
    """Like the features of a network: see docs/gpu.md."""
    torch.manual_seed(0)
    means = 0.5 * torch.randn(k, d, device="cuda")
    turn = torch.linalg.qr(torch.randn(d, d, device="cuda"))[0]
    scale = torch.logspace(0, -1.5, d, device="cuda")
    y = torch.randint(k, (n,), device="cuda")
    X = torch.empty(n, d, device="cuda")
    for start in range(0, n, 65_536):
        at = slice(start, start + 65_536)
        part = means[y[at]] + 1.8 * torch.randn(len(y[at]), d, device="cuda")
        part = (part * scale) @ turn
        X[at] = 32.0 * part / part.norm(dim=1, keepdim=True)
    wrong = torch.rand(n, device="cuda") < 0.1
    y[wrong] = torch.randint(k, (int(wrong.sum()),), device="cuda")
    return X, y


def softmax(share: float, peers: bool) -> None:
    """Goal 3: 1,000 classes."""
    X, y = softmax_rows(int(share * 1_281_167))
    sx.LinearClassifier(tol=1e-2, solver=sx.LBFGS()).fit(X[:100_000], y[:100_000])  # compiles
    for l2, tol in ((1e-5, 1e-4), (1.2e-6, 1e-4), (1e-5, 1e-6)):
        name = f"softmax, {len(X)} x 1024 x 1000, l2={l2}, tol={tol}"
        start = time.perf_counter()
        clf = sx.LinearClassifier(l2=l2, tol=tol, solver=sx.LBFGS()).fit(X, y)
        took = time.perf_counter() - start
        show(name, f"{took:.2f} s, {proof_of(clf)}")
        if peers and tol == 1e-4:
            torch_lbfgs(name, X, y, 1000, l2, clf.objective_ - (clf.gap_ or 0.0))


def path(share: float) -> None:
    """Goal 3: 45 values of C, each to a proven 1e-3; ends after the seconds of the goal."""
    X, y = softmax_rows(int(share * 1_281_167))
    clf = sx.LinearClassifier(tol=1e-3, solver=sx.LBFGS(), warm_start=True)
    start = time.perf_counter()
    for C in np.logspace(-6, 5, 45):
        clf.set_params(l2=1.0 / (2.0 * C * len(X))).fit(X, y)
        took = time.perf_counter() - start
        show(f"  C = {C:.2g}", f"{took:.1f} s in all, {proof_of(clf)}")
        if took > PATH_SECONDS:
            break


def sparse(share: float) -> None:
    """Goal 4: 10,000,000 x 1,000,000 with 39 values a row, one for each field."""
    import cupy
    import cupyx.scipy.sparse

    n, d, each = int(share * 10_000_000), 1_000_000, 39
    rng = cupy.random.default_rng(0)
    width = d // each
    field = cupy.arange(each, dtype=cupy.int32) * width
    draws = rng.random((n, each), dtype=cupy.float32)
    indices = (field + (width * draws**3).astype(cupy.int32)).ravel()
    offsets = cupy.arange(0, n * each + 1, each, dtype=cupy.int32)
    X = cupyx.scipy.sparse.csr_matrix(
        (cupy.ones(n * each, cupy.float32), indices, offsets), shape=(n, d)
    )
    w = rng.standard_normal(d)
    y = (X @ w.astype(cupy.float32) > 0).astype(cupy.int64)
    here = scipy.sparse.csr_matrix(tuple(map(cupy.asnumpy, (X.data, X.indices, X.indptr))), X.shape)
    host = f"{os.cpu_count()} cores", here, cupy.asnumpy(y), 1
    for name, rows, labels, times in (("GPU", X, y, 5), host):
        model = sx.LinearClassifier(l2=1e-7, solver=sx.LBFGS())
        took, clf = seconds(partial(model.fit, rows, labels), times)
        show(f"sparse, {n} x {d}, {name}", f"{took:.2f} s, {clf.stop_}, {clf.n_iter_} steps")


def streaming(share: float) -> None:
    """Goal 5: 40 GB of float32 rows in main memory, of which the GPU may hold a quarter."""
    import cupy

    from separatrix.data.device_source import StreamedSource
    from separatrix.objective.sums import ValueGradient
    from separatrix.rows.device import cuda

    n, d = int(share * 78_125_000), 128
    show("the bus, from locked memory", f"{bus() / 1e9:.1f} GB/s")
    X, y = host_rows(n, d)
    rng, pool = np.random.default_rng(0), cupy.get_default_memory_pool()
    pool.set_limit(size=X.nbytes // 4)
    source = StreamedSource(sx.ArraySource(X, 2.0 * y - 1.0, np.arange(2)), cuda(0))
    asked = ValueGradient(sx.get_loss("logistic"), rng.standard_normal((1, d + 1)) / math.sqrt(d))
    for what in ("first pass, which locks pages", "later passes"):
        took = min(timed(lambda: source.total(asked)) for _ in range(1 if "first" in what else 3))
        show(f"streaming {X.nbytes / 1e9:.0f} GB, {what}", f"{X.nbytes / took / 1e9:.1f} GB/s")
    cuda(0).release()
    took = min(timed(lambda: source.total(asked)) for _ in range(2))
    show("the same, copied to a locked buffer", f"{X.nbytes / took / 1e9:.1f} GB/s")
    cuda(0).release()
    start = time.perf_counter()
    clf = sx.LinearClassifier(l2=1e-6, solver=sx.LBFGS(), device="cuda").fit(X, y)
    took = time.perf_counter() - start
    show("a fit of these rows to a proven 1e-6", f"{took:.1f} s, {clf.stop_}, {clf.n_iter_} steps")
    pool.set_limit(size=0)


def timed(run: Callable[[], Any]) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def bus() -> float:
    """Bytes per second of copies from locked memory."""
    here = torch.empty(1 << 30, dtype=torch.uint8).pin_memory()
    there = torch.empty_like(here, device="cuda")
    return len(here) / min(timed(lambda: there.copy_(here, non_blocking=True)) for _ in range(5))


def host_rows(n: int, d: int) -> tuple[Any, Any]:
    """Two classes in main memory, drawn on threads."""
    X, y = np.empty((n, d), np.float32), np.empty(n, np.int64)
    w = np.random.default_rng(0).standard_normal(d, np.float32) / math.sqrt(d)
    parts = np.array_split(np.arange(n), 256)

    def draw(number: int) -> None:
        at, rng = slice(parts[number][0], parts[number][-1] + 1), np.random.default_rng(number)
        rng.standard_normal(out=X[at], dtype=np.float32)
        y[at] = 2.0 * (X[at] @ w) + rng.standard_normal(len(parts[number])) > 0.0

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(draw, range(len(parts))))
    return X, y


def main() -> None:
    """Run the parts that are named, or all but the longest."""
    known = ("passes", "logistic", "large", "softmax", "path", "sparse", "streaming")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[*known[:4]], metavar="part")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--no-peers", action="store_true", help="separatrix alone")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(known):
        parser.error(f"unknown parts {sorted(unknown)}: expected some of {', '.join(known)}")
    share, peers = 0.1 if given.quick else 1.0, not given.no_peers
    for name in given.parts:
        if name in ("logistic", "softmax"):
            globals()[name](share, peers)
        else:
            globals()[name](share)


if __name__ == "__main__":
    main()
