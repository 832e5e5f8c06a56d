"""The picture of the rooms is that of the imports, and the house stands as it is described."""

from __future__ import annotations

import json
import re
import tomllib
from html import unescape

import pytest
from doc_scripts import ROOT, script

rooms = script("rooms")
LAYERS = [
    {room.strip() for room in layer.split("|")}
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    if contract["type"] == "layers" and "layers" in contract
    for layer in contract["layers"]
]


@pytest.fixture(scope="module")
def house():
    return rooms.House(rooms.PACKAGE)


def test_the_picture_is_up_to_date(house):
    (shown,) = re.findall("<metadata>(.*)</metadata>", rooms.PICTURE.read_text())
    assert json.loads(unescape(shown)) == rooms.data(house), "run: python docs/rooms.py"


def test_every_room_says_what_it_is_for(house):
    assert all(house.rooms.values())


def test_the_floors_are_those_of_the_linter(house):
    floors = house.floors()
    found = [{room for room in floors if floors[room] == n} for n in range(len(LAYERS), 0, -1)]
    assert found == LAYERS


@pytest.fixture
def small_house(tmp_path):
    """Two rooms on two floors; in the upper one, two files that import each other."""
    package = tmp_path / "small"
    for path, text in {
        "__init__.py": "from .upper import a\n",
        "lower.py": '"""Below."""\nLIMIT, _MOST = 1, 2\n',
        "upper/__init__.py": '"""Above."""\n',
        "upper/a.py": "from . import b\nfrom ..lower import LIMIT\n",
        "upper/b.py": "def f():\n    '''Says.'''\n    from small.upper.a import LIMIT\n",
        "upper/c.py": "import typing\nif typing.TYPE_CHECKING:\n    import small.lower\n",
    }.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text)
    return rooms.House(package)


def test_a_small_house_is_counted_right(small_house):
    assert small_house.rooms == {"lower": "Below.", "upper": "Above."}
    assert small_house.floors() == {"lower": 1, "upper": 2}
    assert small_house.arrows == {("upper", "lower"): 2}
    assert small_house.circles() == [["small.upper.a", "small.upper.b"]]
    assert small_house.constants() == 2
    assert small_house.functions() == [(2, "small.upper.b.f")]


def test_the_picture_has_every_room_and_arrow_of_a_small_house(small_house):
    picture = rooms.draw(small_house)
    assert picture.count("<circle") == 1
    for text in (">lower<", ">upper<", ">Below.<", ">Above.<", ">floor 1<", ">floor 2<", ">2<"):
        assert text in picture


def test_no_files_import_each_other(house):
    assert house.circles() == []


def test_the_walks_begin_at_fit_and_end_in_the_room_of_the_loops():
    walks = rooms.walks()
    assert set(walks) == {"Perceptron", "L-BFGS", "the hinge on text"}
    for walk in walks.values():
        assert walk[0].endswith(".fit")
        assert walk[-1].startswith("loops/")
        assert len(walk) <= 17
