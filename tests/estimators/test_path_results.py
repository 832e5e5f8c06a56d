"""What a path returns, warns of and refuses: tables, fitted classifiers, scores."""

from __future__ import annotations

import builtins
import pickle

import numpy as np
import pandas as pd
import pytest
from l1_oracles import problem
from sklearn.exceptions import ConvergenceWarning

import separatrix
from separatrix import LinearClassifier, LinearClassifierCV, path


def test_at_gives_the_fitted_classifier_of_a_strength_and_names_the_nearest():
    X, y = problem(k=3)
    found = path(X, y, l1_ratio=0.5, strengths=4, standardize=True, class_weight="balanced")
    s = float(found.strengths[2])
    clf = found.at(s)
    assert isinstance(clf, LinearClassifier)
    assert (clf.l1, clf.l2) == (0.5 * s, 0.25 * s)
    np.testing.assert_array_equal(clf.coef_, found.coefficients[2])
    assert (clf.objective_, clf.gap_, clf.stop_) == (found.objectives[2], found.gaps[2], "optimal")
    np.testing.assert_array_equal(clf.zero_ | clf.undecided_ | clf.selected_, True)
    again = LinearClassifier(**clf.get_params()).fit(X, y)
    assert again.objective_ == pytest.approx(clf.objective_, rel=1e-6)
    assert clf.score(X, y) == pytest.approx(again.score(X, y), abs=0.02)
    assert [len(w) for _, w in enumerate(clf.predict_proba(X[:2]))] == [3, 3]
    clf.coef_[:] = 7.0
    clf.fit(X, y == 1)
    np.testing.assert_array_equal(found.at(s * (1.0 + 1e-12)).coef_, found.coefficients[2])
    with pytest.raises(ValueError, match=f"no fit was made for .* nearest is {s!r}"):
        found.at(1.1 * s)
    for bad in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="strength must be"):
            found.at(bad)


def test_a_frame_has_a_row_for_every_strength(monkeypatch):
    pytest.importorskip("pandas")
    X, y = problem()
    found = path(X, y, l1_ratio=0.5, strengths=4)
    frame = found.to_frame()
    assert list(frame) == [
        "strength", "l1", "l2", "nonzeros", "deviance", "objective", "gap", "entering"
    ]  # fmt: skip
    np.testing.assert_array_equal(frame["strength"], found.strengths)
    np.testing.assert_array_equal(frame["l1"] / 2, frame["l2"])
    np.testing.assert_array_equal(frame["gap"], found.gaps)
    there = builtins.__import__

    def missing(name, *args):
        if name == "pandas":
            raise ImportError(name)
        return there(name, *args)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match="pip install pandas"):
        found.to_frame()


def test_a_path_is_shown_in_a_line():
    X, y = problem(n=60, d=8)
    shown = repr(path(X, y, strengths=4))
    assert "l1_ratio=1, 4 strengths from " in shown
    assert "\n" not in shown
    assert len(shown) < 120


def test_a_path_travels():
    X, y = problem()
    found = path(X, y, strengths=3)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.coefficients, found.coefficients)
    np.testing.assert_array_equal(
        again.at(again.strengths[1]).predict(X), found.at(found.strengths[1]).predict(X)
    )
    with pytest.raises(AttributeError):
        found.strengths = found.strengths


def test_fits_that_end_early_are_reported_in_one_warning():
    X, y = problem()
    with pytest.warns(
        ConvergenceWarning, match=r"of 4 fits of the path ended \(max_iter\)"
    ) as reported:
        path(X, y, strengths=4, max_iter=1, tol=1e-9)
    assert len(reported) == 1
    with pytest.warns(ConvergenceWarning, match="known to have converged.*: raise max_iter, scale"):
        path(X, y, strengths=4, max_iter=1, tol=None)


def test_strengths_that_select_nothing_are_said():
    X, y = problem()
    largest = path(X, y, strengths=1).strengths[0]
    with pytest.warns(UserWarning, match=f"no strength is below {largest:g}"):
        found = path(X, y, strengths=[2.0 * largest, largest])
    assert not found.coefficients.any()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"l1_ratio": 0, "penalty_weights": np.ones(15)}, "penalty_weights is for sparse paths"),
        ({"l1_ratio": 0, "groups": [0] * 15}, "groups is for sparse paths"),
        ({"cv": 1}, "n_splits=2 or more"),
        ({"l1_ratio": -0.1}, "l1_ratio must be"),
        ({"l1_ratio": 1.1}, "l1_ratio must be"),
        ({"l1_ratio": np.nan}, "l1_ratio must be"),
        ({"strengths": 0}, "strengths must be"),
        ({"strengths": []}, "strengths must be"),
        ({"strengths": True}, "strengths must be"),
        ({"strengths": [[0.1]]}, "strengths must be"),
        ({"strengths": [0.1, -0.1]}, "strengths must be"),
        ({"strengths": [0.1, np.nan]}, "strengths must be"),
        ({"strengths": "many"}, "strengths must be"),
        ({"smallest": 0.0}, "smallest must be"),
        ({"smallest": 1.5}, "smallest must be"),
        ({"strengths": [0.1], "smallest": 0.1}, "smallest=0.1 is the end of a grid"),
        ({"penalty_weights": np.zeros(15)}, "all penalty_weights are 0"),
        ({"penalty_weights": np.ones(14)}, "penalty_weights has 14 entries"),
        ({"penalty_weights": np.full(15, -1.0)}, "must be finite and not negative"),
        ({"penalty_weights": np.full(15, np.nan)}, "must be finite and not negative"),
        ({"groups": [0] * 14}, "groups has 14 entries"),
        ({"groups": [0] * 14 + [2]}, "no feature is in group 1 and there is a group 2"),
        ({"loss": "hinge"}, "use loss='squared_hinge'"),
        ({"loss": "perceptron"}, "use loss='squared_hinge'"),
        ({"solver": separatrix.LBFGS()}, "takes l2 alone"),
        ({"tol": -1.0}, "tol must be"),
    ],
)
def test_bad_input_is_refused(given, said):
    X, y = problem()
    with pytest.raises(ValueError, match=said):
        path(X, y, **given)


