"""Ctrl-C at every moment, forks, and processes that can have no more threads."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import overlapping, quiet
from sklearn.base import clone

import separatrix
from separatrix import (
    LBFGS,
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
    ProximalPoint,
    diagnose,
    loops,
)
from separatrix.proofs import gap

X, Y = overlapping(80, 4)
CAPTURED = {"capture_output": True, "text": True, "check": True}


def press(*_):
    os.kill(os.getpid(), signal.SIGINT)


def press_in(number):
    return lambda step, info: press() if info.iteration == number else None


class Pressed(LBFGS):
    """Ctrl-C in the middle of every run."""

    def steps(self, objective, W, rng, state=None):
        for number, step in enumerate(super().steps(objective, W, rng, state)):
            if number == 1:
                press()
            yield step


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    yield
    assert not loops.stop_requested()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# ---- a fit -------------------------------------------------------------------------------


@quiet
@pytest.mark.parametrize(
    "clf",
    [
        Perceptron(3, random_state=0), Perceptron(3, update="batch"),
        LinearClassifier(max_iter=3, solver=LBFGS()),
        LinearClassifier("hinge", max_iter=3, solver=ProximalPoint()),
        KernelPerceptron(max_iter=3, random_state=0),
    ],
    ids=repr,
)  # fmt: skip
def test_an_interrupt_in_the_last_pass_is_reported(clf):
    whole = clone(clf).fit(X, Y)
    assert whole.n_iter_ == 3
    clf = clone(clf).set_params(callbacks=[press_in(3)])
    with pytest.warns(UserWarning, match="interrupted after 3 passes"):
        clf.fit(X, Y)
    assert clf.stop_ == "interrupted"
    assert not clf.converged_
    np.testing.assert_array_equal(clf.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize(
    "clf", [Perceptron(patience=None, random_state=0), KernelPerceptron(random_state=0)]
)
def test_an_interrupt_in_the_pass_without_mistakes_keeps_its_weights(clf):
    labels = X[:, 0] > 0
    whole = clone(clf).fit(X, labels)
    assert whole.stop_ == "no mistakes"
    clf = clone(clf).set_params(callbacks=[press_in(whole.n_iter_)])
    with pytest.warns(UserWarning, match="interrupted"):
        clf.fit(X, labels)
    assert clf.stop_ == "interrupted"
    np.testing.assert_array_equal(clf.decision_function(X), whole.decision_function(X))


def test_an_interrupt_in_the_closing_proof_is_reported(monkeypatch):
    proves = gap.GapTracker.evaluate

    def pressed(self, weights):
        press()
        return proves(self, weights)

    monkeypatch.setattr(gap.GapTracker, "evaluate", pressed)
    clf = LinearClassifier(solver=GradientDescent(1), callbacks=[lambda step, info: True])
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, Y)
    assert not hasattr(clf, "coef_")


def test_a_fit_in_a_callback_hands_the_interrupt_to_the_fit_around_it():
    inner = []

    def callback(step, info):
        if info.iteration == 2:
            inner.append(Perceptron(50, patience=None, callbacks=[press_in(3)]))
            inner[0].fit(X, Y)

    clf = Perceptron(50, patience=None, callbacks=[callback], random_state=0)
    with pytest.warns(UserWarning, match="interrupted after 2 passes"):
        clf.fit(X, Y)
    assert clf.stop_ == "interrupted"
    assert not hasattr(inner[0], "coef_")


# ---- many fits ---------------------------------------------------------------------------


@pytest.mark.parametrize("clf", [Perceptron(random_state=0), LinearClassifier(random_state=0)])
def test_an_interrupted_partial_fit_keeps_its_pass_and_raises(clf):
    whole = clone(clf).partial_fit(X, Y).partial_fit(X, Y)
    clf.set_params(callbacks=[press])
    with pytest.raises(KeyboardInterrupt, match="was complete, and is kept"):
        clf.partial_fit(X, Y)
    assert clf.n_iter_ == 1
    clf.set_params(callbacks=()).partial_fit(X, Y)
    np.testing.assert_array_equal(clf.coef_, whole.coef_)


def test_a_partial_fit_interrupted_in_its_pass_leaves_the_model_as_it_was():
    class Early(GradientDescent):
        def steps(self, objective, W, rng, state=None):
            press()
            yield from super().steps(objective, W, rng, state)

    many = np.zeros((5000, 4))
    clf = LinearClassifier(solver=GradientDescent(1), random_state=0).partial_fit(X, Y)
    before = clf.coef_
    with pytest.raises(KeyboardInterrupt):
        clf.set_params(solver=Early(1)).partial_fit(many, np.arange(5000) % 2 * 2.0 - 1.0)
    assert clf.coef_ is before
    assert clf.n_iter_ == 1


def test_a_loop_of_partial_fits_ends_with_the_call_that_is_interrupted():
    calls = []

    def callback(step, info):
        calls.append(info)
        if len(calls) == 5:
            press()

    clf = Perceptron(callbacks=[callback], random_state=0)

    def loop():
        for _ in range(500):
            clf.partial_fit(X, Y)

    with pytest.raises(KeyboardInterrupt):
        loop()
    assert len(calls) == clf.n_iter_ == 5


def test_an_interrupt_ends_the_whole_search_for_a_penalty():
    clf = LinearClassifierCV(solver=Pressed(), l2s=3, cv=3, scoring=None)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, Y)
    assert not hasattr(clf, "coef_")


def test_an_interrupt_ends_the_whole_diagnosis(monkeypatch):
    rows, labels = overlapping(400, 4)
    fitted = LinearClassifier(l2=10.0).fit(rows, labels)
    held_out = sys.modules["separatrix.inspection.diagnose.comparison"]
    monkeypatch.setattr(held_out, "choose", lambda objective: Pressed())
    with pytest.raises(KeyboardInterrupt):
        diagnose(fitted, rows, labels)


# ---- other processes ---------------------------------------------------------------------

FORK = """
import os, signal, threading, numpy as np, separatrix
from separatrix import ArraySource, L2, Objective, get_loss
X = np.random.default_rng(0).standard_normal((2000, 5)); y = X[:, 0] > 0
computing, end = threading.Event(), threading.Event()
class Slow(ArraySource):
    def approximate_mean(self):
        computing.set()
        end.wait()
        return super().approximate_mean()
