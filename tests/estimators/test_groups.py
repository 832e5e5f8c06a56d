"""LinearClassifier with groups: weights that become 0 together."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from group_oracles import GroupNet
from l1_oracles import fitted, problem
from run_states import Recorder, Resumed
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

import separatrix
from separatrix import (
    LBFGS,
    DualAscent,
    GradientDescent,
    LinearClassifier,
    ProximalNewton,
    certify,
)

GROUPS = np.arange(15) % 4


def weights(clf):
    return np.column_stack([clf.coef_, clf.intercept_])


@pytest.mark.parametrize("groups", [GROUPS, "classes"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge", "tanh_squared"])
def test_groups_are_selected_as_a_whole_and_stand_still(loss, k, groups):
    X, y = problem(k=k)
    l1 = 0.06 if loss == "logistic" else 0.15
    clf = fitted(X, y, loss=loss, groups=groups, l1=l1, l2=1e-3)
    if loss == "tanh_squared":  # a stationary point, without proof
        assert clf.gap_ is None
        assert clf.converged_
        assert not clf.zero_.any()
    else:
        net = GroupNet(loss, X, y, l1, 1e-3, groups)
        assert clf.stop_ == "optimal"
        assert clf.objective_ == pytest.approx(net.value(weights(clf)), rel=1e-12)
        steepest = net.curvatures().sum()
        assert net.violation(weights(clf)).max() <= np.sqrt(2.0 * steepest * clf.gap_) + 1e-13
        assert not (clf.zero_ & clf.selected_).any()
    whole = clf.selected_ if groups is not GROUPS else None
    if whole is not None:
        assert np.array_equal(whole.all(axis=0), whole.any(axis=0))
    else:
        for g in range(4):
            of_group = clf.selected_[:, g == GROUPS]
            assert np.array_equal(of_group.all(axis=1), of_group.any(axis=1))


def test_the_groups_of_a_table_of_measurements():
    X, y = load_breast_cancer(return_X_y=True)
    groups = np.arange(30) % 10
    clf = fitted(X, y, groups=groups, l1=0.03, standardize=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    same = fitted(Z, y, groups=groups, l1=0.03)
    assert clf.objective_ == pytest.approx(same.objective_, rel=1e-10)
    np.testing.assert_allclose(clf.coef_ * X.std(axis=0), same.coef_, atol=1e-5)
    assert np.array_equal(clf.zero_, same.zero_)
    assert clf.zero_.any()
    assert clf.selected_.any()


@pytest.mark.slow
def test_no_group_that_is_proven_zero_is_ever_selected():
    """A loose fit must not say more than a tight one finds."""
    proven = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, d, k = rng.integers(6, 40), rng.integers(2, 30), int(rng.integers(2, 4))
        X = rng.standard_normal((n, d)) @ np.diag(10.0 ** rng.uniform(-1, 1, d))
        X += rng.choice([0.0, 3.0]) * rng.standard_normal(d)
        y = np.append(np.arange(k), rng.integers(0, k, n - k))
        groups = np.unique(rng.integers(0, max(d // 2, 1), d), return_inverse=True)[1]
        given = {
            "loss": str(rng.choice(["logistic", "squared", "squared_hinge"])),
            "l1": 10.0 ** rng.uniform(-2, 0), "fit_intercept": bool(seed % 3),
            "l2": float(rng.choice([0.0, 1e-3])), "groups": "classes" if seed % 4 == 0 else groups,
        }  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tight = fitted(X, y, **given)
            for tol in (1e-1, 1e-2, 1e-4):
                loose = fitted(X, y, **given, tol=tol)
                assert not (loose.zero_ & tight.selected_).any(), (seed, tol)
                assert not (loose.zero_ & loose.selected_).any()
                assert loose.objective_ - loose.gap_ <= tight.objective_ * (1.0 + 1e-13)
                proven += int(loose.zero_.sum())
    assert proven > 300


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_group_of_weight_0_is_free_and_the_minimum_proven(loss, k):
    X, y = problem(k=k, flip_y=0.2)
    p = np.where(GROUPS == 1, 0.0, 1.0)
    clf = fitted(X, y, loss=loss, l1=0.05, l2=1e-3, penalty_weights=p, groups=GROUPS)
    assert clf.stop_ == "optimal"
    assert clf.selected_[:, GROUPS == 1].all()
    net = GroupNet(loss, X, y, 0.05, 1e-3, GROUPS, p=p)
    steepest = net.curvatures().sum()
    assert net.violation(weights(clf)).max() <= np.sqrt(2.0 * steepest * clf.gap_) + 1e-13


def test_rows_may_be_sparse_repeated_weighted_or_on_threads():
    X, y = problem(k=3)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.6, X, 0.0)
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    for groups in (GROUPS, "classes"):
        given = {"l1": 0.05, "groups": groups}
        weighted = fitted(X, y, weight.astype(float), **given)
        repeated = fitted(np.repeat(X, weight, axis=0), np.repeat(y, weight), **given)
        sparse = fitted(sp.csr_array(X), y, weight.astype(float), **given)
        for other in (repeated, sparse):
            assert other.objective_ == pytest.approx(weighted.objective_, rel=1e-12)
            np.testing.assert_allclose(other.coef_, weighted.coef_, atol=1e-7)
        alone = fitted(X, y, weight.astype(float), **given, n_jobs=1)
        assert np.array_equal(alone.coef_, weighted.coef_)


def test_features_that_no_row_stores_count_in_the_size_of_their_group():
    X, y = problem(d=6, seed=1)
    wide = np.zeros((len(X), 40))
    wide[:, 2:8] = X
    groups = np.arange(40) % 5
    p = np.where(groups == 4, 0.0, 1.0)  # two of them are free, one with rows
    dense = fitted(wide, y, groups=groups, penalty_weights=p, l2=1e-3)
    sparse = fitted(sp.csr_array(wide), y, groups=groups, penalty_weights=p, l2=1e-3)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-12)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-6)
    empty = np.delete(np.arange(40), np.arange(2, 8))
    for clf in (dense, sparse):
        assert not clf.selected_[0, empty].any()
        assert not clf.zero_[0, p == 0.0].any()  # where nothing is paid, any weight will do
    assert sparse.zero_[0, empty[p[empty] > 0.0]].all()


def test_a_run_that_is_cut_goes_on_with_the_same_bits():
    X, y = problem(n=200, d=30, k=3)
    for groups in (np.arange(30) // 3, "classes"):
        recorder = Recorder()
        whole = fitted(X, y, groups=groups, callbacks=[recorder])
        assert len(recorder.states) > 3
        for state in recorder.states[:3]:
            again = fitted(X, y, groups=groups, callbacks=[Resumed(state)])
            assert np.array_equal(again.coef_, whole.coef_)
            assert again.gap_ == whole.gap_
            assert np.array_equal(again.zero_, whole.zero_)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("groups", [GROUPS, "classes", GROUPS.tolist()])
def test_files_copies_certificates_and_replay_keep_all_of_it(tmp_path, groups):
    X, y = problem(k=3)
    p = np.linspace(0.5, 2.0, 15)[GROUPS]
    clf = fitted(X, y, groups=groups, penalty_weights=p, l1=0.05)
    separatrix.save(clf, tmp_path / "model.sep")
    for other in (separatrix.load(tmp_path / "model.sep"), pickle.loads(pickle.dumps(clf))):
        assert np.array_equal(other.groups, groups)
        assert np.array_equal(other.zero_, clf.zero_)
        assert np.array_equal(other.coef_, clf.coef_)
        assert other.trace_.penalty == clf.trace_.penalty
    steps = list(clf.trace_.replay(X, y))
    assert np.array_equal(steps[-1].weights[:, :-1] == 0.0, clf.coef_ == 0.0)
    with pytest.raises(ValueError, match="penalty l2 only"):
        clf.trace_.recording(X, y)
    assert clone(clf).get_params()["groups"] is not None
    found = certify(clf, X, y)
    assert found.objective == pytest.approx(clf.objective_, rel=1e-12)
    assert found.proven
    assert found.relative_gap < 3e-6
    assert "|w_g|" in found.formula
    assert separatrix.diagnose(clf, X, y).findings is not None


def test_rows_in_files_give_the_same_fit(tmp_path):
    X, y = problem(k=3)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    source = separatrix.read(tmp_path / "X.npy", target=tmp_path / "y.npy")
    for groups in (GROUPS, "classes"):
        given = {"l1": 0.05, "groups": groups}
        there = LinearClassifier(**given).fit(source)
        here = LinearClassifier(**given).fit(X, y)
        np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)
        assert np.array_equal(there.zero_, here.zero_)


@pytest.mark.parametrize("k", [2, 3])
def test_the_largest_strength_leaves_nothing_and_a_little_less_something(k):
    X, y = problem(k=k)
    own = (y[:, None] == np.arange(k)) - np.bincount(y) / len(y)
    pull = (own.T @ X / len(X))[1 if k == 2 else 0 :]
    of_groups = [np.sqrt(np.sum(pull[:, g == GROUPS] ** 2, axis=1) / np.sum(g == GROUPS))
                 for g in range(4)]  # fmt: skip
    for groups, largest in (
        (GROUPS, np.max(of_groups)),
        ("classes", np.sqrt(np.sum(pull**2, axis=0)).max()),
    ):
        with pytest.warns(UserWarning, match="no feature is selected"):
            nothing = fitted(X, y, l1=largest * (1.0 + 1e-12), groups=groups)
        assert not nothing.coef_.any()
        assert fitted(X, y, l1=0.999 * largest, groups=groups).coef_.any()


def test_a_path_takes_groups():
    X, y = problem(k=3)
    for groups in (GROUPS, "classes"):
        found = separatrix.path(X, y, groups=groups, strengths=5)
        assert found.nonzeros[0] == 0
        assert found.nonzeros[-1] > 0
        assert found.gaps.max() <= 1e-6


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"groups": GROUPS[:14]}, "groups has 14 entries, but there are 15 features"),
        ({"groups": GROUPS + 0.5}, "a whole number for each feature"),
        ({"groups": GROUPS.astype(str)}, "a whole number for each feature"),
        ({"groups": np.ones((1, 15), dtype=int)}, "a whole number for each feature"),
        ({"groups": "features"}, "None, 'classes' or a whole number"),
        ({"groups": GROUPS + 1}, "no feature is in group 0 and there is a group 4"),
        ({"groups": GROUPS - 1}, "from 0 on, got -1"),
        ({"groups": GROUPS, "l1": 0.0}, "without l1 none do: set l1 above 0, or groups=None"),
        ({"groups": GROUPS, "penalty_weights": np.arange(15.0)}, "equal within a group"),
        ({"groups": GROUPS, "penalty_weights": np.zeros(15)}, "all penalty_weights are 0"),
        ({"groups": GROUPS, "penalty_weights": np.ones(14)}, "penalty_weights has 14 entries"),
        ({"groups": GROUPS, "loss": "hinge"}, "groups is not for loss='hinge'.*squared_hinge"),
        ({"groups": GROUPS, "loss": "perceptron"}, "groups is not for loss='perceptron'"),
        ({"groups": GROUPS, "solver": LBFGS()}, r"LBFGS takes l2 alone.*ProximalNewton\(\)"),
        ({"groups": "classes", "solver": DualAscent()}, r"DualAscent takes l2 alone"),
        ({"groups": GROUPS, "solver": GradientDescent(batch_size=1)}, "row by row.*groups"),
        ({"groups": GROUPS, "solver": ProximalNewton(most_variables=3)}, "but one has 4"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_and_leaves_the_fit_as_it_was(given, why):
    X, y = problem()
    clf = fitted(X, y)
    before = clf.coef_.copy()
    clf.set_params(**given)
    with pytest.raises(ValueError, match=why):
        clf.fit(X, y)
    assert np.array_equal(clf.coef_, before)


def test_rows_that_come_in_chunks_have_no_groups():
    X, y = problem()
    with pytest.raises(ValueError, match="groups"):
        LinearClassifier(l1=0.1, groups=GROUPS).partial_fit(X, y)
