"""Outputs that are devices, pipes, closed or full, and names that no encoding has."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from apps.cli.tables import COMMAND, flowers

import separatrix
from separatrix.apps import cli
from separatrix.apps.cli.app import run

FIT = ["fit", "t.csv", "-t", "kind", "--l2", "0.1", "--test", "0"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A table and a model of it."""
    folder = tmp_path_factory.mktemp("streams")
    flowers(60).to_csv(folder / "t.csv", index=False)
    line = ["fit", str(folder / "t.csv"), *FIT[2:], "-o", str(folder / "model.sep")]
    assert run(line) == 0
    return folder


@pytest.fixture
def folder(trained, tmp_path, monkeypatch):
    """A folder of their own for tests that write."""
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "model.sep"):
        (tmp_path / name).write_bytes((trained / name).read_bytes())
    return tmp_path


def is_model(data, folder):
    (folder / "copy.sep").write_bytes(data)
    return separatrix.load(folder / "copy.sep").classes_.tolist() == ["iris", "rose"]


def test_outputs_that_are_pipes_and_links(folder):
    read = []
    for line in (
        [*FIT, "-o", "pipe"], ["export", "model.sep", "--to", "sql", "-o", "pipe"],
        ["predict", "model.sep", "t.csv", "-o", "pipe.csv.gz"],
    ):  # fmt: skip
        path = folder / line[-1]
        if not path.exists():
            os.mkfifo(path)
        reader = threading.Thread(
            target=lambda path: read.append(path.read_bytes()), args=[path], daemon=True
        )
        reader.start()
        assert run(line) == 0
        reader.join(60)
        assert stat.S_ISFIFO(path.lstat().st_mode)
    assert is_model(read[0], folder)
    assert b"SELECT" in read[1]
    assert read[2].startswith(b"\x1f\x8b")
    (folder / "link.sep").symlink_to("model.sep")
    (folder / "model.sep").chmod(0o600)
    assert run([*FIT, "-o", "link.sep"]) == 0
    assert (folder / "link.sep").is_symlink()
    assert stat.S_IMODE((folder / "model.sep").stat().st_mode) == 0o600


def test_what_cannot_be_written_is_refused_before_the_fit(folder, capsys, monkeypatch):
    monkeypatch.setattr("separatrix.apps.cli.fitting.fitted", None)
    (folder / "circle").symlink_to("circle")
    (folder / "same.json").symlink_to("m.sep")
    wrong = {
        ".": "it is a directory", "none/m.sep": "none' does not exist", "-": "/dev/stdout",
        "circle": "symbolic links", "new/": "the name of a directory",
    }  # fmt: skip
    for name, message in wrong.items():
        for option in ("-o", "--trace"):
            assert run([*FIT, option, name]) == 2
            assert message in capsys.readouterr().err
    assert run([*FIT, "-o", "m.sep", "--trace", "same.json"]) == 2
    assert "this is the file of the model" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["pipe.sep", "pipe.skops"])
def test_models_that_are_pipes_are_refused(folder, capsys, name):
    os.mkfifo(name)
    writer = os.open(name, os.O_RDWR)  # so that opening it to read does not wait for ever
    try:
        os.write(writer, b"no model" * 10)
        assert run(["certify", name, "t.csv", "-t", "kind"]) == 2
    finally:
        os.close(writer)
    assert f"'{name}' is a pipe; expected a regular file" in capsys.readouterr().err


