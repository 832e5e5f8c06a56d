"""The same rows as Dask collections of several kinds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from dask_cluster import dask

da = pytest.importorskip("dask.array")

N, D, EACH = 900, 5, 130


def problem(k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) * [1.0, 3.0, 0.2, 1.0, 1.0] + [0.0, 1.0, 0.0, -2.0, 0.0]
    number = np.argmax(X @ rng.standard_normal((D, k)) + 2.0 * rng.standard_normal((N, k)), axis=1)
    return X, np.array(["ant", "bee", "cat"])[number], rng.integers(0, 3, N).astype(float)


def in_chunks(X, y, weight=None, each=EACH):
    arrays = [da.from_array(X, chunks=(each, 2)), da.from_array(y, chunks=each)]
    return arrays if weight is None else [*arrays, da.from_array(weight, chunks=each)]


def in_delayed(X, y, weight=None, each=EACH):
    columns = [X, y] if weight is None else [X, y, weight]
    return [
        [dask.delayed(column[at : at + each]) for at in range(0, N, each)] for column in columns
    ]


def in_frames(X, y, weight=None, each=EACH):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
    frame["y"], frame["w"] = y, 1.0 if weight is None else weight
    cut = dd.from_pandas(frame, npartitions=-(-N // each))
    return [cut[list(frame.columns[:D])], cut["y"], cut["w"]][: 2 if weight is None else 3]


def in_unknown_chunks(X, y, weight=None, each=EACH):
    """Rows that a mask leaves: how many of a chunk is not known, and of some none."""
    more = [np.concatenate([column, np.repeat(column[:1], 400, axis=0)]) for column in (X, y)]
    arrays = in_chunks(*more, None if weight is None else np.concatenate([weight, np.ones(400)]))
    mask = da.from_array(np.arange(N + 400) < N, chunks=each)
    return [array[mask] for array in arrays]


def in_sparse(X, y, weight=None, each=EACH):
    arrays = in_chunks(X, y, weight, each)
    return [arrays[0].rechunk({1: -1}).map_blocks(sp.csr_matrix), *arrays[1:]]
