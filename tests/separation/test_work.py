"""Work that is counted, and limited."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import features, separability
from separatrix.separation.budget import OutOfWork, limited_work, spend

CORNERS, AND, XOR = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1], [0, 1, 1, 0]


def counted(question):
    spent = []
    with pytest.MonkeyPatch.context() as patch:
        for module in ("exact_simplex", "settled", "rational"):
            patch.setattr(
                f"separatrix.separation.{module}.spend_on_integers",
                lambda count, bits: spent.append(count * (1.0 + (bits / 400.0) ** 2)),
            )
        question()
    return sum(spent)


def test_a_limit_is_of_all_questions_inside_and_of_no_others():
    spend(1e300)
    with limited_work(5.0):
        spend(3.0)
        with limited_work(2.0):
            spend(2.0)
        with pytest.raises(OutOfWork):
            spend(0.5)
    spend(1e300)


def test_exact_arithmetic_is_counted():
    assert counted(lambda: separability(CORNERS, AND)) == 0.0
    assert counted(lambda: separability(CORNERS, XOR, exact=True)) > 0.0


def test_features_of_all_sizes_do_not_take_minutes():
    rng = np.random.default_rng(0)
    X, y = 100.0 * rng.normal(size=(200, 2)), np.arange(200) % 2
    Z = features.RadialBasis(gamma=1.0, n_centers=20, random_state=0).fit_transform(X)
    with pytest.raises(OutOfWork), limited_work(100_000):
        separability(Z, y)


def test_a_limit_that_is_enough_changes_nothing():
    free = separability(CORNERS, XOR)
    with limited_work(10_000):
        found = separability(CORNERS, XOR)
        assert found.to_dict() == free.to_dict()
    with pytest.raises(OutOfWork), limited_work(1.0):
        separability(CORNERS, XOR)