def test_one_class_has_no_path():
    X, y = problem()
    with pytest.raises(ValueError, match="only one class"):
        path(X, np.zeros_like(y))


def test_features_that_say_nothing_have_no_path():
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    with pytest.raises(ValueError, match="every strength leaves all weights at 0"):
        path(X, y)
    with pytest.raises(ValueError, match="every strength leaves all weights at 0"):
        path(np.full((4, 1), 3.3), y)
    found = path(X, y, strengths=[0.1])
    assert not found.coefficients.any()
    assert found.objectives[0] == pytest.approx(np.log(2))


def named(X):
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("k", [2, 3])
def test_tables_name_the_features(k):
    X, y = problem(k=k, d=6)
    found = path(named(X), y, strengths=12, standardize=True)
    frame = found.coef_frame()
    np.testing.assert_array_equal(frame.index, found.strengths)
    assert frame.index.name == "strength"
    for at, label in enumerate(np.unique(y) if k > 2 else [None]):
        own = frame if label is None else frame[label]
        assert own.columns.tolist() == [f"f{j}" for j in range(6)]
        np.testing.assert_array_equal(own, found.coefficients[:, at])
    # The order of entry, by hand: when, and then by the size of the weight per deviation.
    first, sizes = {}, {}
    for j in range(6):
        for m in range(len(found.strengths)):
            if found.coefficients[m, :, j].any():
                first[f"f{j}"] = m
                sizes[f"f{j}"] = np.abs(found.coefficients[m, :, j]).max() * X[:, j].std()
                break
    order = sorted(first, key=lambda name: (first[name], -sizes[name]))
    assert found.order_of_entry == order
    assert found.entry.tolist() == [first.get(f"f{j}", len(found.strengths)) for j in range(6)]
    entering = found.to_frame()["entering"].tolist()
    assert [name for text in entering if text for name in text.split(", ")] == order
    assert all(first[text.split(", ")[0]] == m for m, text in enumerate(entering) if text)
    assert path(X, y, strengths=3).feature_names.tolist() == [f"x{j}" for j in range(6)]
    frame.iloc[0, 0] = 1.0  # a copy
    assert found.coefficients[0, 0, 0] == 0.0


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore:the best score is that of")
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_scores_are_those_of_a_search_with_these_values(l1_ratio):
    X, y = problem(n=90)
    c = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    given = {"cv": 4, "standardize": True, "sample_weight": c}
    found = path(X, y, l1_ratio=l1_ratio, strengths=6, **given)
    values = {"l1_ratio": l1_ratio, "strengths": found.strengths}
    if not l1_ratio:
        values = {"l2s": 6}  # the same grid
    search = LinearClassifierCV(cv=4, standardize=True, scoring="loss", **values)
    search.fit(X, y, c)
    if not l1_ratio:
        np.testing.assert_array_equal(found.strengths / 2, search.l2_path_)
    for name in ("mean_test_score", "standard_error", "split3_test_score"):
        np.testing.assert_array_equal(found.cv_results[name], search.cv_results_[name])
    mean, error = search.cv_results_["mean_test_score"], search.cv_results_["standard_error"]
    best = int(mean.argmax())
    assert found.best_strength == found.strengths[best]
    within = np.flatnonzero(mean >= mean[best] - error[best])[0]
    assert found.one_standard_error_strength == found.strengths[within]
    frame = found.to_frame()
    np.testing.assert_array_equal(frame["mean_test_score"], mean)
    np.testing.assert_array_equal(frame["standard_error"], error)
    alone = path(X, y, strengths=3)
    assert (alone.cv_results, alone.best_strength) == (None, None)


def test_fits_are_reported_to_callbacks():
    reported = []

    class Watch:
        def __call__(self, step, info):
            pass

        def searched(self, value):
            reported.append(value)

    X, y = problem()
    found = path(X, y, strengths=3, cv=2, callbacks=[Watch()])
    assert reported[:3] == found.strengths.tolist()
    assert len(reported) == 3 + 2 * 3


@pytest.mark.filterwarnings("default")
def test_a_best_score_at_the_end_of_the_path_is_warned_of():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((200, 20)), rng.random(200) > 0.5
    with pytest.warns(UserWarning, match=r"l2 = .*, the largest of the grid, where the penalty"):
        path(X, y, l1_ratio=0, strengths=10, cv=5)
