"""Weights of rows, row by row: runs in exact fractions, and steps that heavy rows cannot upset."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import quiet

from separatrix import (
    L2,
    ArraySource,
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    Objective,
    Perceptron,
    Rosenblatt,
    Stop,
    get_loss,
    minimize,
)


def in_fractions(X, y, weight, step, passes):
    """The online perceptron from zero without rounding: strengths, weights and their mean."""
    rows = [[Fraction(v) for v in (*row, 1)] for row in X.tolist()]
    signs = [1 if label else -1 for label in y.tolist()]
    weight = [Fraction(c) for c in weight.tolist()]
    present = [i for i, c in enumerate(weight) if c]
    scale = Fraction(step) * len(present) / sum(weight)
    w = [Fraction(0)] * len(rows[0])
    mean = [Fraction(0)] * len(rows[0])
    strengths = [0] * len(rows)
    visits = 0
    for _ in range(passes):
        before = list(strengths)
        for i in present:
            if signs[i] * sum(a * b for a, b in zip(w, rows[i], strict=True)) <= 0:
                w = [a + scale * weight[i] * signs[i] * b for a, b in zip(w, rows[i], strict=True)]
                strengths[i] += 1
            mean = [a + b for a, b in zip(mean, w, strict=True)]
            visits += 1
        if strengths == before:
            break
    return strengths, [float(a) for a in w], [float(a / visits) for a in mean]


def cases(seed):
    """Whole numbers, among which ties are common, with weights of every kind."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 25)), int(rng.integers(1, 4))
    X = rng.integers(-3, 4, (n, d)).astype(float)
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    several = rng.integers(1, 9, n).astype(float)
    absent = several.copy()
    absent[2 : n // 2] = 0.0
    kinds = [np.full(n, 49.0), np.full(n, 0.1), np.full(n, 1e-300), several, several / 8, absent,
             0.3 * (absent != 0.0), 1e6 * several]  # fmt: skip
    return X, y, kinds


@pytest.mark.sampled(2)
@quiet
@pytest.mark.parametrize("seed", range(12))
def test_weighted_rows_keep_to_the_exact_path(seed):
    X, y, kinds = cases(seed)
    step = [1.0, 0.1, 3.7][seed % 3]
    for weight in kinds:
        strengths, w, mean = in_fractions(X, y, weight, step, 30)
        shared = {"shuffle": False, "max_iter": 30, "learning_rate": step, "patience": None}
        last = Perceptron(keep="last", **shared).fit(X, y, sample_weight=weight)
        average = Perceptron(keep="average", **shared).fit(X, y, sample_weight=weight)
        if last.stop_ != "cycle":
            assert last.embedding_strengths_.tolist() == strengths
            for fitted, reported in ((last, w), (average, mean)):
                got = [*fitted.coef_[0], *fitted.intercept_]
                np.testing.assert_allclose(got, reported, rtol=1e-13, atol=1e-13)
        else:
            again = in_fractions(X, y, weight, step, last.n_iter_)
            assert last.embedding_strengths_.tolist() == again[0]


@quiet
@pytest.mark.parametrize("seed", range(12))
def test_the_kernel_perceptron_keeps_to_it_too(seed):
    X, y, _ = cases(seed)
    for kind in ({0: 49.0, 1: 49.0}, {0: 3.0, 1: 7.0}, {0: 0.1, 1: 0.1}, {0: 0.375, 1: 5.0}):
        weight = np.array([kind[label] for label in y.tolist()])
        clf = KernelPerceptron(
            "linear", shuffle=False, max_iter=20, class_weight=kind, keep="last",
            learning_rate=0.7, patience=None,
        ).fit(X, y)  # fmt: skip
        strengths, w, _ = in_fractions(X, y, weight, 0.7, clf.n_iter_)
        assert clf.embedding_strengths_.tolist() == strengths
        np.testing.assert_allclose([*clf.coef_[0], *clf.intercept_], w, rtol=1e-13, atol=1e-13)


@pytest.mark.sampled
@quiet
@pytest.mark.parametrize("seed", range(12))
def test_weighted_rows_of_the_kernel_perceptron_keep_to_the_exact_path(seed):
    X, y, kinds = cases(seed)
    step = [1.0, 0.1, 3.7][seed % 3]
    for weight in kinds:
        clf = KernelPerceptron(
            "linear", shuffle=False, max_iter=20, keep="last", learning_rate=step, patience=None
        ).fit(X, y, sample_weight=weight)
        strengths, w, _ = in_fractions(X, y, weight, step, clf.n_iter_)
        assert clf.embedding_strengths_.tolist() == strengths
        np.testing.assert_allclose([*clf.coef_[0], *clf.intercept_], w, rtol=1e-13, atol=1e-13)


@quiet
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("keep", ["last", "average"])
def test_the_linear_kernel_with_weights_is_the_perceptron_with_weights(k, keep):
    rng = np.random.default_rng(k)
    X, y = rng.integers(-4, 5, (60, 3)).astype(float), rng.integers(0, k, 60)
    weight = rng.integers(0, 4, 60) / 4.0
    settings = {"max_iter": 6, "random_state": 5, "keep": keep, "patience": None}
    dual = KernelPerceptron("linear", **settings).fit(X, y, weight)
    primal = Perceptron(**settings).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(dual.coef_, primal.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dual.intercept_, primal.intercept_, rtol=1e-12, atol=1e-12)
    for name in ("mistakes", "objective", "norm"):
        np.testing.assert_allclose(dual.history_[name], primal.history_[name], rtol=1e-11)
    numbers = np.where(y == 1, 1.0, -1.0) if k == 2 else y
    source = ArraySource(X, numbers, np.arange(k), weight)
    of_source = KernelPerceptron("linear", **settings).fit(source)
    np.testing.assert_array_equal(of_source.dual_coef_, dual.dual_coef_)


@quiet
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_kernel_rows_of_weight_0_are_as_if_absent(kernel, make):
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((80, 3)), rng.integers(0, 2, 80)
    weight = rng.integers(0, 3, 80).astype(float)
    X[weight == 0.0] *= 100.0  # which would change gamma
    kept = weight > 0.0
    settings = {"shuffle": False, "max_iter": 5}
    some = KernelPerceptron(kernel, **settings).fit(make(X[kept]), y[kept], weight[kept])
    every = KernelPerceptron(kernel, **settings).fit(make(X), y, weight)
    np.testing.assert_allclose(every.dual_coef_, some.dual_coef_, rtol=1e-12)
    new = rng.standard_normal((20, 3))
    np.testing.assert_allclose(
        every.decision_function(new), some.decision_function(new), rtol=1e-9, atol=1e-12
    )
    twice = np.repeat(X, weight.astype(int), axis=0)
    expected = 1.0 / (3 * twice.var())  # a row of weight 2 counts twice
    assert every.trace_.kernel.gamma == pytest.approx(expected, rel=1e-10)


def test_a_recording_of_the_kernel_perceptron_needs_the_weights_of_the_fit():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 1, 0]
    weight = [1.0, 2.0, 1.0, 3.0]
    clf = KernelPerceptron("poly", degree=2, shuffle=False, keep="last").fit(X, y, weight)
    recording = clf.trace_.recording(X, y, weight)
    found = np.zeros(4)
    for changes in recording.columns.coefficients:
        for _, row, amount in changes:
            found[row] += amount
    np.testing.assert_allclose(found[clf.support_], clf.dual_coef_[0], rtol=1e-14)
    with pytest.raises(ValueError, match="sum to 4, but in the fit to 7;"):
        clf.trace_.recording(X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, 2.0], r"has shape \(2,\), expected \(4,\)"),
        ([1.0, -1.0, 1.0, 1.0], "must not be negative"),
        ([1.0, np.nan, 1.0, 1.0], "NaN or infinity"),
        ([0.0, 0.0, 0.0, 0.0], "zero for every row"),
        ([1.0, 0.0, 0.0, 1.0], "rows of only one class"),
    ],
)
def test_bad_weights_leave_the_earlier_kernel_perceptron(weight, message):
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 1, 0]
    clf = KernelPerceptron(random_state=0).fit(X, y)
    before = dict(vars(clf))
    with pytest.raises(ValueError, match=message):
        clf.fit(X, y, sample_weight=weight)
    assert all(vars(clf)[name] is value for name, value in before.items())
    assert vars(clf).keys() == before.keys()


