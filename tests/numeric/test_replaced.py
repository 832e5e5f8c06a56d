"""Files that are written whole or not at all, and what is at their path before."""

from __future__ import annotations

import errno
import os
import resource
import socket
import stat
import threading
from pathlib import Path

import pytest

from separatrix.numeric.replaced import check_file_path, descriptor_of, replaced

ROOT = os.geteuid() == 0


def write(path, data=b"new"):
    with replaced(Path(path)) as file:
        file.write(data)


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.mark.parametrize("old", [0o600, 0o640, 0o666, 0o755])
def test_permissions_stay(tmp_path, old):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(old)
    with replaced(path) as file:
        file.write(b"new")
        (new,) = tmp_path.glob(".separatrix-*.new")
        assert mode(new) == 0o600  # others cannot read it while it is written
    assert (path.read_bytes(), mode(path)) == (b"new", old)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_permissions_of_the_umask(tmp_path, umask, expected):
    before = os.umask(umask)
    try:
        write(tmp_path / "model")
    finally:
        os.umask(before)
    assert mode(tmp_path / "model") == expected


@pytest.mark.skipif(not ROOT, reason="only root may give files away")
def test_the_owner_stays(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    os.chown(path, 1234, 5678)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_another_group_does_not_get_what_the_old_one_had(tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o664)

    def refuse(*args):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "fchown", refuse)
    write(path)
    assert mode(path) == 0o644


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "target").write_bytes(b"old")
    (folder / "target").chmod(0o600)
    (tmp_path / "hop").symlink_to("models/target")
    (tmp_path / "link").symlink_to("hop")
    write(tmp_path / "link")
    assert os.readlink(tmp_path / "link") == "hop"
    assert os.readlink(tmp_path / "hop") == "models/target"
    assert ((folder / "target").read_bytes(), mode(folder / "target")) == (b"new", 0o600)
    assert list(folder.iterdir()) == [folder / "target"]
    with pytest.raises(TypeError):
        write(tmp_path / "link", "not bytes")
    assert (folder / "target").read_bytes() == b"new"
    assert sorted(tmp_path.rglob("*")) == sorted(
        [folder, folder / "target", tmp_path / "hop", tmp_path / "link"]
    )


def test_links_to_nothing_and_in_a_circle(tmp_path):
    (tmp_path / "dangling").symlink_to("target")
    write(tmp_path / "dangling")
    assert (tmp_path / "dangling").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    (tmp_path / "astray").symlink_to("nowhere/target")
    with pytest.raises(ValueError, match=r"astray.*nowhere' does not exist"):
        write(tmp_path / "astray")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(OSError, match=r"symbolic links.*one"):
        check_file_path(tmp_path / "one", "a model")


def test_other_hard_links_keep_the_old_content(tmp_path):
    (tmp_path / "one").write_bytes(b"old")
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    write(tmp_path / "one")
    assert ((tmp_path / "one").read_bytes(), (tmp_path / "two").read_bytes()) == (b"new", b"old")


def test_a_pipe_is_written_to(tmp_path):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    write(path, b"through the pipe")
    reader.join(60)
    assert read == [b"through the pipe"]
    assert stat.S_ISFIFO(path.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not ROOT, reason="only root may make devices")
@pytest.mark.parametrize(("minor", "message"), [(3, None), (7, "No space left on device")])
def test_a_character_device_is_written_to(tmp_path, minor, message):
    """One of our own, as /dev/null and /dev/full are: those of the system are left alone."""
    path = tmp_path / "device"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        path.open("wb").close()
    except OSError:
        pytest.skip("devices are not allowed here")
    if message is None:
        write(path)
    else:
        with pytest.raises(OSError, match=f"{message}.*device"):
            write(path)
    assert stat.S_ISCHR(path.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


def test_an_open_descriptor_is_written_to_where_it_stands(tmp_path):
    path, link = tmp_path / "out", tmp_path / "link"
    with path.open("wb", buffering=0) as out:
        link.symlink_to(f"/dev/fd/{out.fileno()}")
        out.write(b"before ")
        assert descriptor_of(link) == out.fileno()
        write(link)
        out.write(b" after")
    assert path.read_bytes() == b"before new after"
    assert descriptor_of(path) is None
    with pytest.raises(ValueError, match="no file is open under this number"):
        write(link)


def test_what_cannot_be_a_file_is_refused_before_any_work(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(tmp_path)  # the name of a socket is short
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    wrong = {
        "socket": "it is a socket", "": "it is a directory", "file/model": "does not exist",
        "none/model": "none' does not exist",
    }  # fmt: skip
    for name, message in wrong.items():
        for check in (write, lambda path: check_file_path(path, "a model")):
            with pytest.raises(ValueError, match=f"cannot be written to .*{message}"):
                check(tmp_path / name)
    with pytest.raises(ValueError, match="the name of a directory"):
        check_file_path(f"{tmp_path}/new/", "a model")
    with pytest.raises(ValueError, match="it is a pipe"):
        check_file_path(tmp_path / "pipe", "a checkpoint", regular=True)
    assert stat.S_ISSOCK((tmp_path / "socket").lstat().st_mode)


def test_files_and_directories_that_are_read_only(tmp_path, monkeypatch):
    """As ``>`` of a shell has it; root may write everywhere, so the answer of the system is set."""
    path = tmp_path / "model"
    path.write_bytes(b"old")
    may = os.access
    monkeypatch.setattr(os, "access", lambda at, how: at != path and may(at, how))
    with pytest.raises(PermissionError, match="model': the file is read-only"):
        write(path)
    assert path.read_bytes() == b"old"
    with pytest.raises(OSError, match="no file can be created in the directory '/proc'"):
        check_file_path("/proc/model", "a model")  # not even by root


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "a\nb", os.fsdecode(b"caf\xe9")])
def test_every_name_that_a_file_may_have(tmp_path, name):
    for data in (b"one", b"two"):
        write(tmp_path / name, data)
        assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [(name, data)]


def test_a_relative_path_stays_where_it_was_asked_for(tmp_path, monkeypatch):
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    with replaced(Path("below/../model")) as file:
        os.chdir("below")
        file.write(b"new")
    assert (tmp_path / "model").read_bytes() == b"new"
    assert not list((tmp_path / "below").iterdir())


@pytest.mark.parametrize("old", [None, b"old"])
def test_errors_name_the_file_and_leave_it(tmp_path, old):
    path = tmp_path / "model"
    if old is not None:
        path.write_bytes(old)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*/model'"):
            write(path, bytes(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == ({"model": old} if old else {})


def test_a_temporary_name_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "run.new").symlink_to("victim")
    with replaced(tmp_path / "run", new=tmp_path / "run.new") as file:
        file.write(b"new")
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert (tmp_path / "run").read_bytes() == b"new"
    assert not (tmp_path / "run").is_symlink()
