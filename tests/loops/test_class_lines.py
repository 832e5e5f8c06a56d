"""Weights in lines, and back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import get_loss, loops
from separatrix.data.validation import check_rows


@pytest.mark.parametrize("k", [2, 7, 8, 9, 20])
@pytest.mark.parametrize("size", [2, 511, 512, 513, 1500])
def test_there_and_back(k, size):
    W = np.random.default_rng(k).standard_normal((k, size))
    lines = loops.to_lines(W)
    assert lines.shape == (size, loops.line_width(k))
    np.testing.assert_array_equal(lines[:, :k], W.T)
    assert not lines[:, k:].any()
    back = loops.from_lines(lines, k)
    np.testing.assert_array_equal(back, W)
    assert back.flags.c_contiguous


def test_only_sparse_rows_and_many_classes_meet_lines():
    X, y = np.eye(4), np.array([0, 1, 2, 0])
    loss, lines = get_loss("logistic").multiclass(), loops.to_lines(np.ones((3, 5)))
    sparse = check_rows(sp.csr_array(X))
    blocks = loops.BlockSum(np.array([0, 4]), np.zeros(2 + lines.size))
    with pytest.raises(ValueError, match="in_lines"):
        loops.batch_blocks(X, y, loss, lines, blocks, in_lines=3)
    with pytest.raises(ValueError, match=r"w: expected shape \(5, 16\)"):
        loops.batch_blocks(sparse, y, loss, lines, blocks, in_lines=9)
    with pytest.raises(ValueError, match="in_lines"):
        loops.batch_blocks(sparse, y, loss, lines, blocks, in_lines=-1)
    signs, binary = np.array([1.0, -1.0, 1.0, 1.0]), get_loss("logistic")
    with pytest.raises(ValueError, match="in_lines"):
        loops.batch_blocks(sparse, signs, binary, lines, blocks, in_lines=3)
    loops.batch_blocks(sparse, y, loss, lines, blocks, in_lines=3)
