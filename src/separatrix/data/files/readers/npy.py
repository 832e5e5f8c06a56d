"""``.npy`` files, read block by block: one mapped into memory that is cut off kills the process."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....numeric.types import AnyArray
from .numbers import checked
from .paths import Files, named_files
from .reader import Piece, Place, Reader


class NpyArray(NamedTuple):
    """The header of a file: consecutive rows of numbers from some byte on."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int

    def read(self, file: BufferedReader, at: int, rows: int) -> AnyArray:
        """Some rows from this one on."""
        found = np.empty((rows, *self.shape[1:]), self.dtype)
        file.seek(self.start + at * found[:1].nbytes)
        if file.readinto(found.reshape(-1).view(np.uint8).data) != found.nbytes:
            raise ValueError(f"{self.path} ends within rows {at} to {at + rows}: write it anew.")
        return found


class NpyColumn:
    """Labels or weights of the rows, in ``.npy`` files of one dimension."""

    def __init__(self, what: Any) -> None:
        self.files = Files(named_files(what))
        self.stored = [_head(path, 1) for path in self.files.paths]
        self.n_rows = sum(one.shape[0] for one in self.stored)

    def read(self, at: int, rows: int) -> AnyArray:
        """``rows`` values from this row on, from one or more files."""
        parts, start = [], 0
        for one in self.stored:
            low, high = max(at, start), min(at + rows, start + one.shape[0])
            if low < high:
                with self.files.opened(one.path) as file:
                    parts.append(one.read(file, low - start, high - low))
            start += one.shape[0]
        return np.concatenate(parts)


class NpyReader(Reader):
    """Dense rows in files of two dimensions.

    ``target`` and ``weight``: the number of a column, which then is no feature, or the path of a
    ``.npy`` file with one value for each row (several, as for the rows: one after another).
    """

    format = "npy"
    takes = ("target", "weight")

    def __init__(self, files: Files, target: Any, weight: Any, block_rows: int) -> None:
        self.files, self.name, self.block_rows = files, str(files), block_rows
        self.stored = [_head(path, 2) for path in files.paths]
        self.n_rows = sum(one.shape[0] for one in self.stored)
        self.columns = self._check_columns()
        if self.n_rows == 0:
            raise ValueError(f"{files} has no rows; expected at least two.")
        self.target = self._role(target, "target")
        self.weight = self._role(weight, "weight")
        roles = {self.target, self.weight}
        self.features = [j for j in range(self.columns) if j not in roles]
        if not self.features:
            raise ValueError(f"{files}: no column is left as a feature.")

    def _check_columns(self) -> int:
        first = self.stored[0]
        for one in self.stored:
            if one.shape[1] != first.shape[1]:
                raise ValueError(
                    f"{one.path} has {one.shape[1]} columns and {first.path} {first.shape[1]}; "
                    "expected the same number in all files."
                )
        return first.shape[1]

    def _role(self, what: Any, role: str) -> int | NpyColumn | None:
        """The number of a column from 0 on, or a separate file with one value per row."""
        if what is None:
            return None
        if isinstance(what, (int, np.integer)) and not isinstance(what, bool):
            if not -self.columns <= what < self.columns:
                raise ValueError(
                    f"{role}={what}, but {self.files} has {self.columns} columns: expected from 0 "
                    f"to {self.columns - 1}, or from the end -1 to {-self.columns}."
                )
            return int(what) % self.columns
        if isinstance(what, str) and not what.endswith(".npy"):
            raise ValueError(
                f"{role}={what!r}, but columns of .npy files have no names: expected the number of "
                "a column, or the path of another .npy file with one value for each row."
            )
        column = NpyColumn(what)
        if column.n_rows != self.n_rows:
            raise ValueError(
                f"{role}: {column.files} has {column.n_rows} values for the {self.n_rows} rows of "
                f"{self.files}; expected one for each row."
            )
        return column

    def identity(self) -> dict[str, Any]:
        roles = {
            role: of.files.identity() if isinstance(of, NpyColumn) else of
            for role, of in (("target", self.target), ("weight", self.weight))
        }
        return {"format": "npy", "files": self.files.identity(), **roles}

    def check_unchanged(self) -> None:
        for one in (self, self.target, self.weight):
            if isinstance(one, (NpyReader, NpyColumn)):
                one.files.check_unchanged()

    def pieces(self) -> Iterator[Piece]:
        before = 0
        for one in self.stored:
            n = one.shape[0]
            with self.files.opened(one.path) as file:
                for at in range(0, n, self.block_rows):
                    rows = one.read(file, at, min(self.block_rows, n - at))
                    yield self._piece(rows, before + at, Place(str(one.path), at))
            before += n

    def _piece(self, rows: AnyArray, at: int, where: Place) -> Piece:
        y, weight = (self._row_values(of, rows, at) for of in (self.target, self.weight))
        X = rows if len(self.features) == self.columns else rows[:, self.features]
        checked_rows, weight = checked(X, weight, where)
        return Piece(checked_rows, y, weight, where)

    @staticmethod
    def _row_values(of: int | NpyColumn | None, rows: AnyArray, at: int) -> AnyArray | None:
        if isinstance(of, NpyColumn):
            return of.read(at, len(rows))
        return None if of is None else np.ascontiguousarray(rows[:, of])


def _head(path: Path, dimensions: int) -> NpyArray:
    """The head of a file, checked against its length."""
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
                version, np.lib.format.read_array_header_2_0
            )
            shape, by_columns, dtype = read(file)
        except Exception as error:  # of any kind: numpy evaluates the text of the head
            raise ValueError(
                f"{path} is no .npy file ({error}): write it by numpy.save."
            ) from error
        found = NpyArray(path, shape, dtype, file.tell())
    if len(shape) != dimensions or min(shape) < 0:
        raise ValueError(
            f"{path} has an array of shape {shape}; expected {dimensions} "
            f"dimension{'s' * (dimensions > 1)}."
        )
    if dtype.kind not in ("biuf" if dimensions == 2 else "biufU"):
        raise ValueError(
            f"{path} holds {dtype}; expected numbers: convert it, e.g. by X.astype(float), and "
            "save it anew."
        )
    if by_columns and dimensions == 2 and min(shape) > 1:
        raise ValueError(
            f"{path} is stored column by column, so that a row is all over the file: save "
            "numpy.ascontiguousarray(X)."
        )
    expected = found.start + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if path.stat().st_size < expected:
        raise ValueError(
            f"{path} was cut off: it has {path.stat().st_size} bytes, expected {expected} for "
            f"shape {shape}; write or fetch it anew."
        )
    return found
