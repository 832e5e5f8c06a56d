"""Real rows trained from files against in memory, and what reading them costs: one table.

    SEPARATRIX_DATA=folder python -m benchmarks.files_report            what is not measured yet
    SEPARATRIX_DATA=folder python -m benchmarks.files_report text       one part, anew
    ... --rows 200000                                                   a sample, for a quick look

``workloads.real`` describes the folder; the sets are flights3m and kddcup99. Files, and the figures
of finished parts, are kept in a folder (``--folder``), so an interrupted run continues with the
next part. Every fit has a separate process; its peak of memory is measured relative to the imports.
CSV without a cache is read, but not fitted, which takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

import separatrix
from separatrix import Checkpoint, CoordinateAscent, LinearClassifier, Newton

from .memory import ROOT, kilobytes

MB = 1e6
CHUNK = 1 << 20  # bytes of a bare read at a time
ROUNDS = 3
TEXT_ROWS = 500_000  # written as LIBSVM text, at most
SETS = ("flights3m", "kddcup99")
CODES = {
    "flights3m": ["hour", "weekday", "origin", "destination"],
    "kddcup99": ["Atr-1", "Atr-2", "Atr-3"],
}  # columns of categories, which are whole numbers
FITS: dict[str, dict[str, Any]] = {
    "flights3m": {"l2": 1e-6},
    "kddcup99": {"l2": 1e-2, "standardize": True, "solver": Newton()},
}
Figures = dict[str, Any]


# ---- files ---------------------------------------------------------------------------------


def make_files(folder: Path, name: str, rows: int | None) -> None:
    """The rows of a set as arrays, Parquet, CSV and, last, LIBSVM text."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet
    import scipy.sparse as sp

    from .workloads.real import VARIABLE, loader_of  # here: they know all peers, and so take long

    if VARIABLE not in os.environ:
        raise ValueError(f"set {VARIABLE} to the folder of the sets")
    X, y, *_, about = loader_of(Path(os.environ[VARIABLE])).load(name)
    X, y = X[:rows].tocsr(), np.asarray(y[:rows])
    if name == "kddcup99":
        y = (y == about["classes"].index("11")).astype(np.int64)  # normal, or an attack
    sp.save_npz(folder / f"{name}.npz", X, compressed=False)
    np.save(folder / f"{name}.npy", y)
    columns = flights(X) if name == "flights3m" else coded(X, about["features"])
    table = pa.table({**columns, "label": np.array(["no", "yes"])[y]})
    pa.parquet.write_table(table, folder / f"{name}.parquet", compression="zstd")
    pa.csv.write_csv(table, folder / f"{name}.csv")
    unfinished = folder / f"{name}.unfinished"
    with unfinished.open("w") as file:
        for start in range(0, min(len(y), TEXT_ROWS), 10_000):
            file.writelines(svmlight_lines(X[start : start + 10_000], y[start : start + 10_000]))
    unfinished.rename(folder / f"{name}.svm")


def svmlight_lines(X: Any, y: Any) -> Iterator[str]:
    """Numbered from 1."""
    words = [f"{j}:{v:.7g}" for j, v in zip((X.indices + 1).tolist(), X.data.tolist(), strict=True)]
    for row, label in enumerate(y.tolist()):
        yield f"{label} {' '.join(words[X.indptr[row] : X.indptr[row + 1]])}\n"


def flights(X: Any) -> dict[str, Any]:
    """The columns that one-hot rows were made from: hour, weekday, two airports, distance."""
    at, airports = X.indices.reshape(-1, 5), (X.shape[1] - 32) // 2
    starts = (0, 24, 31, 31 + airports)
    codes = {name: at[:, j] - starts[j] for j, name in enumerate(CODES["flights3m"])}
    return {**codes, "distance": X.data.reshape(-1, 5)[:, 4]}


def coded(X: Any, features: list[str]) -> dict[str, Any]:
    """Numeric columns as they are, and a column of codes for features such as "Atr-1=3"."""
    columns: dict[str, Any] = {}
    by_column = X.tocsc()
    for j, feature in enumerate(features):
        name, is_code, code = feature.partition("=")
        values = by_column[:, j].toarray().ravel()
        if is_code:
            columns[name] = columns.get(name, 0) + (values * int(code)).astype(np.int64)
        else:
            columns[name] = values
    return columns


