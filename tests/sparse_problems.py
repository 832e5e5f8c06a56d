"""Small problems for solvers with l1, as objectives."""

from __future__ import annotations

from sklearn.datasets import make_classification

from separatrix import Objective, ProximalNewton, Stop, get_loss, minimize
from separatrix.data.validation import array_source, check_rows

LOSSES = ("logistic", "squared", "squared_hinge", "one_vs_rest_logistic")


def problem(n=60, d=8, k=2, seed=0, odd=False):
    X, y = make_classification(
        n_samples=n, n_features=d, n_informative=min(d, 4), n_redundant=0, n_classes=k,
        n_clusters_per_class=1, random_state=seed,
    )  # fmt: skip
    if odd:  # a feature twice, a constant one, one far from 0 and one of another scale
        X[:, 1], X[:, 2] = X[:, 0], 3.0
        X[:, 3] += 100.0
        X[:, 4] *= 1e2
    return X, y


def objective(X, y, loss, penalty, weight=None, intercept=True):
    source = array_source(check_rows(X), y, sample_weight=weight)
    return Objective(get_loss(loss).for_classes(len(source.classes)), penalty, source, intercept)


def solved(of, tol=1e-12, **given):
    return minimize(of, ProximalNewton(**given), stop=Stop(tol=tol, max_iter=200))
