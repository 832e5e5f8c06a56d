"""What is written on a picture that is as wide as a column of a paper stays on it, and apart."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from separatrix import (
    BoundaryDisplay,
    CertificateDisplay,
    CoefficientDisplay,
    DescentDisplay,
    ForestDisplay,
    HistoryDisplay,
    LinearClassifier,
    LinearClassifierCV,
    LossDisplay,
    MarginDisplay,
    PathDisplay,
    Perceptron,
    WeightSpaceDisplay,
    datasets,
    inference,
    separability,
)

COLUMN = 3.4  # inches
X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
AND = datasets.logic("and")


@cache
def fit():
    return LinearClassifier(l2=1e-2, standardize=True).fit(X, Y)


@cache
def perceptron():
    return Perceptron(shuffle=False, monitor=separability(*AND)).fit(*AND)


@cache
def search():
    return LinearClassifierCV(l2s=5, cv=3, standardize=True, random_state=0, scoring=None).fit(X, Y)


@cache
def verdict():
    return separability(X, Y)


@cache
def inferred():
    rows, labels = load_wine(return_X_y=True, as_frame=True)
    rows = rows[["alcohol", "ash", "hue"]]
    clf = LinearClassifier(l2=1e-3, standardize=True).fit(rows, labels)
    return inference(clf, rows, labels)


FEW = datasets.separable(40, random_state=0)[:2]
IRIS = load_iris(return_X_y=True)
PICTURES = {
    "boundary": lambda ax: BoundaryDisplay.from_estimator(fit(), X, Y, ax=ax),
    "boundary, two features": lambda ax: BoundaryDisplay.from_estimator(
        fit(), X, Y, features=(0, 1), ax=ax
    ),
    "losses": lambda ax: LossDisplay.from_losses(ax=ax),
    "losses and rows": lambda ax: LossDisplay.from_estimator(fit(), X, Y, ax=ax),
    "history": lambda ax: HistoryDisplay.from_estimator(fit(), columns="objective", ax=ax),
    "bound": lambda ax: HistoryDisplay.from_estimator(
        perceptron(), columns="mistakes_so_far", ax=ax
    ),
    "scores": lambda ax: PathDisplay.from_cv_results(search().cv_results_, ax=ax),
    "weights": lambda ax: PathDisplay.from_estimator(
        LinearClassifier(standardize=True), X, Y, l2s=[1e-8, 1e-4, 1.0], ax=ax
    ),
    "weights of classes": lambda ax: PathDisplay.from_estimator(
        LinearClassifier(), *IRIS, l2s=[1e-4, 1.0], ax=ax
    ),
    "margins": lambda ax: MarginDisplay.from_estimator(fit(), X, Y, ax=ax),
    "coefficients": lambda ax: CoefficientDisplay.from_estimator(fit(), X, top=8, ax=ax),
    "intervals": lambda ax: ForestDisplay.from_inference(inferred(), ax=ax),
    "separator": lambda ax: CertificateDisplay.from_separability(verdict(), X, Y, ax=ax),
    "hulls": lambda ax: CertificateDisplay.from_data(*datasets.logic("xor"), ax=ax),
    "flipped": lambda ax: CertificateDisplay.from_data(*FEW, flipped=True, ax=ax),
    "flipped hulls": lambda ax: CertificateDisplay.from_data(
        *datasets.logic("xor"), flipped=True, ax=ax
    ),
    "walk": lambda ax: WeightSpaceDisplay.from_estimator(perceptron(), *AND, ax=ax),
    "descent": lambda ax: DescentDisplay.from_function(
        lambda x: x * x, lambda x: 2 * x, -1.0, learning_rate=1.1, ax=ax
    ),
}


def words(ax):
    """Where the title, the labels and the legend are, in dots."""
    texts = [ax.title, ax.xaxis.label, ax.yaxis.label]
    texts += [ax.get_legend()] if ax.get_legend() else []
    return [box for box in (each.get_window_extent() for each in texts) if box.width > 1]


def ticks(axis, limits):
    """Where the labels of those are that can be seen."""
    low, high = sorted(limits)
    seen = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [tick.label1.get_window_extent() for tick in seen if tick.label1.get_text()]


def inside(box, figure, slack=2.0):
    return (
        box.x0 > -slack
        and box.y0 > -slack
        and box.x1 < figure.bbox.width + slack
        and box.y1 < figure.bbox.height + slack
    )


def apart(one, other):
    return (
        one.x1 <= other.x0 + 1
        or other.x1 <= one.x0 + 1
        or one.y1 <= other.y0 + 1
        or other.y1 <= one.y0 + 1
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_cut_off_and_nothing_written_over(name):
    figure, ax = plt.subplots(figsize=(COLUMN, 0.8 * COLUMN), layout="constrained")
    PICTURES[name](ax)
    figure.canvas.draw()
    written = words(ax)
    assert len(written) >= 2
    assert [box for box in written if not inside(box, figure)] == []
    along = (written, ticks(ax.xaxis, ax.get_xlim()), ticks(ax.yaxis, ax.get_ylim()))
    for found in along:
        for one, other in combinations(found, 2):
            assert apart(one, other)


BELOW = ["weights", "scores", "boundary", "hulls", "flipped", "flipped hulls", "margins"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "wide"),
    [*product(BELOW, (2.2, 6.4)), *product(["losses", "weights of classes"], [COLUMN])],
)
def test_legends_cover_no_row_and_no_curve(name, wide):
    figure, ax = plt.subplots(figsize=(wide, 0.8 * wide), layout="constrained")
    PICTURES[name](ax)
    figure.canvas.draw()
    assert apart(ax.get_legend().get_window_extent(), ax.bbox)
    assert ax.bbox.height > 0.15 * figure.bbox.height  # and leave room for these
    assert ax.bbox.width > 0.4 * figure.bbox.width


def test_a_path_names_as_many_weights_as_there_is_room_for():
    for wide, most in ((2.2, 5), (6.4, 6)):
        figure, ax = plt.subplots(figsize=(wide, 0.8 * wide), layout="constrained")
        display = PathDisplay.from_estimator(
            LinearClassifier(standardize=True), X, Y, l2s=[1e-2, 1.0], ax=ax
        )
        named = [text.get_text() for text in ax.get_legend().get_texts()]
        assert 1 <= len(named) <= most
        sizes = dict(zip(X.columns, np.abs(display.coefs[-1, 0]), strict=True))
        assert named == sorted(X.columns, key=lambda name: -sizes[name])[: len(named)]
        strong = [line for line in display.weights_ if line.get_linewidth() > 1.0]
        assert sorted(line.get_label() for line in strong) == sorted(named)
        figure.canvas.draw()
    assert len(named) == 6


def test_legends_stay_inside_where_the_figure_reserves_no_room():
    _, ax = plt.subplots()
    display = CertificateDisplay.from_data(*FEW, flipped=True, ax=ax)
    display.figure_.canvas.draw()
    assert inside(ax.get_legend().get_window_extent(), display.figure_)
