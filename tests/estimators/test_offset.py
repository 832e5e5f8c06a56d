"""Fits with an offset: known numbers that are added to the scores of the rows.

The oracles are plain NumPy in long double, scipy.optimize and statsmodels.
"""

import inspect
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from scipy.optimize import minimize
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    LBFGS,
    ArraySource,
    CoordinateAscent,
    CoordinateDescent,
    DualAscent,
    GradientDescent,
    InteriorPoint,
    LeastSquares,
    LinearClassifier,
    LinearProgram,
    Newton,
    Perceptron,
    ProximalNewton,
    ProximalPoint,
    load,
    save,
    separability,
)

TIGHT = {"tol": 1e-10, "max_iter": 5000}
PHI = {
    "logistic": lambda m: np.logaddexp(np.longdouble(0.0), -m),
    "squared": lambda m: (1.0 - m) ** 2,
    "hinge": lambda m: np.maximum(0.0, 1.0 - m),
    "squared_hinge": lambda m: np.maximum(0.0, 1.0 - m) ** 2,
}


def table(n=120, d=4, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 3.0, 0.2, 1.0][:d] + [0.0, 1.0, 0.0, 5.0][:d]
    offset = rng.normal(size=(n, k)) + 0.5
    if k == 2:
        offset = offset[:, 0]
        scores = X @ rng.normal(size=d) + offset
        y = (scores - scores.mean() + rng.logistic(size=n) > 0.0).astype(int)
    else:
        y = (X @ rng.normal(size=(k, d)).T + offset + rng.gumbel(size=(n, k))).argmax(axis=1)
    return X, y, offset


def weights_of(clf):
    return np.column_stack([clf.coef_, clf.intercept_])


def objective(loss, X, y, offset, W, l2=0.0, l1=0.0, weight=None):
    """J in long double."""
    X, W = np.asarray(X, dtype=np.longdouble), np.asarray(W, dtype=np.longdouble)
    weight = np.ones(len(y)) if weight is None else weight
    s = X @ W[:, :-1].T + W[:, -1] + np.reshape(offset, (len(y), -1))
    own = np.arange(len(y)), y
    if len(W) == 1:
        losses = PHI[loss](np.where(y == 1, 1.0, -1.0) * s[:, 0])
    elif loss == "logistic":
        top = s.max(axis=1, keepdims=True)
        losses = np.log(np.exp(s - top).sum(axis=1)) + top[:, 0] - s[own]
    elif loss == "hinge":
        lifted = s + 1.0
        lifted[own] -= 1.0
        losses = lifted.max(axis=1) - s[own]
    else:
        sign = np.where(y[:, None] == np.arange(len(W)), 1.0, -1.0)
        losses = PHI[loss](sign * s).sum(axis=1)
    w = W[:, :-1]
    return float(weight @ losses / weight.sum() + l2 * (w**2).sum() + l1 * np.abs(w).sum())


def least(loss, X, y, offset, l2, weight=None):
    """The minimum of a smooth J by BFGS."""
    k = 1 if offset.ndim == 1 else offset.shape[1]
    shape = k, X.shape[1] + 1

    def of(w):
        return objective(loss, X, y, offset, w.reshape(shape), l2, weight=weight)

    found = minimize(of, np.zeros(np.prod(shape)), method="BFGS", options={"gtol": 1e-8})
    return found.fun


SMOOTH = [
    ("logistic", solver)
    for solver in ("auto", LBFGS(), Newton(), GradientDescent(), ProximalNewton(), ProximalPoint())
] + [("squared", LeastSquares()), ("squared", LBFGS()), ("squared_hinge", DualAscent())]


