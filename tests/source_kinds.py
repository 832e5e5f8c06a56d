"""Every kind of source, each with the same rows as one array.

A source says how many rows there are, what they weigh, and gives blocks: uneven ones here, some
without rows, most without some class, dense or sparse, and rows of weight 0 among them.
"""

from __future__ import annotations

from itertools import pairwise
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_engine import clustered

import separatrix
from separatrix import (
    L2,
    ArraySource,
    Objective,
    Source,
    get_loss,
)
from separatrix.data import Block, Subset
from separatrix.rows import CsrRows, rows_of

EDGES = [0, 0, 7, 8, 8, 60, 61, 130, 200, 240, 240]
N, D = EDGES[-1], 4


class Chunked(Source):
    """Rows as they might come from files: nothing but what every source has to say."""

    def __init__(self, X, y, classes, weight):
        self.whole, self.classes = Block(X, y, weight, 0), classes
        self.n_features = X.n_features if isinstance(X, CsrRows) else X.shape[1]

    @property
    def n_rows(self):
        return int(np.count_nonzero(self.whole.weights))

    @property
    def weight_sum(self):
        return float(self.whole.weights.sum())

    def blocks(self):
        X, y, weight, _ = self.whole
        for start, stop in pairwise(EDGES):
            some = None if weight is None else weight[start:stop]
            yield Block(rows_of(X).part(start, stop).X, y[start:stop], some, start)


class ChunkedSparse(Chunked):
    """The same of sparse rows, which a source may tell."""

    storage = "csr"


def data(k, weighted, separated=False, seed=0):
    """Rows sorted by class, so that most blocks lack one; far from the origin and from scale 1."""
    rng = np.random.default_rng(seed)
    number = np.sort(np.arange(N) % k)
    centres = 2.0 * rng.standard_normal((k, D))
    X = centres[number] * (4.0 if separated else 1.0) + rng.standard_normal((N, D))
    X = X * [1.0, 5.0, 0.3, 2.0] + [0.0, 3.0, -2.0, 1.0]
    X[rng.random(X.shape) < 0.2] = 0.0
    if separated:
        X[:, 0] = number * 3.0
        X[:, 1] = number**2
    y = 2.0 * number - 1.0 if k == 2 else number
    weight = rng.integers(0, 4, N).astype(float) if weighted else None
    return np.ascontiguousarray(X), y, np.arange(k), weight


def csr(X):
    A = sp.csr_array(X)
    return CsrRows(A.data, A.indices, A.indptr, X.shape[1])


def subset(X, y, classes, weight):
    """The same rows, mixed among others in a larger array."""
    rng = np.random.default_rng(5)
    at = rng.permutation(2 * N)[:N]
    rows, labels = rng.standard_normal((2 * N, D)), np.resize(y, 2 * N).copy()
    weights = np.full(2 * N, 7.0)
    rows[at], labels[at] = X, y
    if weight is not None:
        weights[at] = weight
    return Subset(ArraySource(rows, labels, classes, None if weight is None else weights), at)


def read_rows(X, y, classes, weight, **options):
    """The same rows from a function, in pieces that are not those of the blocks."""
    sparse = isinstance(X, CsrRows)
    labels = classes[(y > 0).astype(int) if len(classes) == 2 else y]

    def pieces():
        for start, stop in pairwise(range(0, N + 1, 48)):
            rows = rows_of(X).part(start, stop).X
            some = rows_of(rows).as_scipy() if sparse else rows
            at = slice(start, stop)
            yield (some, labels[at]) if weight is None else (some, labels[at], weight[at])

    return separatrix.read(pieces, block_rows=70, **options)


def cached(*rows):
    """Read back from a cache, which goes with the folder."""
    with TemporaryDirectory() as folder:
        return read_rows(*rows, cache=folder)


SOURCES = {
    "csr": lambda X, y, classes, weight: ArraySource(csr(X), y, classes, weight),
    "threads": lambda X, y, classes, weight: ArraySource(X, y, classes, weight, n_jobs=2),
    "subset": subset,
    "chunked": Chunked,
    "chunked csr": lambda X, y, classes, weight: ChunkedSparse(csr(X), y, classes, weight),
    "read": read_rows,
    "read csr, cached": lambda X, y, classes, weight: cached(csr(X), y, classes, weight),
    "cluster": lambda *rows: clustered(*rows, EDGES),
}
AWAY = ("chunked", "chunked csr", "read", "read csr, cached", "cluster")
every_source = pytest.mark.parametrize("kind", SOURCES)
every_weight = pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
both = pytest.mark.parametrize("k", [2, 3])


def objectives(kind, loss, k, weighted, l2=0.01, separated=False):
    """Of a source, and of the same rows in one array."""
    rows = data(k, weighted, separated)
    form = get_loss(loss) if k == 2 else get_loss(loss).multiclass()
    return (
        Objective(form, L2(l2), SOURCES[kind](*rows)),
        Objective(form, L2(l2), ArraySource(*rows[:3], rows[3])),
    )
