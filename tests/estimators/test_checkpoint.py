"""Estimators that are killed, at any moment, and fitted again: as if nothing had happened."""

from __future__ import annotations

import pickle
import signal

import numpy as np
import pytest
from conftest import overlapping, quiet
from run_states import Recorder, Resumed
from sklearn.base import clone

from separatrix import (
    LBFGS,
    Checkpoint,
    CoordinateDescent,
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    Perceptron,
    ProximalNewton,
    ProximalPoint,
    separability,
)

X, Y = overlapping(70, 3)


THREE = np.where(X[:, 0] > 0.4, 2, (X[:, 1] > 0).astype(int))


NOT_COMPARED = ("trace_", "_kernel", "_expansion", "_stream", "callbacks")


class Cut(Exception):
    """The run ends here, as if the process had."""


def cut_at(number):
    def cut(step, info):
        if info.iteration == number:
            raise Cut

    return cut


def same(one, other):
    """All that a fit leaves, but for how long it took."""
    for name, value in vars(one).items():
        if name in NOT_COMPARED:
            continue
        found = vars(other)[name]
        if name == "history_":
            assert value.keys() == found.keys()
            for column in value.keys() - {"seconds"}:
                np.testing.assert_array_equal(value[column], found[column])
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, found)
        else:
            assert repr(value) == repr(found), name
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def with_callbacks(clf, *callbacks):
    return clone(clf).set_params(callbacks=list(callbacks))


@pytest.mark.sampled(4)
@quiet
@pytest.mark.parametrize("labels", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "clf",
    [
        KernelPerceptron(max_iter=12, random_state=1),
        KernelPerceptron("poly", degree=2, max_iter=12, keep="voted", random_state=1),
        KernelPerceptron("linear", max_iter=12, shuffle=False, patience=None, cache_mb=0),
        KernelPerceptron(max_iter=12, budget=9, random_state=1, learning_rate=0.3),
        KernelPerceptron(
            "laplacian", max_iter=8, keep="average", random_state=1, class_weight="balanced"
        ),
        Perceptron(20, random_state=3, class_weight="balanced", learning_rate=0.1),
        LinearClassifier(solver=GradientDescent(1), max_iter=9, random_state=3, start="random"),
        LinearClassifier(l1=0.01, solver=ProximalNewton(), tol=1e-12),
        LinearClassifier("squared_hinge", l1=0.01, solver=CoordinateDescent(), tol=1e-12),
        LinearClassifier(l1=0.01, groups="classes", tol=1e-12),
        LinearClassifier(l1=0.01, solver=GradientDescent(1), max_iter=5, random_state=3),
    ],
    ids=repr,
)
def test_cut_after_every_pass(clf, labels):
    recorder = Recorder()
    recorded = clone(clf)
    recorded.callbacks = [recorder]  # not a copy of it
    recorded.fit(X, labels)
    whole = clone(clf).fit(X, labels)
    same(whole, recorded)
    for state in recorder.states:
        same(whole, with_callbacks(clf, Resumed(state)).fit(X, labels))


