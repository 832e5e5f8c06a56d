"""path: sparse models for one strength after another, against plain proximal gradients."""

from __future__ import annotations

import builtins
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from l1_oracles import Net, fitted, mean_loss, problem
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import separatrix
from separatrix import LinearClassifier, LinearClassifierCV, path
from separatrix.estimators.path import EXPLAINED, NO_CHANGE

LOSSES = ("logistic", "squared", "squared_hinge", "one_vs_rest_logistic")


def nets(found, name, X, y, **given):
    """The problem at every strength."""
    for s in found.strengths:
        yield Net(name, X, y, found.l1_ratio * s, (1.0 - found.l1_ratio) * s / 2.0, **given)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("k", "l1_ratio"), [(2, 1.0), (3, 0.5)])
def test_every_fit_is_the_minimum(name, k, l1_ratio):
    X, y = problem(n=80, d=8, k=k)
    found = path(X, y, loss=name, l1_ratio=l1_ratio, strengths=4, smallest=0.05, tol=1e-10)
    alone = null_weights(Net(name, X, y, 1.0, 0.0))
    null = mean_loss(name, X, y, alone, np.ones(len(X)), k)[0]
    for i, net in enumerate(nets(found, name, X, y)):
        least = net.value(net.minimum())
        W = np.column_stack([found.coefficients[i], found.intercepts[i]])
        assert found.objectives[i] == pytest.approx(net.value(W), rel=1e-12)
        assert found.objectives[i] - found.gaps[i] <= least + 1e-12
        assert found.objectives[i] == pytest.approx(least, abs=1e-9)
        assert found.gaps[i] <= 1e-10 * found.objectives[i]
        assert found.nonzeros[i] == np.count_nonzero(found.coefficients[i])
        loss = mean_loss(name, X, y, W, np.ones(len(X)), k)[0]
        assert found.deviance[i] == pytest.approx(1.0 - loss / null, abs=1e-9)


def null_weights(net):
    """The fit of the biases and the free features, in long doubles."""
    strong = Net(net.name, net.X, net.y, 1e3, 0.0, net.c, net.p, net.intercept)
    W = strong.minimum(steps=200_000)
    assert not np.any(W[:, :-1][:, net.p > 0])
    return W


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_largest_strength_is_the_smallest_that_leaves_only_the_bias(name, k, standardize):
    X, y = problem(k=k, d=8)
    c = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    found = path(
        X, y, loss=name, l1_ratio=0.7, strengths=3, sample_weight=c, standardize=standardize
    )
    Z = X
    if standardize:
        mean = np.average(X, axis=0, weights=c)
        Z = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=c))
    net = Net(name, Z, y, 1.0, 0.0, c)
    pull = np.abs(net.smooth_gradient(null_weights(net)))[:, :-1].max()
    assert found.strengths[0] == pytest.approx(float(pull) / 0.7, rel=1e-9)
    assert not found.coefficients[0].any()
    assert found.coefficients[1].any()
    for share, selected in ((1.0, False), (0.999, True)):
        s = share * found.strengths[0]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *args, **given: None)  # nothing is selected
            clf = fitted(X, y, c, loss=name, l1=0.7 * s, l2=0.15 * s, standardize=standardize)
        assert clf.coef_.any() == selected