def test_equal_weights_change_no_bit():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = rng.integers(0, 2, 60)
    solvers = (
        Rosenblatt(), Rosenblatt(0.1), GradientDescent(1, learning_rate=0.3),
        GradientDescent(7, False, 0.3),
    )  # fmt: skip
    for solver in solvers:
        loss = "perceptron" if isinstance(solver, Rosenblatt) else "logistic"
        for l2 in (0.0, 0.01):
            found = []
            for weight in (None, np.full(60, 49.0), np.full(60, 0.1), np.full(60, 1e-200)):
                source = ArraySource(X, np.where(y == 1, 1.0, -1.0), np.array([0, 1]), weight)
                objective = Objective(get_loss(loss), L2(l2), source)
                result = minimize(objective, solver, stop=Stop(max_iter=7, prove=False))
                found.append(result.weights)
            for equal in found[1:]:
                np.testing.assert_array_equal(equal, found[0])


def test_equal_weights_change_no_bit_of_a_stream():
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, (90, 3)).astype(float)
    y = rng.integers(0, 2, 90)
    found = []
    for weight in (1.0, 49.0, 0.1):
        clf = Perceptron(learning_rate=0.3, shuffle=False)
        for start in range(0, 90, 30):
            at = slice(start, start + 30)
            clf.partial_fit(X[at], y[at], classes=[0, 1], sample_weight=np.full(30, weight))
        found.append([*clf.coef_[0], *clf.intercept_])
    assert found[0] == found[1] == found[2]