@pytest.mark.parametrize(("loss", "solver"), SMOOTH, ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_batch_solver_reaches_the_minimum_and_proves_it(loss, solver, sparse):
    X, y, offset = table()
    rows = sp.csr_array(X) if sparse else X
    clf = LinearClassifier(loss, l2=1e-2, solver=solver, **TIGHT).fit(rows, y, offset=offset)
    value = objective(loss, X, y, offset, weights_of(clf), 1e-2)
    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(value, rel=1e-13)
    assert clf.gap_ <= 1e-10 * value
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
@pytest.mark.parametrize("loss", ["hinge", "one_vs_rest_hinge"])
def test_duals_of_losses_with_a_kink(loss, k):
    X, y, offset = table(n=60, k=k)
    clf = LinearClassifier(loss, l2=1e-2, **TIGHT).fit(X, y, offset=offset)
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
        if loss == "hinge" or k == 2:
            other = objective("hinge", X, y, offset, there, 1e-2)
        else:
            other = sum(
                objective("hinge", X, (y == c).astype(int), offset[:, c], there[c, None], 1e-2)
                for c in range(3)
            )
        assert other >= value - clf.gap_


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


# ---- predictions -------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_predictions_add_the_offset(k):
    X, y, offset = table(k=k)
    clf = LinearClassifier(l2=1e-2).fit(X, y, offset=offset)
    scores = X @ clf.coef_.T + clf.intercept_
    scores = scores[:, 0] + offset if k == 2 else scores + offset
    np.testing.assert_allclose(clf.decision_function(X, offset=offset), scores, atol=1e-12)
    p = clf.predict_proba(X, offset=offset)
    if k == 2:
        np.testing.assert_allclose(p[:, 1], 1.0 / (1.0 + np.exp(-scores)), rtol=1e-12)
        expected = (scores >= 0.0).astype(int)
    else:
        expected = scores.argmax(axis=1)
    np.testing.assert_array_equal(clf.predict(X, offset=offset), expected)
    np.testing.assert_allclose(clf.predict_log_proba(X, offset=offset), np.log(p), atol=1e-10)
    assert clf.score(X, y, offset=offset) == pytest.approx(np.mean(expected == y))


def test_a_model_with_an_offset_refuses_to_predict_without_one():
    X, y, offset = table()
    clf = LinearClassifier(l2=1e-2).fit(X, y, offset=offset)
    assert clf.uses_offset_
    source = ArraySource(X, np.where(y, 1.0, -1.0), np.array([0, 1]))
    for call in (
        lambda: clf.predict(X), lambda: clf.predict_proba(X), lambda: clf.decision_function(X),
        lambda: clf.score(X, y), lambda: clf.predict_log_proba(X), lambda: clf.predict(source),
        lambda: clf.score(source),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="fitted with an offset"):
            call()
    again = pickle.loads(pickle.dumps(clf))
    with pytest.raises(ValueError, match="fitted with an offset"):
        again.predict(X)
    clf.fit(X, y)  # the next fit has none
    assert not clf.uses_offset_
    assert clf.predict(X).shape == y.shape


def test_a_model_without_an_offset_adds_one_that_is_given():
    X, y, offset = table()
    clf = LinearClassifier(l2=1e-2).fit(X, y)
    difference = clf.decision_function(X, offset=offset) - clf.decision_function(X)
    np.testing.assert_allclose(difference, offset, atol=1e-12)


def test_a_model_file_remembers_that_there_was_an_offset(tmp_path):
    X, y, offset = table()
    clf = LinearClassifier(l2=1e-2).fit(X, y, offset=offset)
    save(clf, tmp_path / "model.sep")
    found = load(tmp_path / "model.sep")
    assert found.uses_offset_
    with pytest.raises(ValueError, match="fitted with an offset"):
        found.predict(X)
    np.testing.assert_array_equal(
        found.predict_proba(X, offset=offset), clf.predict_proba(X, offset=offset)
    )


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y, offset = table()
    clf = LinearClassifier(l2=1e-2).fit(X, y, offset=offset)
    before = clf.coef_.copy()
    with pytest.raises(ValueError, match="NaN"):
        clf.fit(X, y, offset=np.full(len(y), np.nan))
    assert clf.uses_offset_
    np.testing.assert_array_equal(clf.coef_, before)


# ---- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "message"), [
    (lambda o: o[:-1], r"offset has shape \(119,\), expected \(120,\)"),
    (lambda o: o[:, None], r"expected \(120,\)"),
    (lambda o: 1.0, r"offset has shape \(\), expected"),
    (lambda o: np.where(np.arange(120) == 7, np.nan, o), "NaN or infinity, first in row 7"),
    (lambda o: np.where(np.arange(120) == 3, np.inf, o), "NaN or infinity, first in row 3"),
    (lambda o: ["a"] * 120, "offset must be numbers"),
])  # fmt: skip
def test_a_wrong_offset_is_an_error(change, message):
    X, y, offset = table()
    with pytest.raises(ValueError, match=message):
        LinearClassifier().fit(X, y, offset=change(offset))
    clf = LinearClassifier().fit(X, y, offset=offset)
    with pytest.raises(ValueError, match=message):
        clf.predict(X, offset=change(offset))


def test_classes_need_a_column_each():
    X, y, offset = table(k=3)
    with pytest.raises(ValueError, match=r"expected \(120, 3\).*order of classes_"):
        LinearClassifier().fit(X, y, offset=offset[:, 0])
    with pytest.raises(ValueError, match=r"expected \(120, 3\)"):
        LinearClassifier().fit(X, y, offset=offset[:, :2])