@pytest.mark.sampled
@quiet
@pytest.mark.parametrize(
    "clf",
    [
        Perceptron(25, patience=12, random_state=3),
        LinearClassifier("hinge", random_state=0, tol=1e-8, solver=ProximalPoint()),
        KernelPerceptron(max_iter=12, random_state=1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("every", [1, 2])
def test_a_file_serves_as_well(tmp_path, clf, every):
    whole = clone(clf).fit(X, Y)
    for number in (1, 2, 5):
        path = tmp_path / f"{number}"
        with pytest.raises(Cut):
            with_callbacks(clf, Checkpoint(path, every=every), cut_at(number)).fit(X, Y)
        assert path.exists() == (number >= every)
        same(whole, with_callbacks(clf, Checkpoint(path)).fit(X, Y))
        written = path.stat().st_mtime_ns

        def no_pass(step, info):
            raise AssertionError("it had ended")

        same(whole, with_callbacks(clf, Checkpoint(path), no_pass).fit(X, Y))
        assert path.stat().st_mtime_ns == written


@quiet
def test_an_end_that_was_asked_for_is_none(tmp_path):
    """A callback's true, and Ctrl-C, end a fit; the next one goes on from there."""
    clf = Perceptron(25, random_state=3, patience=None)
    whole = clone(clf).fit(X, Y)

    def stop(step, info):
        return info.iteration == 4

    def press(step, info):
        if info.iteration == 9:
            signal.raise_signal(signal.SIGINT)

    assert with_callbacks(clf, Checkpoint(tmp_path / "run"), stop).fit(X, Y).stop_ == "callback"
    with pytest.warns(UserWarning, match="interrupted after 9 passes"):
        some = with_callbacks(clf, Checkpoint(tmp_path / "run"), press).fit(X, Y)
    assert (some.stop_, some.n_iter_) == ("interrupted", 9)
    same(whole, with_callbacks(clf, Checkpoint(tmp_path / "run")).fit(X, Y))


@quiet
def test_chance_is_taken_over_and_a_seed_is_not(tmp_path):
    clf = LinearClassifier(solver=GradientDescent(1), max_iter=40, start="random")
    keep = Checkpoint(tmp_path / "run", every=1)
    with pytest.raises(Cut):
        with_callbacks(clf, keep, cut_at(3)).fit(X, Y)
    first = with_callbacks(clf, keep).fit(X, Y)
    seed = first.trace_.seed
    again = clone(clf).set_params(random_state=seed).fit(X, Y)
    for name in ("coef_", "intercept_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    *_, last = first.trace_.replay(X, Y)
    np.testing.assert_array_equal(last.weights[:, :-1], first.coef_)
    for given in (0, 1):
        path = Checkpoint(tmp_path / f"{given}")
        with_callbacks(clf, path).set_params(random_state=given).fit(X, Y)
        with pytest.raises(ValueError, match="seed was"):
            with_callbacks(clf, path).set_params(random_state=given + 1).fit(X, Y)


@quiet
def test_threads_may_change_and_data_may_not(tmp_path):
    clf = LinearClassifier(solver=LBFGS(), n_jobs=1, callbacks=[Checkpoint(tmp_path / "run")])
    first = clf.fit(X, Y).coef_
    np.testing.assert_array_equal(clone(clf).set_params(n_jobs=2).fit(X, Y).coef_, first)
    with pytest.raises(ValueError, match="the data"):
        clone(clf).fit(X, -Y)
    with pytest.raises(ValueError, match="the data"):
        clone(clf).fit(X, Y, np.arange(70.0))


@quiet
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"gamma": 0.5}, r"kernel\.gamma"), ({"kernel": "linear"}, r"kernel\.kernel"),
        ({"budget": 5}, "budget"), ({"learning_rate": 0.5}, "learning_rate"),
        ({"kernel": lambda A, B: A @ B.T}, "kernel"), ({"random_state": 1}, "seed"),
        ({"fit_intercept": False}, "fit_intercept"), ({"class_weight": {-1: 2.0}}, "the data"),
    ],
)  # fmt: skip
def test_another_kernel_perceptron_is_refused(tmp_path, change, named):
    clf = KernelPerceptron(max_iter=3, random_state=0, callbacks=[Checkpoint(tmp_path / "run")])
    clf.fit(X, Y)
    with pytest.raises(ValueError, match=f"another run: .*{named}"):
        clone(clf).set_params(**change).fit(X, Y)


@quiet
def test_kernels_of_ones_own_are_distinguished(tmp_path):
    clf = KernelPerceptron(
        lambda A, B: (A @ B.T) ** 2, max_iter=3, callbacks=[Checkpoint(tmp_path / "run")]
    )
    clf.fit(X, Y)
    clone(clf).set_params(kernel=lambda A, B: (A @ B.T) ** 2).fit(X, Y)
    with pytest.raises(ValueError, match=r"kernel\.values was"):
        clone(clf).set_params(kernel=lambda A, B: (A @ B.T) ** 3).fit(X, Y)


def test_a_monitor_goes_on(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 3))
    score = rows @ [1.0, -2.0, 0.5]
    rows, labels = rows[np.abs(score) > 0.2], np.sign(score[np.abs(score) > 0.2])
    for update in ("online", "batch"):
        clf = Perceptron(update=update, monitor=separability(rows, labels), random_state=0)
        whole = clone(clf).fit(rows, labels)
        assert whole.n_iter_ > 2
        keep = Checkpoint(tmp_path / update, every=1)
        with pytest.raises(Cut):
            with_callbacks(clf, keep, cut_at(2)).fit(rows, labels)
        again = with_callbacks(clf, keep).fit(rows, labels)
        assert len(whole.history_) == 7
        for name in whole.history_.keys() - {"seconds"}:
            np.testing.assert_array_equal(whole.history_[name], again.history_[name])


def test_partial_fit_refuses(tmp_path):
    clf = LinearClassifier(callbacks=[Checkpoint(tmp_path / "run")])
    with pytest.raises(ValueError, match="a Checkpoint saves the passes of fit"):
        clf.partial_fit(X, Y)


def test_a_checkpoint_can_be_copied(tmp_path):
    keep = Checkpoint(tmp_path / "run", every=3)
    assert pickle.loads(pickle.dumps(keep)) == keep
    assert repr(keep).startswith("Checkpoint(path=")
    with pytest.raises(RuntimeError, match="by a run that began with it"):
        keep()
