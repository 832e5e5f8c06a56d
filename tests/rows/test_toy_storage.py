"""Solvers on a storage of its own, which is never converted to an array."""

from __future__ import annotations

import numpy as np
import pytest
from chunked import Chunked
from toy_rows import ToyRows

import separatrix as sx
from separatrix.data.standardized import StandardizedSource
from separatrix.numeric.standardization import Standardization
from separatrix.numeric.tolerances import EPS
from separatrix.proofs.rounding import rounding
from separatrix.rows import StandardizedRows


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


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore:BatchPerceptron")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("loss", "solver"), BATCH, ids=repr)
def test_batch_solvers_run_on_sums_alone(loss, solver, classes):
    if (loss, classes) == ("squared_hinge", 3) and isinstance(solver, sx.InteriorPoint):
        pytest.skip("its dual is of two classes")
    toy, dense, _ = sources(classes)
    l2 = 0.0 if isinstance(solver, (sx.LinearProgram, sx.BatchPerceptron)) else 0.01
    options = {"l2": l2, "solver": solver or "auto", "random_state": 0, "max_iter": 300}
    if loss == "hinge":  # which method runs depends on the storage
        options["tol"] = 1e-10
    ours, theirs = (sx.LinearClassifier(loss, **options).fit(source) for source in (toy, dense))
    assert ours.stop_ == theirs.stop_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-8)
    assert ours.score(toy) == theirs.score(dense)


@pytest.mark.parametrize(
    "solver",
    [sx.CoordinateAscent(), sx.CoordinateDescent(), sx.GradientDescent(batch_size=1), None],
    ids=repr,
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_solvers_that_go_row_by_row_refuse_it_before_anything_is_read(solver, wrapped, monkeypatch):
    toy, _, _ = sources(2)
    if wrapped:
        toy = sx.data.Subset(toy, np.arange(100))

    def read(*_, **__):
        raise AssertionError("the rows were read")

    for product in ("scores", "transpose_product", "moments", "squared_norms", "value_gradient"):
        monkeypatch.setattr(ToyRows, product, read)
    clf = sx.Perceptron() if solver is None else sx.LinearClassifier(
        "squared_hinge" if isinstance(solver, sx.CoordinateAscent) else "logistic", solver=solver
    )  # fmt: skip
    with pytest.raises(TypeError, match=r"visits rows one after another, .* sums alone: use a"):
        clf.fit(toy)


def test_auto_avoids_solvers_that_go_row_by_row():
    toy, dense, _ = sources(2, n=60, d=40)
    penalty = {"l1": 0.05, "l2": 0.0}
    ours, theirs = (sx.LinearClassifier(**penalty).fit(source) for source in (toy, dense))
    assert type(ours.solver_) is sx.ProximalNewton
    assert type(theirs.solver_) is sx.CoordinateDescent
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_samples_stay_in_their_storage():
    toy, dense, _ = sources(2, n=6000)
    streamed = Chunked(toy, [0, 1000, 1000, 4500, 6000])
    how = Standardization(np.full(7, 0.1), np.append(np.full(7, 2.0), 1.0))
    for source in (toy, streamed, StandardizedSource(streamed, how)):
        sample = source.sample(4200).block().rows
        given = sample.given if isinstance(sample, StandardizedRows) else sample
        assert isinstance(given, ToyRows)
        assert sample.shape == (4200, 7)
    theirs = sx.LinearClassifier(l2=1e-4, standardize=True).fit(dense)
    for source in (toy, streamed):  # with the second derivative of a sample
        ours = sx.LinearClassifier(l2=1e-4, standardize=True, solver=sx.LBFGS()).fit(source)
        assert ours.stop_ == "optimal"
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-3)


def test_rows_that_are_summed_less_exactly_say_so(monkeypatch):
    toy, _, _ = sources(2)
    monkeypatch.setattr(ToyRows, "rounding", 1e-9)
    problem, W = sx.Objective(sx.get_loss("logistic"), sx.L2(0.1), toy, True), np.ones((1, 8))
    coarse = rounding(problem, W, 1.0)
    monkeypatch.setattr(ToyRows, "rounding", EPS)
    toy, _, _ = sources(2)
    problem = sx.Objective(sx.get_loss("logistic"), sx.L2(0.1), toy, True)
    assert coarse == pytest.approx(rounding(problem, W, 1.0) * 1e-9 / EPS)
