"""Every binding refuses arrays that do not fit, from one table of valid calls.

A loop reads and writes wherever its arrays lead, and arrays come from files, too: models,
checkpoints, caches. So each array of each binding is made too short, too long, empty, of another
dimension or type, strided, read-only, and overlapping with what is written; indices are put out of
range. All of that must be refused, and nothing may crash. A binding without an entry in the table
fails the first test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from binding_calls import (
    CALLS,
    PERCEPTRON,
    WITHOUT_ARRAYS,
    Arguments,
    Call,
    D,
    K,
    N,
    classes,
    numbers,
    online,
)

from separatrix import loops
from separatrix.loops._compiled import _loops

REFUSED = (ValueError, TypeError)
Place = tuple[str, int | None]
each_call = pytest.mark.parametrize("entry", CALLS, ids=str)


def arrays_of(arguments: Arguments) -> Iterator[tuple[str, Place, np.ndarray]]:
    """Every array: what it is called here, and where it stands."""
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            yield name, (name, None), value
        elif isinstance(value, (tuple, list)):
            for i, part in enumerate(value):
                if isinstance(part, np.ndarray):
                    yield f"{name}[{i}]", (name, i), part


def with_array(arguments: Arguments, place: Place, array: Any) -> Arguments:
    name, i = place
    if i is None:
        return arguments | {name: array}
    parts = list(arguments[name])
    parts[i] = array
    return arguments | {name: type(arguments[name])(parts)}


def outcome(entry: Call, arguments: Arguments) -> list[Any]:
    """What a call returns and leaves in its arrays."""
    found = entry.run(arguments)
    left = [array.copy() for name, _, array in arrays_of(arguments) if name in entry.writes]
    return [found if isinstance(found, (tuple, float, int, bool)) else None, *left]


def sizes(array: np.ndarray) -> Iterator[tuple[set[str], np.ndarray]]:
    """Arrays shorter and longer by one, and empty, in every axis; how the table calls that."""
    for axis in range(array.ndim):
        shape = list(array.shape)
        for change, what in ((-1, "-"), (1, "+"), (-array.shape[axis], "-")):
            shape[axis] = array.shape[axis] + change
            made = np.zeros(shape, dtype=array.dtype)
            common = tuple(slice(min(a, b)) for a, b in zip(shape, array.shape, strict=True))
            made[common] = array[common]
            yield {what, f":{axis}", ""}, made


@each_call
def test_the_calls_of_the_table_are_valid(entry):
    entry.run(entry.arguments())


def test_every_binding_has_all_of_its_arrays_in_the_table():
    stub = Path(loops.__file__).with_name("_loops.pyi")
    given: dict[str, set[str]] = {}
    for entry in CALLS:
        named = {place[0] for _, place, _ in arrays_of(entry.arguments())}
        if entry.name == "batch_blocks":
            named = named - {"edges", "sum"} | {"blocks"}
        given.setdefault(entry.name, set()).update(named)
    callables = {name for name in dir(_loops) if callable(getattr(_loops, name))}
    assert callables - {name for name in callables if name.startswith("__")} == (
        given.keys() | WITHOUT_ARRAYS
    )
    plain = {"int", "float", "bool", "str", "ScreeningState | None"}
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name not in WITHOUT_ARRAYS:
            arrays = {
                argument.arg
                for argument in node.args.args
                if ast.unparse(argument.annotation) not in plain
            }
            assert arrays == given[node.name], node.name


@each_call
def test_an_array_of_another_size_is_refused(entry):
    for name, place, array in arrays_of(entry.arguments()):
        for what, made in sizes(array):
            changed = with_array(entry.arguments(), place, made)
            if any(name + change in entry.free for change in what):
                with suppress(*REFUSED):
                    entry.run(changed)
            else:
                with pytest.raises(REFUSED):
                    pytest.fail(f"{name} {made.shape}: {entry.run(changed)}")


@each_call
def test_an_array_of_another_dimension_is_refused(entry):
    for name, place, array in arrays_of(entry.arguments()):
        for made in (array[None], array[..., None], array.reshape(-1), array.reshape(-1)[0]):
            if made.shape == array.shape or name + "#" in entry.free:
                continue
            with pytest.raises(REFUSED):
                pytest.fail(
                    f"{name} {made.shape}: "
                    f"{entry.run(with_array(entry.arguments(), place, np.array(made)))}"
                )


@each_call
def test_another_type_is_refused_or_converted(entry):
    """What is written to is never converted: the numbers would go into a copy."""
    right = outcome(entry, entry.arguments())
    for name, place, array in arrays_of(entry.arguments()):
        strided = np.repeat(array, 2, axis=-1)[..., ::2]
        kinds = [np.float32, np.float64, np.int32, np.int64, np.complex128, "U3", object]
        others = [strided, None, "text", [1, 2]]
        others += [array.astype(kind) for kind in kinds if np.dtype(kind) != array.dtype]
        for made in others:
            arguments = with_array(entry.arguments(), place, made)
            with np.errstate(all="ignore"):
                try:
                    found = outcome(entry, arguments)
                except REFUSED:
                    continue
            assert name not in entry.writes or made is None, (name, made)
            if made is strided:
                for a, b in zip(found, right, strict=True):
                    np.testing.assert_array_equal(a, b)


@each_call
def test_an_output_that_is_read_only_is_refused(entry):
    for name, place, array in arrays_of(entry.arguments()):
        array.flags.writeable = False
        changed = with_array(entry.arguments(), place, array)
        if name in entry.writes:
            with pytest.raises(TypeError):
                entry.run(changed)
        else:
            entry.run(changed)


@each_call
def test_an_output_that_shares_memory_is_refused(entry):
    """Indices that were checked could change while they are in use."""
    every = list(arrays_of(entry.arguments()))
    for name, place, array in every:
        for other, other_place, shared in every:
            if name not in entry.writes or other == name:
                continue
            room = np.zeros(array.nbytes + shared.nbytes + 8, dtype=np.uint8)
            both = []
            for like in (array, shared):  # the last has its values
                view = room[: like.nbytes].view(like.dtype).reshape(like.shape)
                view[...] = like
                both.append(view)
            changed = with_array(entry.arguments(), place, both[0])
            with pytest.raises(ValueError, match="shares memory"):
                pytest.fail(
                    f"{name} {other} {entry.run(with_array(changed, other_place, both[1]))}"
                )


@each_call
def test_an_index_out_of_range_is_refused(entry):
    for name, place, array in arrays_of(entry.arguments()):
        for index in entry.indices.get(name, ()):
            for at in (0, -1):
                wrong = array.copy()
                wrong.reshape(-1)[at] = index
                with pytest.raises(ValueError, match=r"expected|beyond"):
                    pytest.fail(
                        f"{name} {wrong}: {entry.run(with_array(entry.arguments(), place, wrong))}"
                    )


def test_errors_say_what_was_expected():
    arguments = online(numbers(N, D), classes(), K, PERCEPTRON)
    with pytest.raises(
        ValueError, match=r"^sum: expected shape \(3, 4\), which is \(k, d \+ 1\), got \(0,\)$"
    ):
        _loops.online_pass(**arguments | {"sum": np.empty(0)})
    with pytest.raises(
        ValueError, match=r"^log: expected shape \(>= 5,\), which is \(updates,\), got \(4,\)$"
    ):
        _loops.online_pass(**arguments | {"log": np.empty(4, dtype=np.int64)})