def test_a_source_has_its_own_offset():
    X, y, offset = table()
    source = ArraySource(X, np.where(y, 1.0, -1.0), np.array([0, 1]))
    with pytest.raises(TypeError, match="offset was also given"):
        LinearClassifier().fit(source, offset=offset)
    clf = LinearClassifier().fit(X, y, offset=offset)
    for method in (clf.predict, clf.decision_function, clf.predict_proba):
        with pytest.raises(TypeError, match="offset was also given"):
            method(source, offset=offset)


@pytest.mark.parametrize("solver", [
    CoordinateAscent(), InteriorPoint(), CoordinateDescent(),
    GradientDescent(batch_size=1), GradientDescent(batch_size=32),
], ids=str)  # fmt: skip
def test_solvers_that_know_no_offset_say_so(solver):
    X, y, offset = table()
    loss = "logistic" if isinstance(solver, (CoordinateDescent, GradientDescent)) else "hinge"
    with pytest.raises(TypeError, match=r"takes no offset: use solver='auto'"):
        LinearClassifier(loss, l2=1e-2, solver=solver).fit(X, y, offset=offset)


def test_layouts_of_the_offset_give_the_same_bits():
    X, y, offset = table(k=3)
    expected = LinearClassifier(l2=1e-2).fit(X, y, offset=offset)
    locked = offset.copy()
    locked.setflags(write=False)
    for other in (locked, np.asfortranarray(offset), offset.tolist(), np.repeat(offset, 2, 0)[::2]):
        clf = LinearClassifier(l2=1e-2).fit(X, y, offset=other)
        np.testing.assert_array_equal(clf.coef_, expected.coef_)
    np.testing.assert_array_equal(locked, offset)


# ---- edge cases --------------------------------------------------------------------------------


def test_two_rows_one_feature():
    offset = np.array([3.0, -3.0])
    clf = LinearClassifier(l2=1e-2, tol=1e-9).fit([[0.0], [1.0]], [0, 1], offset=offset)
    assert clf.stop_ == "optimal"


def test_an_offset_that_separates_the_rows_ends_with_a_proof():
    """Without weights the offset alone classifies every row: that is no infinite coefficient."""
    X, y, _ = table()
    offset = np.where(y == 1, 30.0, -30.0)
    for loss in ("logistic", "squared_hinge", "hinge"):
        clf = LinearClassifier(loss, l2=1e-3, tol=1e-8).fit(X, y, offset=offset)
        assert clf.stop_ == "optimal", (loss, clf.gap_, clf.objective_)
        assert clf.objective_ < 1e-6
    free = LinearClassifier(l2=0.0).fit(X, y, offset=np.where(y == 1, 2.0, -2.0))
    assert free.stop_ == "optimal"  # the rows overlap, whatever is added to their scores


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_offset_makes_separable_rows_have_a_minimum():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    clf = LinearClassifier(l2=0.0).fit(X, y, offset=np.array([5.0, 4.0, -4.0, -5.0]))
    assert clf.stop_ == "no minimum"


def test_separability_does_not_see_offsets():
    X, y, offset = table()
    clf = LinearClassifier(l2=1e-2, callbacks=[lambda step, info: None])
    clf.fit(X, y, offset=offset)
    assert separability(X, y).verdict == "overlapping"


def test_replay_takes_the_offset():
    X, y, offset = table()
    clf = LinearClassifier(l2=1e-2, solver=LBFGS()).fit(X, y, offset=offset)
    *_, last = clf.trace_.replay(X, y, offset=offset)
    np.testing.assert_array_equal(last.weights[:, :-1], clf.coef_)


# ---- metadata routing --------------------------------------------------------------------------


@pytest.mark.parametrize("method", [
    "fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score",
])  # fmt: skip
def test_the_offset_is_metadata(method):
    assert "offset" in inspect.signature(getattr(LinearClassifier, method)).parameters
    with sklearn.config_context(enable_metadata_routing=True):
        setting = getattr(LinearClassifier(), f"set_{method}_request")(offset=True)
        assert getattr(setting.get_metadata_routing(), method).requests["offset"] is True


def test_a_pipeline_routes_the_offset():
    X, y, offset = table()
    with sklearn.config_context(enable_metadata_routing=True):
        clf = LinearClassifier(l2=1e-2).set_fit_request(offset=True)
        clf.set_predict_proba_request(offset=True)
        model = make_pipeline(StandardScaler(), clf).fit(X, y, offset=offset)
        found = model.predict_proba(X, offset=offset)
    Z = StandardScaler().fit_transform(X)
    expected = LinearClassifier(l2=1e-2).fit(Z, y, offset=offset)
    np.testing.assert_array_equal(found, expected.predict_proba(Z, offset=offset))


def test_a_perceptron_has_no_offset_in_its_fit():
    assert "offset" not in inspect.signature(Perceptron.fit).parameters
