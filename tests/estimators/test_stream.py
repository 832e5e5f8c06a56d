"""A stream of short calls: what they cost does not grow, and what was taken does not change."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest
from conftest import overlapping

from separatrix import GradientDescent, LinearClassifier, Perceptron
from separatrix.estimators import stream

X, Y = overlapping(300, 6)
BOTH = [Perceptron, LinearClassifier]
COLUMNS = ["pass", "objective", "mistakes", "norm", "seconds"]
MOST_CALLS = 400  # of functions, Python's and compiled ones, in a partial_fit of one row
MOST_TO_PREDICT = 80  # likewise, in a prediction of one row


class Recorder:
    """A callback that notes its arguments: the oracle of a history, one list per column."""

    def __init__(self):
        self.infos = []

    def __call__(self, step, info):
        self.infos.append(info)

    def history(self, passes=None):
        infos = self.infos[:passes]
        columns = [[getattr(info, name) for info in infos] for name in COLUMNS[1:]]
        columns[-1] = np.cumsum(columns[-1])
        return dict(zip(COLUMNS, [1 + np.arange(len(infos)), *columns], strict=True))


def stream_of(clf, rows):
    for i in rows:
        clf.partial_fit(X[i : i + 1], Y[i : i + 1], classes=[-1, 1])
    return clf


def assert_same(history, expected):
    assert type(history) is dict
    assert list(history) == COLUMNS
    for name in COLUMNS:
        np.testing.assert_array_equal(history[name], expected[name])
    assert history["pass"].dtype == np.int64


@pytest.mark.parametrize("make", BOTH)
def test_a_history_is_its_passes_one_after_another(make):
    reported = Recorder()
    clf, taken = make(random_state=0, callbacks=[reported]), []
    for i in range(70):
        stream_of(clf, [i])
        taken.append(clf.history_)
        assert_same(clf.history_, reported.history())
    for passes, history in enumerate(taken, start=1):  # none of them has changed since
        assert_same(history, reported.history(passes))
    with pytest.raises(ValueError, match="read-only"):
        taken[40]["norm"][0] = 0.0


def test_room_for_a_history_is_made_a_few_times(monkeypatch):
    made = []

    class Counted(stream.HistoryRoom):
        def __init__(self, begun):
            made.append(len(begun["pass"]))
            super().__init__(begun)

    monkeypatch.setattr(stream, "HistoryRoom", Counted)
    clf = stream_of(Perceptron(random_state=0), range(300))
    assert len(clf.history_["pass"]) == 300
    assert len(made) <= 9  # each time for twice as many
    assert sum(made) < 2 * 300


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda clf: pickle.loads(pickle.dumps(clf))]
)
def test_a_copy_and_its_original_go_on_apart(make, copied):
    clf = stream_of(make(random_state=0), range(20))
    begun = {name: column.copy() for name, column in clf.history_.items()}
    other = copied(clf)
    for at in range(20, 24):  # in turn, each in what might be the other's room
        stream_of(clf, [at])
        stream_of(other, [at + 10])
    for one, rows in ((clf, range(20, 24)), (other, range(30, 34))):
        alone = stream_of(make(random_state=0), [*range(20), *rows])
        for name in COLUMNS[:-1]:
            np.testing.assert_array_equal(one.history_[name], alone.history_[name])
        np.testing.assert_array_equal(one.history_["seconds"][:20], begun["seconds"])
        np.testing.assert_array_equal(one.coef_, alone.coef_)


@pytest.mark.parametrize("make", BOTH)
def test_a_call_that_fails_after_its_pass_leaves_everything_as_it_was(make, monkeypatch):
    clf = stream_of(make(random_state=0), range(20))
    before, history = dict(vars(clf)), {k: v.copy() for k, v in clf.history_.items()}

    def fails(*_):
        raise RuntimeError("late")

    with monkeypatch.context() as patched:
        last = "_refuse_overflow" if make is Perceptron else "_finish"
        patched.setattr(make, last, fails)
        with pytest.raises(RuntimeError, match="late"):
            stream_of(clf, [25])
    assert vars(clf).keys() == before.keys()
    assert all(vars(clf)[name] is before[name] for name in before)
    assert_same(clf.history_, history)
    stream_of(clf, [20])
    alone = stream_of(make(random_state=0), range(21))
    np.testing.assert_array_equal(clf.history_["norm"], alone.history_["norm"])
    np.testing.assert_array_equal(clf.coef_, alone.coef_)


def test_a_stream_goes_on_after_a_fit_and_with_another_solver():
    reported = Recorder()
    clf = LinearClassifier(solver=GradientDescent(1), tol=None, max_iter=3, random_state=0)
    clf.set_params(callbacks=[reported])
    with pytest.warns(UserWarning, match="max_iter"):
        clf.fit(X, Y)
    fitted = clf.history_["seconds"][-1]
    reported.infos[:2] = []
    reported.infos[0] = reported.infos[0]._replace(seconds=fitted)
    stream_of(clf, range(4))
    clf.set_params(solver=GradientDescent(1, learning_rate=0.1))
    stream_of(clf, range(4, 8))
    assert clf.n_iter_ == 11
    np.testing.assert_array_equal(clf.history_["pass"], np.arange(1, 12))
    np.testing.assert_array_equal(clf.history_["norm"][2:], reported.history()["norm"])
    np.testing.assert_array_equal(clf.history_["seconds"][2:], reported.history()["seconds"])


def calls(work):
    """How many functions are called, Python's own and compiled ones."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("make", BOTH)
def test_what_a_call_does_is_little_and_does_not_grow(make):
    clf = stream_of(make(random_state=0), range(10))
    early = calls(lambda: clf.partial_fit(X[10:11], Y[10:11]))
    stream_of(clf, range(11, 250))
    late = [calls(lambda i=i: clf.partial_fit(X[i : i + 1], Y[i : i + 1])) for i in range(250, 260)]
    assert min(late) <= early
    assert np.median(late) <= MOST_CALLS


@pytest.mark.parametrize("make", BOTH)
def test_a_prediction_of_one_row_calls_few_functions(make):
    clf = make(random_state=0).fit(X, Y)
    assert clf.predict(X[:1]) == clf.predict(X)[:1]
    assert calls(lambda: clf.predict(X[:1])) <= MOST_TO_PREDICT


@pytest.mark.parametrize("make", BOTH)
def test_rows_are_let_go_at_once(make):
    clf = make(random_state=0)
    chunk = X[:50].copy()
    held = weakref.ref(chunk)
    gc.collect()
    gc.disable()
    try:
        clf.partial_fit(chunk, Y[:50])
        if make is Perceptron:
            clf.fit(chunk, Y[:50])
        del chunk
        assert held() is None
    finally:
        gc.enable()
