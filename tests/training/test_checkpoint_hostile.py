"""Checkpoints that were changed and signed again: a clear error that names the file, or a run."""

from __future__ import annotations

import copy
import json
import random
import tracemalloc
from hashlib import sha256
from io import BytesIO

import numpy as np
import pytest
from conftest import overlapping
from hostile_files import (
    DELETE,
    at,
    checkpoint_of,
    checkpoint_parts,
    entries,
    parts,
    places,
    replaced,
    signed,
    signed_checkpoint,
)

from separatrix import (
    LBFGS,
    Checkpoint,
    CoordinateAscent,
    GradientDescent,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
)
from separatrix.numeric.container import Damaged
from separatrix.training.checkpoint_file import read, unpacked

X, SIGNS = overlapping(40, 4)
Y = (SIGNS > 0).astype(int)
FITS = {
    "perceptron": lambda **more: Perceptron(6, random_state=0, **more),
    "batch": lambda **more: Perceptron(6, update="batch", start="sum", **more),
    "descent": lambda **more: LinearClassifier(
        solver=GradientDescent(batch_size=4), l1=1e-3, max_iter=4, random_state=0, **more
    ),
    "lbfgs": lambda **more: LinearClassifier(solver=LBFGS(3), l2=1e-6, max_iter=4, **more),
    "dual": lambda **more: LinearClassifier(
        "hinge", solver=CoordinateAscent(), l2=1e-4, max_iter=3, random_state=0, **more
    ),
    "voted": lambda **more: KernelPerceptron(
        "poly", keep="voted", max_iter=3, random_state=0, **more
    ),
    "budget": lambda **more: KernelPerceptron(budget=6, max_iter=3, random_state=0, **more),
    "cv": lambda **more: LinearClassifierCV(cv=3, l2s=[0.1, 0.01], **more, scoring=None),
}
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::RuntimeWarning"
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path, found = tmp_path_factory.mktemp("corpus") / "run", {}
    for name, make in FITS.items():
        make(callbacks=[Checkpoint(path, every=1, resume="never")]).fit(X, Y)
        found[name] = path.read_bytes()
    return found


def resumed(name, path, raw):
    """The error of a fit that goes on from a file; empty if it does."""
    path.write_bytes(raw)
    clf = FITS[name](callbacks=[Checkpoint(path, every=1)])
    try:
        clf.fit(X, Y)
    except ValueError as error:
        assert path.read_bytes() == raw
        assert not hasattr(clf, "classes_")
        return str(error)
    path.unlink()
    path.with_name(path.name + ".previous").unlink(missing_ok=True)
    return ""


STRANGE = [
    DELETE, None, True, -1, 3, 2**63, 10**30, 1e308, float("nan"), "", "x", [], {}, [[]], {"": 1},
    np.zeros(0), np.zeros((1, 5), np.float32), np.zeros((1, 10**4)), np.full(40, 10**9),
    np.arange(3), np.zeros((2, 40), bool), np.float32(0.5), np.int64(2**62),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FITS)
def test_a_changed_state_is_refused_or_goes_on(name, corpus, tmp_path):
    path, draw = tmp_path / "run", random.Random(name)
    path.write_bytes(corpus[name])
    tree = read(path)
    state = [where for where in places(tree) if where[:1] == ("state",)]
    for _ in range(60):
        strange = draw.random() < 0.7
        value = draw.choice(STRANGE) if strange else at(tree, draw.choice(state))
        where = draw.choice(state[1:])
        changed = replaced(copy.deepcopy(tree), where, value)
        error = resumed(name, path, checkpoint_of(changed))
        assert not error or str(path) in error


