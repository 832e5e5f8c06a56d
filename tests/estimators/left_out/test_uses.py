"""Temperature, sigmoids, thresholds and conformal sets from held-out scores."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import LinearClassifier, leave_one_out
from separatrix.estimators.held_out import fitted_temperature
from separatrix.estimators.sigmoid import fitted_sigmoid
from separatrix.losses import Logistic


def table(seed, k=2, n=40, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    scores = X @ [1.0, -1.0] + noise * rng.standard_normal(n)
    return X, np.searchsorted(np.quantile(scores, np.arange(1, k) / k), scores)


@pytest.mark.parametrize("k", [2, 3])
def test_the_temperature_has_the_least_held_out_loss(k):
    X, y = table(0, k)
    c = np.random.default_rng(1).integers(1, 4, len(y)) * 1.0
    clf = LinearClassifier(l2=1e-4).fit(X, y, sample_weight=c)
    found = leave_one_out(clf, X, y, sample_weight=c)
    s = found.scores if k > 2 else np.column_stack([0.0 * found.scores, found.scores])

    def loss(t):
        z = s / t
        z = z - z.max(axis=1, keepdims=True)
        return c @ (np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y])

    best = scipy.optimize.minimize_scalar(loss, bounds=(1e-2, 1e2), method="bounded",
                                          options={"xatol": 1e-9})  # fmt: skip
    assert found.temperature == pytest.approx(best.x, rel=1e-6)
    assert loss(found.temperature) < loss(1.0)


def test_temperatures_at_the_ends():
    y, ones = np.array([-1.0, 1.0, 1.0]), np.ones(3)
    of = lambda s: fitted_temperature(Logistic(), y, np.array(s)[:, None], ones)  # noqa: E731
    assert of([-1.0, 2.0, 3.0]) == 0.0
    assert of([1.0, -2.0, -3.0]) == np.inf
    assert of([0.0, 0.0, 0.0]) == np.inf
    assert of([1e-200, 2e-200, 3e-200]) == pytest.approx(1e-200 * of([1.0, 2.0, 3.0]))
    X, t = table(0)
    with pytest.raises(ValueError, match="probability='loo'"):
        leave_one_out(LinearClassifier("squared").fit(X, t), X, t).temperature  # noqa: B018


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_sigmoid_is_platts(scale, weighted):
    rng = np.random.default_rng(3)
    s, c = rng.standard_normal(60) + 5.0, rng.integers(0, 3, 60) * 1.0
    c = c if weighted else np.ones(60)
    positive = s + rng.standard_normal(60) > 5.3
    larger, smaller = c[positive].sum(), c[~positive].sum()
    t = np.where(positive, (larger + 1) / (larger + 2), 1 / (smaller + 2))

    def loss(v):
        z = v[0] * s + v[1]
        return c @ (np.logaddexp(0.0, z) - t * z)

    best = scipy.optimize.minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-9}).x
    a, b = fitted_sigmoid(positive, s * scale, c)
    np.testing.assert_allclose([a * scale, b], best, rtol=1e-5)
    assert loss(np.array([a * scale, b])) <= loss(best) * (1 + 1e-12)


def test_a_sigmoid_never_falls():
    positive, ones = np.arange(10) < 5, np.ones(10)
    a, b = fitted_sigmoid(positive, np.arange(10.0), ones)
    assert (a, b) == (0.0, pytest.approx(0.0, abs=1e-12))
    assert fitted_sigmoid(positive, np.ones(10), ones)[0] == 0.0
    a, _ = fitted_sigmoid(~positive, np.arange(10.0), ones)
    assert 0.0 < a < np.inf


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
def test_probabilities_are_sigmoids_of_held_out_scores(loss, tmp_path):
    X, y = table(1)
    clf = LinearClassifier(loss, l2=1e-2, probability="loo").fit(X, y)
    plain = LinearClassifier(loss, l2=1e-2).fit(X, y)
    np.testing.assert_array_equal(clf.coef_, plain.coef_)
    assert not hasattr(plain, "predict_proba")
    held_out = leave_one_out(plain, X, y)
    a, b = fitted_sigmoid(y == 1, held_out.scores, np.ones(len(y)))
    np.testing.assert_allclose(clf.sigmoid_, [[a, b]], rtol=1e-6)
    p = 1.0 / (1.0 + np.exp(-(a * clf.decision_function(X) + b)))
    np.testing.assert_allclose(clf.predict_proba(X), np.column_stack([1 - p, p]), rtol=1e-6)
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), clf.predict_proba(X))
    separatrix.save(clf, tmp_path / "model.sep")
    loaded = separatrix.load(tmp_path / "model.sep")
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    for to in ("json", "sql", "c"):
        with pytest.raises(ValueError, match="probability='loo'"):
            separatrix.export(clf, tmp_path / "model", to=to)
    clf.set_decision(threshold=0.7)
    np.testing.assert_array_equal(clf.predict(X) == 1, clf.predict_proba(X)[:, 1] >= 0.7)
    clf.set_decision(costs={(0, 1): 3.0})
    np.testing.assert_array_equal(clf.predict(X) == 1, clf.predict_proba(X)[:, 1] >= 0.75)
    clf.set_params(probability=None).fit(X, y)
    assert not hasattr(clf, "sigmoid_")


def test_probabilities_of_more_classes_sum_to_one():
    X, y = load_iris(return_X_y=True)
    X, y = X[::4], y[::4]
    clf = LinearClassifier("squared", l2=1e-2, probability="loo").fit(X, y)
    p = clf.predict_proba(X)
    assert clf.sigmoid_.shape == (3, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    each = 1.0 / (
        1.0 + np.exp(-(clf.decision_function(X) * clf.sigmoid_[:, 0] + clf.sigmoid_[:, 1]))
    )
    np.testing.assert_allclose(p, each / each.sum(axis=1, keepdims=True), rtol=1e-12)
    clf.set_decision(costs={(0, 1): 9.0})
    assert len(clf.predict(X)) == len(y)


def test_it_works_in_pipelines_searches_and_clones():
    X, y = table(2)
    clf = LinearClassifier("squared_hinge", l2=1e-2, probability="loo", class_weight="balanced")
    assert clone(clf).get_params()["probability"] == "loo"
    pipe = make_pipeline(StandardScaler(), clf)
    p = cross_val_predict(pipe, X, y, cv=3, method="predict_proba")
    assert np.log(p[np.arange(len(y)), y]).mean() > np.log(0.5)
    fitted = LinearClassifier("hinge", l2=1e-2, standardize=True, probability="loo").fit(X, y)
    assert fitted.predict_proba(X).shape == (len(y), 2)
    source = separatrix.ArraySource(X, 2.0 * y - 1.0, np.array([0, 1]))
    same = LinearClassifier("hinge", l2=1e-2, standardize=True, probability="loo").fit(source)
    np.testing.assert_allclose(same.sigmoid_, fitted.sigmoid_)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"loss": "logistic"}, "defines probabilities"),
        ({"loss": "perceptron"}, "minimum at zero weights"),
        ({"loss": "tanh_squared"}, "is not convex"),
        ({"loss": "squared_hinge", "l1": 0.1}, "l1 is not 0"),
        ({"loss": "hinge", "probability": "platt"}, "probability must be"),
    ],
)
def test_other_settings_are_refused_before_the_fit(settings, words):
    X, y = table(3)
    clf = LinearClassifier(**{"probability": "loo", **settings})
    with pytest.raises(ValueError, match=words):
        clf.fit(X, y)
    assert not hasattr(clf, "coef_")


def test_other_ways_to_fit_are_refused():
    X, y = table(3)
    clf = LinearClassifier("hinge", probability="loo")
    with pytest.raises(ValueError, match="partial_fit"):
        clf.partial_fit(X, y, classes=[0, 1])
    X3, y3 = table(3, 3)
    with pytest.raises(ValueError, match="one_vs_rest_hinge"):
        clf.fit(X3, y3)
    with pytest.raises(ValueError, match="several labels"):
        clf.fit(X, np.column_stack([y, 1 - y]))


def test_thresholds_are_chosen_on_held_out_scores():
    X, y = table(4, noise=2.0)
    for loss in ("logistic", "squared"):
        clf = LinearClassifier(loss, l2=1e-4).fit(X, y)
        found = leave_one_out(clf, X, y)
        clf.tune_threshold(found, costs={(0, 1): 1.0, (1, 0): 4.0})

        def cost(threshold, scores=found.scores):
            above = scores >= threshold
            return np.sum(above & (y == 0)) + 4.0 * np.sum(~above & (y == 1))

        grid = np.sort(found.scores)
        tried = np.concatenate([grid - 1e-9, grid + 1e-9])
        assert cost(clf.decision_.score) == min(map(cost, tried))
        assert clf.decision_.was_tuned_on(y)
    other = leave_one_out(LinearClassifier("squared").fit(X, y + 1), X, y + 1)
    with pytest.raises(ValueError, match="of this fit"):
        clf.tune_threshold(other, costs={(0, 1): 1.0, (1, 0): 4.0})
    with pytest.raises(TypeError, match="pass them alone"):
        clf.tune_threshold(found, y, costs={(0, 1): 1.0, (1, 0): 4.0})


def test_costs_of_more_classes_use_the_held_out_temperature(tmp_path):
    X, y = table(5, 3, noise=2.0)
    clf = LinearClassifier(l2=1e-4).fit(X, y)
    with pytest.raises(ValueError, match="leave_one_out"):
        clf.tune_threshold(X, y, costs={(0, 2): 5.0})
    found = leave_one_out(clf, X, y)
    clf.tune_threshold(found, costs={(0, 2): 5.0})
    z = np.exp(clf.decision_function(X) / found.temperature)
    costs = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    expected = (z / z.sum(axis=1, keepdims=True)) @ costs
    np.testing.assert_array_equal(clf.predict(X), expected.argmin(axis=1))
    separatrix.save(clf, tmp_path / "model.sep")
    loaded = separatrix.load(tmp_path / "model.sep")
    assert loaded.decision_.temperature == found.temperature
    np.testing.assert_array_equal(loaded.predict(X), clf.predict(X))
    with pytest.raises(ValueError, match="temperature"):
        separatrix.export(clf, tmp_path / "model.json", to="json")


def margins(scores):
    if scores.ndim == 1:
        return np.column_stack([-scores, scores])
    return np.array([[s[a] - np.delete(s, a).max() for a in range(len(s))] for s in scores])


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_conformal_sets_are_those_of_the_definition(k, per_class):
    X, y = table(6, k, n=36)
    new, alpha = table(7, n=8)[0], 0.25
    clf = LinearClassifier(l2=1e-2).fit(X, y)
    found = leave_one_out(clf, X, y, tol=1e-10).conformal_sets(
        new, alpha=alpha, per_class=per_class
    )
    larger = np.zeros((len(new), k, k))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        fit = LinearClassifier(l2=1e-2, tol=1e-13).fit(X[rest], y[rest])
        own = margins(fit.decision_function(X[[i]]))[0, y[i]]
        larger[:, :, y[i]] += own > margins(fit.decision_function(new))
    counts = np.bincount(y)
    for label in range(k):
        few, n = larger[:, label, label], counts[label]
        if not per_class:
            few, n = larger[:, label].sum(axis=1), len(y)
        np.testing.assert_array_equal(found[:, label], few < (1 - alpha) * (n + 1))


def test_conformal_sets_refuse_what_has_no_guarantee():
    X, y = table(6)
    c = np.where(np.arange(len(y)) < 3, 2.0, 1.0)
    found = leave_one_out(
        LinearClassifier(l2=1e-2).fit(X, y, sample_weight=c), X, y, sample_weight=c
    )
    with pytest.raises(ValueError, match="exchangeable"):
        found.conformal_sets(X)
    found = leave_one_out(LinearClassifier(l2=1e-2).fit(X, y), X, y)
    for alpha in (0.0, 1.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="alpha"):
            found.conformal_sets(X, alpha=alpha)
    with pytest.raises(ValueError, match="features"):
        found.conformal_sets(X[:, :1])
    assert found.conformal_sets(X, alpha=1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize("per_class", [False, True])
def test_conformal_sets_contain_the_label_often_enough(per_class):
    """At least 1 - 2 alpha, less four standard deviations of the binomial distribution."""
    alpha, trials, new = 0.2, 80, 20
    hits, count = np.zeros(2), np.zeros(2)
    for seed in range(trials):
        X, y = table(seed, n=40 + new, noise=1.5)
        clf = LinearClassifier(l2=1e-2).fit(X[:40], y[:40])
        sets = leave_one_out(clf, X[:40], y[:40], tol=1e-9).conformal_sets(
            X[40:], alpha=alpha, per_class=per_class
        )
        inside = sets[np.arange(new), y[40:]]
        for label in range(2):
            hits[label] += inside[y[40:] == label].sum()
            count[label] += np.sum(y[40:] == label)
    if not per_class:
        hits, count = hits.sum(keepdims=True), count.sum(keepdims=True)
    least = 1.0 - 2.0 * alpha
    # New rows of one trial share a fit: as if each trial were one draw.
    spread = np.sqrt(least * (1.0 - least) / trials)
    assert np.all(hits / count >= least - 4.0 * spread)
    assert np.all(hits / count < 1.0)
