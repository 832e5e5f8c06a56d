"""Fits to rows of files that are cut, or killed, and run again: as if nothing had happened."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import overlapping, quiet
from run_states import Recorder, Resumed
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

import separatrix
from separatrix import (
    LBFGS,
    Checkpoint,
    GradientDescent,
    LinearClassifier,
    Newton,
    Perceptron,
    ProximalPoint,
)

X, Y = overlapping(120, 3)
X = X * [1.0, 30.0, 1.0] + [0.0, 0.0, 5.0]
HINGE = GradientDescent(7, learning_rate=0.01, average=True)
FITS = {
    "perceptron": Perceptron(8, random_state=3, patience=None),
    "L-BFGS": LinearClassifier(solver=LBFGS()),
    "Newton": LinearClassifier(solver=Newton(), standardize=True),
    "rows": LinearClassifier("hinge", solver=HINGE, max_iter=8, random_state=2, standardize=True),
    "working sets": LinearClassifier("hinge", random_state=0, standardize=True),
    "proximal points": LinearClassifier("hinge", solver=ProximalPoint(), max_iter=5),
}


@pytest.fixture
def rows(tmp_path):
    """What reads the same file again, in blocks of a few rows."""
    np.savetxt(
        tmp_path / "rows.csv", np.column_stack([X, Y]), "%.17g", ",", header="a,b,c,y", comments=""
    )

    def read(**options):
        options = {"block_rows": 17, **options}
        return separatrix.read(tmp_path / "rows.csv", target="y", **options)

    return read


def same(one, other):
    for name in ("coef_", "intercept_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.stop_, one.n_iter_) == (other.stop_, other.n_iter_)
    assert one.history_.keys() == other.history_.keys()
    for name in one.history_.keys() - {"seconds"}:
        np.testing.assert_array_equal(one.history_[name], other.history_[name])


@pytest.mark.sampled(2)
@quiet
@pytest.mark.parametrize("validation", [None, 0.2])
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("clf", FITS.values(), ids=FITS.keys())
def test_cut_after_some_passes(tmp_path, rows, clf, cached, validation):
    """The first, the last and some between; without a cache files are decoded at each pass."""
    options = {"cache": tmp_path / "cache" if cached else None, "validation": validation}
    recorder = Recorder()
    recorded = clone(clf)
    recorded.callbacks = [recorder]  # not a copy of it
    recorded.fit(rows(**options))
    whole = clone(clf).fit(rows(**options))
    assert ("validation_loss" in whole.history_) == (validation is not None)
    last = len(recorder.states) - 1
    for at in {0, last // 2, last}:
        again = clone(clf).set_params(callbacks=[Resumed(recorder.states[at])])
        same(whole, again.fit(rows(**options)))


@quiet
def test_where_blocks_end_is_a_setting(tmp_path, rows):
    clf = LinearClassifier(solver=LBFGS(), callbacks=[Checkpoint(tmp_path / "run")])
    clf.fit(rows())
    with pytest.raises(ValueError, match=r"rows\.block_rows was 17 and is 20"):
        clone(clf).fit(rows(block_rows=20))
    with pytest.raises(ValueError, match=r"rows\.source was 'FileSource' and is 'ArraySource'"):
        clone(clf).fit(X, Y)
    clone(clf).fit(rows(cache=tmp_path / "cache"))  # the same blocks in the same order


@quiet
def test_a_cache_is_a_setting_of_shuffled_rows(tmp_path, rows):
    clf = Perceptron(4, random_state=0, callbacks=[Checkpoint(tmp_path / "run")])
    clf.fit(rows(cache=tmp_path / "cache"))
    with pytest.raises(ValueError, match=r"rows\.cache was True and is False"):
        clone(clf).fit(rows())


@quiet
def test_rows_held_out_are_data(tmp_path, rows):
    clf = LinearClassifier(solver=LBFGS(), callbacks=[Checkpoint(tmp_path / "run")])
    source = rows(validation=0.2)
    clf.fit(source)
    path, number = tmp_path / "rows.csv", int(first_held_out(source))
    lines = path.read_text().splitlines()
    lines[1 + number] = "9.5," + lines[1 + number].partition(",")[2]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="the rows held out"):
        clone(clf).fit(rows(validation=0.2))
    with pytest.raises(ValueError, match="another run"):
        clone(clf).fit(rows())


def first_held_out(source):
    (block, *_) = source.validation.blocks()
    return np.flatnonzero((block.X[0] == X).all(axis=1))[0]


@quiet
def test_a_file_that_changed_is_refused(tmp_path, rows):
    clf = LinearClassifier(solver=LBFGS(), callbacks=[Checkpoint(tmp_path / "run")])
    clf.fit(rows(cache=tmp_path / "cache"))
    path = tmp_path / "rows.csv"
    path.write_text(path.read_text() + "1,2,3,1\n")
    with pytest.raises(ValueError, match="the data"):
        clone(clf).fit(rows(cache=tmp_path / "cache"))


# ---- processes ---------------------------------------------------------------------------

KILLED = """
import os, pickle, signal, sys, warnings
import separatrix
from separatrix import *
warnings.simplefilter("ignore")
folder = sys.argv[1]

def fit(solver, cached, *callbacks):
    source = separatrix.read(folder + "/rows.svm", block_rows=17, validation=0.2,
                             cache=folder + "/cache" if cached else None)
    clf = LinearClassifier("hinge", solver=solver, max_iter=9, tol=None, standardize=True,
                           random_state=0, callbacks=list(callbacks)).fit(source)
    columns = {name: each.tobytes() for name, each in clf.history_.items() if name != "seconds"}
    return clf.coef_.tobytes(), clf.intercept_.tobytes(), clf.stop_, clf.n_iter_, columns

def in_child(*arguments):
    out, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(into, pickle.dumps(fit(*arguments)))
        finally:
            os._exit(0)
    os.close(into)
    found = os.fdopen(out, "rb").read()
    return os.waitpid(child, 0)[1], found

def killed_at(number):
    def kill(step, info):
        if info.iteration == number:
            os.kill(os.getpid(), signal.SIGKILL)
    return kill

for solver in (GradientDescent(1, learning_rate=0.01), GradientDescent(learning_rate=0.01)):
    for cached in (False, True):
        path = f"{folder}/{solver.batch_size} {cached}"
        ended, whole = in_child(solver, cached)
        assert ended == 0 and whole
        for number in (2, 3, 7):
            ended, _ = in_child(solver, cached, Checkpoint(path, every=1), killed_at(number))
            assert os.WIFSIGNALED(ended)
        ended, again = in_child(solver, cached, Checkpoint(path))
        assert ended == 0 and again == whole, path
"""


@pytest.mark.processes
def test_fits_to_files_that_are_killed_end_as_if_they_had_not_been(tmp_path):
    """Row by row and all rows at once, with and without a cache, with rows held out, scaled."""
    dump_svmlight_file(X, Y, str(tmp_path / "rows.svm"))
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, timeout=300, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not [name for name in os.listdir(tmp_path) if name.endswith((".new", ".lock"))]
