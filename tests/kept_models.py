"""Fitted estimators of every kind, to be kept in files, and what it means that two are the same."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import separatrix
from separatrix import (
    AROW,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    PassiveAggressive,
    Perceptron,
    Winnow,
)
from separatrix.features import RadialBasis
from separatrix.numeric.lazy import cached_property

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 3)).round(3)
SCORES = X @ [[1.0, -1.0, 0.0], [0.5, 0.5, -1.0], [0.0, 1.0, 0.3]]
THREE = SCORES.argmax(axis=1)
TWO = (SCORES[:, 0] + 0.3 * RNG.normal(size=60) > 0).astype(int)
WORDS = np.array(["no", 'y"es', "<script>"])
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
# Names of fits whose files are damaged in tests.
CORPUS = ("two classes", "three", "stream", "cv", "perceptron", "table", "voted", "voted two")


def table() -> pa.Table:
    """Numbers, missing numbers and words."""
    lost = [None if i % 7 == 0 else float(value) for i, value in enumerate(X[:, 1])]
    words = [["red", 'a "quote"', "'; DROP TABLE t; --", None][i % 4] for i in range(60)]
    return pa.table({"size": X[:, 0], "weight": lost, "colour": words, "y": WORDS[THREE]})


@cache
def fits() -> dict[str, Any]:
    """By a name for the case, a fitted estimator and rows that it can predict: fitted once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return _fits()


def _fits() -> dict[str, Any]:
    of_files = separatrix.read(table(), target="y", missing="indicator")
    hashed = separatrix.read(table(), target="y", missing="zero", categorical="hash", hash_bits=4)
    descent = separatrix.GradientDescent(batch_size=1, learning_rate=separatrix.InverseScaling(0.5))
    stream = LinearClassifier(l2=0.1).partial_fit(X[:30], THREE[:30]).partial_fit(X, THREE)
    wide = sp.csr_array((np.ones(60), (np.arange(60), np.arange(60) % 5 * 100)), shape=(60, 1000))
    return {
        "two classes": (LinearClassifier(l2=np.float64(0.01)).fit(X, TWO), X),
        "three": (LinearClassifier("hinge", l2=0.01).fit(X, WORDS[THREE]), X),
        "against the rest": (LinearClassifier("one_vs_rest_logistic", l2=0.01).fit(X, THREE), X),
        "objects": (LinearClassifier("tanh_squared", max_iter=5, tol=None)
                    .fit(X, WORDS[TWO].astype(object)), X),
        "standardized": (LinearClassifier("squared", standardize=True).fit(X, TWO > 0), X),
        "class weights": (LinearClassifier("squared_hinge", class_weight={0: 1.0, 1: 2, 2: 0.5})
                          .fit(X, THREE.astype(np.int8)), X),
        "by rows": (LinearClassifier(solver=descent, max_iter=5, tol=None, random_state=0)
                    .fit(X, THREE.astype(float)), X),
        "stream": (stream, X),
        "wide": (LinearClassifier(start=np.ones(1001)).fit(wide, TWO), wide),
        "cv": (LinearClassifierCV(cv=3, l2s=[0.1, 0.01], scoring=None).fit(X, THREE), X),
        "loo": (LinearClassifierCV(cv="loo", l2s=3, scoring=None).fit(X, TWO), X),
        "sparse path": (LinearClassifierCV(cv=3, l1_ratio=0.5, strengths=[0.1, 0.01], scoring=None)
                        .fit(X, TWO), X),
        "perceptron": (Perceptron(20, random_state=0).fit(X, TWO), X),
        "batch": (Perceptron(20, update="batch", keep="best").fit(X, THREE), X),
        "voted perceptron": (Perceptron(4, keep="voted", max_survivors=9, random_state=0)
                             .fit(X, THREE), X),
        "passive aggressive": (PassiveAggressive(0.5, max_iter=5, random_state=0).fit(X, THREE), X),
        "arow": (AROW(keep="average", max_iter=5, random_state=0).fit(X, TWO), X),
        "winnow": (Winnow(1.5, max_iter=5, random_state=0).fit(np.abs(X), TWO), np.abs(X)),
        "table": (LinearClassifier(l2=0.01).fit(of_files), table()),
        "hashed": (Perceptron(10, random_state=0).fit(hashed), table()),
        "rbf": (KernelPerceptron(max_iter=5, random_state=0).fit(X, THREE), X),
        "voted": (KernelPerceptron("poly", keep="voted", max_iter=5, random_state=0)
                  .fit(X, THREE), X),
        "voted two": (KernelPerceptron("sigmoid", keep="voted", max_iter=3, random_state=0)
                      .fit(SPARSE, TWO), SPARSE),
        "linear kernel": (KernelPerceptron("linear", max_iter=5, random_state=0).fit(X, TWO), X),
        "laplacian": (KernelPerceptron("laplacian", budget=5, max_iter=5, random_state=0)
                      .fit(sp.csr_matrix(SPARSE), TWO), SPARSE),
        "precomputed": (KernelPerceptron("precomputed", max_iter=5, random_state=0)
                        .fit(X @ X.T, TWO), X @ X.T),
    }  # fmt: skip


def features() -> RadialBasis:
    return RadialBasis("sample", n_centers=4, random_state=0).fit(X.astype(np.float32))


# Room to grow, and what is worked out when it is needed.
UNKEPT = ("room", "_known", "_n_hashed", "_offsets", "storage", "feature_weights", "by_row")


def _is_derived(of: Any, name: str) -> bool:
    return name in UNKEPT or isinstance(getattr(type(of), name, None), cached_property)


def assert_same(one: Any, other: Any, where: str = "it") -> None:
    """The same types and bits everywhere inside of two objects."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray) and one.dtype != object:
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    elif isinstance(one, np.ndarray):
        assert_same(one.tolist(), other.tolist(), where)
    elif sp.issparse(one):
        for name in ("data", "indices", "indptr", "shape"):
            assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), where
        for number, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{where}.{number}")
    elif hasattr(one, "__dict__"):
        parts = [
            {n: v for n, v in sorted(vars(each).items()) if not _is_derived(each, n)}
            for each in (one, other)
        ]
        assert_same(*parts, where)
    else:
        assert one == other or (one != one and other != other), where
