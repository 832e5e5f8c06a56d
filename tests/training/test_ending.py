"""The words in which a fit ends hold of the weights it leaves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import overlapping, quiet, warned
from problems import exact_value
from sklearn.exceptions import ConvergenceWarning

from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    DualAscent,
    GradientDescent,
    LeastSquares,
    LinearClassifier,
    Newton,
    Objective,
    get_loss,
    minimize,
)
from separatrix.proofs.gap import GapTracker
from separatrix.solvers.dual.proximal_point import reduced_run
from separatrix.training.ending import CONVERGED
from separatrix.training.stopping import Stop

X, Y = overlapping(100, 3, seed=0)
AND = np.array([0, 0, 0, 1])


# ---- diverged ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("squared", GradientDescent(batch_size=10, learning_rate=5.0)),
        ("squared", GradientDescent(learning_rate=50.0)),
        ("squared", GradientDescent(batch_size=1, learning_rate=1.0, average=True)),
        ("squared_hinge", GradientDescent(batch_size=1, learning_rate=3.0)),
        ("logistic", GradientDescent(learning_rate=1e6)),
        ("hinge", GradientDescent(batch_size=1, learning_rate=1e8)),
    ],
)
@pytest.mark.parametrize("tol", [1e-6, None, 10.0])
def test_steps_that_lead_upwards_have_diverged(loss, solver, tol):
    clf = LinearClassifier(loss, l2=1e-4, solver=solver, tol=tol, max_iter=5, random_state=0)
    (text,) = warned(clf, X, Y)
    assert (clf.stop_, clf.converged_) == ("diverged", False)
    assert not clf.objective_ <= 1.0
    assert "lower learning_rate" in text


@quiet
@pytest.mark.parametrize("solver", ["auto", LBFGS(), Newton(), GradientDescent()])
@pytest.mark.parametrize("size", [1e200, 1e20])
def test_a_start_far_off_is_never_called_a_minimum(solver, size):
    clf = LinearClassifier(solver=solver, start=np.full(4, size)).fit(X, Y)
    minimum = LinearClassifier(tol=1e-9).fit(X, Y).objective_
    assert not clf.converged_ or clf.objective_ <= minimum * (1 + 1e-6)


@quiet
@pytest.mark.parametrize("batch_size", [None, 1, 7])
@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge", "squared_hinge"])
def test_steps_of_its_own_never_end_above_the_start(loss, batch_size):
    rng = np.random.default_rng(3)
    wild = rng.standard_normal((40, 3)) * [1e6, 1.0, 1e-6]
    labels, weight = np.sign(rng.standard_normal(40)), rng.exponential(size=40) ** 4
    solver, good = GradientDescent(batch_size=batch_size), LinearClassifier(loss).fit(wild, labels)
    for start in (np.zeros(4), np.append(good.coef_[0], good.intercept_)):
        clf = LinearClassifier(loss, solver=solver, start=start, max_iter=3, random_state=0)
        clf.fit(wild, labels, sample_weight=weight)
        source = ArraySource(wild, labels, np.array([-1, 1]), weight)
        before = exact_value(Objective(get_loss(loss), L2(1e-4), source), start[None])
        assert clf.objective_ <= before * (1 + 1e-9)


def test_a_minimum_above_zeros_is_none():
    """A tolerance of 1 is always reached: J less 0 is never more than J."""
    for start in ("random", "sum"):
        with pytest.warns(ConvergenceWarning):
            clf = LinearClassifier(
                solver=GradientDescent(learning_rate=1e-9), tol=1.0, start=start, random_state=1
            ).fit(10 * X, -Y)
        assert clf.objective_ > np.log(2)
        assert clf.stop_ not in CONVERGED


# ---- J, exactly --------------------------------------------------------------------------


def fraction_of_j(X, y, w, b, l2, weight=None):
    """Mean hinge loss and penalty, in whole numbers."""
    weight = [Fraction(1)] * len(y) if weight is None else [Fraction(c) for c in weight]
    w, b = [Fraction(v) for v in w], Fraction(b)
    total = Fraction(0)
    for x, t, c in zip(X.tolist(), y.tolist(), weight, strict=True):
        margin = int(t) * (sum((Fraction(v) * u for v, u in zip(x, w, strict=True)), b))
        total += c * max(Fraction(0), 1 - margin)
    return total / sum(weight) + Fraction(l2) * sum(v * v for v in w)


@pytest.mark.sampled
@quiet
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9, 1.7e9])
@pytest.mark.parametrize("l2", [1e-8, 1e-3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_that_of_fractions_whatever_the_offset(offset, l2, weighted):
    rng = np.random.default_rng(int(offset) % 97)
    shifted = np.round(rng.standard_normal((30, 2)), 2) + offset
    y = np.where(shifted[:, 0] + 0.3 * rng.standard_normal(30) > offset, 1.0, -1.0)
    weight = rng.integers(1, 5, 30).astype(float) if weighted else None
    for rows in (shifted, sp.csr_array(shifted)):
        clf = LinearClassifier("hinge", l2=l2).fit(rows, y, sample_weight=weight)
        exact = fraction_of_j(shifted, y, clf.coef_[0], clf.intercept_[0], l2, weight)
        assert abs(Fraction(clf.objective_) - exact) <= Fraction(1, 10**12) * exact
        # No weights at all may lie below the bound: least of all better ones.
        near = LinearClassifier("hinge", l2=l2, tol=1e-9).fit(shifted - offset, y, weight)
        back = near.intercept_[0] - offset * near.coef_[0].sum()
        better = fraction_of_j(shifted, y, near.coef_[0], back, l2, weight)
        assert Fraction(clf.objective_) - Fraction(clf.gap_) <= better * (1 + Fraction(1, 10**13))


@quiet
@pytest.mark.parametrize("l2", [1e-8, 1e-5])
def test_two_rows_far_from_zero_are_not_called_optimal_where_they_are_not(l2):
    rows, y = np.array([[1e6 + 0.1], [1e6 + 0.3]]), np.array([-1.0, 1.0])
    clf = LinearClassifier("hinge", l2=l2).fit(rows, y)
    apart = Fraction(rows[1, 0]) - Fraction(rows[0, 0])
    minimum = Fraction(l2) * (2 / apart) ** 2  # both margins are 1: the penalty is weak
    exact = fraction_of_j(rows, y, clf.coef_[0], clf.intercept_[0], l2)
    assert exact - minimum <= Fraction(clf.gap_)
    if clf.stop_ == "optimal":
        assert exact - minimum <= Fraction(1, 10**6) * exact


def test_offsets_alone_do_not_keep_a_fit_from_its_proof():
    reference = LinearClassifier(l2=1e-3, tol=1e-9).fit(X, Y)
    far = LinearClassifier(l2=1e-3).fit(X + 1e8, Y)
    assert far.stop_ == "optimal"
    assert far.objective_ == pytest.approx(reference.objective_, rel=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared", "squared_hinge"])
@pytest.mark.parametrize("k", [2, 3])
def test_exact_values_are_those_of_long_sums(loss, k):
    """Small whole numbers, at which every loss but the logistic is exact in floating point."""
    rng = np.random.default_rng(k)
    rows = rng.integers(-3, 4, (20, 2)).astype(float)
    y = rng.integers(0, k, 20)
    source = ArraySource(rows, 2.0 * y - 1 if k == 2 else y, np.arange(k))
    form = get_loss(loss) if k == 2 else get_loss(loss).multiclass()
    objective = Objective(form, L2(0.25), source)
    W = rng.integers(-2, 3, objective.shape).astype(float)
    far = W.copy()
    far[:, -1] -= 2.0**30 * W[:, :-1].sum(axis=1)
    moved = Objective(form, L2(0.25), ArraySource(rows + 2.0**30, source.y, np.arange(k)))
    assert exact_value(moved, far) == exact_value(objective, W)
    assert exact_value(objective, W) == pytest.approx(objective.value(W)[0], rel=1e-15)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "hinge"])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_left_of_a_perfect_fit_is_reported_to_twelve_digits(loss, seed):
    """Margins of 1 but for their last bits: J is the square of what these are short of."""
    rng = np.random.default_rng(seed)
    rows, y = rng.standard_normal((4, 3)) * [1e5, 1e-5, 1.0], np.array([-1.0, 1.0, 1.0, -1.0])
    W = np.linalg.solve(np.column_stack([rows, np.ones(4)]), y)[None]
    objective = Objective(get_loss(loss), L2(0.0), ArraySource(rows, y, np.array([-1, 1])))
    exact = Fraction(0)
    for x, t in zip(rows.tolist(), y.tolist(), strict=True):
        terms = zip([*x, 1.0], W[0].tolist(), strict=True)
        short = 1 - int(t) * sum(Fraction(a) * Fraction(b) for a, b in terms)
        short = short if loss == "squared" else max(short, Fraction(0))
        exact += (short if loss == "hinge" else short**2) / 4
    assert abs(Fraction(exact_value(objective, W)) - exact) <= exact / 10**12


def test_features_whose_squares_underflow_do_not_pass_for_constant():
    """They are separable, however small; a penalty keeps such weights at 0."""
    tiny = np.array([[1e-200], [2e-200], [3e-200], [4e-200]])
    for solver in (LBFGS(), Newton()):
        with pytest.raises(ValueError, match="feature 0 is too small: the squares of its values"):
            LinearClassifier(l2=0.0, solver=solver).fit(tiny, AND)
        assert LinearClassifier(l2=1e-3, solver=solver).fit(tiny, AND).converged_


@quiet
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_biases_of_many_classes_are_those_that_were_judged(offset):
    """They are reported with sum 0, which rounds them: J is that of what is reported."""
    rng = np.random.default_rng(1)
    rows, y = np.round(rng.standard_normal((24, 2)), 2) + offset, np.arange(24) % 3
    clf = LinearClassifier("hinge", l2=1e-3).fit(rows, y)
    W, total = [[Fraction(v) for v in w] for w in clf.coef_.tolist()], Fraction(0)
    for x, own in zip(rows.tolist(), y.tolist(), strict=True):
        scores = [
            sum((Fraction(v) * u for v, u in zip(x, w, strict=True)), Fraction(b))
            for w, b in zip(W, clf.intercept_.tolist(), strict=True)
        ]
        total += max(s - scores[own] + (c != own) for c, s in enumerate(scores))
    exact = total / 24 + Fraction(1e-3) * sum(v * v for w in W for v in w)
    assert abs(Fraction(clf.objective_) - exact) <= exact / 10**12


# ---- proofs are not dearer than the steps ------------------------------------------------


class Counted(ArraySource):
    """Counts sums over all rows; passes of single rows do not count as such."""

    sums = 0

    def total(self, part):
        self.sums += 1
        return super().total(part)


@quiet
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("passes", [1, 2, 6, 30])
def test_proofs_read_no_more_often_than_the_steps(loss, k, passes):
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((50, 4)), rng.integers(0, k, 50)
    source = Counted(rows, 2.0 * y - 1 if k == 2 else y, np.arange(k))
    objective = Objective(
        get_loss(loss) if k == 2 else get_loss(loss).multiclass(), L2(0.1), source
    )
    objective.moments  # noqa: B018 (what rounding does is reported by them: one read, remembered)
    source.sums = 0
    solver = GradientDescent(batch_size=1, learning_rate=0.01)
    result = minimize(objective, solver, stop=Stop(max_iter=passes, tol=1e-12), seed=0)
    assert result.proof is not None
    assert source.sums <= passes + 1
    source.sums = 0
    unproven = minimize(objective, solver, stop=Stop(max_iter=passes), seed=0)
    assert unproven.proof is None
    assert source.sums == 1


@pytest.mark.parametrize(("allowed", "made"), [(0, 0), (1, 0), (2, 2), (3, 2)])
def test_a_bias_is_polished_only_as_often_as_reads_allow(allowed, made):
    source = Counted(X, Y, np.array([-1, 1]))
    objective = Objective(get_loss("logistic"), L2(0.1), source)
    W = minimize(objective, Newton(), stop=Stop(tol=1e-12)).weights.copy()
    W[:, -1] += 1e-6
    at = objective.value_and_gradient(W)
    source.sums = 0
    GapTracker(objective, 1e-9, reduced_run, reads=allowed).evaluate(W, at)
    assert source.sums == made


# ---- small print -------------------------------------------------------------------------


def test_verbose_may_be_a_number(capsys):
    LinearClassifier(verbose=1).fit(X, Y)
    assert "pass" in capsys.readouterr().err
    LinearClassifier(verbose=0).fit(X, Y)
    assert capsys.readouterr().err == ""


def test_warnings_carry_no_comment():
    clf = LinearClassifier(max_iter=1)
    (text,) = warned(clf, X, Y)
    assert "#" not in text
    assert clf.solver_.reason


@pytest.mark.parametrize("solver", [LBFGS(), Newton(), GradientDescent()])
def test_softmax_without_a_penalty_is_reported_with_the_least_weights(solver):
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((90, 3)), rng.integers(0, 3, 90)
    clf = LinearClassifier(l2=0.0, solver=solver, tol=1e-13).fit(rows, y)
    np.testing.assert_allclose(clf.coef_.sum(axis=0), 0.0, atol=1e-12)
    reference = LinearClassifier(l2=1e-12, solver=Newton(), tol=1e-12).fit(rows, y)
    np.testing.assert_allclose(clf.coef_, reference.coef_, atol=1e-5)


@pytest.mark.parametrize("solver", [LBFGS(), Newton(), DualAscent(), LeastSquares(), "auto"])
def test_proven_fits_of_every_solver_still_say_so(solver):
    loss = "squared" if isinstance(solver, LeastSquares) else "squared_hinge"
    assert LinearClassifier(loss, solver=solver).fit(X, Y).stop_ == "optimal"
