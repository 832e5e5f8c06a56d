"""Files of skops that were made to do harm: nothing in a file is ever executed."""

from __future__ import annotations

import encodings.cp437  # noqa: F401 (by zipfile, with the first archive of a process)
import json
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from apps.cli.skops_schemas import a_model, mapping, node, nodes, npy, scalar, sequence, write
from apps.cli.tables import flowers

from separatrix.apps.cli import skops_files
from separatrix.apps.cli.app import run
from separatrix.apps.cli.skops_files import TRUSTED, loaded


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


CODE = "open('executed', 'w').close()"
CALL = sequence(scalar(CODE))
EVAL = node("ConstructorFromReduceNode", "builtins", "eval", content=CALL)
SYSTEM = sequence(scalar("touch executed"))
HOSTILE = {
    "reduce": EVAL,
    "exec": node("ConstructorFromReduceNode", "builtins", "exec", content=CALL),
    "import": node("ConstructorFromReduceNode", "builtins", "__import__",
                   content=sequence(scalar("antigravity"))),
    "fromfile": node("ConstructorFromReduceNode", "numpy", "fromfile",
                     content=sequence(scalar("/etc/hostname"))),
    "vectorize": node("ConstructorFromReduceNode", "numpy", "vectorize",
                      content=sequence(node("TypeNode", "builtins", "eval"))),
    "reduced model": node("ConstructorFromReduceNode", "sklearn.svm._classes", "LinearSVC",
                          content=sequence()),
    "loss": node("LossNode", "os", "system", content=mapping({}), __reduce__={"args": SYSTEM}),
    "loss of builtins": node("LossNode", "builtins", "eval", content=mapping({}),
                             __reduce__={"args": CALL}),
    "hidden in a loss": node("LossNode", "sklearn.linear_model._sgd_fast", "Hinge",
                             content=mapping({}), __reduce__={"args": sequence(EVAL)}),
    "tree": node("TreeNode", "sklearn.tree._tree", "Tree", content=mapping({}),
                 __reduce__={"args": CALL}),
    "forest": node("QuantileForestNode", "os", "system", content=mapping({}),
                   __reduce__={"args": SYSTEM}),
    "function": node("FunctionNode", "os", "system"),
    "ufunc": node("FunctionNode", "numpy", "exp"),
    "old function": node("FunctionNode", "numpy", "exp",
                         content={"module_path": "os", "function": "system"}),
    "type": node("TypeNode", "os", "system"),
    "key type": node("DictNode", "builtins", "dict", content={CODE: scalar(1)},
                     key_types=sequence(node("TypeNode", "builtins", "eval"), name="list")),
    "object": node("ObjectNode", "subprocess", "Popen", content=mapping({})),
    "object of builtins": node("ObjectNode", "builtins", "object"),
    "method": node("MethodNode", "sklearn.svm._classes", "LinearSVC",
                   content={"func": "fit", "obj": node("ObjectNode", "sklearn.svm._classes",
                                                       "LinearSVC", content=mapping({}))}),
    "partial": node("PartialNode", "functools", "partial",
                    content={"func": node("TypeNode", "builtins", "eval"), "args": CALL,
                             "kwds": mapping({}), "namespace": mapping({})}),
    "operator": node("OperatorFuncNode", "operator", "methodcaller", attrs=CALL),
    "called operator": node("OperatorFuncNode", "operator", "call",
                            attrs=sequence(node("TypeNode", "builtins", "eval"), scalar(CODE))),
    "defaultdict": node("DefaultDictNode", "collections", "defaultdict",
                        content={"main": mapping({}), "default_factory": EVAL}),
    "dict": node("DictNode", "os", "system", content={}, key_types=sequence(name="list")),
    "list": node("ListNode", "builtins", "eval", content=[]),
    "tuple": node("TupleNode", "builtins", "eval", content=[]),
    "set": node("SetNode", "builtins", "set", content=[]),
    "map": node("SetNode", "builtins", "map", content=[]),
    "json": node("JsonNode", "builtins", "eval", content=json.dumps(CODE)),
    "slice": node("SliceNode", "builtins", "slice", content={"start": 0, "stop": 1, "step": 1}),
    "bytes": node("BytesNode", "builtins", "bytes", file="0.npy"),
    "bytearray": node("BytearrayNode", "builtins", "bytearray", file="0.npy"),
    "array": node("NdArrayNode", "builtins", "eval", type="numpy", file="0.npy"),
    "memmap": node("NdArrayNode", "numpy", "memmap", type="numpy", file="0.npy"),
    "void": node("NdArrayNode", "numpy", "void", type="numpy", file="0.npy"),
    "array of objects": node("NdArrayNode", "numpy", "ndarray", type="json", content=[EVAL],
                             shape=sequence(scalar(1))),
    "shape": node("NdArrayNode", "numpy", "ndarray", type="json", content=[], shape=EVAL),
    "masked array": node("MaskedArrayNode", "numpy.ma", "MaskedArray",
                         content={"data": EVAL, "mask": EVAL}),
    "dtype": node("DTypeNode", "numpy", "dtype", content=EVAL),
    "random state": node("RandomStateNode", "os", "system", content=mapping({})),
    "hidden in a random state": node("RandomStateNode", "numpy.random.mtrand", "RandomState",
                                     content=EVAL),
    "generator": node("RandomGeneratorNode", "numpy.random._generator", "Generator",
                      content={"bit_generator": mapping({"bit_generator": scalar("seed")}),
                               "seed_seq": mapping({})}),
    "sparse": node("SparseMatrixNode", "scipy.sparse._csr", "csr_matrix", type="scipy",
                   file="0.npy"),
    "cached": node("CachedNode", None, None, __id__=1),
    "old dictionary": node("_DictWithDeprecatedKeysNode", "sklearn.covariance._graph_lasso",
                           "_DictWithDeprecatedKeys", content={}),
    "without a loader": {"__module__": "builtins", "__class__": "eval"},
    "names that are no text": node(["ObjectNode"], {"a": 1}, 3),
    "in a key that nothing reads": {**scalar(1), "ignored": [[{"deep": EVAL}]]},
    "submodule": node("ObjectNode", "sklearn.linear_model._logistic", "LogisticRegression.fit"),
    "public path": node("ObjectNode", "sklearn.linear_model", "sys"),
    "other member": node("ObjectNode", "sklearn.linear_model._logistic", "np"),
}  # fmt: skip


