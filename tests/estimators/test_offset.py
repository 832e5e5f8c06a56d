"""Fits with an offset: known numbers that are added to the scores of the rows.

The oracles are plain NumPy in long double, scipy.optimize and statsmodels.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from offset_oracles import TIGHT, least, objective, table, weights_of
from sklearn.exceptions import ConvergenceWarning

from separatrix import (
    LBFGS,
    CoordinateAscent,
    CoordinateDescent,
    DualAscent,
    GradientDescent,
    InteriorPoint,
    LeastSquares,
    LinearClassifier,
    LinearProgram,
    Newton,
    ProximalNewton,
    ProximalPoint,
    path,
    read,
)

SMOOTH = [
    ("logistic", solver)
    for solver in ("auto", LBFGS(), Newton(), GradientDescent(), ProximalNewton(), ProximalPoint())
] + [
    ("squared", LeastSquares()), ("squared", LBFGS()), ("squared_hinge", DualAscent()),
    ("squared_hinge", InteriorPoint()), ("squared_hinge", CoordinateDescent()),
    ("logistic", CoordinateDescent()), ("logistic", CoordinateAscent()),
    ("squared_hinge", CoordinateAscent()),
]  # fmt: skip


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("loss", "solver"), SMOOTH, ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_batch_solver_reaches_the_minimum_and_proves_it(loss, solver, sparse):
    X, y, offset = table()
    rows = sp.csr_array(X) if sparse else X
    # Epochs on features of different scales, with a bias, stall near 1e-10 of J.
    tol = 1e-8 if isinstance(solver, CoordinateAscent) else TIGHT["tol"]
    clf = LinearClassifier(loss, l2=1e-2, solver=solver, tol=tol, max_iter=5000, random_state=0)
    clf.fit(rows, y, offset=offset)
    value = objective(loss, X, y, offset, weights_of(clf), 1e-2)
    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(value, rel=1e-13)
    assert clf.gap_ <= tol * value
    assert least(loss, X, y, offset, 1e-2) >= value - clf.gap_ - 1e-14


@pytest.mark.parametrize("loss", ["logistic", "squared", "one_vs_rest_logistic", "squared_hinge"])
def test_more_classes(loss):
    X, y, offset = table(k=3)
    weight = np.arange(len(y)) % 3.0
    clf = LinearClassifier(loss, l2=1e-3, **TIGHT).fit(X, y, weight, offset=offset)
    name = loss.removeprefix("one_vs_rest_")
    if loss == "one_vs_rest_logistic":  # the oracle's "logistic" is softmax
        value = sum(
            objective(name, X, (y == c).astype(int), offset[:, c], weights_of(clf)[c, None], 1e-3,
                      weight=weight)
            for c in range(3)
        )  # fmt: skip
        lowest = sum(
            least(name, X, (y == c).astype(int), offset[:, c], 1e-3, weight) for c in range(3)
        )
    else:
        value = objective(name, X, y, offset, weights_of(clf), 1e-3, weight=weight)
        lowest = least(name, X, y, offset, 1e-3, weight)
    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(value, rel=1e-13)
    assert lowest >= value - clf.gap_ - 1e-14


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("loss", "solver"), [
    ("hinge", "auto"), ("hinge", InteriorPoint()), ("hinge", CoordinateAscent()),
    ("one_vs_rest_hinge", "auto"), ("one_vs_rest_hinge", CoordinateAscent()),
], ids=str)  # fmt: skip
def test_duals_of_losses_with_a_kink(loss, solver, k, intercept):
    X, y, offset = table(n=60, k=k)
    clf = LinearClassifier(
        loss, l2=1e-2, solver=solver, fit_intercept=intercept, random_state=0, **TIGHT
    )
    clf.fit(X, y, offset=offset)
    W = weights_of(clf)
    if loss == "hinge" or k == 2:
        value = objective("hinge", X, y, offset, W, 1e-2)
    else:
        value = sum(
            objective("hinge", X, (y == c).astype(int), offset[:, c], W[c, None], 1e-2)
            for c in range(3)
        )
    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(value, rel=1e-12)
    assert clf.gap_ <= 1e-10 * value
    rng = np.random.default_rng(0)
    for _ in range(50):  # convex: no point near it is lower
        there = W + rng.normal(size=W.shape) * 10.0 ** rng.uniform(-6, -1)
        there[:, -1] *= intercept
        if loss == "hinge" or k == 2:
            other = objective("hinge", X, y, offset, there, 1e-2)
        else:
            other = sum(
                objective("hinge", X, (y == c).astype(int), offset[:, c], there[c, None], 1e-2)
                for c in range(3)
            )
        assert other >= value - clf.gap_


DUALS = ["auto", InteriorPoint(), CoordinateAscent(), DualAscent()]
WIDE = [(loss, solver, 2) for loss in ("hinge", "squared_hinge") for solver in DUALS]
WIDE += [("hinge", solver, 3) for solver in DUALS]
WIDE += [("logistic", CoordinateAscent(), 2), ("logistic", ProximalPoint(), 2)]


@pytest.mark.parametrize(("loss", "solver", "k"), WIDE, ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_fewer_rows_than_features(loss, solver, k, intercept):
    """The dual has a system of the rows there, and starts in its interior with large offsets."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 90)), rng.integers(0, k, 60)
    offset = 3.0 * rng.normal(size=(60, k)) + 10.0 * np.arange(k)
    offset = offset[:, 0] - 8.0 if k == 2 else offset
    clf = LinearClassifier(
        loss, l2=3e-2, solver=solver, fit_intercept=intercept, tol=1e-8, random_state=0
    )
    clf.fit(X, y, offset=offset)
    W = weights_of(clf)
    value = objective(loss, X, y, offset, W, 3e-2)
    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(value, rel=1e-12)
    assert clf.gap_ <= 1e-8 * value
    for _ in range(50):
        there = W + rng.normal(size=W.shape) * 10.0 ** rng.uniform(-6, -1)
        there[:, -1] *= intercept
        assert objective(loss, X, y, offset, there, 3e-2) >= value - clf.gap_


