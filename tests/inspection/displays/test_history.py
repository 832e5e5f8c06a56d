"""Curves against the history that they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    LBFGS,
    GradientDescent,
    HistoryDisplay,
    LinearClassifier,
    Newton,
    Perceptron,
    datasets,
    read,
    separability,
)

X, Y = load_breast_cancer(return_X_y=True)


def test_objective_and_mistakes_of_a_fit_with_the_proven_bound():
    clf = make_pipeline(StandardScaler(), LinearClassifier(l2=1e-2)).fit(X, Y)
    display, last = HistoryDisplay.from_estimator(clf), clf[-1]
    assert list(display.lines_) == ["objective", "mistakes"]
    for axes, (column, line) in zip(display.axes_, display.lines_.items(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), last.history_["pass"])
        np.testing.assert_array_equal(line.get_ydata(), last.history_[column])
        assert line.axes is axes
    assert display.bound_.get_ydata()[0] == last.objective_ - last.gap_
    title = f"LinearClassifier: optimal after {last.n_iter_} passes"
    assert display.ax_.get_title() == title
    assert display.axes_[0].get_xlabel() == ""
    assert display.axes_[1].get_xlabel() == "pass"


@pytest.mark.parametrize(
    ("update", "made", "bound"),
    [
        ("online", "mistakes_so_far", "mistake_bound"),
        ("batch", "passes_with_mistakes", "pass_bound"),
    ],
)
def test_the_bound_is_plotted_with_the_mistakes(update, made, bound):
    rows, y = datasets.logic("and")
    clf = Perceptron(update=update, shuffle=False, monitor=separability(rows, y)).fit(rows, y)
    display = HistoryDisplay.from_estimator(clf)
    assert {made, bound} <= set(display.lines_)
    assert display.lines_[made].axes is display.lines_[bound].axes
    np.testing.assert_array_equal(display.lines_[bound].get_ydata(), clf.history_[bound])
    assert all(display.lines_[made].get_ydata() <= display.lines_[bound].get_ydata())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_weights_grow_while_the_smooth_loss_stalls():
    rows, y = datasets.logic("and")
    solver = GradientDescent(learning_rate=1.0)
    clf = LinearClassifier(l2=0.0, solver=solver, max_iter=1500, tol=None)
    display = HistoryDisplay.from_estimator(clf.fit(rows, y), columns=("objective", "norm"))
    loss, norm = (display.lines_[column].get_ydata() for column in ("objective", "norm"))
    assert np.all(np.diff(loss) < 0)
    assert np.all(np.diff(norm) > 0)
    assert display.ax_.get_yscale() == "log"
    assert display.axes_[1].get_ylabel() == "|w|"
    assert display.bound_ is None


def test_two_runs_share_axes_and_differ_in_colour_and_dash():
    fits = {
        name: LinearClassifier(l2=1e-2, standardize=True, solver=solver).fit(X, Y)
        for name, solver in (("L-BFGS", LBFGS()), ("Newton", Newton()))
    }
    one = HistoryDisplay.from_estimator(fits["L-BFGS"], columns="objective", name="L-BFGS")
    two = HistoryDisplay.from_estimator(
        fits["Newton"], columns="objective", name="Newton", ax=one.ax_, x="seconds"
    )
    assert one.ax_ is two.ax_
    lines = one.lines_["objective"], two.lines_["objective"]
    assert lines[0].get_color() != lines[1].get_color()
    assert lines[0].get_marker() != lines[1].get_marker()
    assert [line.get_label() for line in lines] == ["L-BFGS: objective", "Newton: objective"]
    assert two.ax_.get_title() == ""
    np.testing.assert_array_equal(lines[1].get_xdata(), fits["Newton"].history_["seconds"])


def test_rows_held_out_are_in_the_picture_of_the_objective(tmp_path):
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([X[:, :3], Y]), delimiter=",", header="a,b,c,y", comments="")
    clf = LinearClassifier(l2=1e-2).fit(read(path, target="y", validation=0.2))
    display = HistoryDisplay.from_estimator(clf)
    held_out = display.lines_["validation_loss"]
    assert held_out.axes is display.ax_
    np.testing.assert_array_equal(held_out.get_ydata(), clf.history_["validation_loss"])


def test_what_is_not_there_is_refused():
    clf = LinearClassifier(l2=1e-2, standardize=True).fit(X, Y)
    for given, words in (
        ({"columns": "loss"}, "the history has no 'loss'; it has pass, objective"),
        ({"columns": ("objective", "norm"), "ax": HistoryDisplay.from_estimator(
            clf, columns="norm").ax_}, "1 axes for 2 pictures"),
        ({"x": "hour"}, "x must be 'pass' or 'seconds'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            HistoryDisplay.from_estimator(clf, **given)
    with pytest.raises(TypeError, match="LogisticRegression has no history_"):
        HistoryDisplay.from_estimator(LogisticRegression())
    unknown = {"pass": np.arange(3), "objective": np.full(3, np.nan)}
    with pytest.raises(ValueError, match="neither objective nor mistakes"):
        HistoryDisplay(unknown).plot()
    with pytest.raises(ValueError, match="did not record 'objective'"):
        HistoryDisplay(unknown).plot(columns="objective")
