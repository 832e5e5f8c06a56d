"""LinearClassifierCV along strengths of l1, against fits of scikit-learn's folds one by one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from l1_oracles import Net, problem
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import KFold, StratifiedKFold

import separatrix
from separatrix import Checkpoint, LinearClassifier, LinearClassifierCV, path

# Some best scores are those of the smallest l2, which these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore:the best score is that of")


def mean_losses(X, y, strengths, ratio, folds=3, **given):
    """Minus the mean logistic loss of rows left out, (folds, strengths), by tight fits."""
    scores = np.zeros((folds, len(strengths)))
    for i, (train, test) in enumerate(StratifiedKFold(folds).split(X, y)):
        for j, s in enumerate(strengths):
            clf = LinearClassifier(
                l1=ratio * s, l2=(1 - ratio) * s / 2, tol=1e-10, **given
            )  # fmt: skip
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("warnings.warn", lambda *args, **given: None)  # nothing selected
                clf.fit(X[train], y[train])
            m = np.where(y[test] == 1, 1, -1) * clf.decision_function(X[test])
            scores[i, j] = -np.logaddexp(0, -m).mean()
    return scores


@pytest.mark.sampled(1)
@pytest.mark.parametrize("standardize", [False, True])
def test_scores_are_those_of_fits_to_the_folds(standardize):
    X, y = problem(n=150, d=8, flip_y=0.2)
    given = {"standardize": standardize}
    clf = LinearClassifierCV(l1_ratio=0.7, strengths=6, cv=3, scoring="loss", **given).fit(X, y)
    table = clf.cv_results_
    all_rows = path(X, y, l1_ratio=0.7, strengths=6, **given)
    strengths = all_rows.strengths[0] * np.geomspace(1.0, 1e-4, 6)
    np.testing.assert_allclose(table["strength"], strengths, rtol=1e-12)
    expected = mean_losses(X, y, strengths, 0.7, **given)
    found = np.array([table[f"split{i}_test_score"] for i in range(3)])
    np.testing.assert_allclose(found, expected, atol=2e-4)
    np.testing.assert_allclose(table["mean_test_score"], found.mean(axis=0))
    best = int(np.argmax(expected.mean(axis=0)))
    assert clf.strength_ == table["strength"][best]
    assert (clf.l1_, clf.l2_) == (table["l1"][best], table["l2"][best])
    assert clf.l1_ == pytest.approx(0.7 * clf.strength_)
    assert clf.l2_ == pytest.approx(0.15 * clf.strength_)
    assert clf.stop_ == "optimal"
    alone = LinearClassifier(l1=clf.l1_, l2=clf.l2_, **given).fit(X, y)
    assert clf.objective_ == pytest.approx(alone.objective_, rel=1e-6)
    np.testing.assert_array_equal(clf.selected_ | clf.zero_ | clf.undecided_, True)


@pytest.mark.slow
def test_the_best_ratio_then_the_rule_along_it():
    X, y = problem(n=150, d=8, flip_y=0.2)
    given = {"l1_ratio": [0.2, 1.0, 0.2], "strengths": 5, "cv": 4, "scoring": "loss"}
    clf = LinearClassifierCV(**given, rule="one_standard_error").fit(X, y)
    table = clf.cv_results_
    assert table["l1_ratio"].tolist() == [0.2] * 5 + [1.0] * 5
    for ratio in (0.2, 1.0):
        own = LinearClassifierCV(**given | {"l1_ratio": ratio}).fit(X, y)
        mine = table["l1_ratio"] == ratio
        np.testing.assert_allclose(own.cv_results_["strength"], table["strength"][mine])
        np.testing.assert_array_equal(
            own.cv_results_["mean_test_score"], table["mean_test_score"][mine]
        )
    mean, best = table["mean_test_score"], int(np.argmax(table["mean_test_score"]))
    assert clf.l1_ratio_ == table["l1_ratio"][best]
    enough = mean[best] - table["standard_error"][best]
    along = (table["l1_ratio"] == clf.l1_ratio_) & (mean >= enough)
    assert clf.strength_ == table["strength"][along].max()
    assert clf.strength_ >= LinearClassifierCV(**given).fit(X, y).strength_


def test_strengths_that_are_given_are_all_tried_on_sparse_rows_with_features_nobody_stores():
    X, y = problem(n=90, d=6)
    wide = sp.lil_array((90, 400))
    wide[:, 5:11] = X
    p = np.ones(400)
    p[6] = 0.5
    given = {"l1_ratio": 1.0, "strengths": [0.01, 0.1, 0.03], "cv": 3}
    clf = LinearClassifierCV(**given, penalty_weights=p, scoring=None).fit(wide.tocsr(), y)
    dense = LinearClassifierCV(**given, penalty_weights=p[5:11], scoring=None).fit(X, y)
    assert clf.cv_results_["strength"].tolist() == [0.1, 0.03, 0.01]
    np.testing.assert_allclose(
        clf.cv_results_["mean_test_score"], dense.cv_results_["mean_test_score"]
    )
    assert clf.coef_.shape == clf.zero_.shape == (1, 400)
    np.testing.assert_allclose(clf.coef_[:, 5:11], dense.coef_, atol=1e-4)
    scored = LinearClassifierCV(**given, penalty_weights=p, scoring="roc_auc")
    assert scored.fit(wide.tocsr(), y).cv_results_["mean_test_score"].max() > 0.5


@pytest.mark.slow
def test_three_classes_groups_and_a_selection():
    X, y = problem(n=150, d=8, k=3)
    clf = LinearClassifierCV(
        l1_ratio=1.0, strengths=[0.2, 0.1], groups="classes", cv=3, scoring=None
    ).fit(X, y)
    assert np.all((clf.coef_ != 0).all(axis=0) == (clf.coef_ != 0).any(axis=0))
    lasso = LinearClassifierCV(l1_ratio=1.0, strengths=3, cv=3, tol=1e-10, scoring=None).fit(X, y)
    net = Net("logistic", X, y, lasso.l1_, 0.0)
    W = np.column_stack([lasso.coef_, lasso.intercept_])
    assert net.violation(W).max() < 1e-4
    chosen = SelectFromModel(lasso, prefit=True).get_support()
    np.testing.assert_array_equal(chosen, np.abs(lasso.coef_).sum(axis=0) >= 1e-5)


def test_a_source_has_the_same_strengths(tmp_path):
    X, y = problem(n=200, d=6)
    names = ",".join([*(f"x{j}" for j in range(6)), "label"])
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "rows.csv", table, "%.17g", ",", header=names, comments="")
    source = separatrix.read(tmp_path / "rows.csv", target="label")
    given = {"l1_ratio": 1.0, "strengths": 3, "cv": 3, "standardize": True}
    clf, other = (
        LinearClassifierCV(**given, scoring=None).fit(source),
        LinearClassifierCV(**given, scoring=None).fit(X, y),
    )
    np.testing.assert_allclose(clf.cv_results_["strength"], other.cv_results_["strength"])
    assert clf.cv_results_["mean_test_score"].max() > 0.6


def test_a_search_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    X, y = problem(n=100, d=6)
    given = {"l1_ratio": [0.5, 1.0], "strengths": 3, "cv": 3}
    keep = Checkpoint(tmp_path / "run")
    first = LinearClassifierCV(**given, callbacks=[keep], scoring=None).fit(X, y)
    made, fit = [], separatrix.estimators.cv.search.minimize

    def counted(*args, **kwargs):
        made.append(1)
        return fit(*args, **kwargs)

    monkeypatch.setattr(separatrix.estimators.cv.search, "minimize", counted)
    again = LinearClassifierCV(**given, callbacks=[Checkpoint(tmp_path / "run")], scoring=None).fit(
        X, y
    )
    assert not made
    np.testing.assert_array_equal(again.coef_, first.coef_)
    other = LinearClassifierCV(
        **given | {"strengths": 4}, callbacks=[Checkpoint(tmp_path / "run")], scoring=None
    )
    with pytest.raises(ValueError, match="another"):
        other.fit(X, y)


def test_what_the_other_kind_of_path_reported_is_gone():
    X, y = problem(n=100, d=6)
    clf = LinearClassifierCV(l1_ratio=1.0, strengths=3, cv=3, scoring=None).fit(X, y)
    assert not hasattr(clf, "l2_path_")
    assert clone(clf).l1_ratio == 1.0
    clf.set_params(l1_ratio=None, l2s=3).fit(X, y)
    assert not hasattr(clf, "strength_")
    assert len(clf.l2_path_) == 3
    assert not clf.zero_.any()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"l1_ratio": 0.0}, "l1_ratio=0 means no l1"),
        ({"l1_ratio": [0.5, 0.0]}, "l1_ratio=0 means no l1"),
        ({"l1_ratio": 1.5}, "l1_ratio must be"),
        ({"l1_ratio": []}, "l1_ratio must be"),
        ({"l1_ratio": [[0.5]]}, "l1_ratio must be"),
        ({"l1_ratio": [0.5, np.nan]}, "l1_ratio must be"),
        ({"l1_ratio": 1.0, "strengths": -1}, "strengths must be"),
        ({"l1_ratio": 1.0, "strengths": [np.nan]}, "strengths must be"),
        ({"l1_ratio": 1.0, "cv": "loo"}, "cv='loo' leaves out one row at a time"),
        ({"l1_ratio": 1.0, "loss": "hinge"}, "use loss='squared_hinge'"),
        ({"l1_ratio": 1.0, "penalty_weights": np.ones(3)}, "penalty_weights has 3 entries"),
        ({"l1_ratio": 1.0, "penalty_weights": np.zeros(6)}, "all penalty_weights are 0"),
        ({"penalty_weights": np.ones(6)}, "penalty_weights is for sparse paths"),
        ({"groups": "classes"}, "groups is for sparse paths"),
        ({"l1_ratio": 1.0, "groups": [0, 0, 2, 2, 3, 3]}, "group"),
    ],
)
def test_bad_input_is_refused(given, said):
    X, y = problem(n=100, d=6)
    clf = LinearClassifierCV(**given, scoring=None)
    with pytest.raises(ValueError, match=said):
        clf.fit(X, y)
    assert not hasattr(clf, "coef_")


def test_a_strength_that_selects_nothing_is_said():
    X, y = problem()
    with pytest.warns(UserWarning, match="l1=100 is so large that no feature is selected"):
        clf = LinearClassifierCV(l1_ratio=1.0, strengths=[100.0], cv=3, scoring=None).fit(X, y)
    assert not clf.coef_.any()


def test_an_iterator_of_folds_serves_every_ratio():
    X, y = problem()
    given = {"l1_ratio": [0.5, 1.0], "strengths": 4, "scoring": "loss"}
    folds = KFold(3).split(X)
    found = LinearClassifierCV(cv=folds, **given).fit(X, y)
    alike = LinearClassifierCV(cv=KFold(3), **given).fit(X, y)
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"], alike.cv_results_["mean_test_score"]
    )
    rows = separatrix.read(lambda: iter([(X, y)])).sample(len(y))  # in memory
    of_rows = LinearClassifierCV(cv=3, **given).fit(rows)
    assert len(of_rows.cv_results_["mean_test_score"]) == 8
