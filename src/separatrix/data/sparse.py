"""Check that the arrays of a SciPy matrix are consistent: compiled code does not check indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import loops
from ..numeric.rows import CsrArrays
from ..numeric.types import AnyArray

ADVICE = "rebuild the matrix from correct indices, or from a dense array"


def sound(X: Any) -> tuple[Any, bool]:
    """A consistent SciPy matrix of plain arrays; and for CSR, whether it is in order.

    In order means that the indices of every row increase. SciPy's own flag may be outdated.
    """
    if X.format in ("csr", "csc"):
        return _compressed(X)
    if X.format == "bsr":
        X.check_format(full_check=True)
    if X.format == "coo":
        for name, at, size in zip(("row", "column"), X.coords, X.shape, strict=True):
            if len(at) != len(X.data) or (len(at) and not 0 <= at.min() <= at.max() < size):
                raise ValueError(
                    f"X is a COO matrix of shape {X.shape} whose {name} indices do not fit: "
                    f"expected one from 0 to {size - 1} for each of its {len(X.data)} values; "
                    f"{ADVICE}."
                )
    return X, False


def _compressed(X: Any) -> tuple[Any, bool]:
    name, (n, d) = X.format.upper(), X.shape if X.format == "csr" else X.shape[::-1]
    rows = CsrArrays(_plain(X.data), _index(X.indices), _index(X.indptr), d)
    values, indices, indptr = rows.data, rows.indices, rows.indptr
    if indices.ndim != 1 or indptr.shape != (n + 1,) or values.ndim != 1 or indptr[0] != 0:
        raise ValueError(
            f"X is a {name} matrix of shape {X.shape} whose parts do not fit together: expected "
            f"indptr of shape ({n + 1},) that begins with 0, and data and indices of one dimension"
            f", got the shapes {indptr.shape}, {values.shape} and {indices.shape}; {ADVICE}."
        )
    if indices.dtype != indptr.dtype:
        wide = np.promote_types(indices.dtype, indptr.dtype)
        rows = rows._replace(indices=indices.astype(wide), indptr=indptr.astype(wide))
    if len(indices) > len(values):  # treated like values beyond the last index
        rows = rows._replace(indices=rows.indices[: len(values)])
    flaw = loops.csr_flaw(rows)
    if flaw in (loops.OFFSETS, loops.RANGE):
        raise ValueError(_complaint(rows, name, flaw))
    same = rows.data is X.data and rows.indptr is X.indptr and indices is X.indices
    if not same:
        X = type(X)(rows[:3], shape=X.shape)
    return X, not flaw


def _plain(values: AnyArray) -> AnyArray:
    """A contiguous array in native byte order."""
    kind = values.dtype.newbyteorder("=")
    if values.flags.c_contiguous and values.dtype == kind:
        return values
    return np.ascontiguousarray(values, dtype=kind)


def _index(indices: AnyArray) -> AnyArray:
    """As int32 or int64."""
    if indices.dtype.kind not in "iu":
        raise ValueError(
            f"X is a sparse matrix whose indices are {indices.dtype}; expected whole numbers "
            f"(int32 or int64): {ADVICE}."
        )
    plain = _plain(indices)
    return plain if plain.dtype in (np.int32, np.int64) else plain.astype(np.int64)


def _complaint(rows: CsrArrays, name: str, flaw: int) -> str:
    """Message with the wrong entry and its expected range."""
    of = "row" if name == "CSR" else "column"
    if flaw == loops.OFFSETS:
        steps = np.concatenate([rows.indptr[:1], rows.indptr])
        wrong = (rows.indptr < steps[:-1]) | (rows.indptr > len(rows.indices))
        at = int(np.argmax(wrong))
        return (
            f"X is a {name} matrix whose indptr does not fit: indptr[{at}] is {rows.indptr[at]}, "
            f"expected from 0 to {len(rows.indices)}, the number of entries, and never less than "
            f"the one before; {ADVICE}."
        )
    used = rows.indices[: rows.indptr[-1]]
    at = int(np.argmax((used < 0) | (used >= rows.n_features)))
    row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
    return (
        f"X is a {name} matrix with an index out of range: indices[{at}], in {of} {row}, is "
        f"{used[at]}, expected from 0 to {rows.n_features - 1}; {ADVICE}."
    )
