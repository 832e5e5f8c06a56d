"""The file of a checkpoint: whole or not there, for one run at a time, whatever the disk does."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import numpy as np
import pytest
from conftest import overlapping

from separatrix import L2, ArraySource, Checkpoint, Objective, Rosenblatt, Stop, get_loss, minimize
from separatrix.numeric import replaced
from separatrix.numeric.container import Damaged
from separatrix.training.checkpoint_file import CheckpointFile, packed, read, unpacked

X, SIGNS = overlapping(90, 4)
SIGNS = SIGNS.astype(np.float64)


def same(one, other):
    """The end of a run, to the last bit."""
    assert (one.stop, len(one.infos)) == (other.stop, len(other.infos))
    np.testing.assert_array_equal(one.weights, other.weights)


def test_what_is_packed_is_the_same_again():
    shared = np.arange(3.0)
    tree = {
        "none": None, "flag": True, "word": "tol", "list": [1, 2.5, [-np.inf]],
        "arrays": {"a": shared, "b": shared, "empty": np.empty((2, 0)), "flags": shared > 1.0},
        "column": np.asfortranarray(np.arange(6).reshape(2, 3)), "number": np.float32(0.1),
        "large": 2**62 + 1, "tiny": 5e-324, "third": 1 / 3,
    }  # fmt: skip
    pieces = packed(tree)
    raw = b"".join(bytes(piece) for piece in pieces)
    found = unpacked(BytesIO(raw), len(raw))
    assert len(pieces) == 2 + 4  # the shared array once
    assert isinstance(found["number"], np.float32)
    for array in ("empty", "flags", "a"):
        assert found["arrays"][array].dtype == tree["arrays"][array].dtype
        np.testing.assert_array_equal(found["arrays"][array], tree["arrays"][array])
    np.testing.assert_array_equal(found["column"], tree["column"])
    for name in ("none", "flag", "word", "list", "number", "large", "tiny", "third"):
        assert found[name] == tree[name]
    for wrong in (object(), {1: 2}, np.array([None]), 1j):
        with pytest.raises(TypeError, match="cannot be written to a checkpoint"):
            packed(wrong)


@pytest.mark.slow
def test_every_byte_that_is_lost_or_changed_is_noticed(tmp_path):
    file = CheckpointFile(tmp_path / "run")
    file.write({"a": np.arange(4.0), "b": 1})
    whole = file.path.read_bytes()
    assert read(file.path)["b"] == 1
    for size in range(len(whole)):
        file.path.write_bytes(whole[:size])
        with pytest.raises(Damaged):
            read(file.path)
        file.path.write_bytes(whole[:size] + bytes([whole[size] ^ 1]) + whole[size + 1 :])
        with pytest.raises(Damaged):
            read(file.path)


def fit(path, most=12, also=(), **settings):
    problem = Objective(get_loss("perceptron"), L2(0.0), ArraySource(X, SIGNS, np.array([-1, 1])))
    keep = Checkpoint(path, every=1, **settings)
    return minimize(problem, Rosenblatt(), stop=Stop(max_iter=most), callbacks=[keep, *also])


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path):
    whole = fit(tmp_path / "other")
    path = tmp_path / "run"
    fit(path, 7)
    assert sorted(file.name for file in tmp_path.iterdir() if "run" in file.name) == [
        "run", "run.previous",
    ]  # fmt: skip
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(RuntimeWarning, match=r"run is damaged .*run\.previous"):
        same(whole, fit(path))
    path.unlink()
    with pytest.warns(RuntimeWarning, match="run is missing"):
        same(whole, fit(path))
    for file in (path, tmp_path / "run.previous"):
        file.write_bytes(b"spoilt")
    with pytest.raises(ValueError, match=r"cannot resume: .*damaged.*, and .*damaged"):
        fit(path)
    same(whole, fit(path, resume="never"))
    assert len(read(path)["state"]["parts"]["loop"]["infos"]) == 12


class FullDisk:
    """A file that takes some bytes, and no more."""

    def __init__(self, *args):
        self.file, self.room = open(*args), 100  # noqa: SIM115 (as a file is)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, data):
        if len(data) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= self.file.write(data)


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
def test_a_full_disk_is_a_warning(tmp_path, monkeypatch, call):
    path = tmp_path / "run"
    fit(path, 3)
    before = path.read_bytes()
    whole = fit(tmp_path / "other")

    def fails(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call in ("open", "write"):
        monkeypatch.setattr(replaced, "open", fails if call == "open" else FullDisk, raising=False)
    else:
        monkeypatch.setattr(os, call, fails)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        same(whole, fit(path))
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert not (tmp_path / "run.new").exists()
    same(whole, fit(path))


SMALL_DISK = """
import os, subprocess, sys, warnings
from pathlib import Path
import numpy as np
folder = Path(sys.argv[1])
mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
if subprocess.run(mount, capture_output=True).returncode:
    sys.exit(77)
