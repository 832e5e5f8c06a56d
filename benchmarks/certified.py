"""Fits that stop once all test labels are certified, against fits with the default tolerance.

    python -m benchmarks.certified                  ten tables: generated, and scikit-learn's own
    python -m benchmarks.certified 'digits*'        some
    SEPARATRIX_DATA=folder python -m benchmarks.certified adult pima

For each table two fits, ``tol=1e-3`` with ``Stop(certify=X_test)`` and the default ``tol=1e-6``,
run in turn on the training rows. The ratio is the median over the rounds of the default fit's
seconds over the certifying fit's: above 1, proven labels take less time. "At most" is the same
ratio for a fit with ``tol=1e-3`` that certifies nothing: no check can do better. Seconds are those
of the processor, all threads together. Last, the test labels of both are compared with those at
``tol=1e-12``. The folder of SEPARATRIX_DATA is as for ``workloads/real.py``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.model_selection import train_test_split

from separatrix import LinearClassifier, Stop

from . import data
from .contest import READING, Ratio
from .machine import CORES, processor
from .workloads.real import VARIABLE, loader_of

LOOSE, TIGHT = 1e-3, 1e-12
TEST = 0.3  # share of the rows


def of_sklearn(load: Callable[..., data.Table]) -> data.Table:
    X, y = load(return_X_y=True)
    return X, y


def of_folder(loader: Any, name: str) -> data.Table:
    X, y = loader.load(name)[:2]
    return X, y


def even_digits() -> data.Table:
    X, y = of_sklearn(datasets.load_digits)
    return X, y % 2


TABLES: dict[str, Callable[[], data.Table]] = {
    "breast-cancer": partial(of_sklearn, datasets.load_breast_cancer),
    "wine": partial(of_sklearn, datasets.load_wine),
    "iris": partial(of_sklearn, datasets.load_iris),
    "digits": partial(of_sklearn, datasets.load_digits),
    "digits-even": even_digits,
    "clouds": partial(data.clouds, 20_000, 20),
    "clouds-of-4": partial(data.many_clouds, 10_000, 20, 4),
    "correlated": partial(data.correlated, 10_000, 50),
    "few-relevant": partial(data.few_relevant, 5_000, 100, 5),
    "tf-idf": partial(data.tf_idf_documents, 3_000, 5_000, 50),
}


def real_tables(names: Sequence[str]) -> dict[str, Callable[[], data.Table]]:
    """Tables in the folder of SEPARATRIX_DATA that are asked for by name."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return {}
    loader = loader_of(Path(folder))
    known = [name for name in loader.names() if any(fnmatch(name, each) for each in names)]
    return {name: partial(of_folder, loader, name) for name in known}


@dataclass(frozen=True)
class Fits:
    """The fits of one table."""

    rows: tuple[Any, Any, Any]  # training rows, test rows, training labels
    standardize: bool
    loss: str
    l2: float

    @classmethod
    def of(cls, table: data.Table, loss: str, l2: float) -> Fits:
        X, y = table
        X = X.astype(np.float64)
        train, test, labels, _ = train_test_split(X, y, test_size=TEST, random_state=0, stratify=y)
        return cls((train, test, labels), not sp.issparse(X), loss, l2)

    def fit(self, **settings: Any) -> LinearClassifier:
        train, _, labels = self.rows
        clf = LinearClassifier(
            self.loss, l2=self.l2, standardize=self.standardize, random_state=0, **settings
        )
        return clf.fit(train, labels)

    def certifying(self) -> LinearClassifier:
        return self.fit(tol=LOOSE, stop=Stop(certify=self.rows[1]))

    def loose(self) -> LinearClassifier:
        return self.fit(tol=LOOSE)

    def labels(self, clf: LinearClassifier) -> Any:
        return clf.predict(self.rows[1])


def seconds(run: Callable[[], Any], calls: int) -> float:
    """Processor seconds of one call."""
    start = time.process_time()
    for _ in range(calls):
        run()
    return (time.process_time() - start) / calls


def compare(name: str, fits: Fits, rounds: int) -> Mapping[str, Any]:
    """The fits in turn, and their labels."""
    runs = fits.certifying, fits.fit, fits.loose
    certifying, default, _ = (run() for run in runs)  # also loads what is loaded on first use
    exact = fits.labels(fits.fit(tol=TIGHT, max_iter=100_000))
    calls = max(1, round(READING / max(seconds(fits.fit, 1), 1e-6)))
    readings: list[list[float]] = [[], [], []]
    for turn in range(rounds):
        for which in (0, 1, 2) if turn % 2 else (2, 1, 0):
            readings[which].append(seconds(runs[which], calls))
    ratio, most = (Ratio.of(readings[1], readings[other]) for other in (0, 2))
    wrong = [int(np.sum(fits.labels(clf) != exact)) for clf in (certifying, default)]
    train, test, labels = fits.rows
    return {
        "name": name, "shape": (train.shape[0], train.shape[1], len(np.unique(labels))),
        "test": test.shape[0], "ratio": ratio, "most": most.median, "wrong": wrong,
        "stop": certifying.stop_, "seconds": [float(np.median(each)) for each in readings],
    }  # fmt: skip


def line(found: Mapping[str, Any]) -> str:
    n, d, k = found["shape"]
    own, other, _ = (1e3 * each for each in found["seconds"])
    ratio = found["ratio"]
    return (
        f"{found['name']:14} {n:>7,} x {d:<6,} {k:>2} classes {found['test']:>6,} test rows  "
        f"{other:8.1f} ms default {own:8.1f} ms certifying  "
        f"ratio {ratio.median:5.2f} ({ratio.low:.2f} to {ratio.high:.2f}), at most "
        f"{found['most']:.2f}  {found['stop']}; "
        f"labels that differ: {found['wrong'][0]}, of the default fit {found['wrong'][1]}"
    )


def chosen(names: Sequence[str]) -> Iterator[tuple[str, Callable[[], data.Table]]]:
    known = TABLES | real_tables(names)
    for each in names:
        if not any(fnmatch(name, each) for name in known):
            raise ValueError(f"no table {each!r}; choose from {', '.join(known)}")
    return ((n, make) for n, make in known.items() if any(fnmatch(n, p) for p in names or ["*"]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.certified", description="Proven labels.")
    parser.add_argument("names", nargs="*", help="tables or patterns; ten if none is given")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each fit (default 7)")
    parser.add_argument("--loss", default="logistic")
    parser.add_argument("--l2", type=float, default=1e-4)
    options = parser.parse_args(arguments)
    try:
        tables = list(chosen(options.names))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{processor()}, {CORES} cores; {options.loss}, l2 = {options.l2:g}")
    warnings.simplefilter("ignore")
    results = []
    for name, make in tables:
        fits = Fits.of(make(), options.loss, options.l2)
        results.append(compare(name, fits, options.rounds))
        print(line(results[-1]), flush=True)
    faster = sum(each["ratio"].median > 1.0 for each in results)
    same = sum(each["wrong"][0] == 0 for each in results)
    print(f"faster on {faster} of {len(results)}, all labels equal on {same}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
