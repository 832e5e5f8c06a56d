"""Rows that are numbers already: functions that return iterators, and ``.npy`` files."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ....numeric.types import AnyArray, Array
from ....rows import HostRowsLike, Rows, host_rows_of, rows_of
from ...containers import opened
from ...validation import all_finite, check_rows, check_weights
from .reader import Piece, Place, Reader


class FunctionReader(Reader):
    """A function that returns a fresh iterator of ``(X, y)`` or ``(X, y, weight)`` at each call.

    X is dense or sparse, y may be None where rows are only to be predicted. Every call must give
    the same rows, which is checked by their number.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.name = f"{getattr(function, '__qualname__', type(function).__name__)}()"
        self.token = uuid.uuid4().hex
        self.n_rows: int | None = None

    def identity(self) -> dict[str, Any]:
        return {"format": "function", "name": self.name, "token": self.token}

    def pieces(self) -> Iterator[Piece]:
        n_rows, first = 0, None
        for number, piece in enumerate(self._called()):
            where = Place(f"{self.name}, piece {number}", n_rows)
            X, y, weight = _parts(piece, where)
            if X is None:
                continue
            first = X if first is None else first
            _check_alike(rows_of(X), rows_of(first), where)
            n_rows += rows_of(X).shape[0]
            yield Piece(X, y, weight, where)
        if n_rows == 0:
            raise ValueError(f"{self.name} gave no rows; expected an iterator of (X, y).")
        if self.n_rows not in (None, n_rows):
            raise ValueError(
                f"{self.name} gave {self.n_rows} rows at first and {n_rows} now: every call must "
                "return a fresh iterator of the same rows."
            )
        self.n_rows = n_rows

    def _called(self) -> Iterator[Any]:
        found = self.function()
        try:
            return iter(found)
        except TypeError:
            raise TypeError(
                f"{self.name} returned a {type(found).__name__}; expected an iterator of (X, y) "
                "or (X, y, weight)."
            ) from None


def _parts(piece: Any, where: Place) -> tuple[HostRowsLike | None, AnyArray | None, Array | None]:
    """X, y and weight of a piece, checked; X is None if it has no rows."""
    if not isinstance(piece, tuple) or len(piece) not in (2, 3):
        what = f"a tuple of {len(piece)}" if isinstance(piece, tuple) else type(piece).__name__
        raise TypeError(f"{where} is {what}; expected a tuple (X, y) or (X, y, weight).")
    X, y, weight = piece if len(piece) == 3 else (*piece, None)
    if len(getattr(X, "shape", ())) == 2 and X.shape[0] == 0:
        return None, None, None
    rows, weight = checked(X, weight, where)
    if y is not None:
        y = np.asarray(opened(y, "y"))
        n = rows_of(rows).shape[0]
        if y.shape != (n,):
            raise ValueError(
                f"{where}: y has shape {y.shape}, expected ({n},), one label for each row of X."
            )
    return rows, y, weight


def checked(X: Any, weight: Any, where: Place) -> tuple[HostRowsLike, Array | None]:
    """Rows and weights as loops take them, or an error that names their place."""
    try:
        given = host_rows_of(check_rows(X, finite=False)).X
        rows = rows_of(given)
        if weight is not None:
            weight = _check_weights(weight, rows.shape[0])
    except (ValueError, TypeError) as error:
        raise type(error)(f"{where}: {error}") from error
    values = rows.values
    if not all_finite(values):
        at = int(np.argmin(np.isfinite(values)))  # the first of them
        row, feature = rows.place_of(at)
        raise ValueError(
            f"{where.row(row)}: feature {feature} is {values.flat[at]:g}; expected finite numbers: "
            "leave out the row, or fill in the value."
        )
    return given, weight


def _check_weights(weight: Any, n: int) -> Array:
    """One finite weight >= 0 per row; all of a piece may be 0, though not of all pieces."""
    if np.shape(weight) == (n,) and not np.any(weight):
        return np.zeros(n)
    found = check_weights(weight, n)
    assert found is not None
    return found


def _check_alike(rows: Rows, first: Rows, where: Place) -> None:
    """One number of columns and one storage in all pieces."""
    if rows.shape[1] != first.shape[1]:
        raise ValueError(
            f"{where} has {rows.shape[1]} columns; expected {first.shape[1]}, as in the "
            "first piece."
        )
    if rows.storage != first.storage:
        raise ValueError(
            f"{where} is {'sparse' if rows.storage == 'csr' else 'dense'}, unlike the first "
            "piece; expected all pieces sparse, or all dense."
        )
