"""Convert containers of other libraries to NumPy and SciPy, or raise an error with advice."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from typing import Any

import numpy as np

from ..numeric.types import AnyArray

CPU_DEVICES = (1, 3)  # DLPack's numbers of main memory and of GPU-pinned main memory
DASK = ("dask", "dask_expr")  # libraries whose collections are not in memory
TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)


def opened(X: Any, name: str) -> Any:
    """X unchanged if it is supported; a NumPy view if it is another library's array.

    ``name`` is used in messages. Masked values and lazy collections are errors.
    """
    if isinstance(X, np.ma.MaskedArray):
        return _unmasked(X, name)
    if isinstance(X, np.ndarray) or X is None:
        return X
    library, kind = type(X).__module__.partition(".")[0], type(X).__name__
    if library == "polars" and kind == "LazyFrame":
        raise ValueError(
            f"{name} is a polars LazyFrame, a query that has not been run: pass {name}.collect()."
        )
    if library in DASK:
        raise TypeError(
            f"{name} is a Dask collection, but arrays in memory are expected here: pass "
            f"{name}.compute(). fit, predict and score of the linear classifiers take collections, "
            "X and y both (docs/cluster.md)."
        )
    foreign = hasattr(X, "__array_namespace__") or hasattr(X, "__dlpack__")
    return _viewed(X, name) if foreign and library not in ("pandas", "polars") else X


def _unmasked(X: Any, name: str) -> AnyArray:
    hidden = int(np.count_nonzero(np.ma.getmaskarray(X)))
    if hidden:
        raise ValueError(
            f"{name} is a masked array with {hidden} masked value{'s' * (hidden > 1)}, and here "
            f"every value counts: leave out their rows, or fill them in with {name}.filled(...)."
        )
    return np.asarray(X)


def _viewed(X: Any, name: str) -> AnyArray:
    """NumPy's view of another library's array."""
    error: Exception | None = None
    try:
        if hasattr(X, "__array__"):
            found = np.asarray(X)
            if found.dtype != object:
                return found
        device = X.__dlpack_device__() if hasattr(X, "__dlpack_device__") else (None, 0)
        if device[0] in CPU_DEVICES:
            return np.from_dlpack(X)
    except Exception as raised:  # other libraries may raise anything
        error = raised
    raise TypeError(
        f"{name} is a {type(X).__module__}.{type(X).__name__}, of which NumPy has no view"
        f"{f' ({error})' if error else ''}: move it to the CPU and pass a NumPy array."
    ) from error


FROM_TEXTS = (
    "expected rows of numbers: make features of texts first, e.g. by scikit-learn's "
    "TfidfVectorizer in a pipeline before this classifier."
)


def refuse_paths(X: Any) -> None:
    """Raise if X is a path or a list of paths: only ``read`` takes column roles."""
    first = X[0] if isinstance(X, (list, tuple)) and X else X
    if isinstance(X, (list, tuple)) and isinstance(first, str) and not _is_file_name(first):
        raise TypeError(f"X is a list of words, {first!r} first; {FROM_TEXTS}")
    if isinstance(first, (str, os.PathLike)):
        raise TypeError(
            f"X is the path {os.fspath(first)!r}; expected rows: fit(separatrix.read(path, "
            "target=...)) reads them, and predict takes the path if the model was fitted so."
        )


def _is_file_name(text: str) -> bool:
    """Whether this may name a file: it has a suffix or a folder."""
    return os.sep in text or re.search(r"\S\.\w{1,9}$", text) is not None


def refuse_times(X: Any, name: str, expected: str) -> None:
    """Raise if X holds dates, times or durations: the user must convert them."""
    if columns := _columns_of_times(X):
        what = name if columns == [None] else f"{name}, in the columns {columns!r},"
        raise ValueError(f"{what} holds dates, times or durations; expected {expected}.")


@contextmanager
def explain_words(X: Any) -> Iterator[None]:
    """Errors about a non-numeric frame name its non-numeric columns and give advice."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if columns := _columns_of_words(X):
            raise ValueError(
                f"X, in the columns {columns!r}, holds words; expected numbers: make features of "
                "them first, e.g. by scikit-learn's OneHotEncoder, or leave it to "
                "separatrix.read(..., target=...), which takes files and frames. fit of the linear "
                "classifiers encodes frames in memory if pyarrow is installed."
            ) from error
        words = _first_word(X)
        if words is None:
            raise
        word, column = words
        if column is None:
            raise ValueError(
                f"could not convert X, an array of words, {word!r} first, to numbers; {FROM_TEXTS}"
            ) from error
        raise ValueError(
            f"could not convert X to numbers: column {column} holds words such as {word!r}. Make "
            "features of them first, e.g. by scikit-learn's OneHotEncoder, or pass a DataFrame to "
            "fit, which encodes columns of words."
        ) from error


def _first_word(X: Any) -> tuple[str, int | None] | None:
    """The first text in an array that is no number, and its column, or None for a 1-d array."""
    try:
        values = np.asarray(X, dtype=object)
    except ValueError:  # rows of different lengths
        return None
    for at, value in np.ndenumerate(values):
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return str(value), at[1] if len(at) == 2 else None
    return None


def _columns_of_words(X: Any) -> list[Any]:
    """Names of the columns of a frame that cannot be read as numbers."""
    found = []
    for name in getattr(X, "columns", ()):
        try:
            np.asarray(X[name]).astype(np.float64)
        except (TypeError, ValueError):
            found.append(name)
    return found


def _columns_of_times(X: Any) -> list[Any]:
    """Names of the columns with times; [None] for an array of times."""
    values: Any
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        kinds = list(zip(X.columns, X.dtypes, strict=True))
        values = X.iloc[0].tolist() if hasattr(X, "iloc") and len(X) else [None] * len(kinds)
        return [
            column
            for (column, kind), value in zip(kinds, values, strict=True)
            if _is_time(kind) or isinstance(value, TIMES)
        ]
    if hasattr(X, "dtype") and X.dtype != object:
        return [None] if _is_time(X.dtype) else []
    first = X[0] if isinstance(X, (Sequence, np.ndarray)) and len(X) else None
    nested = isinstance(first, (Sequence, np.ndarray)) and not isinstance(first, str)
    values = first if nested else [first]
    return [None] if any(isinstance(value, TIMES) for value in values) else []


def _is_time(dtype: Any) -> bool:
    """Whether a dtype of NumPy, pandas or polars is temporal."""
    temporal = getattr(dtype, "is_temporal", None)  # polars
    if callable(temporal):
        return bool(temporal())
    return getattr(dtype, "kind", "") in "mM" or str(dtype).startswith("period")


def missing(y: AnyArray) -> AnyArray:
    """Which labels are None, NaN, NaT or the like."""
    if y.dtype.kind in "fcmM":
        unequal: AnyArray = y != y
        return unequal
    if y.dtype.kind != "O":
        return np.zeros(len(y), dtype=bool)
    return np.array([_missing(value) for value in y.tolist()], dtype=bool)


def _missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and value != value
