"""Rows in files: parsing of text, and a pass over decoded blocks compared with a bare read."""

from __future__ import annotations

import atexit
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, cast

import numpy as np
import pyarrow.csv
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

import separatrix
from separatrix.data.files.readers.csv import CsvReader
from separatrix.data.files.readers.formats import open_reader
from separatrix.rows import rows_of

from .. import data
from ..contest import OURS, Contest, Contestant, Judge
from ..registry import workload
from .facts import describe, facts

DIGITS = 6  # of a number in a text
CHUNK = 1 << 20  # bytes of a bare read at a time


def new_folder() -> Path:
    """A folder that is removed when the command ends."""
    folder = Path(mkdtemp())
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder


def of_text(X: Any, path: Path) -> dict[str, float]:
    """Facts of the rows, with the bytes of the text."""
    return {**facts(X), "bytes": path.stat().st_size}


@workload(
    "parse-svmlight",
    tiny=(100, 60, 9), small=(20_000, 20_000, 90), full=(100_000, 47_000, 90), goal=10,
)  # fmt: skip
def parse_svmlight(n: int, d: int, nonzeros: int) -> Contest:
    """LIBSVM text, numbered from 1, against scikit-learn's reader: the same matrix, bit for bit."""
    X, y = data.text(n, d, nonzeros)
    X = X.astype(np.float64)
    path = new_folder() / "rows.svm"
    with path.open("w") as file:
        for row in range(n):
            at = slice(X.indptr[row], X.indptr[row + 1])
            entries = zip(X.indices[at] + 1, X.data[at], strict=True)
            words = [f"{j}:{value:.{DIGITS}g}" for j, value in entries]
            file.write(f"{y[row]:+d} {' '.join(words)}\n")

    def ours(_: Any) -> Any:
        return list(open_reader(path).pieces())

    def matrix(pieces: Any) -> Any:
        return sp.vstack([rows_of(piece.X).as_scipy() for piece in pieces], format="csr")

    def error(made: Any) -> float:
        rounded = np.array([float(f"{value:.{DIGITS}g}") for value in X.data])
        same = made.nnz == X.nnz and np.array_equal(made.indices, X.indices)
        return float(not same or np.abs(made.data - rounded).max())

    return Contest(
        f"LIBSVM text, {describe(X)}",
        [
            Contestant(OURS, ours, read=matrix),
            Contestant(
                "load_svmlight_file",
                lambda _: load_svmlight_file(str(path), zero_based=False),
                read=lambda made: made[0],
            ),
        ],
        Judge("largest difference of a number", error),
        of_text(X, path),
    )


@workload("parse-csv", tiny=(300, 5), small=(20_000, 50), full=(200_000, 100))
def parse_csv(n: int, d: int) -> Contest:
    """Text of numbers, against pyarrow's readers: one that streams, and one that reads all."""
    X, _ = data.clouds(n, d)
    X = np.round(X.astype(np.float64), DIGITS)
    path = new_folder() / "rows.csv"
    names = ",".join(f"x{j}" for j in range(d))
    np.savetxt(path, X, fmt=f"%.{DIGITS}g", delimiter=",", header=names, comments="")
    written = np.loadtxt(path, delimiter=",", skiprows=1, max_rows=n)

    def ours(_: Any) -> Any:
        reader = cast(CsvReader, open_reader(path)).guessed(())
        return np.concatenate([cast(Any, piece.X).numbers for piece in reader.pieces()])

    def streamed(_: Any) -> Any:
        with pyarrow.csv.open_csv(path) as reader:
            return list(reader)

    def columns(batches: Any) -> Any:
        table = pyarrow.Table.from_batches(batches)
        return np.column_stack([column.to_numpy() for column in table.columns])

    return Contest(
        f"CSV, {describe(X)}",
        [
            Contestant(OURS, ours),
            Contestant("pyarrow.csv.open_csv", streamed, read=columns),
            Contestant(
                "pyarrow.csv.read_csv",
                lambda _: pyarrow.csv.read_csv(path).to_batches(),
                read=columns,
            ),
        ],
        Judge("largest difference", lambda made: float(np.abs(made - written).max())),
        of_text(X, path),
    )


@workload("cache-pass", tiny=(300, 5), small=(50_000, 100), full=(500_000, 100))
def cache_pass(n: int, d: int) -> Contest:
    """A later pass over rows of a file, from the cache of decoded blocks, and a bare read."""
    X, y = data.clouds(n, d)
    folder = new_folder()
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    source = separatrix.read(
        folder / "X.npy", target=str(folder / "y.npy"), dtype="float32", cache=folder / "cache"
    )
    (cache,) = (folder / "cache").iterdir()
    room = bytearray(CHUNK)

    def ours(_: Any) -> int:
        return sum(d * X.itemsize * len(block.y) for block in source.blocks())

    def bare(_: Any) -> int:
        with cache.open("rb", buffering=0) as file:
            return sum(iter(lambda: file.readinto(room), 0))

    return Contest(
        f"a pass over decoded blocks, {describe(X)}",
        [Contestant(OURS, ours), Contestant("a bare read", bare)],
        Judge("bytes missing", lambda made: float(max(X.nbytes - made, 0))),
        facts(X),
    )
