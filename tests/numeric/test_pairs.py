"""Sums of products of pairs of columns, against einsum."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.numeric.pairs import MOST_PAIRED, PairProducts


@pytest.mark.parametrize("n", [0, 1, 40])
@pytest.mark.parametrize("p", [1, 2, 7, MOST_PAIRED, MOST_PAIRED + 1])
def test_sums_and_forms(n, p):
    rng = np.random.default_rng(p)
    Z, C = rng.standard_normal((n, p)), rng.random((n, 3))
    products = PairProducts(p)
    total = np.zeros((3, products.width))
    for _ in range(2):
        products.add_grams(products.of(Z), C, total)
    grams = products.matrices(total)
    np.testing.assert_allclose(grams, 2.0 * np.einsum("im,ij,ik->mjk", C, Z, Z), atol=1e-12)
    forms = products.forms(products.of(Z), products.forms_of(np.triu(grams)))
    expected = np.einsum("ij,mjk,ik->im", Z, grams, Z)
    np.testing.assert_allclose(forms, expected, rtol=1e-11, atol=1e-11)
    assert forms.shape == (n, 3)
