"""Solvers on a storage of its own, which is never converted to an array."""

from __future__ import annotations

import numpy as np
import pytest
from toy_rows import ToyRows

import separatrix as sx
from separatrix.numeric.tolerances import EPS
from separatrix.proofs.rounding import rounding


def sources(classes, n=240, d=7):
    """Rows of 8 bits, and the numbers that they stand for."""
    rng = np.random.default_rng(0)
    values = rng.integers(-127, 128, (n, d)).astype(np.int8)
    toy = ToyRows(values, rng.uniform(0.5, 1.5, n) / 64.0)
    number = (toy.numbers()[:, :classes] + rng.normal(size=(n, classes))).argmax(axis=1)
    y = 2.0 * number - 1.0 if classes == 2 else number
    made = (sx.ArraySource(X, y, np.arange(classes)) for X in (toy, toy.numbers()))
    return (*made, toy)


BATCH = [
    ("logistic", None), ("logistic", sx.LBFGS()), ("logistic", sx.Newton()),
    ("logistic", sx.GradientDescent()), ("squared_hinge", None), ("squared_hinge", sx.LBFGS()),
    ("squared", None), ("squared", sx.LeastSquares()), ("squared", sx.LeastSquares(direct_size=1)),
    ("hinge", None), ("hinge", sx.DualAscent()), ("hinge", sx.InteriorPoint()),
    ("hinge", sx.ProximalPoint()), ("logistic", sx.ProximalNewton()), ("hinge", sx.LinearProgram()),
    ("squared_hinge", sx.InteriorPoint()), ("perceptron", sx.BatchPerceptron()),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:BatchPerceptron")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("loss", "solver"), BATCH, ids=repr)
def test_batch_solvers_run_on_sums_alone(loss, solver, classes):
    if (loss, classes) == ("squared_hinge", 3) and isinstance(solver, sx.InteriorPoint):
        pytest.skip("its dual is of two classes")
    toy, dense, _ = sources(classes)
    l2 = 0.0 if isinstance(solver, (sx.LinearProgram, sx.BatchPerceptron)) else 0.01
    options = {"l2": l2, "solver": solver or "auto", "random_state": 0, "max_iter": 300}
    ours, theirs = (sx.LinearClassifier(loss, **options).fit(source) for source in (toy, dense))
    assert ours.stop_ == theirs.stop_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-8)
    assert ours.score(toy) == theirs.score(dense)


@pytest.mark.parametrize("solver", [sx.CoordinateAscent(), sx.CoordinateDescent(), None], ids=repr)
def test_solvers_that_go_row_by_row_refuse_it(solver):
    toy, _, _ = sources(2)
    clf = sx.Perceptron() if solver is None else sx.LinearClassifier(
        "squared_hinge" if isinstance(solver, sx.CoordinateAscent) else "logistic", solver=solver
    )  # fmt: skip
    with pytest.raises(TypeError, match=r"ToyRows .* row by row: use"):
        clf.fit(toy)


def test_rows_that_are_summed_less_exactly_say_so(monkeypatch):
    toy, _, _ = sources(2)
    monkeypatch.setattr(ToyRows, "rounding", 1e-9)
    problem, W = sx.Objective(sx.get_loss("logistic"), sx.L2(0.1), toy, True), np.ones((1, 8))
    coarse = rounding(problem, W, 1.0)
    monkeypatch.setattr(ToyRows, "rounding", EPS)
    assert coarse == pytest.approx(rounding(problem, W, 1.0) * 1e-9 / EPS)
