"""Products of stored rows, against dense ones."""

from __future__ import annotations

import numpy as np
import pytest
from dual_problems import KINDS, rows, stored

from separatrix.rows import rows_of


@pytest.mark.parametrize("kind", KINDS)
def test_products_of_rows(kind):
    X = np.round(rows(0, 12, 5)[0], 1)
    X[X < 0.3] = 0.0
    held = stored(X, kind)
    np.testing.assert_allclose(rows_of(held).row_products(), X @ X.T, atol=1e-6)
