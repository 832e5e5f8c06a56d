"""More than two classes: joint losses, against plain NumPy and against the two-class forms."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import TRAINABLE, quiet
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    GradientDescent,
    LeastSquares,
    LinearClassifier,
    Newton,
    Objective,
    Perceptron,
    get_loss,
    loops,
    minimize,
)
from separatrix.losses import Hinge, Logistic, Loss, MarginLoss, OneVsRest, Softmax, SquaredHinge
from separatrix.numeric.standardization import Standardization

IRIS, KINDS = load_iris(return_X_y=True)
IRIS = StandardScaler().fit_transform(IRIS)
INTEGERS = np.random.default_rng(5).integers(-3, 4, (70, 4)).astype(float)
LABELS = np.random.default_rng(6).integers(0, 4, 70)
PLAIN = Standardization(np.zeros(3), np.ones(4))
pytestmark = quiet


def multiclass_perceptron(X, y, k, passes, step=1.0, l2=0.0):
    """The rule of the third chapter, row by row."""
    W, b = np.zeros((k, X.shape[1])), np.zeros(k)
    strengths = np.zeros(len(y), dtype=int)
    for p in range(passes):
        wrong = 0
        for i, (x, d) in enumerate(zip(X, y, strict=True)):
            s = W @ x + b
            W = W * max(0.0, 1 - 2 * step * l2)
            rival = max((c for c in range(k) if c != d), key=lambda c: (s[c], -c))
            if s[rival] - s[d] >= 0:
                W[d], b[d] = W[d] + step * x, b[d] + step
                W[rival], b[rival] = W[rival] - step * x, b[rival] - step
                strengths[i] += 1
                wrong += 1
        if wrong == 0 and l2 == 0:
            return W, b, p + 1, strengths
    return W, b, passes, strengths


def joint_value(name, s, d):
    """The loss of one row, as the course writes it."""
    others = [s[c] for c in range(len(s)) if c != d]
    sign = np.where(np.arange(len(s)) == d, 1, -1)
    return {
        "perceptron": lambda: max(0.0, max(others) - s[d]),
        "logistic": lambda: np.log(np.sum(np.exp(s - s[d]))),
        "hinge": lambda: max(0.0, 1 + max(others) - s[d]),
        "squared": lambda: np.sum((1 - sign * s) ** 2),
        "squared_hinge": lambda: np.sum(np.maximum(0, 1 - sign * s) ** 2),
        "tanh_squared": lambda: np.sum((1 - np.tanh(sign * s)) ** 2),
    }[name]()


@pytest.mark.parametrize("l2", [0.0, 0.05])
@pytest.mark.parametrize("passes", [1, 6])
def test_the_multiclass_perceptron_rule(l2, passes):
    W, b, n_iter, strengths = multiclass_perceptron(INTEGERS, LABELS, 4, passes, l2=l2)
    clf = Perceptron(passes, shuffle=False, keep="last", l2=l2).fit(INTEGERS, LABELS)
    if l2 == 0.0:
        np.testing.assert_array_equal(clf.coef_, W)
        np.testing.assert_array_equal(clf.intercept_, b)
    np.testing.assert_allclose(clf.coef_, W, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(clf.embedding_strengths_, strengths)
    assert clf.n_iter_ == n_iter
    assert clf.intercept_.sum() == 0.0


def test_the_multiclass_perceptron_separates_and_replays():
    X, y = np.array([[2.0, 0], [0, 2], [-2, -2], [3, 1], [1, 3], [-1, -2]]), [0, 1, 2, 0, 1, 2]
    clf = Perceptron(shuffle=False).fit(X, y)
    assert clf.stop_ == "no mistakes"
    assert clf.score(X, y) == 1.0
    last = list(clf.trace_.replay(X, y))[-1]
    np.testing.assert_array_equal(last.weights[:, :-1], clf.coef_)


def test_the_batch_rule_and_its_start():
    k = 4
    start = np.array([(k - 1) * INTEGERS[c == LABELS].sum(0) - INTEGERS[c != LABELS].sum(0)
                      for c in range(k)])  # fmt: skip
    bias = np.array([(k - 1.0) * np.sum(c == LABELS) - np.sum(c != LABELS) for c in range(k)])
    W, b = start.copy(), bias.copy()
    for _ in range(3):
        dW, db = np.zeros_like(W), np.zeros_like(b)
        for x, d in zip(INTEGERS, LABELS, strict=True):
            s = W @ x + b
            rival = max((c for c in range(k) if c != d), key=lambda c: (s[c], -c))
            if s[rival] >= s[d]:
                dW[d], db[d], dW[rival], db[rival] = (
                    dW[d] + x,
                    db[d] + 1,
                    dW[rival] - x,
                    db[rival] - 1,
                )
        W, b = W + dW, b + db
    clf = Perceptron(3, update="batch", start="sum", keep="last").fit(INTEGERS, LABELS)
    np.testing.assert_array_equal(clf.coef_, W)
    np.testing.assert_allclose(clf.intercept_, b - b.mean())


@pytest.mark.parametrize("name", TRAINABLE)
def test_joint_values_and_gradients(name, rng):
    loss = get_loss(name).multiclass()
    scores = rng.standard_normal((40, 5))
    y = rng.integers(0, 5, 40)
    expected = [joint_value(name, s, d) for s, d in zip(scores, y, strict=True)]
    np.testing.assert_allclose(loss.value(y, scores), expected, rtol=1e-12)
    h = 1e-6
    for c in range(5):
        shift = h * np.eye(5)[c]
        difference = (loss.value(y, scores + shift) - loss.value(y, scores - shift)) / (2 * h)
        np.testing.assert_allclose(loss.gradient(y, scores)[:, c], difference, atol=1e-7)


@pytest.mark.parametrize("name", TRAINABLE)
def test_ties_count_as_mistakes_and_go_to_the_first_rival(name):
    loss = get_loss(name).multiclass()
    y, scores = np.array([1, 0]), np.zeros((2, 4))
    np.testing.assert_array_equal(loss.mistakes(y, scores), [True, True])
    if name in ("perceptron", "hinge"):
        np.testing.assert_array_equal(loss.gradient(y, scores), [[1, -1, 0, 0], [-1, 1, 0, 0]])


@pytest.mark.parametrize("name", ["logistic", "squared", "squared_hinge"])
def test_newton_has_the_second_derivative(name, rng):
    X, y = rng.standard_normal((30, 3)), rng.integers(0, 4, 30)
    y[:4] = range(4)
    weight = rng.integers(0, 3, 30).astype(float)
    source = ArraySource(X, y, np.arange(4), weight)
    problem = Objective(get_loss(name).multiclass(), L2(0.1), source)
    W, V = rng.standard_normal((2, *problem.shape))
    V[:, -1] -= V[:, -1].mean()  # the direction in which all biases shift has its own curvature
    h = 1e-6
    plus, minus = (problem.value_and_gradient(W + s * h * V).gradient for s in (1, -1))
    product = problem.hessian_product(W, V)
    np.testing.assert_allclose(product, (plus - minus) / (2 * h), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        (problem.hessian(W, PLAIN)[1] @ V.ravel()).reshape(V.shape), product, rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("solver", [LBFGS(), LBFGS(factored_features=0), Newton(),
                                    Newton(direct_weights=0), GradientDescent()])  # fmt: skip
@pytest.mark.parametrize("l2", [1e-3, 1e-1])
def test_softmax_is_scikit_learns(solver, l2):
    peer = LogisticRegression(
        C=1 / (2 * 150 * l2), tol=1e-12, solver="newton-cholesky", max_iter=10_000
    ).fit(IRIS, KINDS)
    clf = LinearClassifier(l2=l2, solver=solver, tol=1e-12).fit(IRIS, KINDS)
    np.testing.assert_allclose(clf.coef_, peer.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(clf.predict_proba(IRIS), peer.predict_proba(IRIS), atol=1e-5)
    np.testing.assert_allclose(clf.predict_log_proba(IRIS), np.log(clf.predict_proba(IRIS)))
    assert abs(clf.intercept_.sum()) < 1e-9
    np.testing.assert_array_equal(clf.predict(IRIS), peer.predict(IRIS))


def test_softmax_without_intercept():
    clf = LinearClassifier(l2=0.01, fit_intercept=False, solver=Newton()).fit(IRIS, KINDS)
    np.testing.assert_array_equal(clf.intercept_, np.zeros(3))


@pytest.mark.parametrize("solver", [LeastSquares(), LeastSquares(direct_size=0), LBFGS()])
def test_the_closed_form_has_one_column_per_class(solver):
    clf = LinearClassifier("squared", l2=0.01, solver=solver, tol=1e-14).fit(IRIS, KINDS)
    for c in range(3):
        one = LinearClassifier("squared", l2=0.01).fit(IRIS, c == KINDS)
        np.testing.assert_allclose(clf.coef_[c], one.coef_[0], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(clf.intercept_[c], one.intercept_[0], rtol=1e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "tanh_squared"])
def test_columns_are_one_against_the_rest(loss):
    clf = LinearClassifier(loss, l2=0.05, tol=1e-13).fit(IRIS, KINDS)
    for c in range(3):
        one = LinearClassifier(loss, l2=0.05, tol=1e-13).fit(IRIS, c == KINDS)
        np.testing.assert_allclose(clf.coef_[c], one.coef_[0], rtol=1e-3, atol=1e-5)


# ---- how two classes relate to the joint forms -------------------------------------------


def test_the_joint_softmax_equals_the_binary_at_half_the_penalty(rng):
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] + rng.standard_normal(60) > 0).astype(np.int64)

    class TwoRows(Objective):
        @property
        def shape(self):
            return 2, self.source.n_features + 1

    for name in ("logistic", "hinge"):
        joint = TwoRows(get_loss(name).multiclass(), L2(0.02), ArraySource(X, y, np.arange(2)))
        signs = np.where(y > 0, 1.0, -1.0)
        binary = Objective(get_loss(name), L2(0.01), ArraySource(X, signs, np.arange(2)))
        W = rng.standard_normal((1, 4))
        # w = w_1 - w_0 with the least |w_0|^2 + |w_1|^2 is half and half: 2 * |w / 2|^2
        both = np.concatenate([-W / 2, W / 2])
        assert joint.value(both)[0] == pytest.approx(binary.value(W)[0], rel=1e-12)
    joint = TwoRows(get_loss("logistic").multiclass(), L2(0.02), joint.source)
    fit = minimize(joint, Newton(), start=np.zeros((2, 4))).weights
    clf = LinearClassifier(l2=0.01, solver=Newton(), tol=1e-12).fit(X, y)
    np.testing.assert_allclose((fit[1] - fit[0])[:-1], clf.coef_[0], rtol=1e-6, atol=1e-9)


def test_the_joint_perceptron_is_twice_the_binary():
    y = (LABELS > 1).astype(int)
    W, b, _, strengths = multiclass_perceptron(INTEGERS, y, 2, 5)
    clf = Perceptron(5, shuffle=False, keep="last", patience=None).fit(INTEGERS, y)
    np.testing.assert_array_equal(W[1] - W[0], 2 * clf.coef_[0])
    assert b[1] - b[0] == 2 * clf.intercept_[0]
    np.testing.assert_array_equal(strengths, clf.embedding_strengths_)


@pytest.mark.parametrize("name", ["squared", "squared_hinge", "tanh_squared"])
def test_one_of_two_columns_is_the_binary_loss(name, rng):
    scores = rng.standard_normal((20, 1))
    y = rng.integers(0, 2, 20)
    both = get_loss(name).multiclass().value(y, np.column_stack([-scores, scores]))
    np.testing.assert_allclose(both, 2 * get_loss(name).value(np.where(y > 0, 1.0, -1.0), scores))


# ---- every solver, storage, weights ------------------------------------------------------


@pytest.mark.parametrize("loss", TRAINABLE)
@pytest.mark.parametrize("batch", [None, 1, 8])
def test_gradient_descent_learns_many_classes(loss, batch):
    solver = GradientDescent(batch)
    clf = LinearClassifier(loss, l2=1e-3, solver=solver, max_iter=60, random_state=0)
    assert clf.fit(IRIS, KINDS).score(IRIS, KINDS) > 0.8
    assert clf.coef_.shape == (3, 4)
    assert clf.decision_function(IRIS).shape == (150, 3)


@pytest.mark.parametrize("clf", [
    Perceptron(8, random_state=0), Perceptron(8, update="batch"),
    LinearClassifier(tol=1e-12), LinearClassifier("squared"), LinearClassifier("hinge", max_iter=4,
                                                                      random_state=0),
])  # fmt: skip
def test_sparse_is_dense(clf):
    dense = clf.fit(INTEGERS, LABELS).coef_.copy()
    np.testing.assert_allclose(clf.fit(sp.csr_array(INTEGERS), LABELS).coef_, dense, rtol=1e-5,
                               atol=1e-8)  # fmt: skip


@pytest.mark.parametrize("clf", [LinearClassifier(tol=1e-13), LinearClassifier("squared"),
                                 Perceptron(9, update="batch", start="sum")])  # fmt: skip
def test_weight_is_repetition(clf, rng):
    times = rng.integers(0, 3, 70)
    times[:4], labels = 1, LABELS.copy()
    labels[:4] = range(4)
    weighted = clf.fit(INTEGERS, labels, sample_weight=times).coef_.copy()
    repeated = clf.fit(np.repeat(INTEGERS, times, 0), np.repeat(labels, times)).coef_
    np.testing.assert_allclose(weighted, repeated, rtol=1e-7, atol=1e-8)


def test_threads_give_the_same_bits(rng):
    X = rng.standard_normal((20_000, 20))
    y = np.argmax(X[:, :4] + rng.standard_normal((20_000, 4)), axis=1)
    fits = [LinearClassifier(n_jobs=n, l2=1e-3).fit(X, y).coef_ for n in (1, 2)]
    np.testing.assert_array_equal(fits[0], fits[1])


def test_partial_fit_of_many_classes():
    clf = Perceptron(random_state=0, keep="average")
    order = np.random.default_rng(0).permutation(150)
    for at in range(0, 150, 10):
        rows = order[at : at + 10]
        clf.partial_fit(IRIS[rows], KINDS[rows], classes=[0, 1, 2])
    assert clf.score(IRIS, KINDS) > 0.8
    with pytest.raises(ValueError, match="which are not among the classes"):
        clf.partial_fit(IRIS[:2], [0, 7])


def test_labels_and_class_weights():
    words = np.array(["setosa", "versicolor", "virginica"])[KINDS]
    clf = LinearClassifier(class_weight={"virginica": 3.0}).fit(IRIS, words)
    same = LinearClassifier().fit(IRIS, words, sample_weight=np.where(KINDS == 2, 3.0, 1.0))
    np.testing.assert_allclose(clf.coef_, same.coef_, rtol=1e-6, atol=1e-8)
    assert set(clf.predict(IRIS)) == set(words)


@pytest.mark.parametrize(("solver", "loss"), [(Newton(), "logistic"), (LBFGS(), "squared_hinge"),
                                              (GradientDescent(1), "hinge")])  # fmt: skip
def test_going_on_from_a_state(solver, loss):
    source = ArraySource(INTEGERS, LABELS.astype(np.int64), np.arange(4))
    problem = Objective(get_loss(loss).multiclass(), L2(0.01), source)
    start = np.zeros(problem.shape)
    whole = list(islice(solver.steps(problem, start, np.random.default_rng(1)), 20))
    rest = solver.steps(problem, start, np.random.default_rng(2), whole[6].state)
    for expected, step in zip(whole[7:], islice(rest, 13), strict=True):
        np.testing.assert_array_equal(step.weights, expected.weights)


@pytest.mark.parametrize("solver", [LBFGS(), Newton(), GradientDescent(1)])
def test_rows_of_weight_zero_may_have_any_label(solver):
    rows, labels = np.r_[IRIS, IRIS[:5]], np.r_[KINDS, [7] * 5]
    weight = np.r_[np.ones(150), np.zeros(5)]
    clf = LinearClassifier(solver=solver, max_iter=5, random_state=0, tol=None)
    with pytest.warns(UserWarning, match=r"classes \[7\] has weight 0"):
        with_them = clf.fit(rows, labels, sample_weight=weight).coef_.copy()
    np.testing.assert_allclose(with_them, clf.fit(IRIS, KINDS).coef_, rtol=1e-8, atol=1e-10)


def test_numbers_of_classes_out_of_range_never_reach_the_loops():
    with pytest.raises(ValueError, match="y: expected numbers from 0 to 2"):
        loops.batch_pass(IRIS, KINDS + 1, get_loss("hinge").multiclass(), np.zeros((3, 5)))


def test_the_joint_form_is_that_of_the_nearest_parent():
    class Sharper(Logistic):
        pass

    class Own(MarginLoss):
        pass

    class Chooses(Hinge):
        def multiclass(self):
            return OneVsRest(self)

    class Neither(Loss):
        pass

    found = {kind: type(kind().multiclass()) for kind in (Sharper, Own, Chooses, SquaredHinge)}
    assert found == {Sharper: Softmax, Own: OneVsRest, Chooses: OneVsRest, SquaredHinge: OneVsRest}
    assert Sharper().multiclass().binary == Sharper()
    with pytest.raises(NotImplementedError, match="Neither defines no loss for more classes"):
        Neither().multiclass()