@pytest.mark.parametrize("seed", range(30))
def test_at_the_largest_strength_the_fit_is_the_null_model_and_below_it_not(seed):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(20, 80)), int(rng.integers(3, 12)), 2 + seed % 2
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    p = np.where(rng.random(d) < 0.3, 0.0, 1.0) * (seed % 3 != 0) + (seed % 3 == 0)
    p[0] = 1.0
    given = {"loss": LOSSES[seed % 4], "penalty_weights": p, "n_jobs": 1}
    largest = path(X, y, strengths=1, l1_ratio=0.5, **given).strengths[0]
    for solver in ("auto", separatrix.ProximalNewton()):
        for share, selected in ((1.0, False), (0.999, True)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # nothing is selected
                l1, l2 = 0.5 * share * largest, 0.25 * share * largest
                clf = fitted(X, y, l1=l1, l2=l2, solver=solver, **given)
            assert clf.coef_[:, p > 0.0].any() == selected
            assert clf.stop_ == "optimal"


def test_features_of_weight_0_are_in_the_null_model():
    X, y = problem(d=6)
    p = np.array([0.0, 1.0, 2.0, 0.5, 1.0, 1.0])
    found = path(X, y, strengths=4, smallest=0.1, penalty_weights=p, tol=1e-9)
    net = Net("logistic", X, y, 1.0, 0.0, p=p)
    W = null_weights(net)
    pull = np.abs(net.smooth_gradient(W))[0, 1:-1] / p[1:]
    assert found.strengths[0] == pytest.approx(float(pull.max()), rel=1e-8)
    np.testing.assert_allclose(found.coefficients[0, 0], W[0, :-1], atol=1e-6)
    assert found.deviance[0] == pytest.approx(0.0, abs=1e-8)
    for i, net in enumerate(nets(found, "logistic", X, y, p=p)):
        assert found.objectives[i] == pytest.approx(net.value(net.minimum()), abs=1e-9)


@pytest.mark.parametrize(("k", "groups"), [(2, [0, 0, 1, 1, 2, 2]), (3, "classes")])
def test_groups_enter_together_from_where_the_first_pulls_hard_enough(k, groups):
    X, y = problem(d=6, k=k)
    found = path(X, y, groups=groups, strengths=3, smallest=0.5)
    net = Net("logistic", X, y, 1.0, 0.0)
    pull = net.smooth_gradient(null_weights(net)).astype(float)[:, :-1]
    lengths = [np.linalg.norm(pull[:, j : j + 2]) / np.sqrt(2) for j in (0, 2, 4)]
    if groups == "classes":
        lengths = np.linalg.norm(pull, axis=0)
    assert found.strengths[0] == pytest.approx(max(lengths), rel=1e-9)
    assert found.nonzeros.tolist()[0] == 0 < found.nonzeros[1]
    together = found.coefficients != 0.0
    if groups == "classes":
        assert np.all(together.all(axis=1) == together.any(axis=1))
    else:
        assert np.all(together[:, :, ::2] == together[:, :, 1::2])


def test_scikit_learns_saga_finds_the_same_path():
    X, y = problem()
    found = path(X, y, l1_ratio=0.8, strengths=4, smallest=0.03, tol=1e-12)
    for i, s in list(enumerate(found.strengths))[1:]:  # saga is slow to find a bias alone
        theirs = LogisticRegression(
            C=1.0 / (s * len(X)), l1_ratio=0.8, solver="saga", tol=1e-11, max_iter=100_000
        ).fit(X, y)
        np.testing.assert_allclose(found.coefficients[i], theirs.coef_, atol=2e-5)
        np.testing.assert_allclose(found.intercepts[i], theirs.intercept_, atol=2e-5)


def test_the_grid_has_equal_ratios_and_its_own_ends():
    X, y = problem()
    found = path(X, y, strengths=7)
    assert found.strengths[-1] == pytest.approx(1e-4 * found.strengths[0])
    ratios = found.strengths[1:] / found.strengths[:-1]
    np.testing.assert_allclose(ratios, ratios[0])
    wide = path(X[:10], np.arange(10) % 2, strengths=4)
    assert wide.strengths[-1] == pytest.approx(1e-2 * wide.strengths[0])
    assert path(X, y, strengths=3, smallest=0.5).strengths[-1] == found.strengths[0] / 2


def test_strengths_that_are_given_are_all_fitted_from_large_to_small():
    X, y = problem()
    found = path(X, y, strengths=[0.01, 0.2, 0.05, 0.01])
    assert found.strengths.tolist() == [0.2, 0.05, 0.01]
    alone = fitted(X, y, l1=0.05, tol=1e-6)
    assert found.objectives[1] == pytest.approx(alone.objective_, rel=1e-6)


def test_a_grid_ends_where_nearly_all_is_explained():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = X[:, 0] > 0.0  # separable: the loss goes to 0
    found = path(X, y, strengths=30, smallest=1e-6)
    assert len(found.strengths) < 30
    assert found.deviance[-1] >= EXPLAINED > found.deviance[-2]
    assert len(path(X, y, strengths=found.strengths[0] * np.geomspace(1, 1e-6, 9)).gaps) == 9


def test_a_grid_ends_where_nothing_changes_any_more():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = X[:, 0] + 3.0 * rng.standard_normal(400) > 0.0
    found = path(X, y)
    assert len(found.strengths) < 100
    gains = np.diff(found.deviance) / found.deviance[1:]
    assert gains[-1] < NO_CHANGE <= gains[3:-1].min()


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


def test_sparse_dense_and_a_source_are_alike(tmp_path):
    X, y = problem(n=200)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    names = ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "rows.csv", table, "%.17g", ",", header=names, comments="")
    source = separatrix.read(tmp_path / "rows.csv", target="label")
    given = {"strengths": 5, "tol": 1e-10, "standardize": True}
    dense = path(X, y, **given)
    for other in (path(sp.csr_array(X), y, **given), path(source, **given)):
        np.testing.assert_allclose(other.strengths, dense.strengths, rtol=1e-9)
        np.testing.assert_allclose(other.objectives, dense.objectives, rtol=1e-9)
        np.testing.assert_array_equal(other.nonzeros, dense.nonzeros)


