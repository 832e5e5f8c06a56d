"""A film against the replay of the run that it shows."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import quiet
from PIL import Image
from sklearn.datasets import load_iris

from separatrix import LinearClassifier, Perceptron, animate, datasets
from separatrix.inspection.displays import animation
from separatrix.inspection.displays.plane import plane_of

AND = datasets.logic("and")


def frames(path):
    with Image.open(path) as film:
        return film.n_frames, film.info.get("duration")


def updates(clf, X, y):
    """Weights that differ from those before, one by one."""
    found = [clf.trace_.start]
    for step in clf.trace_.replay(X, y):
        if not np.array_equal(step.weights, found[-1]):
            found.append(step.weights)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["gif", pytest.param("webp", marks=pytest.mark.slow)])
def test_a_film_has_one_picture_per_update(tmp_path, suffix):
    data = datasets.logic("or")
    clf = Perceptron(shuffle=False).fit(*data)
    path = animate(clf.trace_, *data, tmp_path / f"run.{suffix}", dpi=40, seconds=0.5)
    assert path == tmp_path / f"run.{suffix}"
    count, duration = frames(path)
    # The last picture stays, and a writer may tell so by its duration alone.
    assert 3 <= len(updates(clf, *data)) <= count <= len(updates(clf, *data)) + 6
    assert duration is None or duration >= 500
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_pictures_are_those_of_the_replay_with_the_updated_row():
    X, y = AND
    clf = Perceptron(shuffle=False).fit(X, y)
    pictures = list(animation._thinned(clf.trace_, clf.trace_.replay(X, y)))
    expected = updates(clf, X, y)
    *pictures, clean = pictures
    assert [picture.number for picture in pictures] == list(range(len(expected)))
    for picture, weights in zip(pictures, expected, strict=True):
        np.testing.assert_array_equal(picture.weights, weights)
    assert pictures[0].rows is None
    rows = np.concatenate([picture.rows for picture in pictures[1:]])
    np.testing.assert_array_equal(rows, np.concatenate(clf.trace_.rows))
    passes = [picture.in_pass for picture in pictures[1:]]
    assert passes == np.repeat(np.arange(9) + 1, clf.trace_.updates_per_pass).tolist()
    assert (clean.in_pass, clean.rows) == (9, None)  # the pass without mistakes
    np.testing.assert_array_equal(clean.weights, expected[-1])


def test_a_picture_shows_boundary_ring_and_mistakes():
    X, y = AND
    clf = Perceptron(shuffle=False).fit(X, y)
    film = animation._Film(clf.trace_, X, y, plane_of(X))
    pictures = list(animation._thinned(clf.trace_, clf.trace_.replay(X, y)))
    for picture in pictures:
        film.show(picture)
        w, b = picture.weights[0, :2], picture.weights[0, 2]
        wrong = np.sum(np.where(np.asarray(y) == 1, 1, -1) * (X @ w + b) <= 0)
        plural = "" if wrong == 1 else "s"
        assert film.ax.get_title().endswith(f", {wrong} mistake{plural}")
        ring = film.ring.get_offsets()
        np.testing.assert_array_equal(ring, X[picture.rows] if picture.rows is not None else ring)
    line = film.drawn[-1].get_paths()[0].vertices
    np.testing.assert_allclose(line @ clf.coef_[0] + clf.intercept_, 0.0, atol=1e-9)
    assert film.ax.get_title() == f"Rosenblatt: update {pictures[-1].number}, pass 9, 0 mistakes"


def test_a_long_run_is_thinned_to_its_end(monkeypatch):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    clf = Perceptron(random_state=0, max_iter=20).fit(X, y)
    all_of_them = len(updates(clf, X, y))
    monkeypatch.setattr(animation, "MOST_PICTURES", 12)
    pictures = list(animation._thinned(clf.trace_, clf.trace_.replay(X, y)))
    assert all_of_them > 50
    assert 12 <= len(pictures) <= 14
    last = list(clf.trace_.replay(X, y))[-1]
    np.testing.assert_array_equal(pictures[-1].weights, last.weights)


@pytest.mark.slow
@quiet
def test_batch_solvers_and_standardised_features(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = LinearClassifier(standardize=True, max_iter=3, tol=None).fit(X, y == 2)
    path = animate(clf.trace_, X, y == 2, tmp_path / "run.gif", dpi=30, features=(2, 3))
    assert frames(path)[0] >= clf.n_iter_


def test_what_cannot_be_shown_leaves_no_file(tmp_path):
    clf = Perceptron(shuffle=False).fit(*AND)
    X, y = load_iris(return_X_y=True)
    many = LinearClassifier().fit(X, y)
    for call, words in (
        (lambda: animate(clf.trace_, *AND, tmp_path / "run.mp4"), "must end in one of"),
        (lambda: animate(clf.trace_, *AND, tmp_path / "run.gif", seconds=0), "above 0"),
        (
            lambda: animate(many.trace_, X, y, tmp_path / "run.gif"),
            "3 classes: an animation shows two",
        ),
        (lambda: animate(clf.trace_, X[:, :2], y > 0, tmp_path / "run.gif"), "the data of the fit"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert list(tmp_path.iterdir()) == []


def test_a_film_that_breaks_off_leaves_the_one_before(tmp_path, monkeypatch):
    clf = Perceptron(shuffle=False).fit(*AND)
    path = tmp_path / "run.gif"
    path.write_bytes(b"before")

    def fails(*_):
        raise RuntimeError("no ink")

    monkeypatch.setattr(animation._Film, "show", fails)
    with pytest.raises(RuntimeError, match="no ink"):
        animate(clf.trace_, *AND, path)
    assert path.read_bytes() == b"before"
    assert len(list(tmp_path.iterdir())) == 1