slow = Objective(get_loss("logistic"), L2(0.1), Slow(X, 2.0 * y - 1.0, np.array([0, 1])))
thread = threading.Thread(target=lambda: slow.moments)
thread.start()
computing.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    separatrix.LinearClassifier(l2=0.1).fit(X, y)
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
end.set()
thread.join()
raise SystemExit(abs(code))
"""


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_while_another_thread_computes_can_fit():
    """``functools.cached_property`` has a lock per class on Python 3.11: the child would wait."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], timeout=120, check=True)


def test_no_attribute_has_the_lock_of_functools():
    package = Path(separatrix.__file__).parent
    for path in package.rglob("*.py"):
        assert not re.search(r"functools\b.*\bcached_property\b", path.read_text()), path


SHORT = """
import resource, threading, numpy as np, separatrix
rng = np.random.default_rng(0)
X = rng.standard_normal((40_000, 20)); y = X[:, 0] + rng.standard_normal(40_000) > 0
clf = separatrix.LinearClassifier(l2=0.1, n_jobs=1).fit(X[:1000], y[:1000])
with open("/proc/self/statm") as sizes:
    size = int(sizes.read().split()[0]) * resource.getpagesize()
room = size + (4 << 20)  # less than the stack of a thread
before = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (room, before[1]))
clf.set_params(n_jobs=4).fit(X, y)
once = separatrix.Perceptron(2, random_state=0).fit(X, y)
resource.setrlimit(resource.RLIMIT_AS, before)
free = separatrix.LinearClassifier(l2=0.1, n_jobs=1).fit(X, y)
print(clf.stop_, once.n_iter_, (clf.coef_ == free.coef_).all(), threading.active_count())
"""


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="limits and their meaning differ")
def test_where_no_thread_can_be_had_one_does_the_work():
    out = subprocess.run([sys.executable, "-c", SHORT], timeout=120, **CAPTURED).stdout
    assert out.split() == ["optimal", "2", "True", "1"]