def test_features_that_no_row_stores_have_no_weights():
    X, y = problem(n=60, d=6)
    wide = sp.lil_array((60, 5000))
    wide[:, 10:16] = X
    p = np.ones(5000)
    p[12] = 3.0
    found = path(wide.tocsr(), y, strengths=3, smallest=0.1, penalty_weights=p)
    alone = path(X, y, strengths=3, smallest=0.1, penalty_weights=p[10:16])
    assert found.coefficients.shape == (3, 1, 5000)
    np.testing.assert_allclose(found.coefficients[:, :, 10:16], alone.coefficients, atol=1e-4)
    assert not found.coefficients[:, :, :10].any()


def test_rows_of_weight_2_are_rows_twice_also_without_a_bias():
    X, y = problem(n=80)
    c = np.where(np.arange(80) % 3, 1.0, 2.0)
    twice = np.repeat(np.arange(80), c.astype(int))
    given = {"strengths": 4, "fit_intercept": False, "tol": 1e-10}
    weighed, repeated = path(X, y, sample_weight=c, **given), path(X[twice], y[twice], **given)
    np.testing.assert_allclose(weighed.objectives, repeated.objectives, rtol=1e-9)
    assert not weighed.intercepts.any()


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


def test_tanh_squared_has_a_path_without_proof():
    X, y = problem()
    found = path(X, y, loss="tanh_squared", strengths=4, smallest=0.1)
    assert np.isnan(found.gaps).all()
    assert not found.coefficients[0].any()
    assert found.nonzeros[-1] > 0


def test_fits_that_end_early_are_told_in_one_warning():
    X, y = problem()
    with pytest.warns(
        ConvergenceWarning, match=r"of 4 fits of the path ended \(max_iter\)"
    ) as told:
        path(X, y, strengths=4, max_iter=1, tol=1e-9)
    assert len(told) == 1
    with pytest.warns(ConvergenceWarning, match="known to have converged.*: raise max_iter, scale"):
        path(X, y, strengths=4, max_iter=1, tol=None)


def test_strengths_that_select_nothing_are_said():
    X, y = problem()
    largest = path(X, y, strengths=1).strengths[0]
    with pytest.warns(UserWarning, match=f"no strength is below {largest:g}"):
        found = path(X, y, strengths=[2.0 * largest, largest])
    assert not found.coefficients.any()


def test_free_features_may_leave_nothing_to_explain():
    X, y = problem()
    X[:, 0], p = np.where(y == 1, 3.0, -3.0), np.where(np.arange(15) == 0, 0.0, 1.0)
    with pytest.raises(ValueError, match="beyond the bias and the features of weight 0"):
        path(X, y, loss="squared_hinge", penalty_weights=p)
    found = path(X, y, loss="squared_hinge", penalty_weights=p, strengths=[0.1, 0.01])
    assert found.deviance.tolist() == [0.0, 0.0]
    assert found.nonzeros.tolist() == [1, 1]


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


@pytest.mark.parametrize("name", ["logistic", "hinge", "squared_hinge", "squared"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_path_without_l1_is_for_every_loss(name, k):
    X, y = problem(k=k, d=8)
    c = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    found = path(X, y, loss=name, l1_ratio=0, strengths=4, smallest=1e-4, sample_weight=c)
    assert found.strengths[-1] == pytest.approx(found.strengths[0] * 1e-4)
    for at, s in enumerate(found.strengths):
        alone = LinearClassifier(name, l2=s / 2).fit(X, y, c)
        assert found.objectives[at] == pytest.approx(alone.objective_, rel=1e-5)
        assert found.at(s).l1 == 0.0
    if name == "logistic":
        p = np.array([c[y == label].sum() for label in np.unique(y)]) / c.sum()
        null = -np.sum(p * np.log(p))
        fit = found.at(found.strengths[-1])
        chance = fit.predict_proba(X)[np.arange(len(y)), np.searchsorted(fit.classes_, y)]
        loss = -np.average(np.log(chance), weights=c)
        assert found.deviance[-1] == pytest.approx(1 - loss / null, rel=1e-4)
    assert np.all(np.diff(found.deviance) > 0)
    assert found.deviance[0] < found.deviance[-1] < 1


def test_fits_are_reported_to_callbacks():
    told = []

    class Watch:
        def __call__(self, step, info):
            pass

        def searched(self, value):
            told.append(value)

    X, y = problem()
    found = path(X, y, strengths=3, cv=2, callbacks=[Watch()])
    assert told[:3] == found.strengths.tolist()
    assert len(told) == 3 + 2 * 3


@pytest.mark.filterwarnings("default")
def test_a_best_score_at_the_end_of_the_path_is_warned_of():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((200, 20)), rng.random(200) > 0.5
    with pytest.warns(UserWarning, match=r"l2 = .*, the largest of the grid, where the penalty"):
        path(X, y, l1_ratio=0, strengths=10, cv=5)
