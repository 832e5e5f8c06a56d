"""The compiled coordinate descent by columns, against its twin and a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from loops import twins
from scipy.optimize import minimize

from separatrix import loops
from separatrix.rows import CsrRows


def problem(m, n, seed, kind="dense"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) + rng.standard_normal((m, 1))
    if kind != "dense":
        X = np.where(rng.random((m, n)) < 0.4, X, 0.0)
        rows = sp.csr_array(X)
        whole = np.int64 if kind == "csr64" else np.int32
        columns = CsrRows(rows.data, rows.indices.astype(whole), rows.indptr.astype(whole), n)
    h = rng.uniform(0.0, 1.0, n)
    h[::5] = 0.0
    ridge, thresholds = rng.uniform(0.0, 0.5, m), rng.uniform(0.0, 2.0, m)
    ridge[::2] = thresholds[::3] = 0.0
    start = X if kind == "dense" else columns
    return start, X, h, ridge, thresholds, rng.standard_normal(m), rng.standard_normal(n)


@pytest.mark.parametrize("level", loops.levels())
@pytest.mark.parametrize("kind", ["dense", "csr", "csr64"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 7), (8, 17), (20, 64)])
def test_the_compiled_loop_equals_its_twin(level, kind, bias, m, n):
    columns, _, h, ridge, thresholds, w, slope = problem(m, n, m, kind)
    now, ends = loops.level(), []
    loops.use_level(level)
    try:
        for make, descend in (
            (loops.column_model, loops.column_descent),
            (twins.column_model, twins.column_descent),
        ):
            model = make(columns, h, ridge, thresholds, bias)
            at, here = w.copy(), slope.copy()
            at[0] = 0.0
            reported = descend(model, at, here, 0.1, zeros=False, max_epochs=2, enough=0.0)
            reported = descend(
                model, at, here, reported.shift, zeros=True, max_epochs=3, enough=1e-6
            )
            ends.append((model.products, model.squares, at, here, reported))
    finally:
        loops.use_level(now)
    for compiled, twin in zip(*ends, strict=True):
        np.testing.assert_allclose(compiled, twin, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("bias", [False, True])
def test_the_end_is_the_minimum_and_the_slope_that_of_it(bias):
    columns, X, h, ridge, thresholds, w, g = problem(6, 40, 3)
    start, slope = w.copy(), g.copy()
    model = loops.column_model(columns, h, ridge, thresholds, bias)
    shift = -g.sum() / h.sum() if bias else 0.0
    reported = loops.column_descent(
        model, w, slope, shift, zeros=True, max_epochs=100_000, enough=0.0
    )
    t = X.T @ (w - start) + reported.shift
    np.testing.assert_allclose(slope + reported.shift * h, g + h * t, atol=1e-9)
    if bias:
        assert np.sum(g + h * t) == pytest.approx(0.0, abs=1e-10)
    else:
        assert reported.shift == 0.0

    def value(parts):
        at = parts[:6] - parts[6:12]
        t = X.T @ (at - start) + bias * parts[12]
        return g @ t + 0.5 * h @ t**2 + 0.5 * ridge @ at**2 + thresholds @ (parts[:6] + parts[6:12])

    split = np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0), [0.0]])
    bounds = [(0.0, None)] * 12 + [(None, None)]
    best = minimize(value, split, bounds=bounds, tol=1e-14).fun
    mine = value(np.concatenate([np.maximum(w, 0.0), np.maximum(-w, 0.0), [reported.shift]]))
    assert mine == pytest.approx(best, abs=1e-6)
    assert mine <= best + 1e-9


def test_epochs_end_where_little_is_gained_and_zeros_stay_if_asked():
    columns, _, h, ridge, thresholds, w, slope = problem(20, 50, 5)
    thresholds += 0.1
    w[::2] = 0.0
    model = loops.column_model(columns, h, ridge, thresholds, bias=False)
    reported = loops.column_descent(model, w, slope, 0.0, zeros=False, max_epochs=3, enough=0.0)
    assert reported.epochs == 3
    assert reported.gain > 0.0
    assert not w[::2].any()
    reported = loops.column_descent(model, w, slope, 0.0, zeros=True, max_epochs=9, enough=np.inf)
    assert reported.epochs == 1
    assert w[::2].any()


def test_without_curvature_what_costs_goes_and_the_rest_stays():
    """Columns of zeros, and a constant one where the bias makes up for it."""
    X = np.zeros((3, 8))
    X[2] = 3.0
    w, slope = np.array([2.0, 2.0, 2.0]), np.zeros(8)
    thresholds = np.array([1.0, 0.0, 0.5])
    model = loops.column_model(X, np.ones(8), np.zeros(3), thresholds, bias=True)
    reported = loops.column_descent(model, w, slope, 0.0, zeros=True, max_epochs=9, enough=0.0)
    assert w.tolist() == [0.0, 2.0, 0.0]
    assert reported.shift == 6.0


def test_sizes_that_do_not_fit_are_refused():
    X, three, four = np.zeros((3, 4)), np.zeros(3), np.zeros(4)
    with pytest.raises(ValueError, match="expected shape"):
        loops.column_model(X, three, three, three, bias=False)
    model = loops.column_model(X, four, three, three, bias=False)
    for w, slope in ((four, four), (three, three)):
        with pytest.raises(ValueError, match="expected shape"):
            loops.column_descent(model, w, slope, 0.0, zeros=True, max_epochs=1, enough=0.0)
