"""Rows that are standardised without a copy: each product against NumPy on a standardised array."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from toy_rows import ToyRows

from separatrix.losses import get_loss
from separatrix.numeric.standardization import Standardization
from separatrix.rows import (
    CsrRows,
    DenseRows,
    StandardizedRows,
    Standardizer,
    concatenate_rows,
    host_rows_of,
)

N, D = 90, 5


def rows_in(form):
    """Rows in a storage, their standardization, and the standardised array."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((N, D)) * [1.0, 100.0, 0.01, 3.0, 1.0] + [3.0, -400.0, 0.0, 9.0, 50.0]
    mean, scale = X.mean(axis=0), np.append(X.std(axis=0), 1.0)
    if form == "csr":
        X[rng.random(X.shape) < 0.6] = 0.0
        given, mean = CsrRows.of_scipy(sp.csr_array(X)), np.zeros(D)
    elif form == "toy":
        given = ToyRows(rng.integers(-127, 128, (N, D)).astype(np.int8), rng.random(N) / 64.0)
        X = given.numbers()
    else:
        X = X.astype(form)
        given = DenseRows(X)
    how = Standardization(mean, scale)
    return StandardizedRows(given, Standardizer(how)), (X - mean) / scale[:-1], how


every_form = pytest.mark.parametrize("form", ["float64", "float32", "csr", "toy"])


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12 * np.max(np.abs(expected)))


@every_form
def test_sums_are_those_of_the_standardised_rows(form):
    rows, Z, _ = rows_in(form)
    rng = np.random.default_rng(0)
    y, weight = np.where(rng.random(N) < 0.5, 1.0, -1.0), rng.integers(0, 3, N).astype(float)
    W, V, C = rng.standard_normal((2, D + 1)), rng.standard_normal((1, D + 1)), rng.random((N, 2))
    with_ones = np.column_stack([Z, np.ones(N)])
    assert rows.shape == (N, D)
    assert rows.dtype == np.float64
    near(rows.scores(W), with_ones @ W.T)
    out = np.ones((2, D + 1))
    rows.transpose_product(C, out)
    near(out, 1.0 + C.T @ with_ones)
    near(rows.part(0, 40).mean(), Z[:40].mean(axis=0))
    curvature = rng.random(N)
    out = np.ones((1, D + 1))
    rows.hessian_product(curvature, V, out)
    near(out[0], 1.0 + (curvature * (with_ones @ V[0])) @ with_ones)
    margin = y * (with_ones @ V[0])
    gradient, second = np.ones((1, D + 1)), np.empty(N)
    value, mistakes = rows.value_gradient(
        y, get_loss("squared_hinge"), V, weight, gradient, second, float32_sums=True
    )
    short = np.maximum(1.0 - margin, 0.0)
    assert value == pytest.approx(weight @ short**2, rel=1e-12)
    assert mistakes == weight @ (margin <= 0.0)
    near(gradient[0], 1.0 - (2.0 * weight * short * y) @ with_ones)
    near(second, 2.0 * weight * (short > 0.0))
    assert rows.value_gradient(y, get_loss("squared_hinge"), V, weight)[0] == value
    right = np.zeros(2)
    rows.weighted_correct(y, weight, W[:, None], right)
    near(right, [weight @ ((with_ones @ w >= 0.0) == (y > 0.0)) for w in W])


@every_form
@pytest.mark.parametrize("shifted", [False, True])
def test_moments_of_groups(form, shifted):
    rows, Z, _ = rows_in(form)
    shift = np.linspace(-1.0, 1.0, D) if shifted and form != "csr" else None
    about = Z if shift is None else Z - shift
    weight, group = np.arange(N, dtype=float), np.arange(N) % 3
    sums, squares = np.ones((3, D)), np.ones(D)
    rows.moments(weight, group, shift, sums, squares)
    near(sums, 1.0 + np.stack([(weight * (group == g)) @ about for g in range(3)]))
    near(squares, 1.0 + weight @ about**2)


