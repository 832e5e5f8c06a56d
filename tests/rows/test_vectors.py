"""Vectors that live next to the rows: L-BFGS computes with them without touching the host."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from device_rows import MOVED, SPACE, DeviceArray, DeviceSource

import separatrix as sx
from separatrix.data.wrapped import SomeFeatures
from separatrix.proofs.balanced import gap_without_bias, newton_in_bias
from separatrix.proofs.rounding import rounding
from separatrix.proofs.sampled_bound import SampledBound
from separatrix.proofs.smooth_bound import smooth_lower_bound
from separatrix.rows import HOST, DenseRows, StandardizedRows
from separatrix.solvers import lbfgs_run
from separatrix.solvers.lbfgs_run import LBFGSRun


def objectives(loss, k, n=400, d=6):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 2.0
    number = (X[:, :k] + 2.0 * rng.standard_normal((n, k))).argmax(axis=1)
    y = 2.0 * number - 1.0 if k == 2 else number
    form = sx.get_loss(loss) if k == 2 else sx.get_loss(loss).multiclass()
    rows = X, y, np.arange(k)
    return [sx.Objective(form, sx.L2(1e-3), kind(*rows)) for kind in (DeviceSource, sx.ArraySource)]


def test_arrays_of_the_test_are_not_converted_silently():
    v = SPACE.asarray(np.arange(3.0))
    for convert in (np.asarray, np.array, lambda v: v + np.ones(3), lambda v: np.ones(3) * v):
        with pytest.raises(TypeError, match=r"implicit conversion|of the host among"):
            convert(v)
    assert isinstance(2.0 * v + np.sqrt(v), DeviceArray)
    assert float(np.vdot(v, v)) == 5.0


@pytest.mark.parametrize(("loss", "k"), [("logistic", 2), ("logistic", 3), ("squared_hinge", 3)])
@pytest.mark.parametrize("factored", [True, False])
def test_lbfgs_never_touches_the_host(loss, k, factored, monkeypatch):
    there, here = objectives(loss, k)
    solver = sx.LBFGS() if factored else sx.LBFGS(factored_features=0)
    monkeypatch.setattr(lbfgs_run, "AT_ONCE", np.inf)
    runs = [LBFGSRun.start(solver, each, np.zeros(each.shape)) for each in (there, here)]
    MOVED.clear()
    # On the host, each column of a sum has curvature of its own: the iterates differ on the way.
    for _ in range(40 if there.loss.column_loss is not None and k > 2 else 12):
        for run in runs:
            run.advance()
    assert not MOVED or factored  # a factor that is renewed is copied to the device
    assert there.shape[0] * there.shape[1] not in MOVED
    on_device, on_host = (run.iterate for run in runs)
    assert isinstance(on_device.weights, DeviceArray)
    assert isinstance(on_device.pairs[-1].s, DeviceArray)
    np.testing.assert_allclose(on_device.weights.held, on_host.weights, rtol=1e-6, atol=1e-9)
    assert on_device.at.value == pytest.approx(on_host.at.value, rel=1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_fits_report_arrays_of_the_host_and_continue_from_them(k):
    there, here = objectives("logistic", k)
    stop = sx.Stop(tol=1e-9, max_iter=200)
    ours, theirs = (sx.minimize(each, sx.LBFGS(), stop=stop) for each in (there, here))
    assert ours.stop == theirs.stop == "optimal"
    assert type(ours.weights) is np.ndarray
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-5, atol=1e-7)
    rng = np.random.default_rng(0)
    steps = sx.LBFGS().steps(there, np.zeros(there.shape), rng)
    seen = [next(steps) for _ in range(6)]
    check = sx.LBFGS().expected_state(there)
    check("state", seen[2].saved)  # plain arrays and numbers
    again = sx.LBFGS().steps(there, np.zeros(there.shape), rng, seen[2].saved)
    for step in seen[3:]:
        assert np.array_equal(next(again).weights, step.weights)


def test_the_space_is_that_of_the_rows():
    there, here = objectives("logistic", 2)
    assert there.source.vectors is SPACE
    assert here.source.vectors is HOST
    assert SomeFeatures(there.source, np.array([0, 2])).vectors is SPACE
    assert there.source.with_weight(None).vectors is HOST  # a plain source of the same rows
    rows = DenseRows(np.eye(2))
    assert rows.vectors_of((1, 3)) is HOST
    assert StandardizedRows(rows, None).vectors_of((1, 3)) is HOST


@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["F", "C"])
def test_triangular_systems_of_the_host(trans, count, dtype, order):
    rng = np.random.default_rng(0)
    factors = [
        np.triu(rng.random((4, 4)) + np.eye(4)).astype(dtype, order=order) for _ in range(count)
    ]
    right = rng.random((3, 4))
    found = HOST.solve_triangular(factors, right, trans)
    assert found.dtype == np.float64
    for R, b, x in zip(factors * (3 // count), right, found, strict=True):
        matrix = R.T if trans else R
        np.testing.assert_allclose(matrix @ x, b, atol=1e-13 if dtype == np.float64 else 1e-5)
        if order == "F":  # as a factorisation returns it: the same call of LAPACK
            assert np.array_equal(x, scipy.linalg.solve_triangular(R, b.astype(dtype), trans=trans))


def test_a_singular_triangular_factor():
    with pytest.raises(np.linalg.LinAlgError, match="class 1"):
        HOST.solve_triangular([np.eye(2), np.diag([1.0, 0.0])], np.ones((2, 2)), 0)


@pytest.mark.parametrize(
    ("loss", "k"), [("logistic", 2), ("logistic", 4), ("squared_hinge", 2), ("squared_hinge", 4)]
)
def test_bounds_on_the_device_are_those_of_the_host(loss, k):
    there, here = objectives(loss, k)
    rng = np.random.default_rng(k)
    least = sx.minimize(here, sx.LBFGS(), stop=sx.Stop(tol=1e-10)).objective
    for scale in (0.0, 0.1, 3.0):
        W = scale * rng.standard_normal(here.shape)
        at = here.value_and_gradient(W)
        W_there, at_there = SPACE.asarray(W), at._replace(gradient=SPACE.asarray(at.gradient))
        found = [smooth_lower_bound(here, W, at), smooth_lower_bound(there, W_there, at_there)]
        assert found[1].value == pytest.approx(found[0].value, rel=1e-11, abs=1e-14)
        assert found[1].value - found[1].allowance <= least
        sizes = [rounding(each, v, 1.0) for each, v in ((here, W), (there, W_there))]
        assert sizes[1] == pytest.approx(sizes[0], rel=1e-12)
        gaps = [gap_without_bias(here, W, at), gap_without_bias(there, W_there, at_there)]
        assert gaps[1] == pytest.approx(gaps[0], rel=1e-11)
        moved = [
            newton_in_bias(here, W, at.gradient[:, -1]),
            newton_in_bias(there, W_there, at_there.gradient[:, -1]),
        ]
        np.testing.assert_allclose(moved[1].held, moved[0], rtol=1e-9, atol=1e-12)


def test_a_sampled_bound_on_the_device_is_below_the_minimum():
    there, here = objectives("logistic", 4, n=5000)
    least = sx.minimize(here, sx.LBFGS(), stop=sx.Stop(tol=1e-12)).objective
    run = LBFGSRun.start(sx.LBFGS(), there, np.zeros(there.shape))
    for _ in range(12):
        run.advance()
    sample = there.sample(1250)
    at = run.iterate.at
    problem = SampledBound(there, sample, run.iterate.weights, at, run.variables)
    before = problem.bound
    bound, allowance = problem.climb(1e-9 * at.value, 1e3)
    assert before < bound
    assert bound - allowance <= least <= at.value
    assert at.value - bound < 0.1 * (at.value - before)
