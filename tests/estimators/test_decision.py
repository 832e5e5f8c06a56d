"""Thresholds and costs: what ``predict`` and ``score`` do, against brute force."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import separatrix
from separatrix import LinearClassifier, LinearClassifierCV, Perceptron
from separatrix.data.validation import array_source
from separatrix.estimators.decision import cheapest_score


def rows(k=2, n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    scores = X @ rng.normal(size=(3, k)) + 1.5 * rng.normal(size=(n, k))
    return X, np.array(["a", "b", "c", "d"])[scores.argmax(axis=1)]


# ---- thresholds


@pytest.mark.parametrize("threshold", [0.01, 0.3, 0.5, 0.77])
def test_a_threshold_of_the_probability(threshold):
    X, y = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y).set_decision(threshold=threshold)
    expected = np.where(clf.predict_proba(X)[:, 1] >= threshold, "b", "a")
    assert np.array_equal(clf.predict(X), expected)
    assert clf.score(X, y) == np.mean(expected == y)
    assert clf.decision_.threshold == threshold
    assert clf.decision_.score == pytest.approx(np.log(threshold / (1 - threshold)))


def test_one_half_is_the_default():
    X, y = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y)
    plain = clf.predict(X)
    assert clf.set_decision(threshold=0.5).decision_.score == 0.0
    assert np.array_equal(clf.predict(X), plain)


@pytest.mark.parametrize("model", [LinearClassifier("hinge"), Perceptron(20, random_state=0)])
def test_without_probabilities_it_is_a_score(model):
    X, y = rows()
    model.fit(X, y)
    model.set_decision(threshold=-0.7)
    expected = np.where(model.decision_function(X) >= -0.7, "b", "a")
    assert np.array_equal(model.predict(X), expected)


def test_arrays_sources_frames_and_files_decide_alike(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    frame = pandas.DataFrame(X, columns=["p", "q", "r"]).assign(y=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    clf = LinearClassifier(l2=0.01).fit(separatrix.read(tmp_path / "rows.csv", target="y"))
    clf.set_decision(threshold=0.2)
    expected = np.where(clf.predict_proba(frame)[:, 1] >= 0.2, "b", "a")
    source = separatrix.read(tmp_path / "rows.csv", like=clf)
    for given in (frame, str(tmp_path / "rows.csv"), source, source.sample(500)):
        assert np.array_equal(clf.predict(given), expected)
        assert clf.score(given) == pytest.approx(np.mean(expected == y))
    fitted = LinearClassifier(l2=0.01).fit(X, y).set_decision(threshold=0.2)
    for given in (sp.csr_array(X), np.asfortranarray(X), X[::-1][::-1]):
        assert np.array_equal(fitted.predict(given), fitted.predict(X))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_dask_decides_alike():
    da = pytest.importorskip("dask.array")
    X, y = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y).set_decision(threshold=0.2)
    parts = da.from_array(X, chunks=(50, 3))
    assert np.array_equal(clf.predict(parts).compute(), clf.predict(X))
    assert clf.score(parts, da.from_array(y, chunks=50)) == pytest.approx(clf.score(X, y))


# ---- costs


def test_two_classes_by_expected_cost():
    X, y = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y)
    p = clf.predict_proba(X)
    for given in ({("a", "b"): 2.0, ("b", "a"): 7.0}, [[0.0, 2.0], [7.0, 0.0]]):
        clf.set_decision(costs=given)
        expected = np.where(p[:, 0] * 2.0 <= p[:, 1] * 7.0, "b", "a")
        assert np.array_equal(clf.predict(X), expected)
        assert clf.decision_.threshold == pytest.approx(2.0 / 9.0)
        assert clf.decision_.tuned_on is None


@pytest.mark.parametrize("loss", ["logistic", "one_vs_rest_logistic"])
def test_more_classes_by_expected_cost(loss):
    X, y = rows(3)
    clf = LinearClassifier(loss, l2=0.01).fit(X, y)
    costs = np.array([[0.0, 1.0, 9.0], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]])
    given = {("a", "c"): 9.0, ("b", "a"): 0.5}
    p = clf.predict_proba(X)
    expected = [
        "abc"[min(range(3), key=lambda j: sum(p[i, t] * costs[t, j] for t in range(3)))]
        for i in range(len(X))
    ]
    for each in (costs, given):
        assert clf.set_decision(costs=each).predict(X).tolist() == expected
        assert np.array_equal(clf.decision_.costs, costs)
    assert clf.score(X, y) == np.mean(np.array(expected) == y)
    assert clf.score(array_source(X, y)) == pytest.approx(clf.score(X, y))


def test_equal_costs_are_the_default():
    X, y = rows(4)
    clf = LinearClassifier(l2=0.01).fit(X, y)
    plain = clf.predict(X)
    assert np.array_equal(clf.set_decision(costs=1.0 - np.eye(4)).predict(X), plain)


# ---- a threshold that is chosen


def brute_force(scores, positive, weight, costs):
    """The least cost of all thresholds."""
    edges = [-np.inf, *np.unique(scores), np.inf]
    return min(
        sum(
            w * (costs[1][0] if p and s < t else costs[0][1] if not p and s >= t else 0.0)
            for s, p, w in zip(scores, positive, weight, strict=True)
        )
        for t in edges
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_cheapest_threshold(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    scores = rng.normal(size=n).round(int(rng.integers(0, 3)))
    positive, weight = rng.random(n) < 0.4, rng.integers(0, 4, n).astype(float)
    costs = np.array([[0.0, rng.integers(1, 5)], [rng.integers(1, 9), 0.0]])
    chosen = cheapest_score(scores, positive, weight, costs, nearest=float(rng.normal()))
    cost = sum(
        w * (costs[1, 0] if p and s < chosen else costs[0, 1] if not p and s >= chosen else 0.0)
        for s, p, w in zip(scores, positive, weight, strict=True)
    )
    assert cost == pytest.approx(brute_force(scores, positive, weight, costs))


def test_in_a_tie_the_closest():
    scores, positive = np.array([-3.0, -1.0, 1.0, 3.0]), np.array([False, False, True, True])
    costs = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert cheapest_score(scores, positive, np.ones(4), costs, 0.4) == 0.0
    all_same = np.array([False] * 4)
    assert cheapest_score(scores, all_same, np.ones(4), costs, 0.4) == 4.0  # never positive
    neighbours = np.array([1.0, np.nextafter(1.0, 2.0)])
    chosen = cheapest_score(neighbours, np.array([False, True]), np.ones(2), costs)
    assert neighbours[0] < chosen <= neighbours[1]


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_tuning(loss, weighted):
    X, y = rows()
    weight = np.arange(len(y)) % 3 if weighted else np.ones(len(y))
    clf = LinearClassifier(loss, l2=0.01).fit(X, y)
    clf.tune_threshold(X, y, costs={("b", "a"): 4.0}, sample_weight=weight)
    found, costs = clf.predict(X), [[0.0, 1.0], [4.0, 0.0]]
    cost = (
        weight[(y == "a") & (found == "b")].sum() + 4.0 * weight[(y == "b") & (found == "a")].sum()
    )
    expected = brute_force(clf.decision_function(X), y == "b", weight, costs)
    assert cost == pytest.approx(expected)
    if loss == "logistic":
        chosen = np.where(clf.predict_proba(X)[:, 1] >= clf.decision_.threshold, "b", "a")
        assert np.array_equal(found, chosen)
    else:
        assert clf.decision_.threshold == clf.decision_.score
    source = array_source(X, y, sample_weight=weight)
    again = copy.copy(clf).tune_threshold(source, costs={("b", "a"): 4.0})
    assert again.decision_.score == clf.decision_.score


def test_it_is_known_on_which_rows():
    X, y = rows()
    weight = np.arange(len(y)) % 2
    clf = LinearClassifier(l2=0.01).fit(X, y)
    clf.tune_threshold(X, y, costs={("b", "a"): 4.0}, sample_weight=weight)
    assert clf.decision_.was_tuned_on(y, weight)
    assert not clf.decision_.was_tuned_on(y)
    assert not clf.decision_.was_tuned_on(y[::-1], weight)
    assert not clf.set_decision(threshold=0.3).decision_.was_tuned_on(y, weight)


# ---- life of a decision


def test_it_ends_with_the_next_fit_and_with_set_decision():
    X, y = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y)
    plain = clf.predict(X)
    assert not hasattr(clf, "decision_")
    clf.set_decision(threshold=0.1)
    assert not np.array_equal(clf.predict(X), plain)
    assert not hasattr(clf.set_decision(), "decision_")
    assert np.array_equal(clf.predict(X), plain)
    clf.set_decision(threshold=0.1).fit(X, y)
    assert not hasattr(clf, "decision_")
    with pytest.raises(ValueError, match="NaN"):
        clf.set_decision(threshold=0.1).fit(np.full_like(X, np.nan), y)
    assert clf.decision_.threshold == 0.1  # a fit that fails changes nothing
    search = LinearClassifierCV(l2s=3, scoring="loss").fit(X, y).set_decision(threshold=0.1)
    assert not hasattr(search.fit(X, y), "decision_")
    assert not hasattr(clone(clf), "decision_")


def test_a_search_by_accuracy_is_not_changed_by_an_old_decision():
    X, y = rows()
    search = LinearClassifierCV(l2s=4, scoring="balanced_accuracy").fit(X, y)
    before = search.cv_results_["mean_test_score"]
    search.set_decision(threshold=0.01).fit(X, y)
    assert np.array_equal(search.cv_results_["mean_test_score"], before)


def test_partial_fit_keeps_it():
    X, y = rows()
    clf = LinearClassifier().partial_fit(X, y).set_decision(threshold=0.1).partial_fit(X, y)
    assert clf.decision_.threshold == 0.1


def test_copies_keep_it():
    X, y = rows(3)
    clf = LinearClassifier(l2=0.01).fit(X, y).set_decision(costs={("a", "b"): 5.0})
    for other in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        assert np.array_equal(other.predict(X), clf.predict(X))


# ---- errors, before anything changes


@pytest.mark.parametrize(
    ("k", "given", "words"),
    [
        (2, {"threshold": 0.0}, "above 0 and below 1"),
        (2, {"threshold": 1.0}, "above 0 and below 1"),
        (2, {"threshold": np.nan}, "threshold must be a finite number"),
        (2, {"threshold": "0.3"}, "threshold must be a finite number"),
        (2, {"threshold": 0.3, "costs": np.eye(2)}, "either a threshold or costs"),
        (3, {"threshold": 0.3}, "is for two classes, but there are 3"),
        (2, {"costs": {("a", "z"): 1.0}}, "'z', which is not among the classes"),
        (2, {"costs": {"a": 1.0}}, "expected \\(true label, prediction\\)"),
        (2, {"costs": {("a", "b"): -1.0}}, "the cost of"),
        (2, {"costs": {("a", "b"): 0.0}}, "costs nothing is always best"),
        (2, {"costs": {("a", "a"): 1.0}}, "the diagonal"),
        (3, {"costs": np.ones((2, 2))}, "shape \\(2, 2\\); expected \\(3, 3\\)"),
        (3, {"costs": np.zeros((3, 3))}, "all costs are 0"),
        (3, {"costs": np.full((3, 3), np.inf)}, "finite numbers, 0 or more"),
    ],
)
def test_bad_decisions(k, given, words):
    X, y = rows(k)
    clf = LinearClassifier(l2=0.01).fit(X, y)
    with pytest.raises((ValueError, TypeError), match=words):
        clf.set_decision(**given)
    assert not hasattr(clf, "decision_")


def test_costs_need_probabilities():
    X, y = rows(3)
    with pytest.raises(ValueError, match="use loss='logistic'"):
        LinearClassifier("hinge").fit(X, y).set_decision(costs={("a", "b"): 2.0})
    X, y = rows(2)
    with pytest.raises(ValueError, match="use tune_threshold"):
        LinearClassifier("hinge").fit(X, y).set_decision(costs={("a", "b"): 2.0})


def test_bad_tuning():
    X, y = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y)
    with pytest.raises(ValueError, match="expected both classes"):
        clf.tune_threshold(X[y == "a"], y[y == "a"], costs={("b", "a"): 2.0})
    with pytest.raises(ValueError, match="expected both classes"):
        clf.tune_threshold(X, y, costs={("b", "a"): 2.0}, sample_weight=(y == "a").astype(float))
    with pytest.raises(ValueError, match="and no other"):
        clf.tune_threshold(X, np.where(X[:, 0] > 1, "z", y), costs={("b", "a"): 2.0})
    with pytest.raises(ValueError, match="labels are numbers"):
        clf.tune_threshold(X, y == "b", costs={("b", "a"): 2.0})
    three = LinearClassifier(l2=0.01).fit(*rows(3))
    with pytest.raises(ValueError, match=r"use set_decision\(costs="):
        three.tune_threshold(*rows(3), costs={("b", "a"): 2.0})
    for each in (LinearClassifier(), Perceptron()):
        with pytest.raises(NotFittedError):
            each.set_decision(threshold=0.3)
    assert not hasattr(clf, "decision_")


class Probit(separatrix.MarginLoss):
    """A loss of a user with a probability of its own."""

    name = None
    convex = smooth = True

    def phi(self, m):
        return np.logaddexp(0.0, -2.0 * m) / 2.0

    def slope(self, m):
        return -1.0 / (1.0 + np.exp(2.0 * m))

    def probability(self, scores):
        return 1.0 / (1.0 + np.exp(-2.0 * scores))


def test_a_probability_without_its_inverse_is_refused():
    X, y = rows()
    clf = LinearClassifier(Probit(), l2=0.01, tol=1e-3).fit(X, y)
    with pytest.raises(ValueError, match="score_at"):
        clf.set_decision(threshold=0.3)


def test_diagnose_judges_the_decision():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    y = np.where(X[:, 0] + 1.2 * rng.normal(size=1000) > 2.9, "yes", "no")
    clf = LinearClassifier(l2=1e-3).fit(X, y)
    plain = separatrix.diagnose(clf, X, y).facts["balanced_accuracy"]
    clf.set_decision(threshold=0.05)
    found = separatrix.diagnose(clf, X, y).facts
    assert found["accuracy"] == pytest.approx(clf.score(X, y))
    assert found["balanced_accuracy"] > plain + 0.1