@pytest.fixture
def nothing_made(monkeypatch):
    """No object is made of what a file names."""
    made = []
    monkeypatch.setattr(skops_files._Reader, "value", lambda self, node: made.append(node))
    yield
    assert not made
    assert not Path("executed").exists()


@pytest.mark.parametrize("evil", HOSTILE)
def test_hostile_nodes_are_refused_before_anything_is_made(evil, nothing_made):
    evil = HOSTILE[evil]
    before = set(sys.modules)
    schemas = (
        {**evil, "protocol": 2},
        {**evil, "protocol": 0},  # of which skops has other loaders
        a_model(coef_=evil),
        a_model(class_weight=mapping({"a": sequence(sequence(evil), name="list")})),
        a_model(random_state=node("RandomStateNode", "numpy.random.mtrand", "RandomState",
                                  content=evil)),
        {**a_model(), "ignored": evil},
    )  # fmt: skip
    for schema in schemas:
        write(schema)
        with pytest.raises(ValueError, match=r"m\.skops contains a .*; only linear models"):
            loaded("m.skops")
    assert set(sys.modules) == before


def test_every_loader_of_skops_is_trusted_or_among_the_hostile_ones():
    audit = pytest.importorskip("skops.io._audit")
    pytest.importorskip("skops.io")
    known = {loader for loader, _ in audit.NODE_TYPE_MAPPING}
    tried = {one["__loader__"] for evil in HOSTILE.values() for one in nodes(evil)
             if isinstance(one["__loader__"], str)}  # fmt: skip
    assert known <= tried
    assert set(TRUSTED) <= known


def test_certify_does_not_execute_what_a_file_names(capsys):
    flowers().to_csv("t.csv", index=False)
    write({**EVAL, "protocol": 2})
    assert run(["certify", "m.skops", "t.csv", "-t", "kind"]) == 2
    assert "m.skops contains a builtins.eval (ConstructorFromReduceNode)" in capsys.readouterr().err
    assert not Path("executed").exists()


def refused(match):
    return pytest.raises(ValueError, match=rf"m\.skops is damaged or not a skops file \(.*{match}")


@pytest.mark.parametrize(
    ("attributes", "match"),
    [
        ({"fit": scalar(1)}, "cannot have an attribute 'fit'"),
        ({"_parameter_constraints": mapping({})}, "cannot have an attribute '_parameter_const"),
        ({"C": scalar("much")}, "'C' parameter of LogisticRegression must be"),
        ({"coef_": scalar([1, 2])}, "a list is given instead of a number"),
        ({"coef_": node("TypeNode", "builtins", "str")}, "a TypeNode is not allowed there"),
        ({"coef_": node("NdArrayNode", "numpy", "float64", type="numpy", file="0.npy")},
         "an array of type float64 is given as a float64"),
        ({"coef_": node("NdArrayNode", "numpy", "ndarray", type="numpy", file="../0.npy")}, ""),
        ({"coef_": {"no": "node"}}, ""),
    ],
)  # fmt: skip
def test_other_values_than_a_model_has_are_refused(attributes, match):
    write(a_model(**attributes))
    with refused(match):
        loaded("m.skops")


def test_attributes_that_do_not_fit_together_are_an_error_of_the_file(capsys):
    Path("t.csv").write_text("a,b,kind\n1,2,x\n3,4,y\n")
    labels = [scalar("x"), scalar("y")]
    classes = node("NdArrayNode", "numpy", "ndarray", type="json", content=labels)
    write(a_model(coef_=mapping({}), intercept_=scalar(0.0), classes_=classes))
    assert run(["certify", "m.skops", "t.csv", "-t", "kind"]) == 2
    assert "m.skops cannot be certified: its attributes do not" in capsys.readouterr().err