@pytest.mark.parametrize("k", [2, 3])
def test_the_dual_along_a_path_begins_with_the_alphas_before(k):
    rng = np.random.default_rng(3)
    X = sp.csr_array(rng.normal(size=(150, 300)) * (rng.random((150, 300)) < 0.04))
    y, offset = rng.integers(0, k, 150), rng.normal(size=(150, k))
    offset = offset[:, 0] if k == 2 else offset
    given = {"l1_ratio": 0.0, "strengths": [0.5, 0.1, 0.02], "tol": 1e-8, "random_state": 0}
    found = path(X, y, offset=offset, loss="hinge", solver=CoordinateAscent(), **given)
    for strength in found.strengths:
        clf = found.at(strength)
        value = objective("hinge", X.toarray(), y, offset, weights_of(clf), clf.l2)
        assert clf.stop_ == "optimal"
        assert clf.objective_ == pytest.approx(value, rel=1e-12)
        alone = LinearClassifier("hinge", l2=clf.l2, tol=1e-8).fit(X, y, offset=offset)
        assert abs(value - alone.objective_) <= 2e-8 * value


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["auto", DualAscent()], ids=str)
def test_a_file_that_is_read_block_by_block(loss, solver, tmp_path):
    X, y, offset = table(n=900)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, o=offset)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    source = read(tmp_path / "rows.csv", target="y", offset="o", block_rows=200, dtype="float64")
    clf = LinearClassifier(loss, l2=1e-2, solver=solver, tol=1e-8).fit(source)
    value = objective(loss, X, y, offset, weights_of(clf), 1e-2)
    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(value, rel=1e-10)
    alone = LinearClassifier(loss, l2=1e-2, tol=1e-8).fit(X, y, offset=offset)
    assert abs(value - alone.objective_) <= 2e-8 * value


@pytest.mark.parametrize("solver", [
    CoordinateAscent(), InteriorPoint(), CoordinateDescent(), DualAscent(),
], ids=str)  # fmt: skip
def test_rows_of_weight_0_are_as_if_absent(solver):
    X, y, offset = table()
    weight = np.arange(len(y)) % 3.0
    offset = np.where(weight == 0.0, 1e300, offset)
    model = LinearClassifier("squared_hinge", l2=0.1, solver=solver, random_state=0)
    clf = model.fit(X, y, weight, offset=offset)
    few = weight > 0.0
    value = objective("squared_hinge", X[few], y[few], offset[few], weights_of(clf), 0.1,
                      weight=weight[few])  # fmt: skip
    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(value, rel=1e-10)
    fewer = model.fit(X[few], y[few], weight[few], offset=offset[few])
    assert abs(fewer.objective_ - value) <= 2e-6 * value


