"""Fits along a path of penalties begin where the one before ended, alphas too."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import overlapping

from separatrix import CoordinateAscent, DualAscent, LinearClassifierCV
from separatrix.estimators.cv import search

L2S = np.logspace(-2, -6, 9)


def documents(k, n=240, d=800, words=12):
    """Rows with mostly words of their own, of classes that can be distinguished."""
    rng = np.random.default_rng(k)
    y = np.arange(n) % k
    columns = np.where(rng.random((n, words)) < 0.2, y[:, None], rng.integers(k, d, (n, words)))
    X = sp.csr_array((np.ones(n * words), columns.ravel(), np.arange(0, n * words + 1, words)))
    X.sum_duplicates()
    return X / np.sqrt(words), y


def epochs_along_path(monkeypatch, X, y, loss, solver, handed, **given):
    """Of all fits of the search, and the scores."""
    fits, minimize = [], search.minimize

    def counted(*args, **settings):
        result = minimize(*args, **settings | ({} if handed else {"state": None}))
        reported = [n for key, n in result.state.items() if key.split(" ")[-1] == "epochs"]
        fits.append((settings.get("state") is not None, sum(reported)))
        return result

    with monkeypatch.context() as patch:
        patch.setattr(search, "minimize", counted)
        clf = LinearClassifierCV(
            loss, l2s=L2S, cv=3, solver=solver, random_state=0, tol=1e-6, scoring="loss", **given
        ).fit(X, y)
    begun, epochs = zip(*fits, strict=True)
    assert list(begun) == 3 * [False, *[True] * (len(L2S) - 1)]
    return sum(epochs), clf.cv_results_


@pytest.mark.sampled(2)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("loss", "k", "solver", "share"),
    [
        ("hinge", 5, DualAscent(), 0.6),
        ("squared_hinge", 5, CoordinateAscent(), 0.75),
        ("hinge", 2, CoordinateAscent(), 0.85),
        ("squared_hinge", 2, CoordinateAscent(), 0.75),
        ("logistic", 2, CoordinateAscent(), 0.97),
    ],
)
def test_alphas_handed_on_save_epochs(monkeypatch, loss, k, solver, share, intercept):
    X, y = documents(k)
    given = {"fit_intercept": intercept}
    warm, scores = epochs_along_path(monkeypatch, X, y, loss, solver, True, **given)
    cold, others = epochs_along_path(monkeypatch, X, y, loss, solver, False, **given)
    assert warm <= share * cold, (warm, cold)
    np.testing.assert_allclose(scores["mean_test_score"], others["mean_test_score"], atol=5e-3)


@pytest.mark.parametrize("standardize", [False, True])
def test_callbacks_that_ask_are_called_for_every_fit_of_the_search(standardize):
    reported, paths, folds = [], [], []

    class Watch:
        def __call__(self, step, info):
            pass

        def searched(self, l2):
            reported.append(l2)

        def searching(self, l2s):
            paths.append(l2s)

        def scored(self, scores):
            folds.append(scores)

    X, y = overlapping()
    clf = LinearClassifierCV(
        l2s=4, cv=3, standardize=standardize, callbacks=[Watch()], scoring=None
    ).fit(X, y)
    assert paths == [clf.l2_path_.tolist()]
    each = [clf.cv_results_[f"split{i}_test_score"].tolist() for i in range(3)]
    assert folds == (each if standardize else [])
    assert list(dict.fromkeys(reported)) == clf.l2_path_.tolist()
    assert (
        not standardize or reported == clf.l2_path_.tolist() * 3
    )  # else folds are fitted together
