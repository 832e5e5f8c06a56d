"""The page as one file: what the library puts into it, and how the command writes it."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest
from conftest import quiet

from separatrix import Perceptron
from separatrix.apps.cli.app import run
from separatrix.apps.playground import challenges, limits, links
from separatrix.apps.playground.methods import LIMITS, Method
from separatrix.apps.playground.runs import presets
from separatrix.apps.playground.standalone import standalone
from separatrix.page import files

pytestmark = quiet
MOST_BYTES = 300_000
STATE = {"points": [[0, 0, 0], [1, 1, 1]], "method": {"name": "newton"}}


def shipped(text):
    return json.loads(re.search(r'id="shipped">(.*?)</script>', text)[1])


def test_the_page_is_small_and_has_what_the_engine_cannot_compute():
    text = standalone()
    assert len(text.encode()) < MOST_BYTES
    data = shipped(text)
    assert data["presets"] == presets()
    assert [one["name"] for one in data["challenges"]] == list(challenges.CHALLENGES)


@pytest.mark.parametrize(("seed", "classes"), [(0, 2), (3, 3), (63, 4)])
def test_random_starts_are_those_of_the_library(seed, classes):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 2)), np.arange(12) % classes
    trace = Perceptron(start="random", random_state=seed, max_iter=1).fit(X, y).trace_
    starts = shipped(standalone())["starts"]
    known = np.frombuffer(base64.b64decode(starts["doubles"]), dtype="<f8")
    known = known.reshape(-1, starts["each"])[seed]
    assert trace.start.ravel().tolist() == known[: trace.start.size].tolist()


def settings():
    return files()["engine/settings.js"].read_text()


def test_the_engine_knows_the_settings_and_limits_of_the_library():
    text = settings()
    for name, (low, high) in LIMITS.items():
        found = re.search(rf"\b{name}: \[([^,\]]+), ([^\]]+)\]", text)
        assert [eval(one) for one in found.groups()] == [low, high], name
    defaults = re.search(r"DEFAULTS = \{(.*?)\};", text, re.DOTALL)[1]
    found = dict(re.findall(r"(\w+): ([^,\n]+)", defaults))
    assert {name: json.loads(value) for name, value in found.items()} == vars(Method())
    numbers = dict(
        re.findall(r"export const (\w+) = ([\d.e]+);", files()["engine/limits.js"].read_text())
    )
    for name in ("MOST_POINTS", "MOST_CLASSES", "MOST_STEPS", "STEPS_AT_ONCE", "LANDSCAPE"):
        assert float(numbers[name]) == getattr(limits, name)


def test_the_command_writes_the_page(tmp_path, capsys):
    path = tmp_path / "page.html"
    assert run(["playground", "--save", str(path)]) == 0
    assert path.read_text() == standalone()
    assert "The page is in" in capsys.readouterr().err
    assert run(["playground", links.to_fragment(STATE), "--save", str(path)]) == 0
    assert shipped(path.read_text())["opened"] == STATE


def test_what_the_command_refuses_to_write(tmp_path, capsys):
    assert run(["playground", "--save", str(tmp_path / "page.json")]) != 0
    assert "expected the name of a page" in capsys.readouterr().err
    both = ["playground", "--save", str(tmp_path / "a.html"), "--trace", str(tmp_path / "b.html")]
    assert run(both) != 0
    assert "give one of them" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