def test_the_weighted_pair():
    """Weights of 49, the factor 2 / 98 of which is rounded: the path was another one."""
    X, y = [[2], [1]], [0, 1]
    alone = Perceptron(shuffle=False).fit(X, y)
    weighted = Perceptron(shuffle=False).fit(X, y, sample_weight=[49, 49])
    assert weighted.embedding_strengths_.tolist() == alone.embedding_strengths_.tolist()
    np.testing.assert_array_equal(weighted.coef_, alone.coef_)


@quiet
@pytest.mark.parametrize("seed", range(15))
def test_averaged_kernel_scores_of_whole_numbers_tie_exactly(seed):
    """Signs, and the first of the best classes, are those of exact sums."""
    rng = np.random.default_rng(seed)
    n, k = 12, 2 + seed % 2
    X = rng.integers(-2, 3, (n, 2)).astype(float)
    y = rng.integers(0, k, n)
    y[:k] = range(k)
    clf = KernelPerceptron(
        "linear", shuffle=False, max_iter=1 + seed % 5, keep="average", learning_rate=0.3
    ).fit(X, y)
    grid = np.array([[a, b] for a in range(-6, 7) for b in range(-6, 7)], dtype=float)
    # With a step of 1 sums of past weights are whole numbers: found again by visits.
    plain = KernelPerceptron("linear", shuffle=False, max_iter=1 + seed % 5, keep="average")
    plain.fit(X, y)
    visits = n * plain.n_iter_
    sums = np.rint(plain.dual_coef_ * visits).astype(int)
    np.testing.assert_allclose(sums / visits, plain.dual_coef_, atol=1e-12)
    kernel = plain.support_vectors_.astype(int) @ grid.T.astype(int) + 1
    exact = (sums @ kernel).T
    if k == 2:
        expected = (exact[:, 0] >= 0).astype(int)
        np.testing.assert_array_equal(plain.decision_function(grid) == 0.0, exact[:, 0] == 0)
    else:
        expected = exact.argmax(axis=1)
    for fitted in (plain, clf):
        np.testing.assert_array_equal(fitted.predict(grid), expected)


HEAVY = ["weights", "long rows", "both", "sorted", "one column each"]


def uneven(kind, seed, n=120, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    weight = None
    if kind in ("weights", "both"):
        weight = np.exp(3.0 * rng.standard_normal(n))
    if kind in ("long rows", "both"):
        X = rng.standard_cauchy((n, d))
    if kind == "sorted":
        X *= np.geomspace(1e-2, 1e2, n)[:, None]
    if kind == "one column each":
        X = np.eye(10)[np.sort(rng.integers(0, 10, n))]
    return X, np.where(rng.random(n) < 0.5, 1.0, -1.0), weight


@pytest.mark.sampled
@pytest.mark.parametrize("kind", HEAVY)
@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic", "hinge"])
@pytest.mark.parametrize("batch", [1, 4, 32])
def test_a_step_found_by_itself_is_stable(kind, loss, batch):
    """Labels are random, so that J cannot fall by much: neither may it rise in any pass."""
    for seed in range(3):
        X, y, weight = uneven(kind, seed)
        source = ArraySource(X, y, np.array([0, 1]), weight)
        for shuffle in (True, False):
            for intercept in (True, False):
                objective = Objective(get_loss(loss), L2(1e-4), source, intercept)
                solver = GradientDescent(batch, shuffle)
                run = minimize(objective, solver, stop=Stop(max_iter=10, prove=False))
                first = objective.value(np.zeros(objective.shape))[0]
                assert np.max(run.history["objective"]) < 8.0 * first
                assert objective.value(run.weights)[0] < 3.0 * first


@quiet
def test_a_step_found_by_itself_with_uneven_weights():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 2, 60)
    weight = np.exp(3.0 * rng.standard_normal(60))
    clf = LinearClassifier("squared", solver=GradientDescent(1), max_iter=30, random_state=0)
    assert clf.fit(X, y, sample_weight=weight).objective_ < 1.0