def test_arrays_that_the_loops_would_read_beyond_are_refused(corpus, tmp_path):
    """Each at its place in a run: weights, sums, pairs, alphas, scores, rows of the trace."""
    path = tmp_path / "run"
    loop = ("state", "parts", "loop", "step", "state")
    trace, kernel = ("state", "parts", "trace"), ("state", "parts", "passes")
    for name, where, value in [
        ("perceptron", (*loop, "sum"), np.zeros(0)),
        ("perceptron", (*loop, "weights"), np.zeros((1, 2))),
        ("perceptron", (*trace, "rows"), np.full(9, 10**6)),
        ("perceptron", (*trace, "lengths"), np.array([2**62, 2**62, 0])),
        ("perceptron", ("state", "parts", "pocket", "waiting"), [np.zeros((1, 2))]),
        ("descent", (*loop, "received"), np.zeros((1, 1))),
        ("lbfgs", (*loop, "s"), [np.zeros((1, 1))]),
        ("dual", (*loop, "alpha"), np.zeros(3)),
        ("dual", (*loop, "products"), 10**12),
        ("voted", (*kernel, "scores"), np.zeros((1, 1))),
        ("voted", (*kernel, "log"), [[1, 10**9, 1.0, [[0, 1]]]]),
        ("budget", (*kernel, "supports"), np.array([10**9] * 6)),
    ]:
        path.write_bytes(corpus[name])
        tree = read(path)
        at(tree, where)
        error = resumed(name, path, checkpoint_of(replaced(tree, where, value)))
        assert "cannot go on from" in error, (name, where)
        assert str(path) in error
        assert where[-1] in error or "passes" in where


def test_a_finished_fit_of_another_shape_is_refused(corpus, tmp_path):
    path = tmp_path / "run"
    path.write_bytes(corpus["cv"])
    tree = read(path)
    fits = tree["state"]["fits"]
    fits[next(iter(fits))]["path"]["weights"] = np.zeros((7, 7))
    error = resumed("cv", path, checkpoint_of(tree))
    assert str(path) in error
    assert "expected an array" in error


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1e308])
def test_a_finished_fit_from_which_no_other_can_start_is_named_with_the_file(
    weight, corpus, tmp_path
):
    path = tmp_path / "run"
    path.write_bytes(corpus["cv"])
    tree = read(path)
    fits = tree["state"]["fits"]
    first = next(iter(fits))
    tree["state"] |= {"fits": {first: fits[first]}, "last": None}
    fits[first]["path"]["weights"][0, 0] = weight
    error = resumed("cv", path, checkpoint_of(tree))
    assert np.isfinite(weight) or str(path) in error
    assert np.isfinite(weight) or "finite" in error


START = b'{"__metadata__":{"sha256":"' + b"0" * 64 + b'"'


def with_length(text):
    """A file of this header alone, with a valid digest."""
    raw = len(text).to_bytes(8, "little") + text
    return raw.replace(b"0" * 64, sha256(raw).hexdigest().encode(), 1)


BODIES = {
    "nothing": b"", "no length": b"x" * 7, "the format before": b"separatrix checkpoint 1\n{}",
    "a length beyond the end": b"\xff" * 8 + START, "no JSON": with_length(START + b"}]"),
    "a list": with_length(b"[" + START + b"}}]"),
    "nesting": with_length(START + b'},"0":' + b"[" * 100_000),
    "a number for arrays": with_length(START + b'},"0":3}'),
    "no metadata": with_length(START + b"}}"),
}  # fmt: skip
HEADS = {
    "a structure": ([["<i4,(60000000,)f8", [1]]], {}, b"\0" * 64),
    "a sub-array": ([["(60000000,)f8", [1]]], {}, b"\0" * 64),
    "objects": ([["O", [1]]], {}, b"\0" * 8),
    "words": ([["<U1000000000", [1]]], {}, b"\0" * 8),
    "a negative shape": ([["F64", [-1]]], {}, b""),
    "a shape whose product overflows": ([["F64", [2**32, 2**32]]], {}, b""),
    "no entries of endless rows": ([["F64", [0, 2**61]]], {}, b""),
    "many axes": ([["F64", [1] * 65]], {}, b"\0" * 8),
    "an array beyond the end": ([["F64", [2]]], {}, b"\0" * 8),
    "bytes left over": ([["F64", [1]]], {}, b"\0" * 9),
    "neither true nor false": ([["BOOL", [1]]], {}, b"\2"),
    "no such array": ([], {"$array": 0}, b""),
    "an array from the end": ([["F64", [0]]], {"$array": -1}, b""),
    "an array by a word": ([["F64", [0]]], {"$array": "0"}, b""),
    "no type": ([], {"$number": ["<V8", 1]}, b""),
    "a sub-array as a number": ([], {"$number": ["(60000000,)f8", 1]}, b""),
    "a number that does not fit": ([], {"$number": ["|i1", 1000]}, b""),
    "a word as a number": ([], {"$number": ["<f8", "1"]}, b""),
    "more next to a number": ([], {"$number": ["<f8", 1], "x": 1}, b""),
    "an integer of 400 digits": ([], 10**400, b""),
    "depth": ([], json.loads("[" * 200 + "]" * 200), b""),
}  # fmt: skip
HEADERS = {
    "no array": {"0": 3},
    "half an array": {"0": {"dtype": "F64", "data_offsets": [0, 0]}},
    "an array without a number": {"x": {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}},
    "another number": {"1": {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}},
    "another format": {"__metadata__": {"format": "separatrix model", "version": "2"}},
    "another version": {"__metadata__": {"format": "separatrix checkpoint", "version": "3"}},
    "a text of numbers": {"tree": {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}},
}


