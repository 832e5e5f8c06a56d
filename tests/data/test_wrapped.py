"""A source that wraps another reports what it does not change, and sums its own blocks."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from separatrix import ArraySource
from separatrix.data.validation import check_rows
from separatrix.data.wrapped import WrappedSource
from separatrix.separation.scales import ScaledSource
from separatrix.separation.signed_blocks import SignedRowEncoding
from separatrix.separation.sums import SelectedSum


class Doubled(WrappedSource):
    """Features times two."""

    def blocks(self):
        for block in self.source.blocks():
            yield block._replace(X=2.0 * block.X)


def test_what_is_not_changed_is_that_of_the_source(rng):
    X = rng.standard_normal((20, 3)).astype(np.float32)
    weight = rng.integers(0, 3, 20).astype(float)
    for rows in (X, check_rows(sp.csr_array(X))):
        source = ArraySource(rows, np.ones(20), np.array([0, 1]), weight, n_jobs=2)
        wrapped = Doubled(source)
        for name in ("n_features", "n_rows", "weight_sum", "dtype", "row_bytes", "storage",
                     "threads"):  # fmt: skip
            assert getattr(wrapped, name) == getattr(source, name), name
        assert wrapped.classes.tolist() == [0, 1]


def test_sums_are_those_of_its_own_blocks(rng):
    X, y = rng.standard_normal((20, 3)), np.where(np.arange(20) % 2, 1.0, -1.0)
    source = ArraySource(X, y, np.array([0, 1]))
    asked = SelectedSum(SignedRowEncoding(2), None)
    by_hand = np.append((y[:, None] * 2.0 * X).sum(axis=0), y.sum())
    np.testing.assert_allclose(Doubled(source).total(asked)[0][0], by_hand, rtol=1e-12, atol=1e-13)
    scaled = ScaledSource(source, np.array([-1, -1, -1]))
    np.testing.assert_array_equal(scaled.total(asked)[0], Doubled(source).total(asked)[0])
