"""Estimators whose process is killed, at any moment, and fitted again in another."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from conftest import quiet
from sklearn.base import clone

from separatrix import (
    Checkpoint,
    GradientDescent,
    LinearClassifier,
)

KILLED = """
import os, pickle, signal, sys, time, warnings
import numpy as np
from separatrix import *
from pathlib import Path
from separatrix.training import checkpoint_file
warnings.simplefilter("ignore")

class SlowFile:  # killed while it is written, more often than not
    def __init__(self, *args):
        self.file = open(*args)
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.file.close()
    def write(self, data):
        half = len(data) // 2
        self.file.write(data[:half])
        self.file.flush()
        time.sleep(0.002)
        self.file.write(data[half:])
    def __getattr__(self, name):
        return getattr(self.file, name)

def slowed(function):
    def slow(*args):
        time.sleep(0.01)
        function(*args)
    return slow

rng = np.random.default_rng(0)
X = rng.standard_normal((70, 3))
y = np.where(X[:, 0] + 0.8 * rng.standard_normal(70) > 0.0, 1, -1)

def fit(what, *callbacks):
    clf = {
        "perceptron": Perceptron(25, patience=None, random_state=3),
        "descent": LinearClassifier(
            "hinge", solver=GradientDescent(5, average=True), max_iter=25, random_state=3
        ),
        "batch": LinearClassifier(solver=GradientDescent(), l2=1e-6, tol=0.0, max_iter=25),
        "kernel": KernelPerceptron(max_iter=25, patience=None, random_state=3),
    }[what]
    clf.set_params(callbacks=list(callbacks)).fit(X, y)
    coef = clf.dual_coef_ if what == "kernel" else clf.coef_
    columns = {name: each.tobytes() for name, each in clf.history_.items() if name != "seconds"}
    return coef.tobytes(), clf.intercept_.tobytes(), clf.stop_, clf.n_iter_, columns

def in_child(what, path, slow):
    # Forked before any thread was started: a fit in a process of its own without its imports.
    out, into = os.pipe()
    child = os.fork()
    if child:
        os.close(into)
        return child, out
    try:
        if slow:
            checkpoint_file.open = SlowFile
            os.fsync, os.replace = slowed(os.fsync), slowed(os.replace)
            def say(step, info):
                os.write(into, b".")
            fit(what, Checkpoint(path, every=1), say)
        else:
            found = fit(what, Checkpoint(path)) if path else fit(what)
            os.write(into, pickle.dumps(found))
    except SystemExit as end:
        os._exit(end.code)
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)

def result(what, path):
    child, out = in_child(what, path, False)
    os_file = os.fdopen(out, "rb")
    found = os_file.read()
    assert os.waitpid(child, 0)[1] == 0
    return pickle.loads(found)

def stopped(what, path, number, seconds):
    child, out = in_child(what, path, True)
    os.read(out, 1)  # it has made a pass
    time.sleep(seconds)
    os.kill(child, number)
    return os.waitpid(child, 0)[1]

folder, draws = Path(sys.argv[1]), np.random.default_rng(1)
kills = unfinished = 0
for what in ("perceptron", "descent", "batch", "kernel"):
    whole, path = result(what, None), folder / what
    for _ in range(5):
        ended = stopped(what, path, signal.SIGKILL, draws.uniform(0.0, 0.12))
        kills += os.WIFSIGNALED(ended)
        unfinished += (folder / f"{what}.new").exists()
    assert result(what, path) == whole, what
    path = folder / f"{what} terminated"
    ended = stopped(what, path, signal.SIGTERM, 0.02)
    assert os.waitstatus_to_exitcode(ended) == 143, ended
    assert path.exists()
    assert result(what, path) == whole, what
print(kills, unfinished)
"""


@pytest.mark.processes
def test_runs_that_are_killed_twenty_times_end_as_if_they_had_not_been(tmp_path):
    """By SIGKILL at random moments, most of them in the middle of a write; and by SIGTERM."""
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, timeout=300, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kills, unfinished = map(int, done.stdout.split())
    assert kills == 20
    assert unfinished >= 5


LONG_PASS = """
import sys, threading, os, signal, time
import numpy as np
from separatrix import *
rng = np.random.default_rng(0)
X, y = rng.standard_normal((40_000, 20)), rng.integers(0, 2, 40_000)
def soon(step, info):
    if info.iteration == 2:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM)).start()
keep = Checkpoint(sys.argv[1])
solver = GradientDescent(1, learning_rate=1e-3)
LinearClassifier("hinge", solver=solver, max_iter=10_000, tol=None, random_state=0,
                 callbacks=[keep, soon]).fit(X, y)
"""


@quiet
@pytest.mark.processes
def test_sigterm_in_the_middle_of_a_pass(tmp_path):
    """What is written is the end of the last whole pass, however long they take."""
    path = tmp_path / "run"
    command = [sys.executable, "-c", LONG_PASS, str(path)]
    assert subprocess.run(command, timeout=300, check=False).returncode == 143
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((40_000, 20)), rng.integers(0, 2, 40_000)
    clf = LinearClassifier(
        "hinge", solver=GradientDescent(1, learning_rate=1e-3), tol=None, random_state=0,
        callbacks=[Checkpoint(path)],
    )  # fmt: skip
    passes = len(unpacked_infos(path)) + 2
    again = clf.set_params(max_iter=passes).fit(rows, y)
    whole = clone(clf).set_params(callbacks=()).fit(rows, y)
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    assert again.n_iter_ == whole.n_iter_ == passes


def unpacked_infos(path):
    from separatrix.training.checkpoint_file import read

    return read(path)["state"]["parts"]["loop"]["infos"]
