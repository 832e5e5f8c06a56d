"""``demo``: data, verdict, proof, pictures, and three commands that work."""

from __future__ import annotations

import json
import re
import shlex

import pytest

import separatrix
from separatrix.apps.cli.app import run


@pytest.mark.slow
def test_the_demo_leaves_a_model_and_commands_that_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    out = capsys.readouterr().out
    left = sorted(path.name for path in (tmp_path / "demo").iterdir())
    assert left == ["boundaries.png", "objective.png", "tumours.csv", "tumours.sep"]
    model = separatrix.load("demo/tumours.sep")
    assert model.stop_ == "optimal"
    assert model.score("demo/tumours.csv") > 0.95
    for words in ("are separable", "Optimal: the objective", "no mistakes", "cycle"):
        assert words in out
    commands = re.findall(r"^  separatrix (.*)$", out, re.M)
    assert len(commands) == 3
    for command in commands:
        assert run(shlex.split(command)) == 0


def test_without_matplotlib_there_are_no_pictures(tmp_path, monkeypatch, capsys):
    demo = pytest.importorskip("separatrix.apps.cli.demo")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert demo._draw(tmp_path, [], None) == []


@pytest.mark.slow
def test_the_demo_as_one_object(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "here", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["check"]["separability"]["verdict"] == "separable"
    assert found["fit"]["model"]["stop"] == "optimal"
    assert all((tmp_path / name).is_file() for name in found["files"])
    assert [line.split()[1] for line in found["next"]] == ["inspect", "predict", "path"]
    assert {each["stopped"] for each in found["lessons"]} >= {"no mistakes", "cycle", "optimal"}
