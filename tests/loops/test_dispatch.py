"""What holds for every loop: levels, layouts, stopping, no copies."""

from __future__ import annotations

import platform
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import level_in_use
from layouts import LAYOUTS, data, stored

from separatrix import loops
from separatrix.data.validation import check_rows
from separatrix.loops.dispatch import KNOWN_LEVELS, level_flaw
from separatrix.losses import get_loss
from separatrix.numeric.rows import to_dense
from separatrix.rows import CsrRows, rows_of


def logistic_gradient(level):
    X, y, rng = data(300, 45)
    W = rng.standard_normal((1, 46))
    gradient = np.zeros_like(W)
    with level_in_use(level):
        loops.batch_pass(X, y, get_loss("logistic"), W, gradient=gradient)
    Z = np.column_stack([X, np.ones(300)])
    return gradient, (-y / (1 + np.exp(y * (Z @ W[0])))) @ Z


def test_every_level_has_the_gradient_of_the_formula():
    for name in loops.levels():
        gradient, expected = logistic_gradient(name)
        np.testing.assert_allclose(gradient[0], expected, rtol=1e-12, atol=1e-12)


def test_levels_with_fused_multiply_add_give_the_same_bits(fused_levels):
    """The baseline rounds otherwise."""
    assert len({logistic_gradient(name)[0].tobytes() for name in fused_levels}) == 1


def test_usable_levels_are_compiled_from_the_plainest_to_the_widest():
    compiled = loops.compiled_levels()
    assert compiled == [name for name in KNOWN_LEVELS if name in compiled]
    assert loops.levels() == compiled[: len(loops.levels())]
    assert loops.level() in loops.levels()


@pytest.mark.parametrize("name", ["mmx", "", *sorted({*KNOWN_LEVELS} - {*loops.levels()})])
def test_a_level_that_is_not_there_is_refused(name):
    before = loops.level()
    with pytest.raises(ValueError, match="not an instruction-set level that is compiled"):
        loops.use_level(name)
    assert loops.level() == before


def test_a_level_that_was_left_out_is_distinguished_from_one_that_does_not_run():
    assert level_flaw("avx2", ["baseline", "avx2", "avx512"], ["baseline", "avx2"]) == ""
    assert level_flaw("avx512", ["avx512"], ["avx512"]) == ""
    assert level_flaw("avx2", ["avx512"], ["avx512"]) == (
        "is not compiled in this installation; choose one of avx512 or unset it, or compile all: "
        "pip install ."
    )
    for name in ("avx512", "mmx"):
        assert level_flaw(name, ["baseline", "avx2", "avx512"], ["baseline", "avx2"]) == (
            "is not usable on this machine; choose one of baseline, avx2 or unset it"
        )


@pytest.mark.parametrize("value", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows_are_summed_in_one_fixed_order(level, value, index, rng):
    """By fours, what is left over with the first of each; rows of every length, one of none."""
    lengths, d = rng.permutation(41), 300
    indptr = np.append(0, np.cumsum(lengths)).astype(index)
    indices = np.concatenate([np.sort(rng.choice(d, n, replace=False)) for n in lengths])
    values = (rng.standard_normal(len(indices)) * 10.0 ** rng.integers(-8, 8)).astype(value)
    rows = CsrRows(values, indices.astype(index), indptr, d)
    w = rng.standard_normal(d) * 10.0 ** rng.integers(-8, 8, d)
    fuses = level != "baseline" or platform.machine().lower() not in ("x86_64", "amd64")

    def multiply_add(a, b, c):
        a, b, c = float(a), float(b), float(c)
        return float(Fraction(a) * Fraction(b) + Fraction(c)) if fuses else a * b + c

    expected, changed, times = [], w.copy(), rng.standard_normal(len(lengths))
    for i, n in enumerate(lengths):
        at = slice(indptr[i], indptr[i + 1])
        sums = [0.0, 0.0, 0.0, 0.0]
        for p, (j, x) in enumerate(zip(indices[at], values[at], strict=True)):
            lane = p % 4 if p < n // 4 * 4 else 0
            sums[lane] = multiply_add(x, w[j], sums[lane])
            changed[j] = multiply_add(times[i], x, changed[j])
        expected.append((sums[0] + sums[2]) + (sums[1] + sums[3]))
    out = np.append(w, 0.0)[None]
    np.testing.assert_array_equal(loops.scores(rows, out)[:, 0], expected)
    loops.transpose_product(rows, times[:, None], out)
    np.testing.assert_array_equal(out[0, :-1], changed)


def test_rows_of_every_origin_are_read_without_a_copy():
    X = np.arange(12.0).reshape(4, 3)
    X.flags.writeable = False
    assert np.shares_memory(check_rows(X), X)
    csr = sp.csr_array(np.eye(3, dtype=np.float32))
    rows = check_rows(csr)
    assert np.shares_memory(rows.data, csr.data)
    assert np.shares_memory(rows.indices, csr.indices)
    part = rows_of(rows).part(1, 3).X
    assert np.shares_memory(part.indptr, csr.indptr)
    np.testing.assert_array_equal(to_dense(part), np.eye(3)[1:])
    np.testing.assert_array_equal(loops.scores(part, np.array([[1.0, 2, 3, 4]]))[:, 0], [6, 7])


@pytest.mark.parametrize("kind", LAYOUTS)
def test_picked_rows_are_those_rows(kind, rng):
    X, _, _ = data(50, 6)
    rows = stored(X, kind)
    for at in (np.arange(10, 20), np.array([3, 7, 49]), np.array([], dtype=int)):
        np.testing.assert_allclose(to_dense(rows_of(rows).take(at).X), X[at], rtol=1e-7)


@pytest.mark.parametrize("kind", LAYOUTS)
def test_no_rows_and_no_features(kind):
    for n, d in ((0, 3), (3, 0), (3, 3)):
        rows = stored(np.zeros((n, d)), kind)
        gradient = np.zeros((1, d + 1))
        loss, _ = loops.batch_pass(
            rows, np.ones(n), get_loss("hinge"), np.zeros((1, d + 1)), gradient=gradient
        )
        assert loss == n
        assert gradient[0, -1] == -n


def test_a_stop_asked_for_ends_every_loop():
    X, y, _ = data(20_000, 5)
    loops.request_stop()
    try:
        with pytest.raises(loops.Interrupted):
            loops.batch_pass(X, y, get_loss("hinge"), np.zeros((1, 6)))
        with pytest.raises(loops.Interrupted):
            loops.scores(X, np.zeros((1, 6)))
        weights = loops.OnlineWeights.start(np.zeros((1, 6)), None)
        with pytest.raises(loops.Interrupted):
            loops.online_pass(X, y, get_loss("hinge"), weights, steps=np.array([1.0]))
        with pytest.raises(loops.Interrupted):
            loops.online_pass_twin(X, y, get_loss("hinge"), weights, steps=np.array([1.0]))
    finally:
        loops.clear_stop()


def test_what_a_loop_writes_to_is_never_a_copy():
    rows, y = np.ones((4, 2)), np.ones(4)
    sideways = np.zeros((3, 2)).T  # Fortran order: a conversion would take the sums
    with pytest.raises(TypeError):
        loops.transpose_product(rows, np.ones((4, 2)), sideways)
    with pytest.raises(TypeError):
        loops.batch_pass(
            rows, y, get_loss("logistic"), np.zeros((1, 3)), gradient=np.zeros((1, 6))[:, ::2]
        )
