"""Weights of rows and classes: very small and very large ones, and those of 0."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from conftest import overlapping, quiet
from sklearn.base import clone

from separatrix import (
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
)
from separatrix.data.validation import within_reach

X, Y = overlapping(60, 4)
THREE = (X[:, 0] > 0.4).astype(int) + (X[:, 1] + 0.3 * Y > 0.0)
WEIGHTS = np.random.default_rng(1).integers(1, 4, 60).astype(float)
MOST = np.finfo(float).max
SCALES = [2.0**-1074, 2.0**-1000, 2.0**-450, 2.0**450, 2.0**1022]
LOSSES = ("logistic", "squared", "hinge", "squared_hinge", "tanh_squared", "perceptron")
EVERY = [
    *(LinearClassifier(loss, l2=0.01, random_state=0) for loss in LOSSES),
    LinearClassifier(solver=GradientDescent(1), max_iter=10, random_state=0),
    LinearClassifierCV(l2s=[1e-1, 1e-2, 1e-3], cv=3, scoring=None),
    LinearClassifierCV("hinge", l2s=[1e-1, 1e-2, 1e-3], cv=3, scoring=None),
    Perceptron(10, random_state=0),
    Perceptron(10, l2=0.01, random_state=0),
]  # fmt: skip


# ---- far from 1 --------------------------------------------------------------------------


@pytest.mark.sampled(2)
@quiet
@pytest.mark.parametrize("labels", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("clf", EVERY, ids=repr)
def test_weights_times_a_power_of_two_change_no_bit_of_a_fit(clf, labels):
    reference = clone(clf).fit(X, labels, sample_weight=WEIGHTS)
    for scale in SCALES:
        scaled = clone(clf).fit(X, labels, sample_weight=WEIGHTS * scale)
        np.testing.assert_array_equal(scaled.coef_, reference.coef_)
        np.testing.assert_array_equal(scaled.intercept_, reference.intercept_)
        assert scaled.stop_ == reference.stop_
        for name in ("objective_", "gap_", "l2_"):
            assert getattr(scaled, name, None) == getattr(reference, name, None)


@pytest.mark.sampled(5)
@quiet
@pytest.mark.parametrize("clf", EVERY, ids=repr)
def test_equal_weights_however_small_or_large_are_those_of_1(clf):
    reference = clone(clf).fit(X, Y)
    for weight in (5e-324, 1e-310, 1e308, MOST):
        scaled = clone(clf).fit(X, Y, sample_weight=np.full(60, weight))
        np.testing.assert_allclose(scaled.coef_, reference.coef_, rtol=1e-6, atol=1e-9)
        assert scaled.stop_ == reference.stop_


def test_the_smallest_weights_reach_the_minimum():
    """The mean of the losses by fractions: each weight is a whole number of the smallest one."""
    clf = LinearClassifier("squared", l2=0.01).fit(X, Y, sample_weight=5e-324 * WEIGHTS)
    W = [Fraction(float(w)) for w in (*clf.coef_[0], clf.intercept_[0])]
    total = Fraction(0)
    for x, y, c in zip(X, Y, WEIGHTS, strict=True):
        score = sum(Fraction(float(v)) * w for v, w in zip(x, W, strict=False)) + W[-1]
        total += int(c) * (1 - int(y) * score) ** 2
    value = total / int(WEIGHTS.sum()) + Fraction(0.01) * sum(w * w for w in W[:-1])
    assert abs(Fraction(clf.objective_) - value) <= value * Fraction(1, 10**13)
    assert clf.objective_ <= 0.8  # it is 1 at zeros
    assert clf.stop_ == "optimal"


def test_the_batch_perceptron_goes_the_same_way_whatever_the_unit_of_weights():
    reference = Perceptron(10, update="batch").fit(X, Y, sample_weight=WEIGHTS)
    for scale in SCALES:
        scaled = Perceptron(10, update="batch").fit(X, Y, sample_weight=WEIGHTS * scale)
        unit = scaled.intercept_[0] / reference.intercept_[0]
        assert np.frexp(unit)[0] == 0.5  # a power of two
        np.testing.assert_array_equal(scaled.coef_, unit * reference.coef_)


@pytest.mark.sampled
@quiet
@pytest.mark.parametrize(
    "clf", [Perceptron(random_state=0), KernelPerceptron(random_state=0), LinearClassifier()]
)
@pytest.mark.parametrize("weight", [5e-324, 2.0**-700, 2.0**700, 2.0**1023])
def test_weights_of_classes_may_be_as_small_or_large(clf, weight):
    reference = clone(clf).fit(X, Y)
    scaled = clone(clf).set_params(class_weight={-1.0: weight, 1.0: weight}).fit(X, Y)
    np.testing.assert_array_equal(scaled.decision_function(X), reference.decision_function(X))
    balanced = clone(clf).set_params(class_weight="balanced").fit(X, Y)
    if not isinstance(clf, KernelPerceptron):
        small = clone(balanced).fit(X, Y, sample_weight=np.full(60, weight))
        np.testing.assert_array_equal(small.coef_, balanced.coef_)


def test_products_of_both_kinds_of_weights_do_not_get_lost():
    classes, weight = {-1.0: 2.0**-600, 1.0: 2.0**-601}, WEIGHTS * 2.0**-600
    reference = LinearClassifier(class_weight={-1.0: 2.0, 1.0: 1.0}).fit(X, Y, WEIGHTS)
    small = LinearClassifier(class_weight=classes).fit(X, Y, weight)
    np.testing.assert_array_equal(small.coef_, reference.coef_)
    mixed = LinearClassifier(class_weight=classes).fit(X, Y, WEIGHTS * 2.0**1000)
    np.testing.assert_array_equal(mixed.coef_, reference.coef_)


@pytest.mark.parametrize("clf", [LinearClassifier(), LinearClassifier("hinge", random_state=0)])
def test_a_weight_that_is_negligible_counts_for_nothing(clf):
    some = np.arange(60) < 50
    reference = clone(clf).fit(X[some], Y[some])
    for small, large in ((1e-320, 1.0), (1e-300, 1e308), (5e-324, MOST)):
        fit = clone(clf).fit(X, Y, sample_weight=np.where(some, large, small))
        assert fit.objective_ == pytest.approx(reference.objective_, rel=1e-6)


def test_scaled_weights_are_whole_and_above_0():
    for weight in ([5e-324, 1e-310], [1e-300, MOST], [0.0, 3e-200, 1e-123], [0.0, 1e300]):
        given = np.array(weight)
        scaled, power = within_reach(given)
        assert 1.0 <= scaled.max() < 2.0
        np.testing.assert_array_equal(scaled > 0.0, given > 0.0)
        exact = [Fraction(v) * Fraction(2) ** power for v in given.tolist()]
        assert all(
            Fraction(found) == value or value < Fraction(2) ** -1000
            for found, value in zip(scaled.tolist(), exact, strict=True)
        )
    for weight in ([0.0, 2.0**-400], [2.0**-900, 1.0], [0.0, 2.0**399]):
        scaled, power = within_reach(np.array(weight))
        assert power == 0
        np.testing.assert_array_equal(scaled, weight)


@pytest.mark.parametrize("clf", [Perceptron(random_state=0), LinearClassifier(random_state=0)])
@pytest.mark.parametrize("scale", [2.0**-1070, 2.0**-450, 2.0**450, 2.0**1000])
def test_a_stream_counts_weights_of_every_size(clf, scale):
    reference, scaled = clone(clf), clone(clf)
    for at in range(0, 60, 20):
        some = slice(at, at + 20)
        reference.partial_fit(X[some], Y[some], [-1, 1], WEIGHTS[some])
        scaled.partial_fit(X[some], Y[some], [-1, 1], WEIGHTS[some] * scale)
    np.testing.assert_array_equal(scaled.coef_, reference.coef_)


def test_a_stream_of_weights_of_several_sizes():
    """A call whose weights are as nothing moves nothing, and the one after it counts as before."""

    def stream(*scales, skipped=()):
        clf = Perceptron(keep="last", shuffle=False)
        for call, (at, scale) in enumerate(zip((0, 20, 40), scales, strict=True)):
            some = slice(at, at + 20)
            if call not in skipped:
                clf.partial_fit(X[some], Y[some], [-1, 1], np.full(20, scale))
        return clf.coef_

    # A unit that is very large or small, or in between: by powers of two only the unit differs.
    np.testing.assert_array_equal(stream(1.0, 2.0, 4.0), stream(*(2.0**-500, 2.0**-499, 2.0**-498)))
    np.testing.assert_array_equal(stream(1.0, 2.0, 4.0), stream(*(2.0**-401, 2.0**-400, 2.0**-399)))
    np.testing.assert_array_equal(stream(1.0, 2.0, 4.0), stream(*(2.0**399, 2.0**400, 2.0**401)))
    nothing = stream(1.0, 5e-324, 1.0)
    assert np.all(np.isfinite(nothing))
    np.testing.assert_allclose(nothing, stream(1.0, 1e-200, 1.0), rtol=1e-12)
    np.testing.assert_allclose(stream(5e-324, 1.0, 1.0), stream(1e-200, 1.0, 1.0), rtol=1e-12)


# ---- 0 -----------------------------------------------------------------------------------

NAMED = np.array(["a", "b", "c"])[THREE]


@quiet
@pytest.mark.parametrize(
    "clf",
    [
        LinearClassifier(),
        Perceptron(5, random_state=0),
        LinearClassifierCV(l2s=[1e-1, 1e-2], cv=2, scoring=None),
    ],
)
def test_a_class_whose_rows_all_have_the_weight_0_is_named(clf):
    weight = np.where(NAMED == "b", 0.0, 1.0)
    kept = NAMED != "b"
    without = clone(clf).fit(X[kept], NAMED[kept])
    with pytest.warns(
        UserWarning, match=r"classes \['b'\] has weight 0: these classes are ignored"
    ):
        clf.fit(X, NAMED, sample_weight=weight)
    np.testing.assert_array_equal(clf.classes_, ["a", "c"])
    assert clf.coef_.shape == without.coef_.shape == (1, 4)
    clf.set_params(class_weight="balanced")
    with pytest.warns(UserWarning, match=r"classes \['b'\]"):
        clf.fit(X, NAMED, sample_weight=weight)


@quiet
@pytest.mark.parametrize(
    "clf",
    [
        LinearClassifier(), Perceptron(5, random_state=0),
        LinearClassifierCV(l2s=[1e-1, 1e-2], cv=2, scoring=None),
        KernelPerceptron(max_iter=5, random_state=0),
    ],
)  # fmt: skip
def test_a_class_of_weight_0_is_named(clf):
    kept = NAMED != "b"
    clf.set_params(class_weight={"b": 0.0})
    with pytest.warns(
        UserWarning, match=r"classes \['b'\] has weight 0: these classes are ignored"
    ):
        clf.fit(X, NAMED)
    np.testing.assert_array_equal(clf.classes_, ["a", "c"])
    assert clf.decision_function(X).shape == (60,)
    for weights in ({"b": 0.0, "c": 0}, {"a": 0.0, "b": 0.0, "c": 0.0}, {"d": 0.0}, {7: 0.0}):
        with pytest.raises(ValueError, match="class_weight"):
            clone(clf).set_params(class_weight=weights).fit(X, NAMED)
    if isinstance(clf, LinearClassifier):
        without = LinearClassifier().fit(X[kept], NAMED[kept])
        np.testing.assert_allclose(clf.coef_, without.coef_, rtol=1e-9)
    if isinstance(clf, Perceptron):
        *_, last = clf.trace_.replay(X, NAMED)
        assert last.weights.shape == (1, 5)


def test_the_warning_points_at_the_call_of_fit():
    weight = np.where(NAMED == "b", 0.0, 1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LinearClassifier().fit(X, NAMED, sample_weight=weight)
    assert [w.filename for w in caught] == [__file__]


def test_classes_that_only_some_rows_of_weight_0_have_are_no_matter(recwarn):
    LinearClassifier().fit(X, NAMED, sample_weight=np.where(np.arange(60) % 2, 0.0, 1.0))
    clf = Perceptron()
    clf.partial_fit(X, NAMED, sample_weight=np.where(NAMED == "b", 0.0, 1.0))
    assert not recwarn.list
    assert len(clf.classes_) == 3
    with pytest.raises(ValueError, match="leaves no row to learn from"):
        Perceptron(class_weight={"a": 0}).partial_fit(X[:1], ["a"], classes=["a", "b"])


# ---- scores that overflow ----------------------------------------------------------------


@pytest.mark.parametrize("labels", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "clf",
    [
        Perceptron(5, random_state=0), Perceptron(5, update="batch"),
        Perceptron(5, learning_rate=1e-120, random_state=0), Perceptron(5, keep="last"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("scale", [1e155, 1e160, 1e300])
def test_a_perceptron_whose_scores_overflow_is_refused(clf, scale, labels):
    clf = clone(clf)
    with pytest.raises(ValueError, match=r"scores overflow.* scale"):
        clf.fit(X * scale, labels)
    assert not hasattr(clf, "coef_")
    if clf.update == "online":
        with pytest.raises(ValueError, match=r"scores overflow.* scale"):
            clf.partial_fit(X * scale, labels)
        assert not hasattr(clf, "coef_")


def test_a_perceptron_just_below_is_that_of_ordinary_rows():
    reference = Perceptron(random_state=0, fit_intercept=False).fit(X, Y)
    large = Perceptron(random_state=0, fit_intercept=False).fit(X * 2.0**500, Y)
    np.testing.assert_array_equal(large.coef_, reference.coef_ * 2.0**500)
    assert large.stop_ == reference.stop_


@pytest.mark.parametrize(
    ("clf", "labels"),
    [
        (Perceptron(5), THREE), (LinearClassifier(), THREE),
        (KernelPerceptron("linear", max_iter=5), Y),
        (KernelPerceptron("linear", max_iter=5), THREE),
    ],
)  # fmt: skip
def test_scores_that_overflow_are_refused_when_rows_are_classified(clf, labels):
    clf.fit(X, labels)
    rows = X.copy()
    rows[7] = [MOST, -MOST, MOST, MOST]
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="first that of row 7"):
        clf.predict(rows)


def test_an_infinite_score_lies_on_the_right_side_or_is_refused(rng):
    """Partial sums that overflow may have hidden what would have turned the sign."""
    clf = Perceptron(5, random_state=0).fit(X, Y)
    outcomes = set()
    for _ in range(300):
        clf.coef_ = rng.standard_normal((1, 4)) * 10.0 ** rng.integers(-3, 3, 4)
        row = rng.choice([-1.0, 1.0, 0.99, -0.5], 4) * MOST
        weights = [Fraction(w) for w in clf.coef_[0].tolist()]
        exact = sum(w * Fraction(x) for w, x in zip(weights, row.tolist(), strict=True))
        exact += Fraction(float(clf.intercept_[0]))
        try:
            score = clf.decision_function(row[None])[0]
        except ValueError:
            outcomes.add("refused")
            continue
        assert (score > 0.0) == (exact > 0)
        outcomes.add("infinite" if np.isinf(score) else "finite")
    assert outcomes == {"finite", "infinite", "refused"}


def test_rows_so_large_that_scores_are_infinite_but_certain_can_be_learned():
    rows = 1e160 * (np.arange(30.0)[:, None] - 14.5)
    clf = Perceptron(random_state=0).fit(rows, rows[:, 0] > 0)
    assert clf.stop_ == "no mistakes"
    np.testing.assert_array_equal(clf.predict(rows), rows[:, 0] > 0)
