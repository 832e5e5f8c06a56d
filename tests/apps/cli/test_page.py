"""Every command of docs/command_line.md works, and its tables of JSON are complete."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from separatrix.apps.cli.app import run

PAGE = (Path(__file__).parents[3] / "docs" / "command_line.md").read_text()


@pytest.mark.processes
def test_the_commands_of_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    keys = {
        name: set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", output)))
        for name, output in re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.M)
    }
    commands = [shlex.split(line)[1:] for line in block.splitlines()]
    assert {command[0] for command in commands} == {*keys}
    for command in commands:
        assert run([*command, "--json"]) == 0, command
        found = json.loads(capsys.readouterr().out)
        assert set(found) == {"version", "command", *keys[command[0]]}
