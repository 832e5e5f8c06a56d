"""Rows with several labels each, and fits to each label by itself."""

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification

TIGHT = 1e-10  # tolerance of a proof; J has curvature 2 l2 in the weights, so |dw|^2 <= gap / l2


def table(n=150, d=6, q=4, seed=0):
    return make_multilabel_classification(
        n, d, n_classes=q, n_labels=2, allow_unlabeled=True, random_state=seed
    )


X, Y = table()


WEIGHT = np.random.default_rng(3).uniform(0.2, 2.0, len(X))


def columns(clf, X, Y, **fit):
    """The weights of a separate two-class fit for each column."""
    fits = [clone(clf).fit(X, y, **fit) for y in Y.T]
    return (
        np.vstack([each.coef_ for each in fits]),
        np.concatenate([each.intercept_ for each in fits]),
        sum(each.objective_ for each in fits),
    )


def assert_as_columns(clf, X, Y, atol=1e-5, **fit):
    fitted = clone(clf).fit(X, Y, **fit)
    coef, intercept, J = columns(clf, X, Y, **fit)
    assert np.allclose(fitted.coef_, coef, atol=atol)
    assert np.allclose(fitted.intercept_, intercept, atol=2 * atol)
    assert np.isclose(fitted.objective_, J, rtol=1e-8)
    return fitted


UNSCALED = X * np.logspace(-2, 3, 6) + np.array([0.0, 0.0, 0.0, 50.0, -2e3, 1e4])
