"""Arrays and numbers in one file that is whole or not there at all.

Input: dictionaries and lists of arrays, numbers and words. Output: a file, and the same again. The
file begins with a line that says what it is and one with the SHA-256 digest of all that follows:
the length of a JSON text, the text, in which arrays are numbered, and their bytes. Nothing in it is
executed when it is read. It is written under another name, brought to the disk, and renamed; the
one before is kept beside it. Of several runs that would write to one path only the first may.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ..numeric.regular_file import open_regular
from ..numeric.replaced import replaced
from ..numeric.types import AnyArray

FORMAT = b"separatrix checkpoint 1\n"
DIGEST = 65  # a line
KINDS = "biuf"  # of arrays: booleans and numbers


class Damaged(Exception):
    """A file that is not what was written."""


def packed(tree: Any) -> list[bytes | memoryview]:
    """As bytes, in pieces; an array that comes twice is written once."""
    arrays: dict[int, tuple[int, AnyArray]] = {}
    plain = _plain(tree, arrays)
    kept = [np.ascontiguousarray(array) for _, array in arrays.values()]
    about = [[array.dtype.str, list(array.shape)] for _, array in arrays.values()]
    head = json.dumps({"arrays": about, "tree": plain}).encode()
    return [
        b"%016x\n" % len(head),
        head,
        *(array.reshape(-1).view(np.uint8).data for array in kept),
    ]


def _plain(value: Any, arrays: dict[int, tuple[int, AnyArray]]) -> Any:
    if value is None or isinstance(value, (bool, str)) or type(value) in (int, float):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
        number, _ = arrays.setdefault(id(value), (len(arrays), value))
        return {"$array": number}
    if isinstance(value, np.generic) and value.dtype.kind in KINDS:
        return {"$number": [value.dtype.str, value.item()]}
    if isinstance(value, (list, tuple)):
        return [_plain(entry, arrays) for entry in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(entry, arrays) for key, entry in value.items()}
    raise TypeError(
        f"{value!r} cannot be written to a checkpoint: it holds arrays of numbers, numbers, words, "
        "None, and lists and dictionaries of these"
    )


def unpacked(data: memoryview) -> Any:
    """What ``packed`` was given; tuples have become lists."""
    size = int(bytes(data[:16]), 16)
    head = json.loads(bytes(data[17 : 17 + size]))
    arrays, at = [], 17 + size
    for kind, shape in head["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(data, np.dtype(kind), count, at).reshape(shape).copy()
        arrays.append(array)
        at += array.nbytes
    return _filled(head["tree"], arrays)


def _filled(value: Any, arrays: list[AnyArray]) -> Any:
    if isinstance(value, list):
        return [_filled(entry, arrays) for entry in value]
    if not isinstance(value, dict):
        return value
    if "$array" in value:
        return arrays[value["$array"]]
    if "$number" in value:
        kind, number = value["$number"]
        return np.dtype(kind).type(number)
    return {key: _filled(entry, arrays) for key, entry in value.items()}


class CheckpointFile:
    """The file at a path, the one before it, and the name under which the next is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.previous = path.with_name(path.name + ".previous")
        self.new = path.with_name(path.name + ".new")
        self.lock = path.with_name(path.name + ".lock")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While this lasts no other run may have the path, in this process or another.

        A lock ends with its process, however that ends. Where there is no room for its file, or no
        locks, as on some network disks, this goes on without.
        """
        descriptor = self._locked()
        try:
            yield
        finally:
            if descriptor is not None:
                with suppress(OSError):
                    self.lock.unlink()
                os.close(descriptor)

    def _locked(self) -> int | None:
        while True:
            try:
                descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError:
                return None
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise RuntimeError(
                    f"another run keeps its checkpoint in {self.path} at this moment: wait until "
                    "it has ended, or give this one a path of its own"
                ) from None
            except OSError:
                pass
            if os.fstat(descriptor).st_nlink:  # else removed, by a run that ended meanwhile
                return descriptor
            os.close(descriptor)

    def write(self, tree: Any) -> None:
        """All or nothing: on an error the files are as they were."""
        pieces, digest = packed(tree), sha256()
        for piece in pieces:
            digest.update(piece)
        with replaced(self.path, self.new, self.previous) as file:
            file.write(FORMAT + digest.hexdigest().encode() + b"\n")
            for piece in pieces:
                file.write(piece)

    def versions(self) -> Iterator[tuple[Path, Any]]:
        """The file and the one before, as far as they are there: what is in it, or its damage."""
        for path in (self.path, self.previous):
            try:
                yield path, read(path)
            except FileNotFoundError:
                continue
            except Damaged as damage:
                yield path, damage


def read(path: Path) -> Any:
    """What was written there; ``Damaged`` if that cannot be told for certain."""
    with open_regular(path) as file:
        whole = memoryview(file.read())
    begin = len(FORMAT) + DIGEST
    if bytes(whole[: len(FORMAT)]) != FORMAT:
        raise Damaged("it does not begin as a checkpoint of this version of separatrix does")
    if bytes(whole[len(FORMAT) : begin]) != sha256(whole[begin:]).hexdigest().encode() + b"\n":
        raise Damaged("its digest does not agree with what is in it")
    return unpacked(whole[begin:])
