"""The picture of the packages shows the imports, and layers are those of the linter."""

from __future__ import annotations

import json
import re
import tomllib
from html import unescape

import pytest
from doc_scripts import ROOT, script

layers = script("layers")
LAYERS = [
    {package.strip() for package in layer.split("|")}
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    if contract["type"] == "layers" and "layers" in contract
    for layer in contract["layers"]
]


@pytest.fixture(scope="module")
def structure():
    return layers.Structure(layers.PACKAGE)


def test_the_picture_is_up_to_date(structure):
    (shown,) = re.findall("<metadata>(.*)</metadata>", layers.PICTURE.read_text())
    assert json.loads(unescape(shown)) == layers.data(structure), "run: python docs/layers.py"


def test_every_package_says_what_it_is_for(structure):
    assert all(structure.packages.values())


def test_the_layers_are_those_of_the_linter(structure):
    found = structure.layers()
    sets = [{each for each in found if found[each] == n} for n in range(len(LAYERS), 0, -1)]
    assert sets == LAYERS


@pytest.fixture
def small_package(tmp_path):
    """Two packages in two layers; in the upper one, two files that import each other."""
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
    return layers.Structure(package)


def test_a_small_package_is_counted_right(small_package):
    assert small_package.packages == {"lower": "Below.", "upper": "Above."}
    assert small_package.layers() == {"lower": 1, "upper": 2}
    assert small_package.arrows == {("upper", "lower"): 2}
    assert small_package.cycles() == [["small.upper.a", "small.upper.b"]]
    assert small_package.constants() == {"nowhere": 2}
    assert small_package.lines()["upper"] == {"docstring": 2, "code": 7}
    assert small_package.functions() == [(1, "small.upper.b.f")]


def test_the_picture_has_every_package_and_import_of_a_small_package(small_package):
    picture = layers.draw(small_package)
    assert picture.count("<circle") == 1
    for text in (">lower<", ">upper<", ">Below.<", ">Above.<", ">layer 1<", ">layer 2<", ">2<"):
        assert text in picture


def test_no_files_import_each_other(structure):
    assert structure.cycles() == []


def test_files_and_functions_are_short():
    """Docstrings do not count, nor do the parameters of a function."""
    structure = layers.Structure(layers.PACKAGE)
    lines = {module: structure.length(module) for module in structure.files}
    assert {module: n for module, n in lines.items() if n > 350} == {}
    assert [(n, function) for n, function in structure.functions() if n > 70] == []


def test_the_walks_begin_at_fit_and_end_in_the_package_of_the_loops():
    walks = layers.walks()
    assert set(walks) == {"Perceptron", "L-BFGS", "the hinge on text"}
    for walk in walks.values():
        assert walk[0].endswith(".fit")
        assert walk[-1].startswith("loops/")
        assert len(walk) <= 17


def test_lines_and_constants_are_counted_by_kind(tmp_path):
    text = '"""A."""\n\nMOST = 3\n"""B\nC."""\nLEAST = 1  # one\n# two\n_SIDES = 2, 4\nNAME = "n"\n'
    (tmp_path / "__init__.py").write_text(text)
    found = layers.Structure(tmp_path)
    assert found.constants() == {"docstring": 1, "comment": 2}
    assert found.lines() == {"__init__": {"docstring": 3, "blank": 1, "code": 4, "comment": 1}}


def test_profiled_counts_files_and_depth():
    import separatrix

    files, depth = script("calls").profiled(lambda: separatrix.losses.get_loss("hinge"))
    assert files[0] == "losses/__init__.py"
    assert depth >= 1
