"""Opening a file for reading never waits, and takes nothing without an end."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager

import pytest

import separatrix
from separatrix.apps.cli import skops_files
from separatrix.apps.playground import links
from separatrix.numeric import regular_file
from separatrix.numeric.regular_file import open_regular
from separatrix.training.checkpoint_file import read

READERS = [open_regular, separatrix.load, read, links.opened, skops_files.loaded]


@contextmanager
def without_waiting():
    """What blocks for ever is ended by an alarm, as an error."""

    def ring(*_):
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(20)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("read", READERS, ids=lambda read: f"{read.__module__}.{read.__name__}")
def test_pipes_and_devices_are_refused(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    with without_waiting():
        for path in (tmp_path / "pipe", "/dev/zero"):
            with pytest.raises(ValueError, match=r"is a (pipe|character device)|expected"):
                read(str(path) if read is links.opened else path)


def test_a_file_that_became_a_pipe_is_refused(tmp_path, monkeypatch):
    """Between the look at it and its opening."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    then = os.stat(tmp_path / "file")
    monkeypatch.setattr(regular_file.os, "stat", lambda path: then)
    with without_waiting(), pytest.raises(ValueError, match="is a pipe"):
        open_regular(tmp_path / "pipe")


def test_regular_files_are_opened(tmp_path):
    (tmp_path / "file").write_bytes(b"data")
    (tmp_path / "link").symlink_to("file")
    with open_regular(tmp_path / "link") as file:
        assert file.read() == b"data"
        assert os.get_blocking(file.fileno())
        assert not os.get_inheritable(file.fileno())
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="Linux has it")
@pytest.mark.parametrize(
    "read", READERS[1:4], ids=lambda read: f"{read.__module__}.{read.__name__}"
)
def test_errors_of_the_system_name_the_file(read):
    """The first page of the memory of a process can be opened as a file, but not read."""
    path = "/proc/self/mem"
    with pytest.raises((OSError, ValueError), match="Input/output error") as reported:
        read(path)
    assert path in str(reported.value)
