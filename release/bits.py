"""Digests of fits whose sums several threads share: builds with and without threads agree."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix import LBFGS, LinearClassifier, Newton, Perceptron

N = 40_000  # rows: enough for several blocks


def fits() -> dict[str, Any]:
    """Fitted estimators by a name for the case."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 30))
    three = (X @ rng.standard_normal((30, 3)) + rng.standard_normal((N, 3))).argmax(axis=1)
    sparse = sp.csr_array(np.where(np.abs(X) > 1.5, X, 0.0))
    at_once: dict[str, Any] = {"n_jobs": 2, "max_iter": 20}
    return {
        "L-BFGS": LinearClassifier(solver=LBFGS(), **at_once).fit(X, three == 0),
        "L-BFGS, float32": LinearClassifier(solver=LBFGS(), **at_once).fit(
            X.astype(np.float32), three == 0
        ),
        "Newton": LinearClassifier(solver=Newton(), **at_once).fit(X, three == 0),
        "three classes, sparse": LinearClassifier(**at_once).fit(sparse, three),
        "hinge": LinearClassifier("hinge", max_iter=5, random_state=0).fit(sparse, three == 0),
        "perceptron": Perceptron(5, random_state=0).fit(X, three),
    }


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, clf in fits().items():
            bits = clf.coef_.tobytes() + clf.intercept_.tobytes()
            print(f"{hashlib.sha256(bits).hexdigest()[:16]} {name}")
