"""Means and deviations of features at any scale, against exact sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import ArraySource
from separatrix.data.validation import check_rows
from separatrix.objective.feature_scales import feature_moments, feature_standardization

N = 200


def exact_moments(column, weight):
    """Mean and deviation in whole numbers, rounded once."""
    x, c = [Fraction(v) for v in column.tolist()], [Fraction(v) for v in weight.tolist()]
    mean = sum(a * b for a, b in zip(c, x, strict=True)) / sum(c)
    variance = sum(a * (b - mean) ** 2 for a, b in zip(c, x, strict=True)) / sum(c)
    power = 0  # so that the variance is a number of ordinary size
    while variance and not Fraction(1, 16) < variance * Fraction(4) ** power < 16:
        power += 1 if variance * Fraction(4) ** power < 1 else -1
    root = np.ldexp(np.sqrt(float(variance * Fraction(4) ** power)), -power)
    return float(mean), root


COLUMNS = {
    "ordinary": lambda z: z,
    "large offset": lambda z: 1e9 + z,
    "larger offset": lambda z: 3e13 + z,
    "constant": lambda z: np.full(N, 0.1),
    "zeros": lambda z: np.zeros(N),
    "huge": lambda z: 1e200 * z,
    "huge offset": lambda z: 1e200 * (1e5 + z),
    "tiny": lambda z: 1e-200 * z,
    "tiny offset": lambda z: 1e-200 * (1e5 + z),
    "rare": lambda z: np.where(np.arange(N) == 3, 1e8, 0.0),
    "two neighbours": lambda z: np.where(z > 0, 1.0, np.nextafter(1.0, 2.0)),
}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_at_any_scale(sparse, weighted):
    rng = np.random.default_rng(0)
    X = np.column_stack([of(rng.standard_normal(N)) for of in COLUMNS.values()])
    weight = rng.integers(0, 3, N).astype(float) if weighted else np.ones(N)
    weight[3] = 1.0
    y = np.where(np.arange(N) % 2, 1.0, -1.0)
    rows = check_rows(sp.csr_array(X) if sparse else X)
    source = ArraySource(rows, y, np.array([0, 1]), weight if weighted else None)
    mean, deviation = feature_moments(source)
    for j, name in enumerate(COLUMNS):
        at, root = exact_moments(X[:, j], weight)
        assert mean[j] == pytest.approx(at, rel=1e-12, abs=1e-12 * root), name
        if name in ("constant", "zeros", "two neighbours"):
            assert deviation[j] == 0.0, name  # rounding at most
        else:
            assert deviation[j] == pytest.approx(root, rel=1e-9), name


def test_one_read_where_nothing_is_in_doubt(rng):
    class Counting(ArraySource):
        reads = 0

        def total(self, sum):
            Counting.reads += 1
            return super().total(sum)

    X = rng.standard_normal((N, 6)) * [1.0, 1e5, 1e-5, 1.0, 1.0, 0.0] + [0, 1e3, 1, 1e9, 7, 0.3]
    source = Counting(X, np.where(np.arange(N) % 2, 1.0, -1.0), np.array([0, 1]))
    found = feature_standardization(source, centre=True)
    assert Counting.reads == 1
    np.testing.assert_allclose(found.scale[:-2], X.std(axis=0)[:-1], rtol=1e-9)
    assert found.scale[-2:].tolist() == [1.0, 1.0]
    assert not feature_standardization(source, centre=False).mean.any()