def lying(what):
    if what in BODIES:
        return BODIES[what]
    if what in HEADS:
        arrays, tree, data = HEADS[what]
        return signed_checkpoint({"arrays": entries(arrays), "tree": tree}, data)
    header, data = parts(checkpoint_of({}))
    data = b"" if "tree" in HEADERS[what] else data
    return signed(header | HEADERS[what], data)


@pytest.mark.parametrize("what", [*BODIES, *HEADS, *HEADERS])
def test_a_text_that_lies_is_damage(what, tmp_path):
    path = tmp_path / "run"
    path.write_bytes(lying(what))
    tracemalloc.start()
    with pytest.raises(Damaged):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
    error = resumed("perceptron", path, path.read_bytes())
    assert "cannot resume" in error
    assert str(path) in error


@pytest.mark.parametrize("tree", [3, {}, {"settings": 1, "state": {}}, {"settings": {}}])
def test_a_file_without_a_run_is_damaged(tree, tmp_path):
    assert "it holds no run" in resumed("perceptron", tmp_path / "run", checkpoint_of(tree))


def test_settings_that_hold_arrays_are_those_of_another_run(corpus, tmp_path):
    path = tmp_path / "run"
    path.write_bytes(corpus["perceptron"])
    tree = read(path)
    tree["settings"]["seed"] = [np.arange(3)]
    error = resumed("perceptron", path, checkpoint_of(tree))
    assert "is the checkpoint of another run: seed was" in error


@pytest.mark.parametrize("entry", ["[]", "{}", '{"":0}', "1.5", '"ab"', '{"$number":["<f8",1]}'])
def test_many_small_entries_take_memory_in_proportion_to_the_text(entry):
    text = b"[" + b",".join([entry.encode()] * (50_000 // len(entry))) + b"]"
    raw = signed_checkpoint({"arrays": {}}, b"", text)
    tracemalloc.start()
    unpacked(BytesIO(raw), len(raw))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * len(text)


def test_the_parts_of_a_checkpoint_make_the_same_file(corpus):
    for raw in corpus.values():
        head, data = checkpoint_parts(raw)
        assert signed_checkpoint(head, data) == raw


def test_numbers_from_which_no_pass_can_be_made_are_named_with_the_file(tmp_path):
    path = tmp_path / "run.ckpt"
    descent = GradientDescent(batch_size=4, learning_rate=0.1)

    def fit(passes):
        keep = Checkpoint(path, every=1)
        clf = LinearClassifier(solver=descent, max_iter=passes, tol=None, callbacks=[keep])
        return clf.set_params(random_state=0).fit(X, Y)

    fit(2)
    tree = read(path)
    weights = [where for where in places(tree) if getattr(at(tree, where), "shape", ()) == (1, 5)]
    assert weights
    for where in weights:
        replaced(tree, where, np.full((1, 5), 1e308))
    path.write_bytes(checkpoint_of(tree))
    with pytest.raises(
        ValueError, match=r"cannot go on from .*run\.ckpt: .*overflow.*to begin anew"
    ):
        fit(4)
    assert read(path)["settings"] == tree["settings"]  # and the file stays
