"""Curves against the formulas, and ticks against the margins."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LinearClassifier, LossDisplay, MarginLoss, Perceptron, losses
from separatrix.inspection.displays.loss import TRADE_OFFS

FORMULAS = {
    "zero_one": lambda m: (m <= 0) * 1.0,
    "perceptron": lambda m: np.maximum(0, -m),
    "logistic": lambda m: np.log(1 + np.exp(-m)),
    "squared": lambda m: (1 - m) ** 2,
    "tanh_squared": lambda m: (1 - np.tanh(m)) ** 2,
    "hinge": lambda m: np.maximum(0, 1 - m),
    "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2,
}


def test_every_loss_is_drawn_with_its_formula_and_what_speaks_for_and_against_it():
    display = LossDisplay.from_losses()
    assert set(display.lines_) == set(losses.names()) == set(TRADE_OFFS) == set(FORMULAS)
    legend = " ".join(text.get_text() for text in display.ax_.get_legend().get_texts())
    for name, line in display.lines_.items():
        m, value = line.get_data()
        known = ~np.isnan(value)
        np.testing.assert_allclose(value[known], FORMULAS[name](m[known]), atol=1e-12)
        for words in (name, *TRADE_OFFS[name]):
            assert words in legend
    looks = {(line.get_color(), str(line.get_linestyle())) for line in display.lines_.values()}
    assert len(looks) == len(display.lines_)


def test_no_line_goes_up_where_the_loss_jumps():
    m, value = LossDisplay.from_losses(["zero_one"]).lines_["zero_one"].get_data()
    (gap,) = np.flatnonzero(np.isnan(value))
    assert (m[gap - 1], value[gap - 1], value[gap + 1]) == (0.0, 1.0, 0.0)
    assert not np.isnan(LossDisplay.from_losses(["hinge"]).lines_["hinge"].get_ydata()).any()


def test_the_rows_of_a_fit_are_ticks_and_its_loss_is_thick():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    clf = make_pipeline(StandardScaler(), LinearClassifier("hinge", l2=1e-2)).fit(X, y)
    display = LossDisplay.from_estimator(clf, X, y, ["logistic", "hinge"], trade_offs=False)
    ticks = np.array([segment[0, 0] for segment in display.rows_.get_segments()])
    expected = np.where(y == 2, 1, -1) * clf.decision_function(X)
    np.testing.assert_allclose(ticks, expected)
    assert display.lines_["hinge"].get_linewidth() > display.lines_["logistic"].get_linewidth()
    assert display.ax_.get_title() == f"Pipeline: 100 rows, {(expected <= 0).sum()} at or below 0"
    legend = display.plot(display.ax_).ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()][:2] == ["logistic", "hinge"]
    again = LossDisplay.from_predictions(y, clf.decision_function(X), losses=["squared"])
    np.testing.assert_array_equal(again.rows, expected)


def test_the_own_loss_of_a_perceptron_is_added():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    clf = Perceptron(shuffle=False).fit(X, y)
    display = LossDisplay.from_estimator(clf, X, y, ["squared"])
    assert list(display.lines_) == ["squared", "perceptron"]
    assert display.own == "perceptron"


def test_the_soft_maximum_is_above_the_maximum_by_log_2_at_most():
    display = LossDisplay.from_losses(["perceptron", "logistic"], gap=True, trade_offs=False)
    fill, text = display.gap_
    assert text.xy == (0.0, pytest.approx(0.5 * np.log(2)))
    low, high = fill.get_paths()[0].vertices.min(axis=0), fill.get_paths()[0].vertices.max(axis=0)
    assert (low[0], high[0]) == (-2, 3)
    with pytest.raises(ValueError, match="gap needs two losses, got 7"):
        LossDisplay.from_losses(gap=True)


def test_a_loss_of_your_own_says_what_it_knows_of_itself():
    class Exponential(MarginLoss):
        smooth = False

        def phi(self, m):
            return np.exp(-m)

    display = LossDisplay.from_losses([Exponential()], curve_kwargs={"c": "red"})
    assert display.trade_offs == {"Exponential": ("convex", "not smooth")}
    assert display.lines_["Exponential"].get_color() == "red"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LossDisplay.from_losses(["hing"]), "unknown loss 'hing'"),
        (lambda: LossDisplay.from_losses(limits=(1, 1)), "a smaller and a larger margin"),
        (lambda: LossDisplay.from_predictions([0, 1], [0.3]), "one score per label"),
        (lambda: LossDisplay.from_predictions([0, 1, 2], [1, 2, 3]), "the scores are those of 2"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_many_classes_have_no_one_margin():
    X, y = load_iris(return_X_y=True)
    clf = LinearClassifier().fit(X, y)
    with pytest.raises(ValueError, match="there are 3 classes"):
        LossDisplay.from_estimator(clf, X, y)
    with pytest.raises(TypeError, match="not a function of one margin"):
        LossDisplay.from_losses([losses.Hinge().multiclass()])
