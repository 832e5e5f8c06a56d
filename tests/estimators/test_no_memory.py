"""Fits in which one allocation of the compiled module fails: MemoryError, or the usual result."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FAILING_NEW = Path(__file__).parent.parent / "cpp" / "failing_new.cpp"

FITS = """
import ctypes, sys, warnings
import numpy as np
import scipy.sparse as sp
import separatrix as s

warnings.simplefilter("ignore")
new = ctypes.CDLL(None)
new.fail_at.argtypes = [ctypes.c_long]
rng = np.random.default_rng(0)
X = rng.standard_normal((120, 6))
y = X[:, 0] + rng.standard_normal(120) > 0
three = (X[:, :3] + rng.standard_normal((120, 3))).argmax(axis=1)
sparse = sp.random_array((120, 30), density=0.1, rng=0, format="csr")
with open(sys.argv[1], "w") as file:
    for row, label in zip(X, y):
        print(int(label), *(f"{j}:{x}" for j, x in enumerate(row, 1)), file=file)


def linear(*data, **params):
    clf = s.LinearClassifier(random_state=0, max_iter=5, **params)
    return clf.fit(*data).coef_


def perceptron(*data, **params):
    return s.Perceptron(random_state=0, max_iter=5, **params).fit(*data).coef_


def partial_fit():
    clf = s.LinearClassifier(random_state=0)
    for rows in np.array_split(np.arange(120), 3):
        clf.partial_fit(X[rows], y[rows], classes=[False, True])
    return clf.coef_


by_row = s.GradientDescent(batch_size=1)
fits = dict(
    perceptron=lambda: perceptron(X, y),
    perceptron_csr=lambda: perceptron(sparse, y),
    perceptron_classes=lambda: perceptron(X, three),
    lbfgs=lambda: linear(X, y, solver=s.LBFGS()),
    lbfgs_csr=lambda: linear(sparse, y, solver=s.LBFGS()),
    softmax=lambda: linear(X, three, solver=s.LBFGS()),
    newton=lambda: linear(X, y, solver=s.Newton()),
    hinge=lambda: linear(X, y, loss="hinge"),
    dual=lambda: linear(X, y, loss="hinge", solver=s.CoordinateAscent()),
    dual_csr=lambda: linear(sparse, y, solver=s.CoordinateAscent()),
    l1=lambda: linear(X, y, l1=0.01, solver=s.ProximalNewton()),
    l1_csr=lambda: linear(sparse, y, l1=0.01, solver=s.CoordinateDescent()),
    groups=lambda: linear(X, y, l1=0.01, groups=[0, 0, 0, 1, 1, 1]),
    sgd_l1=lambda: linear(sparse, y, l1=0.01, solver=by_row),
    kernel=lambda: s.KernelPerceptron(random_state=0, max_iter=5).fit(X, y).dual_coef_,
    partial_fit=partial_fit,
    file=lambda: linear(s.read(sys.argv[1])),
)
for name, fit in fits.items():
    expected, failures, call = fit(), 0, 1
    while True:
        print(name, call, flush=True)
        new.fail_at(call)
        try:
            coef = fit()
        except MemoryError:
            coef = expected
        if not new.has_failed():
            break
        np.testing.assert_array_equal(coef, expected)
        failures, call = failures + 1, call + 1 + call // 8  # all of the first, some of the later
    assert failures, f"{name} allocates nothing"
    np.testing.assert_array_equal(fit(), expected, name)
"""


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="operator new is replaced by LD_PRELOAD")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer has its own operator new")
def test_a_failed_allocation_raises_memory_error(tmp_path):
    compiler = shutil.which(os.environ.get("CXX", "c++")) or pytest.skip("no C++ compiler")
    library = tmp_path / "failing_new.so"
    flags = ["-std=c++20", "-O1", "-fPIC", "-shared"]
    subprocess.run([compiler, *flags, "-o", str(library), str(FAILING_NEW)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", FITS, str(tmp_path / "rows.svmlight")],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-40:] + done.stderr
