"""Rows in every layout that the compiled loops know."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from separatrix.losses import get_loss, names
from separatrix.rows import CsrRows

LOSSES = [get_loss(name) for name in names() if name != "zero_one"]
LAYOUTS = ["dense32", "dense64", "csr32", "csr64", "csr64_long"]


def stored(X, name):
    """Rows in one of the layouts."""
    if name == "dense32":
        return X.astype(np.float32)
    if name == "dense64":
        return X
    csr = sp.csr_array(X.astype(np.float32) if name == "csr32" else X)
    if name == "csr64_long":
        csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return CsrRows(csr.data, csr.indices, csr.indptr, X.shape[1])


def data(n, d, seed=0, integers=False):
    """Rows that floats hold exactly, some of them 0, labels of chance, and the generator."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)).astype(float)
    if not integers:
        X = (X * rng.standard_normal((n, d))).astype(np.float32).astype(float)
    X[rng.random((n, d)) < 0.3] = 0.0
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return X, y, rng
