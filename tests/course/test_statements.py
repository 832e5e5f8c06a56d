"""Statements of the documentation that can be computed, each against a reference of its own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from separatrix import (
    ElasticNet,
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    Objective,
    Perceptron,
    losses,
    separability,
)
from separatrix.data import ArraySource
from separatrix.datasets import blobs, overlapping
from separatrix.losses import get_loss

# ---- which minima are unique ---------------------------------------------------------------


def exact_hinge(w, b):
    """J of the rows -1 and +1, one of each class, at l2 = 10."""
    loss = max(Fraction(0), 1 - (w - b)) + max(Fraction(0), 1 - (w + b))
    return loss / 2 + 10 * w * w


def test_the_bias_of_a_hinge_may_be_free_in_an_interval():
    clf = LinearClassifier("hinge", l2=10).fit([[-1.0], [1.0]], [0, 1])
    least, w = Fraction(39, 40), Fraction(1, 20)
    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(float(least), rel=1e-6)
    assert clf.coef_[0, 0] == pytest.approx(float(w), rel=1e-2)
    ends = Fraction(-19, 20), Fraction(19, 20)
    for b in (*ends, Fraction(0), Fraction(1, 3)):
        assert exact_hinge(w, b) == least
        for other in (w - Fraction(1, 1000), w + Fraction(1, 1000)):
            assert exact_hinge(other, b) > least
    assert all(exact_hinge(w, b * Fraction(21, 20)) > least for b in ends)


@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge"])
def test_the_bias_of_the_other_convex_losses_is_unique(loss):
    """On the same rows, where symmetry says that it is 0."""
    clf = LinearClassifier(loss, l2=10, tol=1e-14).fit([[-1.0], [1.0]], [0, 1])
    phi, w = get_loss(loss).phi, clf.coef_[0, 0]
    at = [float(phi(np.array([w - b, w + b])).mean()) for b in (-0.5, -0.01, 0.0, 0.01, 0.5)]
    assert min(at) == at[2] < min(at[1], at[3])
    assert abs(clf.intercept_[0]) < 1e-6


def test_the_trivial_minimum_of_the_perceptron_loss_is_the_only_one_with_a_penalty():
    z = np.array([[1.0, -1.0], [1.0, 1.0]])  # signed rows of -1 and +1
    for v in np.random.default_rng(0).standard_normal((100, 2)):
        assert np.maximum(0.0, -z @ v).mean() + 1e-3 * v[0] ** 2 > 0.0


# ---- probabilities -------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("k", [2, 3])
def test_the_mean_probability_of_a_class_is_its_share_for_every_penalty(k, l2):
    X, y = blobs(k=3, n=90, random_state=0) if k == 3 else overlapping(90, random_state=0)
    rng = np.random.default_rng(0)
    keep = (y != 0) | (rng.random(len(y)) < 0.3)
    X, y, weight = X[keep], y[keep], 1.0 + rng.random(int(keep.sum()))
    clf = LinearClassifier("logistic", l2=l2, tol=1e-11).fit(X, y, sample_weight=weight)
    share = [weight[y == c].sum() / weight.sum() for c in clf.classes_]
    assert max(share) - min(share) > 0.1
    p = clf.predict_proba(X)
    np.testing.assert_allclose(weight @ p / weight.sum(), share, atol=1e-6)
    if l2 == 1e4:
        np.testing.assert_allclose(p, np.tile(share, (len(p), 1)), atol=1e-3)


def test_without_an_intercept_a_strong_penalty_leads_to_one_half():
    X, y = overlapping(90, random_state=0)
    clf = LinearClassifier("logistic", l2=1e4, fit_intercept=False)
    p = clf.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p, 0.5, atol=1e-3)


# ---- the bound on mistakes -----------------------------------------------------------------

COPIES = np.repeat([[-1.0], [1.0]], 50, axis=0), np.repeat([0, 1], 50)


def test_the_bound_on_mistakes_is_not_one_of_batch_updates():
    theory = separability(*COPIES)
    assert theory.mistake_bound == pytest.approx(2.0)
    assert "online perceptron makes at most 2 mistakes" in str(theory)
    assert Perceptron(shuffle=False).fit(*COPIES).n_updates_ <= 2
    batch = Perceptron(update="batch", monitor=theory).fit(*COPIES)
    assert batch.n_updates_ == batch.history_["mistakes"].sum() == 100
    assert "mistake_bound" not in batch.history_
    assert batch.history_["passes_with_mistakes"][-1] == 1 <= batch.history_["pass_bound"][-1]


def test_an_update_of_many_classes_is_as_long_as_two_rows():
    """``|z|^2 = 2 |(x, 1)|^2``, and its margin was not positive: what the proof is made of."""
    X, y = blobs(k=3, n=60, random_state=0)
    clf = Perceptron(3, shuffle=False, patience=None, keep="last").fit(X, y)
    updated = iter(np.concatenate(clf.trace_.rows))
    before = np.zeros((3, 3))
    for step in clf.trace_.replay(X, y):
        z = step.weights - before
        if z.any():
            x = np.append(X[next(updated)], 1.0)
            assert np.vdot(z, z) == pytest.approx(2.0 * x @ x)
            assert np.vdot(before, z) <= 1e-9
        before = step.weights
    assert clf.n_updates_ > 0
    assert next(updated, None) is None


# ---- kernels and losses --------------------------------------------------------------------


def test_gamma_scale_is_one_over_features_times_the_variance_of_all_entries():
    X = np.random.default_rng(0).standard_normal((30, 4)) * [1.0, 2.0, 5.0, 0.1]
    y = X[:, 0] > 0
    by_name = KernelPerceptron("rbf", gamma="scale", random_state=0).fit(X, y)
    by_hand = KernelPerceptron("rbf", gamma=1.0 / (4 * X.var()), random_state=0).fit(X, y)
    np.testing.assert_array_equal(by_name.decision_function(X), by_hand.decision_function(X))


def test_tanh_squared_goes_from_four_to_zero_and_stays_above_the_count():
    loss = losses.TanhSquared()
    m = np.linspace(-30.0, 30.0, 601)
    value = loss.phi(m)
    np.testing.assert_allclose(value[[0, 300, -1]], [4.0, 1.0, 0.0], atol=1e-12)
    assert (np.diff(value) <= 0.0).all()
    assert (value >= losses.ZeroOne().phi(m)).all()


# ---- biases and penalties ------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", "hinge", "perceptron"])
def test_joint_losses_do_not_change_if_all_biases_grow(loss):
    joint, scores = get_loss(loss).for_classes(3), np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]])
    y = np.array([0, 2])
    np.testing.assert_allclose(joint.value(y, scores + 7.0), joint.value(y, scores), rtol=1e-12)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "one_vs_rest_logistic"])
def test_losses_in_columns_do(loss):
    columns, scores = get_loss(loss).for_classes(3), np.array([[1.0, -2.0, 0.5]])
    y = np.array([0])
    assert abs(columns.value(y, scores + 7.0) - columns.value(y, scores)).max() > 1.0
    X, y = blobs(k=3, n=90, random_state=0)
    assert abs(LinearClassifier(loss, l2=0.01).fit(X, y).intercept_.sum()) > 0.1


TABLE = np.array([[0, 1], [1, 0], [1, 1], [2, 2], [0, 3], [3, 0.2]])
LABELS = np.array([0, 0, 0, 1, 1, 1])  # separable by the sum of the features, not by the first


@pytest.mark.parametrize("penalty", [{"l2": 0.1}, {"l1": 0.1, "l2": 0.0}])
@pytest.mark.parametrize("free", [False, True])
def test_a_penalty_gives_a_minimum_unless_free_features_separate(penalty, free):
    """A free feature does no harm where it cannot separate the rows alone."""
    assert separability(TABLE, LABELS).verdict == "separable"
    assert separability(TABLE[:, :1], LABELS).verdict == "overlapping"
    weights = np.array([0.0 if free else 1.0, 1.0])
    clf = LinearClassifier("logistic", penalty_weights=weights, **penalty).fit(TABLE, LABELS)
    assert clf.stop_ == "optimal"


@pytest.mark.parametrize("penalty", [(0.0, 0.1), (0.1, 0.0)])
def test_free_features_that_separate_leave_no_minimum(penalty):
    """J falls towards 0 along the free one, and towards infinity once it is penalised."""
    X = np.column_stack([2.0 * LABELS - 1.0, TABLE[:, 0]])
    source = ArraySource(X, 2.0 * LABELS - 1.0, np.array([0, 1]))
    along = [np.array([[t, 0.0, 0.0]]) for t in (1.0, 10.0, 30.0)]

    def values(*weights):
        objective = Objective(losses.Logistic(), ElasticNet(*penalty, weights), source)
        return [objective.value(W)[0] for W in along]

    free, penalised = values(0.0, 1.0), values(1.0, 1.0)
    assert free[0] > free[1] > free[2] > 0.0
    assert free[2] < 1e-12
    assert penalised[2] > 1.0


# ---- steps ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("share", "falls"), [(0.1, True), (0.99, True), (1.5, False)])
def test_a_step_on_all_rows_lowers_the_loss_only_if_it_is_small(share, falls):
    """In shares of 2 / L, for the squared loss, whose curvature is L along one direction."""
    X, y = overlapping(80, random_state=0)
    Z = np.column_stack([X, np.ones(len(X))])
    L = 2.0 * np.linalg.eigvalsh(Z.T @ Z / len(Z))[-1]
    way = GradientDescent(learning_rate=share * 2.0 / L)
    clf = LinearClassifier("squared", l2=0.0, solver=way, max_iter=30, tol=None)
    history = clf.fit(X, y).history_["objective"]
    assert (history[-1] < history[0]) == falls
    assert (np.diff(history) <= 1e-15).all() == falls
