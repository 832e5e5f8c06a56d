"""No file, link or request makes the package execute code: what could do so is not in it.

Pickles and the like are absent from the source, and modules are imported by name only in the
places that are listed here, each with the tests of what it may be given.
"""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hostile_files import checkpoint_of, parts, signed

import separatrix
from separatrix.numeric.container import Damaged
from separatrix.numeric.registry import KINDS, from_dict
from separatrix.training.checkpoint_file import unpacked

SOURCE = Path(separatrix.__file__).parent
TEXTS = {
    path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8")
    for path in SOURCE.rglob("*.py")
}
MODULES = (
    "pickle|_pickle|cloudpickle|dill|marshal|shelve|yaml|torch|runpy|code|codeop|pty|subprocess|"
    "onnx|onnxruntime|skops"
)
CALLS = (
    r"eval|exec|(?<!re\.)compile|__import__|system|popen|Popen|load_npz|exec_module|"
    r"open_memmap|memmap|InferenceSession|load_model|fromfile"
)
IMPORTS_BY_NAME = {
    "__init__.py": "modules of public names: tests/test_package.py",
    "estimators/base.py": "a literal name",
    "models/onnx.py": "literal names, as the test below says",
    "apps/cli/skops_files.py": "pairs of TRUSTED: tests/apps/cli/test_hostile_skops_files.py",
}


def found(pattern):
    """Where the package has it: file and text."""
    return [
        (file, match.group())
        for file, text in TEXTS.items()
        for match in re.finditer(pattern, text)
    ]


def test_the_patterns_find_what_they_should():
    for line in ("    import pickle\n", "from torch.hub import load\n", "import onnx.helper\n"):
        assert re.search(IMPORTED, line, re.M)
    for line in ("x = eval(a)", "os.system(a)", "=compile(a)", "np.memmap(a)"):
        assert re.search(CALLED, line)
    assert not re.search(CALLED, "re.compile(a)")
    for line in ("np.load(a)", "joblib.load(a)", "skops.io.loads(a)", "onnx.load(a)"):
        assert re.search(LOADED, line)


IMPORTED = rf"(?m)^\s*(import|from) ({MODULES})\b.*$"
CALLED = rf"(?<![\w])({CALLS})\("
LOADED = r"\b(?!json\b|separatrix\b|layout\b)\w+\.loads?\("


def test_no_module_that_executes_what_it_reads_is_imported():
    """ONNX is written and never opened, so that no path of external data is followed."""
    assert found(IMPORTED) == []


def test_nothing_is_called_that_executes_text_or_opens_pickles():
    assert found(CALLED) == []
    assert found(LOADED) == [("data/cluster/file_parts.py", "numpy.load(")]  # in a message
    assert found(r"allow_pickle=(?!False)") == []
    arrays = found(r"\bread_array\(.*")
    assert [file for file, _ in arrays] == ["apps/cli/skops_files.py"]
    assert "allow_pickle=False" in arrays[0][1]


def test_modules_are_imported_by_name_only_where_that_is_tested():
    assert {file for file, _ in found(r"\bimport_module\(")} == set(IMPORTS_BY_NAME)
    given = [text for _, text in found(r"(?<!def )\b_import\(.")]
    assert given
    assert set(given) == {'_import("'}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["os.system", "__class__", "builtins.eval", "", "__init__", None])
def test_a_registry_knows_its_own_names_alone(kind, name):
    with pytest.raises(ValueError, match=f"unknown {kind}|a {kind} as plain data"):
        from_dict(KINDS[kind], {kind: name})


def test_parameters_of_registered_objects_are_named():
    with pytest.raises(ValueError, match="has no parameter '__class__'"):
        from_dict(KINDS["loss"], {"loss": "logistic", "__class__": "os.system"})
    with pytest.raises(ValueError, match="not one of the kinds of plain data"):
        from_dict(KINDS["solver"], {"solver": "LBFGS", "memory": {"__class__": "os.system"}})


def test_arrays_of_a_checkpoint_are_no_pointers():
    """An array of objects made of bytes would be pointers that the file chose."""
    raw = checkpoint_of({"a": np.arange(2, dtype="<i8")})
    assert unpacked(BytesIO(raw), len(raw))["a"].tolist() == [0, 1]
    header, data = parts(raw)
    for dtype in ("O", "|O8"):
        header["0"]["dtype"] = dtype
        hostile = signed(header, data)
        with pytest.raises(Damaged, match="does not describe the array '0'"):
            unpacked(BytesIO(hostile), len(hostile))
