"""Every solver on every source, against the same rows in one array."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from conftest import quiet
from source_kinds import (
    AWAY,
    EDGES,
    SOURCES,
    D,
    N,
    both,
    data,
    every_source,
    every_weight,
    objectives,
)

from separatrix import (
    LBFGS,
    BatchPerceptron,
    CoordinateAscent,
    CoordinateDescent,
    DualAscent,
    ElasticNet,
    GradientDescent,
    GroupLasso,
    InteriorPoint,
    LeastSquares,
    LinearClassifier,
    LinearProgram,
    Newton,
    ProximalNewton,
    ProximalPoint,
    Rosenblatt,
    Stop,
    minimize,
)
from separatrix.solvers import choose


@cache
def in_one_array(loss, k, weighted, solver, stop, l2=0.01, penalty=None):
    """The result of the same rows in one array, for all kinds of sources."""
    _, here = objectives("csr", loss, k, weighted, l2)
    return minimised(here if penalty is None else here.with_penalty(penalty), solver, stop)


def minimised(objective, solver, stop):
    """By a solver, or None: by that of ``auto``."""
    return minimize(objective, choose(objective) if solver is None else solver, stop=stop)


# ---- solvers --------------------------------------------------------------------------------

BATCH = [
    ("logistic", Newton()), ("logistic", Newton(direct_weights=0)), ("logistic", LBFGS()),
    ("logistic", LBFGS(factored_features=0)), ("squared_hinge", LBFGS()),
    ("logistic", ProximalNewton()),
    ("squared", LeastSquares()), ("squared", LeastSquares(direct_size=1)),
    ("logistic", None), ("squared", None), ("squared_hinge", None),
]  # fmt: skip


@quiet
@every_source
@both
@every_weight
@pytest.mark.parametrize(("loss", "solver"), BATCH, ids=str)
@pytest.mark.sampled(16)
def test_batch_solvers_find_the_same_minimum(kind, k, weighted, loss, solver):
    there, here = objectives(kind, loss, k, weighted)
    stop = Stop(max_iter=500, tol=1e-10)
    found = minimised(there, solver, stop)
    expected = in_one_array(loss, k, weighted, solver, stop)
    assert found.stop == expected.stop
    assert here.value(found.weights)[0] == pytest.approx(here.value(expected.weights)[0], rel=1e-10)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-3, atol=1e-4)


@pytest.mark.sampled
@quiet
@every_source
@both
@every_weight
@pytest.mark.parametrize(("loss", "l1"), [("logistic", 0.2), ("squared_hinge", 0.5)])
@pytest.mark.parametrize("groups", [None, (0, 1, 0, 2), "classes"], ids=str)
def test_weights_become_zero_alike(kind, k, weighted, loss, l1, groups):
    p = (1.0, 2.0, 0.5, 1.0) if groups is None else (0.5, 2.0, 0.5, 1.0)  # equal in a group
    given = (l1 if groups is None else 2.0 * l1), 0.0, p
    penalty = ElasticNet(*given) if groups is None else GroupLasso(*given, groups)
    there, _ = objectives(kind, loss, k, weighted)
    solver, stop = ProximalNewton(), Stop(tol=1e-10)
    found = minimised(there.with_penalty(penalty), solver, stop)
    expected = in_one_array(loss, k, weighted, solver, stop, penalty=penalty)
    assert found.stop == expected.stop == "optimal"
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6)
    assert np.array_equal(found.weights == 0.0, expected.weights == 0.0)
    assert groups is not None or (found.weights == 0.0).any()


@quiet
@every_source
@both
@every_weight
def test_by_columns_weights_become_zero_alike_where_rows_are_in_memory(kind, k, weighted):
    there, here = (
        of.with_penalty(ElasticNet(0.5, 0.0, (1.0, 2.0, 0.5, 1.0)))
        for of in objectives(kind, "squared_hinge", k, weighted)
    )
    if kind in AWAY:
        with pytest.raises(ValueError, match=r"must be in memory; use ProximalNewton\(\)"):
            minimize(there, CoordinateDescent())
        return
    found, expected = (
        minimize(of, CoordinateDescent(), stop=Stop(tol=1e-10)) for of in (there, here)
    )
    assert found.stop == expected.stop == "optimal"
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6)
    assert np.array_equal(found.weights == 0.0, expected.weights == 0.0)


STEPS = [
    ("logistic", GradientDescent()), ("hinge", GradientDescent()),
    ("logistic", GradientDescent(learning_rate=0.01)), ("perceptron", BatchPerceptron()),
    ("squared_hinge", GradientDescent(learning_rate=0.01)),
]  # fmt: skip


@quiet
@every_source
@both
@every_weight
@pytest.mark.parametrize(("loss", "solver"), STEPS, ids=str)
def test_steps_of_all_rows_are_the_same(kind, k, weighted, loss, solver):
    there, here = objectives(kind, loss, k, weighted, 0.0 if loss == "perceptron" else 0.01)
    stop = Stop(max_iter=6, tol=None)
    found, expected = (minimize(of, solver, stop=stop).last for of in (there, here))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


ROW_BY_ROW = [
    ("perceptron", Rosenblatt(shuffle=False)),
    ("perceptron", Rosenblatt(shuffle=False, average=True)),
    ("logistic", GradientDescent(1, shuffle=False, learning_rate=0.01)),
    ("hinge", GradientDescent(1, shuffle=False, learning_rate=0.01)),
]


@quiet
@pytest.mark.parametrize("kind", [kind for kind in SOURCES if kind != "cluster"])  # mixes parts
@both
@every_weight
@pytest.mark.parametrize(("loss", "solver"), ROW_BY_ROW, ids=str)
def test_row_by_row_it_does_not_matter_where_blocks_end(kind, k, weighted, loss, solver):
    there, here = objectives(kind, loss, k, weighted, 0.0 if loss == "perceptron" else 0.01)
    stop = Stop(max_iter=5, tol=None)
    found, expected = (minimize(of, solver, stop=stop) for of in (there, here))
    np.testing.assert_allclose(found.last, expected.last, rtol=1e-9, atol=1e-9)


@quiet
@pytest.mark.parametrize("kind", [kind for kind in SOURCES if kind != "cluster"])  # mixes parts
@both
@every_weight
def test_row_by_row_weights_become_zero_alike(kind, k, weighted):
    solver = GradientDescent(1, shuffle=False, learning_rate=0.01)
    found, expected = (
        minimize(of.with_penalty(ElasticNet(0.3, 0.01)), solver, stop=Stop(max_iter=5, tol=None))
        for of in objectives(kind, "logistic", k, weighted)
    )
    np.testing.assert_allclose(found.last, expected.last, rtol=1e-9, atol=1e-9)
    assert np.array_equal(found.last == 0.0, expected.last == 0.0)
    assert (found.last == 0.0).any()


# ---- row by row in another order, and mini-batches -------------------------------------------


@quiet
@both
@every_weight
@pytest.mark.parametrize("kind", ["csr", "threads", "subset"])
@pytest.mark.parametrize(
    ("loss", "solver"),
    [("perceptron", Rosenblatt()), ("hinge", GradientDescent(16, learning_rate=0.01))],
    ids=str,
)
def test_rows_in_memory_are_shuffled_alike(kind, k, weighted, loss, solver):
    there, here = objectives(kind, loss, k, weighted, 0.0 if loss == "perceptron" else 0.01)
    stop = Stop(max_iter=4, tol=None)
    found, expected = (minimize(of, solver, stop=stop, seed=3).last for of in (there, here))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.sampled(1)
@quiet
@both
@pytest.mark.parametrize("kind", AWAY)
def test_away_from_memory_rows_are_shuffled_within_their_blocks(kind, k):
    """The same each time, and in the end to the same minimum."""
    there, here = objectives(kind, "logistic", k, weighted=True)
    once, again, long = (
        minimize(there, GradientDescent(1), stop=Stop(max_iter=passes, tol=None), seed=3).last
        for passes in (10, 10, 300)
    )
    np.testing.assert_array_equal(once, again)
    lowest = minimize(here, Newton(), stop=Stop(tol=1e-12))
    assert here.value(long)[0] < 1.05 * here.value(lowest.weights)[0]


@quiet
@pytest.mark.parametrize("kind", ["chunked", "chunked csr"])
def test_a_mini_batch_ends_with_its_block(kind):
    """Each is a mean over its rows: a whole number of them in every block would be the same."""
    there, here = objectives(kind, "squared", 2, weighted=False)
    solver = GradientDescent(70, shuffle=False, learning_rate=1e-3)
    found = minimize(there, solver, stop=Stop(max_iter=1, tol=None)).last
    X, y, _, _ = data(2, weighted=False)
    Z, W = np.column_stack([X, np.ones(N)]), np.zeros(D + 1)
    for start, stop in pairwise(EDGES):
        for first in range(start, stop, 70):
            z, sign = Z[first : min(first + 70, stop)], y[first : min(first + 70, stop)]
            slope = 2.0 * z.T @ (z @ W - sign) / len(z)
            W -= 1e-3 * (slope + 0.02 * np.append(W[:-1], 0.0))
    np.testing.assert_allclose(found[0], W, rtol=1e-9)
    assert not np.allclose(found, minimize(here, solver, stop=Stop(max_iter=1, tol=None)).last)


# ---- losses with a kink: solvers that keep a number with every row ---------------------------

KINKS = [
    ("hinge", DualAscent(), 0.01), ("hinge", ProximalPoint(), 0.01),
    ("hinge", InteriorPoint(), 0.01), ("hinge", CoordinateAscent(), 1.0),
    ("hinge", LinearProgram(), 0.0), ("hinge", None, 1e-5),
]  # fmt: skip


@pytest.mark.sampled(4)
@quiet
@both
@every_weight
@every_source
@pytest.mark.parametrize(("loss", "solver", "l2"), KINKS, ids=str)
def test_losses_with_a_kink_find_the_same_minimum_or_a_remedy(kind, k, weighted, loss, solver, l2):
    there, here = objectives(kind, loss, k, weighted, l2)
    tol = 1e-8 if isinstance(solver, CoordinateAscent) else 1e-10  # it crawls
    stop = Stop(max_iter=300, tol=tol)
    if kind in AWAY and isinstance(solver, InteriorPoint | CoordinateAscent):
        with pytest.raises(ValueError, match=r"in memory; use DualAscent"):
            minimize(there, solver, stop=stop)
        return
    found = minimised(there, solver, stop)
    expected = in_one_array(loss, k, weighted, solver, stop, l2)
    lowest = here.value(expected.weights)[0]
    assert found.stop == expected.stop
    assert here.value(found.weights)[0] == pytest.approx(lowest, rel=tol)
    assert (found.proof is None) == (expected.proof is None) == (l2 == 0.0)
    if found.proof is not None:
        assert found.proof.proven
        assert found.proof.lower_bound <= lowest * (1.0 + 1e-13)


@pytest.mark.parametrize("kind", AWAY)
def test_coordinate_ascent_refuses_one_vs_rest_losses_away_from_memory(kind):
    there, here = objectives(kind, "one_vs_rest_hinge", 3, False, 1.0)
    with pytest.raises(ValueError, match=r"in memory; use solver='auto', .*load the rows"):
        minimize(there, CoordinateAscent())
    assert isinstance(choose(there), GradientDescent)
    assert isinstance(choose(here), DualAscent)


@quiet
@every_weight
@pytest.mark.parametrize("kind", AWAY)
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_proximal_points_of_smooth_losses_need_no_rows_in_memory(kind, weighted, loss):
    there, here = objectives(kind, loss, 2, weighted)
    found = minimize(there, ProximalPoint(), stop=Stop(tol=1e-10))
    expected = minimize(here, Newton(), stop=Stop(tol=1e-11))
    assert found.stop == "optimal"
    assert here.value(found.weights)[0] == pytest.approx(expected.objective, rel=1e-10)


@pytest.mark.sampled(4)
@quiet
@both
@every_weight
@pytest.mark.parametrize("kind", AWAY)
def test_any_weights_of_the_hinge_are_proven_away_from_memory(kind, k, weighted):
    """Steps row by row tell no bound: it comes from the rows near a kink, taken into memory."""
    there, here = objectives(kind, "hinge", k, weighted)
    solver, stop = GradientDescent(1, shuffle=False, learning_rate=1e-3), Stop(20, tol=1e-10)
    found, expected = (minimize(of, solver, stop=stop) for of in (there, here))
    least = minimize(here, DualAscent(), stop=Stop(tol=1e-12)).objective
    assert found.proof.lower_bound <= least * (1.0 + 1e-12)
    if kind != "cluster":  # which mixes the weights of its parts
        assert found.proof.gap == pytest.approx(expected.proof.gap, rel=1e-3)


@pytest.mark.sampled(2)
@quiet
@both
@pytest.mark.parametrize("kind", AWAY)
@pytest.mark.parametrize("solver", ["auto", ProximalPoint()], ids=str)
def test_a_fit_says_what_it_keeps_for_rows_that_are_not_in_memory(kind, k, solver):
    source = SOURCES[kind](*data(k, weighted=False))
    clf = LinearClassifier("hinge", solver=solver, l2=1.0, tol=1e-6, random_state=0).fit(source)
    reported = re.search(r"keeping (\S+) MB in memory of rows that are not", repr(clf.solver_))
    if kind == "cluster" and isinstance(solver, ProximalPoint):  # it is kept where the rows are
        assert reported is None
        return
    expected = 8 * N * (1 if k == 2 else k)  # a number a row, or one for each class
    if solver == "auto":  # all rows, for they are few
        expected = source.row_bytes * N
    assert 1e6 * float(reported[1]) == pytest.approx(expected, rel=0.01)
    assert 0.0 <= clf.gap_ <= 1e-6 * clf.objective_