def test_a_file_holds_a_model():
    write(mapping({"a": scalar(1)}))
    with refused("it does not contain a model"):
        loaded("m.skops")
    pipeline = node("ObjectNode", "sklearn.pipeline", "Pipeline",
                    content=mapping({"steps": sequence(scalar(1), name="list")}))  # fmt: skip
    for schema in (pipeline, "[]", "1", "{", ""):
        write(schema)
        with refused(""):
            loaded("m.skops")


def test_keys_that_come_twice():
    text = json.dumps(a_model()).replace('"protocol"', '"__module__": "os", "protocol"')
    write(text)
    with refused("its schema has a key twice"):
        loaded("m.skops")


@pytest.mark.parametrize("depth", [900, 100_000])
@pytest.mark.parametrize("form", [("[", "]"), ('{"a":', "}")])
def test_deep_nesting(depth, form):
    first, last = form
    write('{"a": ' + first * depth + "1" + last * depth + "}")
    with refused(""):
        loaded("m.skops")
    inner = node("JsonNode", "builtins", "str", content=first * depth + "1" + last * depth)
    write(a_model(coef_=inner))
    with refused(""):
        loaded("m.skops")


# ---- archives and arrays ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_of_one_name():
    """Which of two schemas a program reads would be its own decision."""
    write(a_model())
    with zipfile.ZipFile("m.skops", "a") as archive:
        archive.writestr("schema.json", json.dumps(EVAL))
    with refused("two members with the same name"):
        loaded("m.skops")


def peak(path="m.skops"):
    tracemalloc.start()
    try:
        with refused(""):
            loaded(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ZEROS = bytes(30_000_000)


def test_archives_that_unpack_to_much_more_than_they_are():
    """Refused by the sizes that they claim; what claims less is not unpacked beyond its claim."""
    open_a_model()
    write(a_model(), zipfile.ZIP_DEFLATED, **{"1.npy": ZEROS})
    with refused(r"unpack to \d+, and at most 64 times its size"):
        loaded("m.skops")
    assert peak() < 3_000_000
    content = bytearray(Path("m.skops").read_bytes())
    size = len(ZEROS).to_bytes(4, "little")
    while (at := content.find(size)) >= 0:  # in both headers of the member
        content[at : at + 4] = (1000).to_bytes(4, "little")
    Path("m.skops").write_bytes(content)
    assert peak() < 3_000_000


def open_a_model():
    """So that what is imported for it is not counted as memory that another file takes."""
    write(a_model())
    loaded("m.skops")


def test_one_piece_of_an_archive_that_is_many_members():
    """A thousand entries of the directory that point to the same bytes."""
    write(a_model(), **{"1.npy": npy(np.zeros(10_000))})
    with zipfile.ZipFile("m.skops", "a") as archive:
        first = archive.getinfo("1.npy")
        for number in range(1000):
            again = zipfile.ZipInfo(f"again{number}.npy")
            again.header_offset, again.CRC = first.header_offset, first.CRC
            again.file_size, again.compress_size = first.file_size, first.compress_size
            archive.filelist.append(again)
            archive.NameToInfo[again.filename] = again
        archive._didModify = True
    assert peak() < 3_000_000 + 30 * Path("m.skops").stat().st_size


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(method):
    """zipfile unpacks them without a limit."""
    write(a_model(), method)
    with refused("neither ZIP_STORED nor ZIP_DEFLATED"):
        loaded("m.skops")


def test_schemas_are_of_bounded_size(monkeypatch):
    monkeypatch.setattr(skops_files, "MOST_SCHEMA", 1000)
    write(a_model())
    with refused(r"its schema has \d+ bytes, and at most 1000 are allowed"):
        loaded("m.skops")


def header(text, version=1):
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + text.encode()


class Evil:
    def __reduce__(self):
        return eval, (CODE,)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (npy(np.array([Evil()], dtype=object)), "an array of type object"),
        (npy(np.zeros(2, "V0")), "an array of type"),
        (npy(np.zeros(2, [("a", "f8")])), "an array of type"),
        (npy(np.zeros(1, "M8[s]")), "an array of type"),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"), "shape"),
        (header("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }"), "type"),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1), }") + bytes(8),
         "shape"),
        (header("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }") + b"\x07", "Boolean"),
        (header("(" * 50_000, 2), ""),
        (header("{'descr': '<f8'", 3), ""),
        (b"PK\x03\x04", ""), (b"\x80\x04N.", ""), (b"", ""),
    ],
    ids=range(13),
)  # fmt: skip
def test_arrays_hold_numbers_or_text_and_no_pickle(content, match):
    open_a_model()
    write(a_model(), **{"0.npy": content})
    with refused(match):
        loaded("m.skops")
    assert peak() < 3_000_000
    assert not Path("executed").exists()


def test_a_file_that_cannot_be_read_is_named(folder, capsys):
    flowers().to_csv("t.csv", index=False)
    (folder / "d.skops").mkdir()
    assert run(["certify", "d.skops", "t.csv", "-t", "kind"]) == 2
    assert "d.skops: Is a directory" in capsys.readouterr().err