@every_form
def test_products_of_features_are_standardised_once_for_both(form):
    rows, Z, _ = rows_in(form)
    rng = np.random.default_rng(1)
    more = Standardization(rng.random(D) * (form != "csr"), rng.random(D + 1) + 0.5)
    U = np.column_stack([Z - more.mean, np.ones(N)]) / more.scale
    c = rng.random(N)
    near(rows.standardized(more), U)
    near(rows.gram(c, more), (c[:, None] * U).T @ U)
    out = np.ones((D + 1, D + 1))
    rows.add_gram(c, more, out)
    near(out, 1.0 + (c[:, None] * U).T @ U)
    at = np.array([0, 2, 3])
    some = Standardization(more.mean[at], more.scale[np.append(at, -1)])
    U = U[:, np.append(at, -1)]
    near(rows.take_features(at).gram(c, some), (c[:, None] * U).T @ U)
    near(rows.features_as_dense(at), Z[:, at])
    if form != "toy":
        mean, factor = rng.random(D), rng.random(D)
        longest = np.max(np.sum((((Z - mean) * factor) ** 2)[c > 0.5], axis=1))
        assert rows.max_standardised_norm2((c > 0.5) * 1.0, mean, factor) == pytest.approx(longest)


@pytest.mark.parametrize("form", ["float64", "float32", "csr"])
def test_some_rows_and_visits_are_copies(form):
    rows, Z, _ = rows_in(form)
    at = np.array([7, 3, 3, 88])
    for copy, expected in (
        (rows.take(at), Z[at]), (rows.stored, Z), (host_rows_of(rows), Z),
        (rows.part(4, 9).stored, Z[4:9]), (rows.visits, Z), (rows.absolute(), np.abs(Z)),
    ):  # fmt: skip
        assert copy.dtype == np.float64
        near(copy.to_dense(), expected)
    assert rows.stored is rows.visits  # copied once
    near(rows.squared_norms(), np.sum(Z**2, axis=1))
    near(rows.part(0, 6).row_products(), Z[:6] @ Z[:6].T)
    near(rows.to_dense(), Z)


def test_storage_that_cannot_be_copied_is_summed_where_it_is():
    rows, Z, _ = rows_in("toy")
    assert rows.stored is rows
    at, W = np.array([5, 2, 80]), np.ones((1, D + 1))
    some = rows.take(at)
    assert isinstance(some.given, ToyRows)
    near(some.scores(W)[:, 0], Z[at].sum(axis=1) + 1.0)
    near(concatenate_rows([some, rows.part(0, 2)]).scores(W)[:, 0], Z[[*at, 0, 1]].sum(axis=1) + 1)
    near(rows.squared_norms(), np.sum(Z**2, axis=1))
    for copy in (lambda: rows.visits, rows.absolute, rows.to_dense, rows.row_products):
        with pytest.raises(TypeError, match=r"Rows offers sums .* row by row: use"):
            copy()


@pytest.mark.parametrize("form", ["float64", "csr"])
def test_compensated_products_have_twice_the_working_precision(form):
    """Against fractions: with means of 50 deviations plain sums lose two digits and more."""
    rows, _, how = rows_in(form)
    X = rows.given.to_dense()
    rng = np.random.default_rng(2)
    W, c = rng.standard_normal((2, D + 1)), rng.standard_normal((N, 1))
    scale, mean = (list(map(Fraction, v.tolist())) for v in (how.scale, how.mean))
    Z = [
        [*((Fraction(v) - m) / s for v, m, s in zip(x, mean, scale, strict=False)), Fraction(1)]
        for x in X.tolist()
    ]
    high, low = rows.compensated_scores(W)
    for i in range(0, N, 7):
        for k, w in enumerate(W.tolist()):
            terms = [Fraction(a) * z for a, z in zip(w, Z[i], strict=True)]
            error = Fraction(high[i, k]) + Fraction(low[i, k]) - sum(terms)
            assert abs(error) <= sum(map(abs, terms)) / 10**26
    (high,), (low,) = rows.compensated_transpose_product(c)
    for j in range(D + 1):
        terms = [Fraction(a) * z[j] for a, z in zip(c[:, 0].tolist(), Z, strict=True)]
        error = Fraction(high[j]) + Fraction(low[j]) - sum(terms)
        assert abs(error) <= sum(map(abs, terms)) / 10**26


def test_offset_is_what_is_added_and_subtracted_again():
    rows, _, how = rows_in("float64")
    np.testing.assert_allclose(rows.cancelling, 2.0 * np.abs(how.mean / how.scale[:-1]))
    twice = StandardizedRows(rows, Standardizer(how))
    np.testing.assert_allclose(twice.cancelling, rows.cancelling * (1.0 + 1.0 / how.scale[:-1]))
    given, W = rows.underlying(np.ones((1, D + 1)))
    assert given is rows.given
    near(given.scores(W), rows.scores(np.ones((1, D + 1))))
