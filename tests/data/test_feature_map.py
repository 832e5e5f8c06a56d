"""Features that no row stores are left out of a fit, without an effect on the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from separatrix.data.feature_map import FeatureMap, occupied_features, with_features
from separatrix.data.validation import array_source, check_rows
from separatrix.numeric.rows import to_dense
from separatrix.numeric.standardization import Standardization


def table(d: int = 12, stored: int = 5, k: int = 2, n: int = 80, seed: int = 0) -> Any:
    """Rows of which a few features alone are ever other than 0, and where these stand among all."""
    rng = np.random.default_rng(seed)
    few = rng.standard_normal((n, stored)) * (rng.random((n, stored)) < 0.6)
    few[:stored] += 2.0 * np.eye(stored)
    y = np.argmax(few @ rng.standard_normal((stored, k)) + rng.standard_normal((n, k)), axis=1)
    at = np.sort(rng.choice(d, stored, replace=False))
    wide = np.zeros((n, d))
    wide[:, at] = few
    return few, sp.csr_array(wide), y, at


def test_occupied_features_are_those_that_some_row_stores() -> None:
    few, wide, y, at = table()
    source = array_source(check_rows(wide), y)
    found = occupied_features(source)
    assert found is not None
    np.testing.assert_array_equal(found, at)
    np.testing.assert_array_equal(to_dense(with_features(source, found).X), few)
    assert occupied_features(array_source(check_rows(sp.csr_array(few)), y)) is None
    assert occupied_features(array_source(few, y)) is None


def test_a_feature_that_only_stores_zeros_is_occupied() -> None:
    X = sp.csr_array((np.array([1.0, 0.0, 2.0]), np.array([1, 5, 1]), np.array([0, 2, 2, 3])))
    X.resize((3, 9))
    found = occupied_features(array_source(check_rows(X), np.array([0, 1, 1])))
    assert found is not None
    np.testing.assert_array_equal(found, [1, 5])


def test_weights_go_there_and_back() -> None:
    rng = np.random.default_rng(1)
    scale = Standardization(np.zeros(6), np.append(rng.uniform(1.0, 2.0, 6), 1.0))
    features = FeatureMap(6, scale, np.array([1, 4]))
    some = rng.standard_normal((3, 3))
    whole = features.to_weights(some)
    assert whole.shape == (3, 7)
    assert not whole[:, [0, 2, 3, 5]].any()
    np.testing.assert_allclose(whole[:, [1, 4]], some[:, :2] / scale.scale[[1, 4]])
    np.testing.assert_allclose(features.from_weights(whole), some)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "squared"])
@pytest.mark.parametrize("standardize", [False, True])
def test_empty_features_change_no_bit(loss: str, k: int, standardize: bool) -> None:
    few, wide, y, at = table(k=k)
    same: dict[str, Any] = {"l2": 0.01, "random_state": 0, "standardize": standardize}
    narrow = sx.LinearClassifier(loss, **same).fit(sp.csr_array(few), y)
    model = sx.LinearClassifier(loss, **same).fit(wide, y)
    np.testing.assert_array_equal(model.coef_[:, at], narrow.coef_)
    np.testing.assert_array_equal(model.intercept_, narrow.intercept_)
    assert not np.delete(model.coef_, at, axis=1).any()
    assert (model.objective_, model.gap_, model.stop_) == (
        narrow.objective_, narrow.gap_, narrow.stop_,
    )  # fmt: skip
    assert model.n_features_in_ == wide.shape[1]
    np.testing.assert_array_equal(
        model.decision_function(wide), narrow.decision_function(sp.csr_array(few))
    )
    if standardize:
        assert model.scale_ is not None
        np.testing.assert_array_equal(model.scale_[at], narrow.scale_)
        assert np.all(np.delete(model.scale_, at) == 1.0)


def test_callbacks_and_replay_see_all_features() -> None:
    _, wide, y, at = table()
    seen: list[Any] = []
    solver = sx.GradientDescent(learning_rate=0.1)
    model = sx.LinearClassifier(
        l2=0.01, solver=solver, max_iter=5, tol=None,
        callbacks=[lambda step, info: seen.append((step.weights, step.gradient)) and None],
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(wide, y)
    again = [step.weights for step in model.trace_.replay(wide, y)]
    assert len(seen) == len(again) == 5
    for (W, gradient), W_again in zip(seen, again, strict=True):
        np.testing.assert_array_equal(W, W_again)
        assert W.shape == (1, wide.shape[1] + 1)
        assert gradient is None or gradient.shape == W.shape
    np.testing.assert_array_equal(seen[-1][0][:, :-1], model.coef_)
    with pytest.raises(ValueError, match="replay needs the data of the fit"):
        next(model.trace_.replay(wide[:, at], y))


def test_a_start_that_is_not_0_there_comes_down() -> None:
    few, wide, y, at = table()
    start = np.ones(wide.shape[1] + 1)
    model = sx.LinearClassifier(l2=0.1, start=start, tol=1e-10).fit(wide, y)
    best = sx.LinearClassifier(l2=0.1, tol=1e-10).fit(few, y)
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-9)
    np.testing.assert_allclose(np.delete(model.coef_, at, axis=1), 0.0, atol=1e-4)


def test_a_warm_start_goes_on_from_all_features() -> None:
    few, wide, y, _ = table()
    model = sx.LinearClassifier(l2=0.01, warm_start=True, tol=1e-9).fit(wide, y)
    W = model.coef_.copy()
    model.fit(wide, y)
    assert model.n_iter_ <= 2
    np.testing.assert_allclose(model.coef_, W, atol=1e-4)
    with pytest.raises(ValueError, match="has 5 features and the earlier fit had 12"):
        model.fit(sp.csr_array(few), y)


def test_rows_one_by_one_keep_all_features() -> None:
    """``partial_fit`` may meet those that were empty in ``fit``."""
    _, wide, y, _ = table()
    solver = sx.GradientDescent(batch_size=1, learning_rate=0.1)
    model = sx.LinearClassifier(l2=0.01, solver=solver, max_iter=3, tol=None, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(wide, y)
    assert model.trace_.features is None
    model.partial_fit(np.ones((2, wide.shape[1])), [0, 1])
    assert model.coef_.all()


def test_weights_that_run_off_have_their_names() -> None:
    few, wide, y, at = table()
    y = (few[:, 0] > 0.0).astype(int)
    with pytest.warns(ConvergenceWarning, match=rf"they diverge \(x{at[0]}"):
        sx.LinearClassifier(l2=0.0, fit_intercept=False).fit(wide, y)


@pytest.mark.sampled
@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
@pytest.mark.parametrize("k", [2, 3])
def test_cross_validation_leaves_them_out_too(k: int, scoring: str | None) -> None:
    few, wide, y, at = table(k=k)
    same: dict[str, Any] = {"l2s": 3, "cv": 3, "scoring": scoring, "random_state": 0}
    narrow = sx.LinearClassifierCV(**same).fit(sp.csr_array(few), y)
    model = sx.LinearClassifierCV(**same).fit(wide, y)
    assert model.l2_ == narrow.l2_
    np.testing.assert_array_equal(model.coef_[:, at], narrow.coef_)
    assert model.coef_.shape[1] == wide.shape[1]
    for name, values in narrow.cv_results_.items():
        np.testing.assert_allclose(model.cv_results_[name], values, rtol=1e-12)


def test_no_row_stores_anything() -> None:
    X = sp.csr_array((4, 7))
    model = sx.LinearClassifier(l2=0.1).fit(X, [0, 1, 1, 1])
    assert model.coef_.shape == (1, 7)
    assert not model.coef_.any()
    assert model.intercept_[0] == pytest.approx(np.log(3.0), rel=1e-3)
