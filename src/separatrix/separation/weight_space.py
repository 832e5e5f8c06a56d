"""The weights of weak separators of sparse rows, in as few coordinates as they have.

Weak separators have margin 0 on the boundary. So they are ``V u + N c``, where V and N have few
columns of whole numbers: N has margin 0 on all rows, and changes no margin.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data import ArraySource
from ..data.validation import check_rows
from ..numeric.types import Array, Ints
from . import thresholds
from .null_space import NullSpace, margins, null_space
from .signed_blocks import CHUNK
from .signed_rows import Matrix, SignedRows, dense


class SeparatorSpace(NamedTuple):
    """The weights with margin 0 on the boundary."""

    vectors: Array  # V, (width, k), of whole numbers
    without_effect: Array  # N, (width, k), of whole numbers
    rows: SignedRows  # ``z V`` of the other rows


def weight_space(rows: SignedRows, on: Ints) -> SeparatorSpace | None:
    """For a boundary, if the rows are sparse and of whole numbers where it matters."""
    given = _gathered(rows)
    if given is None:
        return None
    ids, Z = given
    boundary = np.isin(ids, on)
    every, inner = null_space(Z), null_space(Z[boundary])
    A = margins(Z[~boundary], inner.vectors)
    if A is None or not (every.complete and inner.complete):
        return None
    repeated = null_space(A)
    if not repeated.complete:
        return None
    kept = np.delete(np.arange(A.shape[1]), repeated.dependent)
    few = np.unique(dense(A[:, kept]), axis=0)
    source = ArraySource(check_rows(few), np.ones(len(few)), np.array([-1, 1]))
    vectors = inner.vectors[:, kept].toarray()
    return SeparatorSpace(vectors, every.vectors.toarray(), SignedRows(source, intercept=False))


def without_effect(rows: SignedRows) -> NullSpace | None:
    """All weights with margin 0 on all rows, if the rows are sparse and these are whole."""
    given = _gathered(rows)
    found = None if given is None else null_space(given[1])
    return found if found is not None and found.complete else None


def _gathered(rows: SignedRows) -> tuple[Ints, Matrix] | None:
    """All signed rows, sparse; None if this is not the method for them."""
    least, most = thresholds.FACE_FEATURES, thresholds.GRAM_DIMENSION
    size = rows.source.n_rows * rows.source.row_bytes
    if rows.encoding.stacked > 1 or not least < rows.source.n_features < most:
        return None
    if size > thresholds.SINGLE_FEATURE_BYTES:
        return None
    ids, sparse = rows.all(), replace(rows, sparse=True)
    some = sp.csr_array(sparse.gather(ids[:CHUNK]))
    if some.nnz > thresholds.SPARSE_SHARE * some.shape[0] * some.shape[1]:
        return None
    return ids, some if len(ids) <= CHUNK else sparse.gather(ids)