@pytest.mark.parametrize("solver", [
    CoordinateAscent(), InteriorPoint(), CoordinateDescent(), GradientDescent(1),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("size", [1e-8, 1e6])
def test_offsets_of_any_size_end_with_what_is_true(solver, size):
    X, y, offset = table()
    clf = LinearClassifier("squared_hinge", l2=0.1, solver=solver, random_state=0, max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf.fit(X, y, offset=size * offset)
    best = LinearClassifier("squared_hinge", l2=0.1, solver=Newton()).fit(
        X, y, offset=size * offset
    )
    value = objective("squared_hinge", X, y, size * offset, weights_of(clf), 0.1)
    assert clf.objective_ == pytest.approx(value, rel=1e-9)
    assert value >= best.objective_ - best.gap_
    if clf.stop_ == "optimal":
        assert value <= best.objective_ * (1.0 + 2e-6)
    assert clf.stop_ == "optimal" or isinstance(solver, GradientDescent)


@pytest.mark.parametrize("k", [2, 3])
def test_the_hinge_without_a_penalty_is_a_linear_program(k):
    X, y, offset = table(n=60, k=k)
    clf = LinearClassifier("hinge", l2=0.0).fit(X, y, offset=offset)
    value = objective("hinge", X, y, offset, weights_of(clf))
    assert isinstance(clf.solver_, LinearProgram)
    assert clf.converged_
    penalised = LinearClassifier("hinge", l2=1e-9, tol=1e-8, max_iter=5000)
    penalised.fit(X, y, offset=offset)
    other = objective("hinge", X, y, offset, weights_of(penalised))
    assert value <= other + 1e-12
    assert other <= value + 1e-5


def test_the_offset_is_a_feature_whose_weight_is_fixed_at_1():
    """With a free weight for the offset, its penalty-free optimum times it gives the same fit."""
    X, y, offset = table(n=400)
    free = LinearClassifier(l2=0.0, tol=1e-12).fit(np.column_stack([X, offset]), y)
    factor = free.coef_[0, -1]
    clf = LinearClassifier(l2=0.0, tol=1e-12).fit(X, y, offset=factor * offset)
    np.testing.assert_allclose(clf.coef_, free.coef_[:, :-1], rtol=1e-7)
    np.testing.assert_allclose(clf.intercept_, free.intercept_, rtol=1e-7)
    assert clf.stop_ == "optimal"


def test_statsmodels_agrees():
    sm = pytest.importorskip("statsmodels.api")
    X, y, offset = table(n=300)
    clf = LinearClassifier(l2=0.0, tol=1e-13).fit(X, y, offset=offset)
    other = sm.GLM(y, sm.add_constant(X), family=sm.families.Binomial(), offset=offset)
    params = other.fit(tol=1e-13).params
    np.testing.assert_allclose(clf.coef_[0], params[1:], rtol=1e-7)
    np.testing.assert_allclose(clf.intercept_, params[:1], rtol=1e-7)


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
@pytest.mark.parametrize("constant", [0.0, 7.0, -1e3, 1e8])
def test_a_constant_offset_moves_the_intercept_alone(loss, constant):
    X, y, _ = table()
    tol = 1e-9 if constant < 1e6 else 1e-6  # the scores are rounded
    plain = LinearClassifier(loss, l2=1e-2, tol=1e-9).fit(X, y)
    moved = LinearClassifier(loss, l2=1e-2, tol=tol).fit(X, y, offset=np.full(len(y), constant))
    close = 1e-4 if constant < 1e6 else 1e-2
    np.testing.assert_allclose(moved.coef_, plain.coef_, atol=close)
    np.testing.assert_allclose(moved.intercept_ + constant, plain.intercept_, atol=10 * close)
    assert moved.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert moved.stop_ == "optimal"


def test_an_offset_of_the_features_moves_their_weights():
    X, y, _ = table(n=300)
    v = np.array([0.5, -1.0, 2.0, 0.1])
    plain = LinearClassifier(l2=0.0, tol=1e-12).fit(X, y)
    moved = LinearClassifier(l2=0.0, tol=1e-12).fit(X, y, offset=X @ v)
    np.testing.assert_allclose(moved.coef_[0] + v, plain.coef_[0], rtol=1e-6)


def test_repeated_rows_are_weights_where_their_offsets_agree():
    X, y, offset = table()
    counts = np.arange(len(y)) % 3
    weighed = LinearClassifier(l2=1e-2, **TIGHT).fit(X, y, counts, offset=offset)
    repeated = LinearClassifier(l2=1e-2, **TIGHT).fit(
        X.repeat(counts, axis=0), y.repeat(counts), offset=offset.repeat(counts)
    )
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-5)


@pytest.mark.parametrize("options", [
    {"standardize": True},
    {"class_weight": "balanced"},
    {"fit_intercept": False},
    {"penalty_weights": [1.0, 0.0, 2.0, 1.0]},
    {"l1": 1e-2},
    {"l1": 1e-2, "l2": 0.0, "standardize": True},
])  # fmt: skip
def test_parameters_of_the_fit(options):
    """Against the same fit where the offset is an unpenalised feature that is nearly fixed at 1."""
    X, y, offset = table(n=200)
    given = {"l2": 1e-2, "tol": 1e-9, **options}
    clf = LinearClassifier(**given).fit(X, y, offset=offset)
    W, scale = weights_of(clf), clf.scale_ if given.get("standardize") else np.ones(4)
    factor = np.asarray(given.get("penalty_weights", np.ones(4)))
    weight = np.ones(len(y))
    if "class_weight" in given:
        weight = len(y) / (2.0 * np.bincount(y)[y])

    def value(W):
        w = W[:, :-1] * scale
        penalty = given["l2"] * (factor * w**2).sum() + given.get("l1", 0.0) * np.abs(w).sum()
        return objective("logistic", X, y, offset, W, weight=weight) + penalty

    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(value(W), rel=1e-12)
    rng = np.random.default_rng(1)
    for _ in range(100):
        there = W + rng.normal(size=W.shape) * 10.0 ** rng.uniform(-6, -1)
        there[:, -1] *= given.get("fit_intercept", True)
        assert value(there) >= value(W) - clf.gap_


def test_float32_rows_keep_the_digits_of_the_offset():
    X, y, offset = table()
    X = X.astype(np.float32)
    clf = LinearClassifier(l2=1e-2, **TIGHT).fit(X, y, offset=offset + 1e-9)
    value = objective("logistic", X.astype(float), y, offset + 1e-9, weights_of(clf), 1e-2)
    assert clf.objective_ == pytest.approx(value, rel=1e-13)
    assert clf.stop_ == "optimal"


def test_several_labels_of_a_row():
    X, _, offset = table(k=3)
    rng = np.random.default_rng(2)
    Y = (rng.random((len(X), 3)) < [0.3, 0.5, 0.7]).astype(int)
    clf = LinearClassifier(l2=1e-2, **TIGHT).fit(X, Y, offset=offset)
    alone = [LinearClassifier(l2=1e-2, **TIGHT) for _ in range(3)]
    for c, one in enumerate(alone):
        one.fit(X, Y[:, c], offset=offset[:, c])
    assert clf.objective_ == pytest.approx(sum(one.objective_ for one in alone), rel=1e-9)
    own = alone[1].predict_proba(X, offset=offset[:, 1])[:, 1]
    np.testing.assert_allclose(clf.predict_proba(X, offset=offset)[:, 1], own, atol=1e-5)


def test_a_label_that_all_rows_have_takes_its_column_of_the_offset():
    X, _, offset = table(k=3)
    Y = np.column_stack([np.arange(len(X)) % 2, np.ones(len(X), int), np.arange(len(X)) % 3 == 0])
    with pytest.warns(UserWarning, match="every row has the label"):
        clf = LinearClassifier(l2=1e-2).fit(X, Y.astype(int), offset=offset)
    assert clf.decision_function(X, offset=offset).shape == (len(X), 3)


def test_labels_that_are_probabilities():
    X, y, offset = table()
    share = np.where(y, 0.9, 0.2)
    clf = LinearClassifier(l2=1e-2, soft_labels=True, **TIGHT).fit(X, share, offset=offset)
    copies = np.concatenate([X, X]), np.repeat([0, 1], len(y)), np.concatenate([1 - share, share])
    twice = LinearClassifier(l2=1e-2, **TIGHT).fit(*copies, offset=np.tile(offset, 2))
    assert clf.objective_ == pytest.approx(twice.objective_, rel=1e-9)
    np.testing.assert_allclose(clf.coef_, twice.coef_, atol=1e-6)
    assert clf.stop_ == "optimal"


def test_bias_reduction():
    X, y, offset = table()
    clf = LinearClassifier(bias_reduction="mdypl", tol=1e-10).fit(X, y, offset=offset)
    a = len(y) / (len(y) + 5)
    share = a * y + 0.5 * (1.0 - a)
    soft = LinearClassifier(l2=0.0, soft_labels=True, tol=1e-10).fit(X, share, offset=offset)
    np.testing.assert_allclose(clf.coef_, soft.coef_, atol=1e-6)
    assert clf.stop_ == "optimal"
    assert clf.uses_offset_