def test_standard_output_by_its_name_gets_nothing_else(folder, capfdbinary):
    (folder / "out").symlink_to("/proc/self/fd/1")  # as /dev/stdout, which is the system's
    assert run([*FIT, "-o", "out"]) == 0
    out, err = capfdbinary.readouterr()
    assert is_model(out, folder)
    assert b"The model is in out." in err
    assert run(["export", "model.sep", "--to", "json", "-o", "out"]) == 0
    out, err = capfdbinary.readouterr()
    assert json.loads(out)["classes"] == ["iris", "rose"]
    assert err.startswith(b"Written: out")
    assert run(["predict", "model.sep", "t.csv", "-o", "out"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"size,height,colour,kind,prediction\n")
    assert run([*FIT, "-o", "out", "--json"]) == 2
    assert "--json" in json.loads(capfdbinary.readouterr().out)["error"]["message"]
    assert (folder / "out").is_symlink()


COMMANDS = (
    ["inspect", "model.sep"], ["inspect", "model.sep", "--json"], ["predict", "model.sep", "t.csv"],
    ["--version"], [*FIT, "-o", "new.sep"],
)  # fmt: skip


def opened(kind):
    """A standard output that takes nothing; the buffer flushes as that of a process does."""
    if kind == "full":
        return open("/dev/full", "w", encoding="utf-8")
    read, write = os.pipe()
    os.close(read)
    return open(write, "w", encoding="utf-8")


@pytest.mark.parametrize("kind", ["full", "broken"])
def test_a_standard_output_that_takes_nothing(folder, capsys, monkeypatch, kind):
    """One line, or none for a reader that has seen enough; nothing is left to flush."""
    for line in (*COMMANDS, ["inspect", "none", "--json"]):
        with opened(kind) as out, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            code = run(line)
            out.write("flushed at the end of the process")
        err = capsys.readouterr().err
        if "none" in line:
            assert (code, err.count("\n")) == (2, 1)
        else:
            expected = "No space left on device\n" if kind == "full" else ""
            assert (code, err.rpartition(": ")[2]) == (2 if kind == "full" else 0, expected)
            assert "standard output" in err or not err
    assert not list(folder.glob(".*"))


@pytest.mark.processes
@pytest.mark.parametrize(
    ("line", "streams", "message"),
    [
        (["inspect", "model.sep", "--json"], ">/dev/full", b"standard output: No space left"),
        (["predict", "model.sep", "-"], "<&- >out 2>&-", b""),
    ],
)
def test_streams_of_a_process(folder, line, streams, message):
    """How Python begins and ends with them is part of it."""
    command = ["sh", "-c", f'"$@" {streams}', "sh", *COMMAND, *line]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count(b"\n") == bool(message)


def test_a_full_disk_leaves_the_old_file_and_names_it(folder, capsys, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(os, "fsync", full)
    for line in (
        [*FIT, "-o", "model.sep"], ["predict", "model.sep", "t.csv", "-o", "p.csv"],
        ["export", "model.sep", "--to", "sql", "-o", "m.sql"],
    ):  # fmt: skip
        assert run(line) == 2
        assert capsys.readouterr().err == f"{line[0]}: {line[-1]}: No space left on device\n"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


NAMES = [
    (b"caf\xc3\xa9", "ascii"), (b"caf\xe9", "utf-8"), (b"two\nlines\x1b[31m", "utf-8"),
    (b"n" * 250, "ascii"),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "encoding"), NAMES)
def test_every_name_of_a_file_in_every_encoding(folder, monkeypatch, name, encoding):
    name = os.fsdecode(name)
    table, model, out = (f"{name}.{suffix}" for suffix in ("csv", "sep", "out"))
    (folder / table).write_bytes((folder / "t.csv").read_bytes())
    lines = {
        0: [
            ["fit", table, *FIT[2:], "-o", model], ["evaluate", model, table, "--json"],
            ["predict", model, table, "-o", out, "--json"], ["inspect", model],
            ["inspect", model, "--json"], ["export", model, "--to", "sql"],
        ],
        2: [["inspect", out], [*FIT, "-o", f"{name}/model.sep", "--json"]],
    }  # fmt: skip
    for code, some in lines.items():
        for line in some:
            printed = [
                (folder / f"{kind}.txt").open("w", encoding=encoding, errors="backslashreplace")
                for kind in ("stdout", "stderr")
            ]
            with printed[0], printed[1], monkeypatch.context() as patch:
                patch.setattr(sys, "stdout", printed[0])
                patch.setattr(sys, "stderr", printed[1])
                assert run(line) == code
            stdout, stderr = (Path(file.name).read_bytes() for file in printed)
            assert b"\x1b" not in stdout + stderr
            assert stderr.count(b"\n") == bool(code)
            if "--json" in line:
                assert json.loads(stdout)["command"] == line[0]
    assert (folder / out).read_text().startswith("size,height,colour,kind,prediction\n")
    assert separatrix.load(folder / model).classes_.tolist() == ["iris", "rose"]


@pytest.mark.processes
def test_names_in_a_locale_without_them(folder):
    """What Python does at its start is part of it."""
    name = b"caf\xc3\xa9.sep"
    (folder / os.fsdecode(name)).write_bytes((folder / "model.sep").read_bytes())
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    env = {key: value for key, value in os.environ.items() if key != "PYTHONIOENCODING"} | plain
    command = [*COMMAND, "inspect", name]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, b"")


def test_standard_output_that_is_closed_is_reported_before_any_work(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "argv", ["separatrix", "inspect", "none"])
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    assert "standard output is closed" in capsys.readouterr().err
