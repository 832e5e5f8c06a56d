"""Linear equations against NumPy's least squares."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.numeric import linear_systems
from separatrix.numeric.linear_systems import (
    NotFinite,
    cholesky_solver,
    conjugate_gradients,
    damped_solve,
    solve,
)

RNG = np.random.default_rng(0)


def positive(n: int, rank: int | None = None) -> np.ndarray:
    A = RNG.normal(size=(n, n if rank is None else rank))
    return A @ A.T


@pytest.mark.parametrize("n", [1, 3, 20])
def test_positive_definite_matrices_are_solved(n):
    H, b = positive(n) + np.eye(n), RNG.normal(size=n)
    expected = np.linalg.solve(H, b)
    np.testing.assert_allclose(solve(H, b), expected, rtol=1e-9)
    np.testing.assert_allclose(cholesky_solver(H)(b), expected, rtol=1e-9)
    by_cg, gained = conjugate_gradients(lambda v: H @ v, b, 1e-24)
    assert gained == pytest.approx(0.5 * b @ expected, rel=1e-9)
    np.testing.assert_allclose(by_cg, expected, rtol=1e-7)


def test_several_at_once_and_any_scale():
    H = np.array([positive(4) + np.eye(4) for _ in range(3)])
    scale = np.logspace(-9, 9, 4)
    b = RNG.normal(size=(3, 4))
    found = solve(H * scale[:, None] * scale, b * scale)
    expected = [np.linalg.solve(each, right) / scale for each, right in zip(H, b, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_of_a_singular_matrix_the_shortest_solution_in_scaled_variables():
    H = positive(6, rank=3)
    scale = np.sqrt(np.diag(H))
    b = H @ RNG.normal(size=6)
    found = solve(H, b)
    np.testing.assert_allclose(H @ found, b, atol=1e-9 * np.abs(b).max())
    unit = H / scale[:, None] / scale
    shortest = np.linalg.pinv(unit, rcond=1e-10, hermitian=True) @ (b / scale)
    np.testing.assert_allclose(found * scale, shortest, rtol=1e-6)


def test_a_pivot_below_the_least_is_left_to_eigenvectors(monkeypatch):
    called = []
    eigh = linear_systems.scipy.linalg.eigh
    monkeypatch.setattr(
        linear_systems.scipy.linalg, "eigh", lambda *a, **k: called.append(1) or eigh(*a, **k)
    )
    H = np.array([[1.0, 1.0 - 1e-15], [1.0 - 1e-15, 1.0]])
    cholesky_solver(H, min_pivot=0.0)
    assert not called
    cholesky_solver(H)
    assert called


def test_a_matrix_that_overflowed_is_refused():
    with pytest.raises(NotFinite, match="scale the features"):
        solve(np.array([[1.0, np.inf], [np.inf, 1.0]]), np.ones(2))


def test_conjugate_gradients_end_where_the_matrix_is_flat():
    H = np.diag([1.0, 0.0])
    found, gained = conjugate_gradients(lambda v: H @ v, np.array([0.0, 1.0]), 1e-20)
    assert np.array_equal(found, [0.0, 0.0])
    assert gained == 0.0


def test_conjugate_gradients_stop_at_their_share():
    H, b = positive(30) + np.eye(30), RNG.normal(size=30)
    for share in (1e-2, 1e-8):
        u, _ = conjugate_gradients(lambda v: H @ v, b, share)
        assert np.sum((b - H @ u) ** 2) <= 1.01 * share * np.sum(b**2)
        assert np.sum((b - H @ u) ** 2) >= 1e-6 * share * np.sum(b**2)


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_an_inverse_is_that_of_numpy_at_any_scale(n):
    A = np.random.default_rng(n).standard_normal((n, n + 3))
    scale = np.logspace(-6, 6, n)
    found = linear_systems.inverse((A @ A.T) * scale * scale[:, None])
    expected = np.linalg.inv(A @ A.T) / scale / scale[:, None]
    size = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(
        found / size / size[:, None], expected / size / size[:, None], atol=1e-9
    )


def test_a_singular_matrix_has_a_pseudo_inverse_in_scaled_variables():
    A = np.random.default_rng(0).standard_normal((5, 2))
    A /= np.linalg.norm(A, axis=1)[:, None]  # a unit diagonal: nothing is scaled
    np.testing.assert_allclose(linear_systems.inverse(A @ A.T), np.linalg.pinv(A @ A.T), atol=1e-10)


@pytest.mark.parametrize("ratio", [1e-4, 1e-9, 1e-11])
def test_damping_does_not_bend_a_solution_that_the_matrix_tells(ratio):
    Q = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
    H = (Q * [1.0, 0.5, 0.2, ratio]) @ Q.T
    expected = Q @ (Q.T @ np.ones(4) / [1.0, 0.5, 0.2, ratio])
    found = damped_solve(H, np.ones(4))
    np.testing.assert_allclose(found, expected, rtol=2e-2, atol=1e-2 * np.abs(expected).max())


def test_damped_solutions_along_a_flat_direction_are_long():
    found = damped_solve(np.ones((2, 2)), np.array([1.0, -1.0]))
    assert found[0] == pytest.approx(-found[1])
    assert found[0] > 1e9
