"""What fit of a cross-validation passes on to its splitter and its scorer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from conftest import overlapping
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, StratifiedGroupKFold
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LinearClassifier, LinearClassifierCV

X, Y = overlapping(90, 4, seed=2)
GROUPS = np.random.default_rng(0).integers(0, 6, 90)
WEIGHT = np.random.default_rng(1).integers(1, 5, 90).astype(float)
L2S = [1.0, 1e-2, 1e-4]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def of_folds(clf):
    return np.array([v for name, v in clf.cv_results_.items() if name.startswith("split")])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "cv", [GroupKFold(3), LeaveOneGroupOut(), StratifiedGroupKFold(3)], ids=repr
)
@pytest.mark.parametrize("scoring", [None, "loss", "roc_auc"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("enabled", [False, True])
def test_groups_reach_the_splitter(cv, scoring, make, enabled):
    splits = list(cv.split(X, Y, GROUPS))
    expected = LinearClassifierCV(l2s=L2S, cv=splits, scoring=scoring).fit(make(X), Y)
    with sklearn.config_context(enable_metadata_routing=enabled):
        clf = LinearClassifierCV(l2s=L2S, cv=cv, scoring=scoring)
        clf.fit(make(X), Y, groups=GROUPS)
    np.testing.assert_array_equal(of_folds(clf), of_folds(expected))
    np.testing.assert_array_equal(clf.coef_, expected.coef_)


def test_what_nobody_asks_for_is_refused():
    with pytest.raises(TypeError, match="not color, taste: other arguments reach a splitter"):
        LinearClassifierCV(scoring=None).fit(X, Y, taste=None, color=GROUPS, groups=GROUPS)
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        LinearClassifierCV(cv=GroupKFold(3), scoring=None).fit(X, Y)
    with pytest.raises(ValueError, match="ignores groups: use scikit-learn's cv=LeaveOneGroupOut"):
        LinearClassifierCV(cv="loo", scoring=None).fit(X, Y, groups=GROUPS)
    with pytest.raises(ValueError, match="inconsistent"):
        LinearClassifierCV(cv=GroupKFold(3), scoring=None).fit(X, Y, groups=GROUPS[:50])
    with pytest.warns(UserWarning, match="groups parameter is ignored by StratifiedKFold"):
        LinearClassifierCV(l2s=[1.0], scoring=None).fit(X, Y, groups=GROUPS)
    plain = LinearClassifierCV(l2s=[1.0], scoring=None).fit(X, Y)
    np.testing.assert_array_equal(
        LinearClassifierCV(l2s=[1.0], scoring=None).fit(X, Y, groups=None).coef_,
                                  plain.coef_)  # fmt: skip


@pytest.mark.usefixtures("routing")
def test_what_nobody_asks_for_is_refused_by_routing_too():
    with pytest.raises(TypeError, match=r"unexpected argument.*color"):
        LinearClassifierCV(scoring=None).fit(X, Y, color=GROUPS)
    with pytest.raises(TypeError, match=r"unexpected argument.*groups"):
        LinearClassifierCV(cv=3, scoring=None).fit(X, Y, groups=GROUPS)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        LinearClassifierCV(cv=3, scoring="accuracy").fit(X, Y, sample_weight=WEIGHT)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("asks", [True, False])
def test_weights_reach_a_scorer_that_asks_for_them(asks):
    splits = list(GroupKFold(3).split(X, Y, GROUPS))
    scorer = get_scorer("accuracy").set_score_request(sample_weight=asks)
    clf = LinearClassifierCV(l2s=L2S, cv=GroupKFold(3), scoring=scorer, tol=1e-10)
    clf.fit(X, Y, sample_weight=WEIGHT, groups=GROUPS)
    for (train, test), found in zip(splits, of_folds(clf), strict=True):
        for l2, score in zip(L2S, found, strict=True):
            fit = LinearClassifier(l2=l2, tol=1e-10).fit(X[train], Y[train], WEIGHT[train])
            weight = WEIGHT[test] if asks else None
            assert score == pytest.approx(fit.score(X[test], Y[test], weight))
    # The default score is weighted without asking.
    default = LinearClassifierCV(l2s=L2S, cv=GroupKFold(3), tol=1e-10, scoring=None)
    default.fit(X, Y, sample_weight=WEIGHT, groups=GROUPS)
    assert np.array_equal(of_folds(default), of_folds(clf)) == asks


@pytest.mark.usefixtures("routing")
def test_a_scorer_gets_the_part_of_its_own_argument_that_belongs_to_its_rows():
    seen = []

    def measure(y, predicted, cost):
        seen.append(cost)
        return accuracy_score(y, predicted)

    scorer = make_scorer(measure).set_score_request(cost=True)
    splits = list(GroupKFold(3).split(X, Y, GROUPS))
    LinearClassifierCV(l2s=[1.0], cv=splits, scoring=scorer).fit(X, Y, cost=np.arange(90))
    for (_, test), cost in zip(splits, seen, strict=True):
        np.testing.assert_array_equal(cost, test)


@pytest.mark.usefixtures("routing")
def test_routes_are_those_of_scikit_learns_own():
    scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
    peer = LogisticRegressionCV(
        cv=GroupKFold(3), scoring=scorer, use_legacy_attributes=False, l1_ratios=(0.0,)
    ).set_fit_request(sample_weight=True)
    clf = LinearClassifierCV(cv=GroupKFold(3), scoring=scorer).set_fit_request(sample_weight=True)
    params = {"sample_weight", "groups"}
    mine, theirs = clf.get_metadata_routing(), peer.get_metadata_routing()
    assert mine.consumes("fit", params) == theirs.consumes("fit", params) == params
    mine, theirs = mine._serialize(), theirs._serialize()
    assert mine["splitter"] == theirs["splitter"]
    assert mine["scorer"]["router"] == theirs["scorer"]["router"]


@pytest.mark.usefixtures("routing")
def test_groups_go_through_pipelines_and_outer_folds():
    inner = make_pipeline(
        StandardScaler(), LinearClassifierCV(l2s=L2S, cv=GroupKFold(2), scoring=None)
    )
    found = sklearn_cross_validate(
        inner, X, Y, cv=GroupKFold(3), params={"groups": GROUPS}, return_estimator=True
    )
    for (train, _), fit in zip(GroupKFold(3).split(X, Y, GROUPS), found["estimator"], strict=True):
        alone = LinearClassifierCV(l2s=L2S, cv=GroupKFold(2), scoring=None)
        alone.fit(StandardScaler().fit_transform(X[train]), Y[train], groups=GROUPS[train])
        np.testing.assert_array_equal(fit[-1].coef_, alone.coef_)
