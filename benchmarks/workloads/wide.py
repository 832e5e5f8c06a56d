"""Leave-one-out of the squared loss at one penalty, with more features than rows.

Compared with n refits, and with scikit-learn's closed form. If n refits would take too long, some
are made, and the total time is extrapolated: the contestant's name says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV

import separatrix

from .. import data
from ..contest import OURS, Contest, Contestant, Judge
from ..registry import workload
from .facts import describe, facts

WITHIN = 1e-4  # of the mean loss of held-out rows
Left = tuple[Any, Any]  # numbers of rows, and the loss of each, or the mean, left out


def losses_left_out(X: Any, y: Any, l2: float) -> Any:
    """(y - score)^2 of every row by the fit to the others, from products of rows.

    With M, which maps y to the residuals of the fit to all rows at the penalty of n - 1, the
    residual of a held-out row is (M y)_i / M_ii (Allen 1974).
    """
    n, mu = len(y), l2 * (len(y) - 1)
    K = X @ X.T
    K = K.toarray() if hasattr(K, "toarray") else np.asarray(K, dtype=np.float64)
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    M = mu * np.linalg.inv(K + mu * np.eye(n)) - 1.0 / n
    return (M @ y / np.diag(M)) ** 2


def leave_one_out(X: Any, y: Any, l2: float, refits: int) -> Contest:
    """Compared with this many refits; with none, with the closed form."""
    n = len(y)
    exact = cache(lambda: losses_left_out(X, y, l2))
    rows = np.linspace(0, n - 1, refits).astype(int)

    def ours(_: Any) -> Left:
        model = separatrix.LinearClassifierCV("squared", l2s=[l2], cv="loo", scoring="loss")
        return slice(None), -model.fit(X, y).cv_results_["mean_test_score"][0]

    def theirs(_: Any) -> Left:
        model = RidgeClassifierCV(alphas=[l2 * (n - 1)])  # scores by the squared loss
        return slice(None), -model.fit(X, y).best_score_

    def by_refits(make: Callable[[float], Any]) -> Callable[[float], Left]:
        def run(tol: float) -> Left:
            left = []
            for row in rows:
                others = np.arange(n) != row
                model = make(tol).fit(X[others], y[others])
                left.append((y[row] - model.decision_function(X[[row]])[0]) ** 2)
            return rows, np.array(left)

        return run

    def error(made: Left) -> float:
        of, losses = made
        truth = float(np.mean(exact()[of]))
        return abs(float(np.mean(losses)) - truth) / truth

    some = f", {refits} of {n:,}, extrapolated" if refits < n else ""
    grid = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
    peers = [
        Contestant(f"{name}{some}", by_refits(make), grid, share=refits / n)
        for name, make in {
            "RidgeClassifier refits": lambda tol: RidgeClassifier(alpha=l2 * (n - 1), tol=tol),
            "our own refits": lambda tol: separatrix.LinearClassifier("squared", l2=l2, tol=tol),
        }.items()
    ]
    return Contest(
        f"leave-one-out, squared loss, l2 = {l2:g}, {describe(X)}",
        [
            Contestant(OURS, ours),
            *(peers if refits else [Contestant("scikit-learn RidgeClassifierCV", theirs)]),
        ],
        Judge("relative error of the mean loss", error, within=WITHIN),
        facts(X),
    )


def dense(n: int, d: int, refits: int) -> Contest:
    X, y = data.clouds(n, d)
    return leave_one_out(X.astype(np.float64), y, 1.0, refits)


def text(n: int, d: int, nonzeros: int, refits: int) -> Contest:
    X, y = data.tf_idf_documents(n, d, nonzeros)
    return leave_one_out(X, y, 0.5 / n, refits)


for suffix, refits, goal in (("", 1, 10.0), ("-closed-form", 0, None)):
    workload(
        f"leave-one-out-wide{suffix}",
        tiny=(20, 60, 20 * refits), small=(40, 500, 40 * refits), full=(62, 2_000, 62 * refits),
        goal=goal,
    )(dense)  # fmt: skip
    workload(
        f"leave-one-out-text{suffix}",
        tiny=(60, 100, 9, 5 * refits),
        small=(1_000, 3_000, 20, 5 * refits),
        full=(7_000, 20_000, 20, 5 * refits),
        goal=goal,
    )(text)
