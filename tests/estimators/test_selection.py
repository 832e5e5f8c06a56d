"""``nonzero_`` and ``selection_`` of fits, against exact sets of minima."""

from __future__ import annotations

import pickle
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.exceptions import NotFittedError

import separatrix
from separatrix import LinearClassifier, LinearClassifierCV, path
from separatrix.estimators import selection

LOSSES = ("logistic", "squared", "squared_hinge")
X, Y = load_breast_cancer(return_X_y=True)
SCALED = (X - X.mean(axis=0)) / X.std(axis=0)


@contextmanager
def silence():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def lasso(loss="logistic", l1=0.02, **others):
    return LinearClassifier(loss, **({"l1": l1, "l2": 0.0} | others))


def loose_problem(seed):
    """A small table with equal columns, sums of columns, ties, offsets and odd scales."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 40)), int(rng.integers(1, 11))
    T = rng.standard_normal((n, d))
    if rng.random() < 0.4:
        T = np.round(T)
    if d > 3 and rng.random() < 0.3:
        T[:, 2] = T[:, 3] + T[:, 0]
    if d > 4 and rng.random() < 0.2:
        T[:, 4] = rng.choice([0.0, 1.0, 5.0])
    if rng.random() < 0.3:
        T[rng.random(T.shape) < 0.6] = 0.0
    if rng.random() < 0.3:
        T *= 10.0 ** rng.integers(-3, 4, d)
    if rng.random() < 0.2:
        T += 10.0 ** rng.integers(0, 9)
    if d > 1 and rng.random() < 0.4:
        T[:, 0] = T[:, 1]
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if rng.random() < 0.3 else np.ones(n)
    weight[:2] = 1.0
    parameters = {
        "loss": str(rng.choice(LOSSES)), "l1": 10.0 ** rng.uniform(-3, -0.5), "n_jobs": 1,
        "l2": float(rng.choice([0.0, 0.0, 1e-3])), "standardize": bool(rng.random() < 0.6),
        "fit_intercept": bool(rng.random() < 0.8), "max_iter": 200,
    }  # fmt: skip
    if rng.random() < 0.3:
        parameters["penalty_weights"] = rng.choice([0.0, 0.3, 1.0, 2.0], d)
        parameters["penalty_weights"][0] = 1.0  # all 0 would be an error
    return T, y, weight, parameters, 10.0 ** rng.uniform(-9, -1), rng


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 300), marks=pytest.mark.slow)])
def test_no_loose_fit_proves_what_a_tight_fit_contradicts(seeds):
    proven = 0
    for seed in seeds:
        T, y, weight, parameters, tol, rng = loose_problem(seed)
        rows = sp.csr_array(T) if rng.random() < 0.3 else T
        with silence():
            loose = LinearClassifier(**parameters, tol=tol).fit(rows, y, weight)
            found = loose.nonzero_
            if found is None or not found.any():
                continue
            tight = LinearClassifier(**parameters, tol=1e-13).fit(rows, y, weight)
        if tight.gap_ is None or tight.gap_ > 1e-9 * tight.objective_:
            continue
        right = np.sign(loose.coef_)[found] == np.sign(tight.coef_)[found]
        assert right.all(), seed
        assert not np.any(found & (loose.zero_ | tight.zero_)), seed
        if T.shape[1] > 1 and np.array_equal(T[:, 0], T[:, 1]) and parameters["l2"] == 0.0:
            p = parameters.get("penalty_weights", np.ones(2))
            assert p[0] != p[1] or not found[:, :2].any(), seed
        proven += np.count_nonzero(found)
    assert proven > len(seeds) / 2


def ranges_over_minima(clf, T):
    """The least and largest weight of each feature over all minima, by linear programs.

    The loss is strictly convex in the scores: all minima have the same scores, so that the minima
    are the weights with these scores and the least sum of absolute values.
    """
    n, d = T.shape
    W = np.hstack([T, -T, np.ones((n, 1)), -np.ones((n, 1))])
    scores = clf.decision_function(T)
    most = np.append(np.ones(2 * d), np.zeros(2))
    A = np.vstack([W, -W, most])
    b = np.concatenate([scores + 1e-7, -scores + 1e-7, [np.abs(clf.coef_).sum() + 1e-7]])
    found = np.empty((d, 2))
    for j in range(d):
        c = np.zeros(2 * d + 2)
        c[j], c[d + j] = 1.0, -1.0
        found[j] = [s * linprog(s * c, A_ub=A, b_ub=b).fun for s in (1.0, -1.0)]
    return found


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_where_minima_are_tied_only_what_they_share_is_proven(loss):
    """Columns that are equal, opposite, and sums of others."""
    rng, proven = np.random.default_rng(0), 0
    for _ in range(6):
        T = rng.integers(-2, 3, (30, 7)).astype(float)
        T[:, 1], T[:, 2], T[:, 3] = T[:, 0], -T[:, 4], T[:, 5] + T[:, 6]
        y = (T[:, 0] + T[:, 5] - T[:, 4] + rng.logistic(size=30) > 0).astype(int)
        with silence():
            clf = lasso(loss, 0.01, tol=1e-13).fit(T, y)
            loose = lasso(loss, 0.01, tol=1e-5).fit(T, y).certify_selection(T, y)
        low, high = ranges_over_minima(clf, T).T
        for found in (clf.nonzero_[0], loose.nonzero_[0]):
            free = (low < 1e-4) & (high > -1e-4)  # 0 in some minimum, up to the tolerances
            assert not np.any(found & free)
            assert np.all(clf.coef_[0, found] * loose.coef_[0, found] > 0.0)
        assert np.any(high - low > 0.01)  # there are ties
        proven += np.count_nonzero(clf.nonzero_)
    assert proven >= 6


@pytest.mark.parametrize("seed", range(4))
def test_a_proven_weight_raises_the_minimum_of_another_solver_if_it_is_left_out(seed):
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    T = rng.integers(-2, 3, (40, 6)).astype(float)
    T[:, 1], T[:, 2] = T[:, 0], T[:, 3] + T[:, 4]
    sign = np.where(T[:, 0] - T[:, 3] + rng.logistic(size=40) > 0, 1.0, -1.0)
    clf = lasso(l1=0.03, tol=1e-6).fit(T, sign).certify_selection(T, sign)

    def least(without=None):
        w, b = cvxpy.Variable(6), cvxpy.Variable()
        J = cvxpy.sum(cvxpy.logistic(-cvxpy.multiply(sign, T @ w + b))) / 40
        limits = [] if without is None else [w[without] == 0]
        problem = cvxpy.Problem(cvxpy.Minimize(J + 0.03 * cvxpy.norm1(w)), limits)
        return problem.solve(solver="CLARABEL")

    J = least()
    assert pytest.approx(clf.objective_, abs=1e-6) == J
    needed = np.array([least(j) > J + 1e-6 for j in range(6)])
    assert not np.any(clf.nonzero_[0] & ~needed)
    assert not clf.nonzero_[0, :2].any()
    assert np.array_equal(clf.nonzero_[0], needed)  # a fit without a feature proves every one


@pytest.mark.parametrize("loss", LOSSES)
def test_neither_of_two_equal_columns_is_proven(loss):
    T = np.column_stack([SCALED, SCALED[:, 20]])
    clf = lasso(loss).fit(T, Y)
    assert clf.coef_[0, [20, 30]].any()
    assert not clf.nonzero_[0, [20, 30]].any()
    assert clf.selection_ == "undecided"
    assert not clf.certify_selection(T, Y).nonzero_[0, [20, 30]].any()
    both = lasso(loss, l2=1e-2).fit(T, Y)  # an elastic net divides the weight between them
    assert both.nonzero_[0, [20, 30]].all()


def test_a_default_fit_proves_nearly_all_of_its_selection():
    selected = proven = 0
    wine = load_wine(return_X_y=True)
    generated = make_classification(400, 60, n_informative=10, random_state=0)
    for T, y in ((X, Y), wine, generated):
        for loss in LOSSES:
            for l1, l2 in ((0.02, 0.0), (0.01, 1e-3)):
                clf = LinearClassifier(loss, l1=l1, l2=l2, standardize=True).fit(T, y)
                assert not np.any(clf.nonzero_ & ~clf.selected_)
                decided = np.all(clf.nonzero_ | clf.zero_)
                assert clf.selection_ == ("proven" if decided else "undecided")
                selected += clf.selected_.sum()
                proven += clf.nonzero_.sum()
    assert proven >= 0.97 * selected > 200


def same(a, b):
    assert np.array_equal(a.nonzero_, b.nonzero_)
    assert np.array_equal(a.zero_, b.zero_)
    assert a.nonzero_.any()


def test_weights_storage_and_units_do_not_matter():
    rng = np.random.default_rng(0)
    times = rng.integers(0, 4, len(Y))
    clf = lasso()
    same(
        clf.fit(SCALED, Y, times),
        lasso().fit(np.repeat(SCALED, times, axis=0), np.repeat(Y, times)),
    )
    same(clf.fit(SCALED, Y), lasso().fit(sp.csr_array(SCALED), Y))
    same(clf, lasso(standardize=True).fit(X, Y))
    same(clf, lasso(standardize=True).fit(np.asfortranarray(X * 1e-30), Y))
    far = lasso(standardize=True, tol=1e-4).fit(np.round(SCALED, 6) + 1e8, Y)
    near = lasso(standardize=True, tol=1e-13).fit(SCALED, Y)
    assert far.nonzero_.any()
    assert np.all(np.sign(far.coef_)[far.nonzero_] == np.sign(near.coef_)[far.nonzero_])


def test_features_without_a_penalty_and_columns_without_values():
    p = np.ones(30)
    p[[3, 20]] = 0.0
    clf = lasso(penalty_weights=p).fit(SCALED, Y)
    tight = lasso(penalty_weights=p, tol=1e-12).fit(SCALED, Y)
    assert clf.nonzero_[0, [3, 20]].all()
    assert np.array_equal(np.sign(clf.coef_), np.sign(tight.coef_))
    wide = sp.csr_array(np.column_stack([np.zeros((len(Y), 40)), SCALED]))
    clf = lasso().fit(wide, Y)
    assert clf.nonzero_.shape == (1, 70)
    assert not clf.nonzero_[0, :40].any()
    assert clf.nonzero_[0, 40:].sum() == clf.selected_.sum()


def test_one_feature_and_one_row_of_each_class():
    clf = lasso(l1=0.1).fit([[-1.0], [1.0]], [0, 1])
    assert (clf.nonzero_.tolist(), clf.selection_) == ([[True]], "proven")
    with silence():  # of a model without features
        clf = lasso(l1=0.5).fit([[-1.0], [1.0]], [0, 1])  # the largest strength: 0 is a minimum
    assert not clf.nonzero_.any()
    with silence():
        clf = lasso(l1=0.1).fit([[1.0], [1.0]], [0, 1])  # a constant column
    assert (clf.nonzero_.tolist(), clf.selection_) == ([[False]], "proven")


@pytest.mark.parametrize("k", [2, 3])
def test_groups_classes_and_labels(k):
    T, y = load_wine(return_X_y=True)
    T, y = (T - T.mean(axis=0)) / T.std(axis=0), np.minimum(y, k - 1)
    groups = np.arange(13) // 2
    for options in ({"groups": groups}, {"groups": "classes"}, {}):
        for loss in ("logistic", "one_vs_rest_logistic"):
            loose = lasso(loss, 0.05, tol=1e-5, **options).fit(T, y)
            tight = lasso(loss, 0.05, tol=1e-12, **options).fit(T, y)
            found = loose.nonzero_
            assert np.all(np.sign(loose.coef_)[found] == np.sign(tight.coef_)[found])
            assert found.sum() >= 0.5 * tight.selected_.sum() > 0
    several = np.column_stack([y == 0, y == 1, np.zeros(len(y))]).astype(int)
    with silence():
        clf = lasso(l1=0.05).fit(T, several)
    assert not clf.nonzero_[2].any()
    assert clf.zero_[2].all()
    assert clf.nonzero_[:2].any()


def test_where_there_is_no_proof_nothing_is_said():
    with silence():
        fits = [
            LinearClassifier("tanh_squared", l1=0.01).fit(SCALED, Y),
            lasso(tol=None, max_iter=5).fit(SCALED, Y),
            LinearClassifier().partial_fit(SCALED, Y, classes=[0, 1]),
            LinearClassifier(l2=0.0).fit([[0.0], [1.0]], [0, 1]),  # no minimum
        ]
    for clf in fits:
        assert clf.nonzero_ is None
        assert clf.selection_ == "undecided"
    clf = LinearClassifier("hinge", l2=1e-2).fit(SCALED, Y)
    tight = LinearClassifier("hinge", l2=1e-2, tol=1e-10).fit(SCALED, Y)
    assert np.array_equal(clf.nonzero_[0], np.abs(clf.coef_[0]) > np.sqrt(clf.gap_ / 1e-2))
    assert np.all(np.sign(clf.coef_)[clf.nonzero_] == np.sign(tight.coef_)[clf.nonzero_])


def test_searches_paths_and_copies_have_it():
    found = path(SCALED, Y, strengths=[0.1, 0.02]).at(0.02)
    assert found.nonzero_.sum() == found.selected_.sum()
    cv = LinearClassifierCV(l1_ratio=1.0, strengths=[0.1, 0.02], cv=2, scoring="loss")
    cv.fit(SCALED, Y)
    assert cv.nonzero_.any()
    assert np.array_equal(pickle.loads(pickle.dumps(cv)).nonzero_, cv.nonzero_)
    cv.nonzero_[:] = False  # a copy
    assert cv.nonzero_.any()


def test_on_request_more_is_proven(monkeypatch):
    with monkeypatch.context() as limited:
        limited.setattr(selection, "SELECTION_SHARE", 0.0)
        limited.setattr(selection, "SELECTION_PRODUCTS", 0.0)
        clf = lasso().fit(SCALED, Y)
    assert not clf.nonzero_.any()
    coef = clf.coef_.copy()
    assert clf.certify_selection(SCALED, Y) is clf
    assert np.array_equal(clf.nonzero_, clf.selected_)
    assert np.array_equal(clf.coef_, coef)
    again = lasso().fit(SCALED, Y)
    monkeypatch.setattr(selection, "proven_nonzeros", lambda *_: np.zeros((1, 30), dtype=bool))
    again._nonzero = None
    assert np.array_equal(again.certify_selection(SCALED, Y).nonzero_, clf.nonzero_)  # by fits


def test_on_request_with_offsets_weights_sources_and_units():
    rng = np.random.default_rng(1)
    offset, weight = rng.standard_normal(len(Y)), rng.integers(1, 3, len(Y)).astype(float)
    clf = lasso(standardize=True, tol=1e-2).fit(X, Y, weight, offset=offset)
    tight = lasso(standardize=True, tol=1e-12).fit(X, Y, weight, offset=offset)
    before = clf.nonzero_.sum()
    clf.certify_selection(X, Y, weight, offset)
    found = clf.nonzero_
    assert found.sum() > before
    assert np.all(np.sign(clf.coef_)[found] == np.sign(tight.coef_)[found])
    source = separatrix.ArraySource(SCALED, np.where(Y == 1, 1.0, -1.0), np.array([0, 1]))
    clf = lasso(tol=1e-4).fit(source)
    assert clf.certify_selection(source).nonzero_.any()


def test_what_is_not_the_fit_is_refused():
    clf = lasso().fit(SCALED, Y)
    before = clf.nonzero_
    with pytest.raises(ValueError, match=r"objective on these rows is .* pass the X, y"):
        clf.certify_selection(SCALED[::-1], Y)
    with pytest.raises(ValueError, match="X needs the labels of its rows: pass y, too"):
        clf.certify_selection(SCALED)
    with pytest.raises(ValueError, match=r"the fit had no offset.* as offset"):
        clf.certify_selection(SCALED, Y, offset=np.ones(len(Y)))
    with pytest.raises(ValueError, match="y has the labels"):
        clf.certify_selection(SCALED, Y + 1)
    with pytest.raises(ValueError, match="features"):
        clf.certify_selection(SCALED[:, 1:], Y)
    assert np.array_equal(clf.nonzero_, before)
    with pytest.raises(ValueError, match="fit with l1 > 0"):
        LinearClassifier().fit(SCALED, Y).certify_selection(SCALED, Y)
    with pytest.raises(ValueError, match=r"this fit has none: fit again with tol"):
        LinearClassifier("tanh_squared", l1=0.02).fit(SCALED, Y).certify_selection(SCALED, Y)
    labels = np.column_stack([Y, 1 - Y])
    of_labels = lasso().fit(SCALED, labels)
    with pytest.raises(ValueError, match="several labels"):
        of_labels.certify_selection(SCALED, labels)
    new = lasso()
    with pytest.raises(NotFittedError):
        new.certify_selection(SCALED, Y)


def test_model_files_keep_it_and_refuse_contradictions(tmp_path):
    clf = lasso().fit(SCALED, Y)
    separatrix.save(clf, tmp_path / "model.sep")
    loaded = separatrix.load(tmp_path / "model.sep")
    same(clf, loaded)
    assert loaded.selection_ == clf.selection_
    for name in ("_zero", "_nonzero"):
        for wrong in (~getattr(clf, name), getattr(clf, name)[:, 1:]):
            changed = lasso().fit(SCALED, Y)
            setattr(changed, name, wrong)
            separatrix.save(changed, tmp_path / "wrong.sep")
            with pytest.raises(ValueError, match=name):
                separatrix.load(tmp_path / "wrong.sep")
    del clf._nonzero  # as in files of earlier versions
    separatrix.save(clf, tmp_path / "old.sep")
    assert separatrix.load(tmp_path / "old.sep").nonzero_ is None
