"""The package as a whole: names, import, stub, config, memory."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from processes import in_children

import separatrix
from separatrix import loops
from separatrix.loops import _compiled

HERE = Path(separatrix.__file__).parent


def python(code, **env):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}
    )


def test_all_public_names_import():
    for name in separatrix.__all__:
        assert getattr(separatrix, name) is not None


def test_names_are_found_where_type_checkers_find_them():
    tree = ast.parse(Path(separatrix.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and not node.orelse][:1]
    found = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert found.keys() == set(separatrix.__all__) <= set(dir(separatrix))
    assert separatrix._WHERE | dict.fromkeys(separatrix._MODULES) == found


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'separatrix' has no attribute 'Percepton'"):
        separatrix.Percepton  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Percepton' from 'separatrix'"):
        from separatrix import Percepton  # noqa: F401


@pytest.mark.processes
def test_importing_the_package_alone_imports_no_other():
    out = python("import sys, separatrix; print({'numpy', 'scipy', 'sklearn'} & {*sys.modules})")
    assert out.stdout.strip() == "set()"
    out = python("import separatrix; print(separatrix.__version__, separatrix.losses.names()[0])")
    assert out.stdout.split()[1] == "zero_one"


def test_the_stub_has_what_the_module_has():
    tree = ast.parse((HERE / "loops" / "_loops.pyi").read_text())
    stub = {
        node.name: [a.arg for a in node.args.args]
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    names = {n for n in vars(_compiled._loops) if not n.startswith("__")}
    others = {n.name for n in tree.body if isinstance(n, ast.ClassDef)}
    others |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    assert names == stub.keys() | others
    for name, arguments in stub.items():
        signature = getattr(_compiled._loops, name).__doc__.split(" -> ")[0]
        assert re.findall(r"(\w+): ", signature) == arguments, name


def test_show_config(capsys):
    separatrix.show_config()
    out = capsys.readouterr().out
    for word in (separatrix.__version__, "compiler", *loops.compiled_levels(), "threads"):
        assert word in out


@pytest.mark.processes
@pytest.mark.parametrize("level", loops.levels())
def test_a_level_can_be_forced(level):
    out = python("from separatrix import loops; print(loops.level())", SEPARATRIX_SIMD=level)
    assert out.stdout.strip() == level


def test_an_unusable_level_is_refused():
    out = python("from separatrix import Perceptron", SEPARATRIX_SIMD="mmx")
    assert "SEPARATRIX_SIMD='mmx' is not usable on this machine; choose one of" in out.stderr


@pytest.mark.processes
def test_importing_brings_no_plotting_and_no_compiler():
    out = python(
        "import sys, sklearn.preprocessing\n"  # scikit-learn 1.9 imports rich if it is installed
        "theirs = set(sys.modules)\n"
        "from separatrix import *\n"
        "brought = set(sys.modules) - theirs\n"
        "print(sorted(brought & {'matplotlib', 'polars', 'rich', 'numba'}))"
    )
    assert out.stdout.strip() == "[]"


MEMORY = """
import ctypes, sys
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # no huge pages: they make a peak of what was never written
import numpy as np, separatrix
n, d = 1_000_000, 5
rng = np.random.default_rng(0)
X = rng.standard_normal((n, d), dtype=np.float32)
y = (X[:, 0] + rng.standard_normal(n, dtype=np.float32) > 0).astype(np.int8)
warm = slice(0, 20_000)
clf = eval("separatrix." + sys.argv[1])
clf.fit(X[warm], y[warm]).decision_function(X[warm])
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
# The peak so far may be that of the process that started this one: begin anew.
open("/proc/self/clear_refs", "w").write("5")
before = peak()
clf.fit(X, y)
clf.decision_function(X)
print(peak() - before, 0.1 * X.nbytes + 40 * n)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc has the peak")
@pytest.mark.filterwarnings("ignore")
def test_a_million_rows_are_not_copied():
    estimators = [
        "Perceptron(20, patience=None, random_state=0)",
        "LinearClassifier(solver=separatrix.LBFGS(), n_jobs=2)",
        "LinearClassifier(solver=separatrix.Newton(), n_jobs=2)",
        "LinearClassifier('squared')",
        "LinearClassifier('hinge', max_iter=3, random_state=0)",
    ]
    over = dict.fromkeys(estimators, "")
    for _ in range(2):  # the pages of a library that are read anew count, too: once more, then
        reported = in_children(MEMORY, [[estimator] for estimator in over])
        figures = [[float(value) / 1e6 for value in out.split()] for out in reported]
        over = {
            estimator: f"{extra:.1f} MB over X, allowed {allowed:.1f} MB"
            for estimator, (extra, allowed) in zip(over, figures, strict=True)
            if not extra < allowed
        }
    assert not over


def test_no_two_classes_share_a_name():
    """Who searches for a class finds one."""
    places: dict[str, list[str]] = {}
    for path in sorted(HERE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(HERE)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