def opened(folder: Path, name: str, kind: str, cache: str | None) -> Any:
    """A set from a file."""
    return separatrix.read(
        folder / f"{name}.{kind}", target="label", cache=cache and folder / cache,
        categorical=dict.fromkeys(CODES[name], "onehot"),
    )  # fmt: skip


# ---- measured in a separate process ----------------------------------------------------


def seconds_of(call: Callable[[], Any], rounds: int = 1) -> float:
    """The shortest of some rounds."""
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return min(found)


def fit(folder: Path, name: str, kind: str, cache: str | None) -> Figures:
    """Time of passes and of the fit, peak of memory, and the objective."""
    import pyarrow.dataset  # noqa: F401 (in the baseline of all)
    import scipy.sparse as sp

    before, clf = kilobytes("VmHWM"), LinearClassifier(**FITS[name])
    known = cache is not None and (folder / cache).exists()
    way = kind + ("" if cache is None else ", cache" if not known else ", cache of an earlier run")
    figures: Figures = {"work": name, "way": way}
    began = time.perf_counter()
    given: tuple[Any, ...]
    if kind == "memory":
        given = (sp.load_npz(folder / f"{name}.npz"), np.load(folder / f"{name}.npy"))
    else:
        given = (opened(folder, name, kind, cache),)
        figures["first pass s"] = time.perf_counter() - began
    if kind != "memory":
        figures["later pass s"] = seconds_of(lambda: [None for _ in given[0].blocks()], 2)
    if kind != "csv" or cache is not None:
        figures["fit s"] = seconds_of(lambda: clf.fit(*given))
        figures |= {"passes": clf.n_iter_, "objective": clf.objective_}
    figures["peak MB"] = (kilobytes("VmHWM") - before) * 1024 / MB
    return figures


def cache_speed(folder: Path, name: str, kind: str, cache: str) -> Figures:
    """A pass over decoded blocks, alternating with a bare read of the same bytes."""
    source = opened(folder, name, kind, cache)
    (path,) = (folder / cache).glob("*.blocks")
    room = bytearray(CHUNK)

    def bare() -> None:
        with path.open("rb", buffering=0) as file:
            while file.readinto(room):
                pass

    passes, reads = zip(
        *(
            (seconds_of(lambda: [None for _ in source.blocks()]), seconds_of(bare))
            for _ in range(2 * ROUNDS)
        ),
        strict=True,
    )
    size = path.stat().st_size / MB
    return {
        "work": name, "way": "cache's pass against a bare read", "MB": size,
        "later pass s": min(passes), "MB/s": size / min(passes), "others MB/s": size / min(reads),
        "times": min(reads) / min(passes),
    }  # fmt: skip


def text(folder: Path, name: str, kind: str) -> Figures:
    """Text to numbers, in MB/s; of CSV the first pass, which guesses types and checks them."""
    import pyarrow.csv
    from sklearn.datasets import load_svmlight_file

    from separatrix.data.files.readers.formats import open_reader
    from separatrix.data.files.readers.reader import TableReader

    path = folder / f"{name}.{kind}"
    others: dict[str, Callable[[], Any]] = {
        "csv": lambda: pyarrow.csv.read_csv(path),
        "svm": lambda: load_svmlight_file(str(path), zero_based=False),
    }
    size = path.stat().st_size / MB

    def first_pass() -> None:
        reader = open_reader(path)
        for _ in (reader.guessed(()) if isinstance(reader, TableReader) else reader).pieces():
            pass

    ours = size / seconds_of(first_pass, ROUNDS)
    theirs = size / seconds_of(others[kind], ROUNDS if kind == "csv" else 1)
    against = {"csv": "pyarrow.csv.read_csv", "svm": "load_svmlight_file"}[kind]
    return {
        "work": name, "way": f"{kind} against {against}", "MB": size, "MB/s": ours,
        "others MB/s": theirs, "times": ours / theirs,
    }  # fmt: skip