from separatrix import Checkpoint, LinearClassifier, GradientDescent
from separatrix.training.checkpoint_file import read
warnings.simplefilter("always")
rng = np.random.default_rng(0)
X, y = rng.standard_normal((50, 400)), np.arange(50) % 2  # a checkpoint takes some 10 kB

def fit(most, callbacks):
    solver = GradientDescent(learning_rate=0.01)
    with warnings.catch_warnings(record=True) as reported:
        clf = LinearClassifier(solver=solver, max_iter=most, callbacks=callbacks).fit(X, y)
    return clf, [str(each.message) for each in reported if each.category is RuntimeWarning]

def passes():
    return len(read(folder / "run")["state"]["parts"]["loop"]["infos"])

keep = Checkpoint(folder / "run", every=1)
_, reported = fit(3, [keep])
assert passes() == 3 and not reported, reported
disk = os.statvfs(folder)
room = disk.f_bavail * disk.f_bsize
(folder / "other").write_bytes(bytes(max(room - 4096, 1)))
before = (folder / "run").read_bytes()
clf, reported = fit(6, [keep])
assert len(reported) == 3 and "No space left on device" in reported[0], reported
assert (folder / "run").read_bytes() == before
assert sorted(file.name for file in folder.iterdir()) == ["other", "run", "run.previous"]
whole, _ = fit(6, [])
assert clf.n_iter_ == 6 and np.array_equal(clf.coef_, whole.coef_)
(folder / "other").unlink()
again, reported = fit(6, [keep])
assert not reported and passes() == 6 and np.array_equal(again.coef_, whole.coef_)
"""


@pytest.mark.processes
def test_a_disk_that_is_full_in_earnest_is_a_warning(tmp_path):
    """One of 64 kB, in a namespace of its own, where the system lets us mount it."""
    command = ["unshare", "--map-root-user", "--mount", sys.executable, "-c", SMALL_DISK]
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    done = subprocess.run(
        [*command, str(tmp_path)], timeout=120, capture_output=True, text=True, check=False
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("mounting is not allowed here")
    assert done.returncode == 0, done.stderr


def test_a_limit_of_file_sizes_is_a_warning(tmp_path):
    path = tmp_path / "run"
    fit(path, 3)
    before, whole = path.read_bytes(), fit(tmp_path / "other")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.warns(RuntimeWarning, match="File too large"):
            same(whole, fit(path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before


def test_paths_that_cannot_hold_a_checkpoint_are_refused_before_the_run(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for resume in ("auto", "never"):
        with pytest.raises(ValueError, match="pipe': it is a pipe"):
            fit(tmp_path / "pipe", resume=resume)
    with pytest.raises(OSError, match="File name too long"):
        fit(tmp_path / ("n" * 252))  # there is no room for .previous
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_link_to_a_checkpoint_stays(tmp_path):
    """Its companions are next to the file, which may be on another disk than the link."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk/run")
    fit(tmp_path / "link", 3)
    same(fit(tmp_path / "other"), fit(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in (tmp_path / "disk").iterdir()) == ["run", "run.previous"]
    assert not (tmp_path / "link.previous").exists()


# ---- one run at a time -------------------------------------------------------------------


def test_a_second_run_at_the_same_path_is_refused(tmp_path):
    """While the first lasts; it goes on untouched."""
    path, whole, refused = tmp_path / "run", fit(tmp_path / "other"), []

    def meanwhile(step, info):
        if info.iteration == 3:
            before = path.read_bytes()
            for resume in ("auto", "never"):
                with pytest.raises(RuntimeError, match="another run keeps its checkpoint in"):
                    fit(path, resume=resume)
                refused.append(path.read_bytes() == before)

    same(whole, fit(path, also=[meanwhile]))
    assert refused == [True, True]
    assert not (tmp_path / "run.lock").exists()
    same(whole, fit(path))


def test_a_lock_that_was_left_behind_is_none(tmp_path):
    """By a process that was killed, or on a disk without locks."""
    (tmp_path / "run.lock").touch()
    fit(tmp_path / "run")
    assert not (tmp_path / "run.lock").exists()


@pytest.mark.parametrize("call", ["numeric.locks.fcntl.flock", "training.checkpoint_file.os.open"])
def test_a_disk_without_locks_will_do(tmp_path, monkeypatch, call):
    whole = fit(tmp_path / "other")
    open_before = os.open

    def fails(path, *args):
        if call.endswith("os.open") and not str(path).endswith(".lock"):
            return open_before(path, *args)
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(f"separatrix.{call}", fails)
    same(whole, fit(tmp_path / "run"))
    assert sorted(file.name for file in tmp_path.iterdir() if "run" in file.name) == [
        "run", "run.previous",
    ]  # fmt: skip


def test_of_runs_that_begin_at_once_one_is_let_in(tmp_path):
    """However often a path is taken and left again."""
    path, inside, most = tmp_path / "run", [], []

    def take(_):
        for _ in range(200):
            try:
                with CheckpointFile(path).alone():
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
            except RuntimeError:
                pass

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(take, range(4)))
    assert set(most) == {1}
    assert not list(tmp_path.iterdir())
