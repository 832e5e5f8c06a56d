"""How large the data is."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

DTYPES = {32: np.float32, 64: np.float64}


def facts(X: Any) -> dict[str, float]:
    """Rows, columns, numbers stored, and bytes."""
    if sp.issparse(X):
        stored, size = X.nnz, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    else:
        stored, size = X.size, X.nbytes
    return {"rows": X.shape[0], "columns": X.shape[1], "nonzeros": stored, "bytes": size}


def describe(X: Any) -> str:
    """The size in words."""
    rows, columns = X.shape
    kind = f", CSR with {X.nnz / rows:.0f} nonzeros a row" if sp.issparse(X) else ""
    return f"{rows:,} x {columns:,} {X.dtype}{kind}"
