"""Contours against the objective in plain NumPy, and the walk against the replay."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from group_oracles import GroupNet
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    Perceptron,
    WeightSpaceDisplay,
    datasets,
)

IRIS, KINDS = load_iris(return_X_y=True)
ROWS, Y = IRIS[50:, 2:], KINDS[50:]
SIGNS = np.where(Y == 2, 1.0, -1.0)


def test_the_walk_of_a_perceptron_is_that_of_its_replay():
    X, y = datasets.logic("and")
    clf = Perceptron(shuffle=False).fit(X, y)
    display = WeightSpaceDisplay.from_estimator(clf, X, y, weights=(0, 1))
    steps = [step.weights[0, :2] for step in clf.trace_.replay(X, y)]
    np.testing.assert_array_equal(display.path, [[0.0, 0.0], *steps])
    np.testing.assert_array_equal(np.column_stack(display.path_.get_data()), display.path)
    start, end = (np.ravel(line.get_data()) for line in display.ends_)
    assert start.tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(end, clf.coef_[0])
    assert display.ax_.get_title() == "Perceptron: b = -4"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("weight of x0", "weight of x1")


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("table", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("chosen", [(0, "b"), ("x1", 0)])
def test_contours_are_those_of_the_objective(chosen, table):
    solver = GradientDescent(learning_rate=0.1)
    clf = LinearClassifier("logistic", l2=0.01, solver=solver, max_iter=20, tol=None)
    clf.fit(table(ROWS), Y)
    display = WeightSpaceDisplay.from_estimator(clf, table(ROWS), Y, weights=chosen)
    at = [{"b": 2, "x1": 1}.get(each, each) for each in chosen]
    last = np.append(clf.coef_[0], clf.intercept_)
    for i, j in ((0, 0), (30, 110), (119, 4)):
        w = last.copy()
        w[at] = display.xx0[i, j], display.xx1[i, j]
        loss = np.log1p(np.exp(-SIGNS * (ROWS @ w[:2] + w[2]))).mean()
        assert display.objective[i, j] == pytest.approx(loss + 0.01 * w[:2] @ w[:2])
    assert not display.steps


@pytest.mark.sampled(1)
@pytest.mark.parametrize("standardize", [False, True])
def test_absolute_values_are_in_the_contours_too(standardize):
    clf = LinearClassifier(l1=0.03, l2=0.01, penalty_weights=[1.0, 2.0], standardize=standardize)
    display = WeightSpaceDisplay.from_estimator(clf.fit(ROWS, Y), ROWS, Y, weights=(0, 1))
    scale, p = ROWS.std(axis=0) if standardize else 1.0, np.array([1.0, 2.0])
    for i, j in ((0, 0), (30, 110), (119, 4)):
        w = np.array([display.xx0[i, j], display.xx1[i, j]])
        loss = np.log1p(np.exp(-SIGNS * (ROWS @ w + clf.intercept_))).mean()
        penalty = p @ (0.03 * np.abs(scale * w) + 0.01 * (scale * w) ** 2)
        assert display.objective[i, j] == pytest.approx(loss + penalty)


def test_the_misclassification_loss_is_flat_and_jumps():
    display = WeightSpaceDisplay.from_loss("zero_one", ROWS, Y, at=[0.0, 0.0, -6.0])
    counts = display.objective * len(Y)
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    i, j = 90, 100
    w = np.array([display.xx0[i, j], display.xx1[i, j]])
    assert counts[i, j] == pytest.approx(np.sum(SIGNS * (ROWS @ w - 6.0) <= 0))
    assert np.mean(np.diff(counts, axis=1) == 0.0) > 0.5
    assert display.steps
    assert type(display.contours_).__name__ == "QuadMesh"
    assert display.path_ is None


def test_weights_classes_scales_and_other_losses():
    weight = np.linspace(0.5, 2.0, len(Y))
    clf = LinearClassifier("hinge", l2=0.1, standardize=True, class_weight={1: 3.0})
    clf.fit(ROWS, Y, weight)
    share = weight * np.where(Y == 1, 3.0, 1.0)
    display = WeightSpaceDisplay.from_estimator(clf, ROWS, Y, weight, weights=(0, 1))
    w = np.array([display.xx0[7, 9], display.xx1[7, 9]])
    hinge = np.maximum(0, 1 - SIGNS * (ROWS @ w + clf.intercept_))
    penalty = 0.1 * np.sum((clf.scale_ * w) ** 2)
    assert display.objective[7, 9] == pytest.approx(np.average(hinge, weights=share) + penalty)
    assert display.path[0].tolist() == [0.0, 0.0]
    other = WeightSpaceDisplay.from_estimator(
        clf, ROWS, Y, weight, weights=(0, 1), loss="zero_one", grid_resolution=20
    )
    w = np.array([other.xx0[7, 9], other.xx1[7, 9]])
    wrong = SIGNS * (ROWS @ w + clf.intercept_) <= 0
    assert other.objective[7, 9] == pytest.approx(np.average(wrong, weights=share))


def test_of_many_weights_the_two_that_went_furthest_are_drawn():
    X, y = IRIS[50:], KINDS[50:]
    clf = make_pipeline(StandardScaler(), Perceptron(random_state=0, max_iter=30)).fit(X, y)
    display = WeightSpaceDisplay.from_estimator(clf, X, y, grid_resolution=10)
    Z = clf[0].transform(X)
    W = np.array([np.zeros(5), *(step.weights[0] for step in clf[-1].trace_.replay(Z, y))])
    furthest = np.sort(np.argsort(np.ptp(W, axis=0))[-2:])
    np.testing.assert_array_equal(display.path, W[:, furthest])
    assert display.ax_.get_title() == "Perceptron: 3 other weights fixed at the end"


def test_a_flat_objective_and_one_feature():
    display = WeightSpaceDisplay.from_loss("squared", [[0.0], [0.0]], [0, 1], limits=1.0)
    assert display.labels == ("weight of x0", "bias b")
    np.testing.assert_allclose(display.objective, 1 + display.xx1**2)
    assert display.plot(colorbar=False).figure_ is display.ax_.figure


def test_what_cannot_be_drawn_is_refused():
    kernel = KernelPerceptron(random_state=0).fit(ROWS, Y)
    many = LinearClassifier().fit(IRIS, KINDS)
    call = WeightSpaceDisplay
    for refused, error, words in (
        (lambda: call.from_estimator(kernel, ROWS, Y), TypeError, "no trace_ to replay"),
        (lambda: call.from_estimator(many, IRIS, KINDS), ValueError, "there are 3 classes"),
        (lambda: call.from_loss("hinge", ROWS, Y, weights=(0, 9)), ValueError, "no weight 9"),
        (lambda: call.from_loss("hinge", ROWS, Y, weights=(0, 0)), ValueError, "two different"),
        (lambda: call.from_loss("hinge", ROWS, Y, at=[1.0]), ValueError, r"expected \(3,\)"),
        (lambda: call.from_loss("hinge", ROWS, Y[:5]), ValueError, "a label for each row"),
        (lambda: call.from_loss("hinge", ROWS, Y, grid_resolution=1), ValueError, "2 or more"),
    ):
        with pytest.raises(error, match=words):
            refused()


def test_contours_are_those_of_the_objective_with_groups():
    X, y, groups = IRIS[50:], Y, np.array([0, 1, 0, 1])
    clf = LinearClassifier(l1=0.02, l2=1e-3, groups=groups).fit(X, y)
    display = WeightSpaceDisplay.from_estimator(clf, X, y, weights=[2, 3], grid_resolution=5)
    net = GroupNet("logistic", X, np.where(y == 2, 1, 0), 0.02, 1e-3, groups)
    for at in ((0, 0), (3, 1), (4, 4)):
        V = np.column_stack([clf.coef_, clf.intercept_])
        V[0, 2], V[0, 3] = display.xx0[at], display.xx1[at]
        assert display.objective[at] == pytest.approx(net.value(V), rel=1e-10)