def checkpoint(folder: Path, name: str, every: float | None) -> Figures:
    """The cost of writing checkpoints in an in-memory run with a number for every row."""
    import scipy.sparse as sp

    from separatrix.training.checkpoint_file import CheckpointFile

    spent, write = [], CheckpointFile.write

    def timed(self: CheckpointFile, tree: Any) -> None:
        spent.append(seconds_of(lambda: write(self, tree)))

    CheckpointFile.write = timed  # type: ignore[method-assign]  # to time it is the point
    X, y = sp.load_npz(folder / f"{name}.npz"), np.load(folder / f"{name}.npy")
    path = folder / "run.ckpt"
    pause = {} if every is None else {"every": timedelta(seconds=every)}
    keep = Checkpoint(path, resume="never", **pause)
    clf = LinearClassifier(
        "hinge", l2=1e-6, solver=CoordinateAscent(), tol=None, max_iter=60, random_state=0,
        callbacks=[keep],
    )  # fmt: skip
    whole = seconds_of(lambda: clf.fit(X, y))
    often = "every 5 minutes" if every is None else f"every {every:g} s"
    return {
        "work": name, "way": f"checkpoint {often}, {len(spent)} writes",
        "MB": path.stat().st_size / MB, "fit s": whole, "passes": clf.n_iter_,
        "times": sum(spent) / whole,
    }  # fmt: skip


# ---- parts ---------------------------------------------------------------------------------

# The last finds the cache of the one before.
WAYS = (
    ("memory", None), ("parquet", None), ("parquet", "parquet-cache"), ("csv", None),
    ("csv", "csv-cache"), ("csv", "csv-cache"),
)  # fmt: skip
MEASURES: dict[str, Callable[..., Figures | None]] = {
    "make": make_files, "fit": fit, "cache": cache_speed, "text": text, "checkpoint": checkpoint,
}  # fmt: skip


def of_set(folder: Path, name: str) -> Iterator[Figures]:
    """All ways to fit a set, with objectives compared with the in-memory fit."""
    in_memory, caches = None, [cache and f"{name}-{cache}" for _, cache in WAYS]
    for old in filter(None, set(caches)):
        rmtree(folder / old, ignore_errors=True)
    for (kind, _), cache in zip(WAYS, caches, strict=True):
        found = in_child(folder, "fit", name, kind, cache)
        if "objective" in found:
            in_memory = found["objective"] if in_memory is None else in_memory
            found["difference"] = found["objective"] - in_memory
        yield found
    yield in_child(folder, "cache", name, kind, caches[-1])


def of_text(folder: Path) -> Iterator[Figures]:
    for name in SETS:
        for kind in ("csv", "svm"):
            yield in_child(folder, "text", name, kind)


def of_checkpoint(folder: Path) -> Iterator[Figures]:
    for every in (None, 1.0):
        yield in_child(folder, "checkpoint", "flights3m", every)


PARTS: dict[str, Callable[[Path], Iterator[Figures]]] = {
    "flights3m": lambda folder: of_set(folder, "flights3m"),
    "kddcup99": lambda folder: of_set(folder, "kddcup99"),
    "text": of_text, "checkpoint": of_checkpoint,
}  # fmt: skip


def in_child(folder: Path, measure: str, *arguments: Any) -> Figures:
    """The measurements of a separate process."""
    command = [sys.executable, "-m", __spec__.name, "--child", json.dumps([measure, *arguments])]
    done = subprocess.run(
        [*command, "--folder", str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


COLUMNS = {
    "work": "", "way": "", "MB": ".1f", "first pass s": ".2f", "later pass s": ".3f",
    "fit s": ".2f", "passes": "d", "peak MB": ".0f", "objective": ".12f", "difference": ".1e",
    "MB/s": ".0f", "others MB/s": ".0f", "times": ".3f",
}  # fmt: skip


def line(figures: Figures) -> str:
    cells = (format(figures[name], how) if name in figures else "" for name, how in COLUMNS.items())
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.files_report")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; those not measured yet")
    parser.add_argument("--rows", type=int, help="number of rows of each set")
    parser.add_argument("--folder", type=Path, help="where files and figures are kept")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if options.child:
        measure, *given = json.loads(options.child)
        print(json.dumps(MEASURES[measure](options.folder, *given)))
        return 0
    if set(options.parts) - set(PARTS):
        parser.error(f"parts are {', '.join(PARTS)}")
    name = f"separatrix-files-{options.rows or 'all'}"
    folder = options.folder or Path(tempfile.gettempdir()) / name
    folder.mkdir(parents=True, exist_ok=True)
    for each in SETS:
        if not (folder / f"{each}.svm").exists():
            in_child(folder, "make", each, options.rows)
    print(f"files and figures: {folder}\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for part, measured in PARTS.items():
        kept = folder / f"{part}.json"
        if part in options.parts or not (options.parts or kept.exists()):
            found = []
            for figures in measured(folder):
                print(line(figures), flush=True)
                found.append(figures)
            kept.write_text(json.dumps(found))
        elif kept.exists():
            print("\n".join(map(line, json.loads(kept.read_text()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
