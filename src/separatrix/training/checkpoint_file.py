"""A file of arrays, numbers and strings that is written completely or not at all.

Input: dictionaries and lists of arrays, numbers and strings. Output: a file, and the same data when
read. The format is that of ``numeric/container.py``; the tree of dictionaries is a JSON text that
refers to arrays by number. The file is written under another name, flushed to disk and renamed; the
previous one is kept. Only one run at a time may write to a path.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..numeric import container
from ..numeric.container import Damaged, is_storable
from ..numeric.expected import scalar
from ..numeric.locks import close_and_remove, lock
from ..numeric.regular_file import named_in_errors, open_regular
from ..numeric.replaced import replaced
from ..numeric.types import AnyArray

KIND = "checkpoint of this version of separatrix"
METADATA = {"format": "separatrix checkpoint", "version": "2"}
TREE = "tree"  # name of the array with the bytes of the text
KINDS = "biuf"  # kinds of dtypes: boolean, integer and float
MOST_DEPTH = 50  # of nested dictionaries and lists


def packed(tree: Any) -> list[bytes | memoryview]:
    """Serialise to pieces of bytes; an array that occurs twice is written once."""
    arrays: dict[int, tuple[int, AnyArray]] = {}
    text = json.dumps(_plain(tree, arrays)).encode()
    named = {str(number): array for number, array in arrays.values()}
    return container.packed(METADATA, {**named, TREE: np.frombuffer(text, np.uint8)})


def _plain(value: Any, arrays: dict[int, tuple[int, AnyArray]]) -> Any:
    if value is None or isinstance(value, (bool, str)) or type(value) in (int, float):
        return value
    if isinstance(value, np.ndarray) and is_storable(value):
        number, _ = arrays.setdefault(id(value), (len(arrays), value))
        return {"$array": number}
    if isinstance(value, np.generic) and value.dtype.kind in KINDS:
        return {"$number": [value.dtype.str, value.item()]}
    if isinstance(value, (list, tuple)):
        return [_plain(entry, arrays) for entry in value]
    if isinstance(value, dict) and all(
        isinstance(key, str) and not key.startswith("$") for key in value
    ):
        return {key: _plain(entry, arrays) for key, entry in value.items()}
    raise TypeError(
        f"{value!r} cannot be written to a checkpoint: it holds arrays of numbers, numbers, words, "
        "None, and lists and dictionaries of these"
    )


def unpacked(file: BinaryIO, size: int) -> Any:
    """Inverse of ``packed``, with lists for tuples; raises ``Damaged`` for any other data.

    A digest can be computed by anyone, so the text is validated before it is used. Memory use is
    at most the size of the arrays plus about 100 times the length of the text.
    """
    metadata, arrays = container.unpacked(file, size, KIND)
    text = arrays.pop(TREE, None)
    if metadata != METADATA | {"sha256": metadata["sha256"]} or text is None:
        raise Damaged(f"it is no {KIND}")
    if text.dtype != np.uint8 or text.ndim != 1:
        raise Damaged("its text is not one of bytes")
    if set(arrays) != {str(number) for number in range(len(arrays))}:
        raise Damaged("its arrays are not numbered")
    try:
        return _filled(container.parsed(text.tobytes(), constants=True), arrays)
    except (ArithmeticError, MemoryError, ValueError) as error:
        raise Damaged(f"its text is not as it should be ({error})") from None


def _filled(value: Any, arrays: dict[str, AnyArray], depth: int = 0) -> Any:
    """Replace array references in a tree by the arrays, in place."""
    if depth > MOST_DEPTH:
        raise Damaged("its text is nested too deeply")
    if isinstance(value, list):
        for number, entry in enumerate(value):
            value[number] = _filled(entry, arrays, depth + 1)
        return value
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key.startswith("$")), "")
    if not tag:
        for key, entry in value.items():
            value[key] = _filled(entry, arrays, depth + 1)
        return value
    content = value[tag]
    if len(value) == 1 and tag == "$array" and type(content) is int and 0 <= content < len(arrays):
        return arrays[str(content)]
    pair = len(value) == 1 and tag == "$number" and isinstance(content, list) and len(content) == 2
    if pair and type(content[1]) in (bool, int, float):
        return scalar(*content)
    raise Damaged(f"{tag!r} in its text is neither a number nor one of its arrays")


class CheckpointFile:
    """The file at a path, the previous one, and the temporary name for the next."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.previous = path.with_name(path.name + ".previous")
        self.new = path.with_name(path.name + ".new")
        self.lock = path.with_name(path.name + ".lock")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the path against other runs, in this process or another.

        The lock ends with its process, in any case. Without room for a lock file, or without locks,
        as on some network disks, the run continues unlocked.
        """
        descriptor = self._locked()
        try:
            yield
        finally:
            if descriptor is not None:
                close_and_remove(descriptor, self.lock)

    def _locked(self) -> int | None:
        while True:
            try:
                descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError:
                return None
            try:
                lock(descriptor)
            except BlockingIOError:
                os.close(descriptor)
                raise RuntimeError(
                    f"another run keeps its checkpoint in {self.path} at this moment: wait until "
                    "it has ended, or give this one a path of its own"
                ) from None
            except OSError:
                pass
            if os.fstat(descriptor).st_nlink:  # else it was removed by a run that ended meanwhile
                return descriptor
            os.close(descriptor)

    def write(self, tree: Any) -> None:
        """Write all or nothing: on an error the files are unchanged."""
        pieces = packed(tree)
        with replaced(self.path, self.new, self.previous) as file:
            for piece in pieces:
                file.write(piece)

    def versions(self) -> Iterator[tuple[Path, Any]]:
        """Contents, or the damage, of the file and the previous one, if they exist."""
        for path in (self.path, self.previous):
            try:
                yield path, read(path)
            except FileNotFoundError:
                continue
            except Damaged as damage:
                yield path, damage


def read(path: Path) -> Any:
    """Read the file; ``Damaged`` if its content is not certain."""
    with named_in_errors(path), open_regular(path) as file:
        return unpacked(file, os.fstat(file.fileno()).st_size)
