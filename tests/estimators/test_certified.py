"""Certified predictions contain those of exact minima, computed in long double."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import quiet
from fuzzers import predictions
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

import separatrix
from separatrix import ArraySource, GradientDescent, LinearClassifier, LinearClassifierCV, Stop


@quiet
@pytest.mark.parametrize("kind", predictions.KINDS)
@pytest.mark.sampled(4)
def test_bounds_contain_the_exact_minimum(kind):
    decided = [share_decided(seed, kind) for seed in range(6)]
    assert np.mean(decided) > 0.05


@pytest.mark.slow
@quiet
@pytest.mark.parametrize("kind", predictions.KINDS)
def test_bounds_contain_the_exact_minimum_in_many_problems(kind):
    decided = [share_decided(seed, kind) for seed in range(6, 100)]
    assert np.mean(decided) > 0.1


def share_decided(seed, kind):
    """Of the labels of a random fit, all of whose claims are checked; 0 without a reference."""
    found = predictions.check(np.random.default_rng(seed), kind)[1]
    return 0.0 if found is None else found.decided.mean()


@quiet
@pytest.mark.parametrize("loss", ["hinge", "one_vs_rest_hinge"])
def test_bounds_contain_the_minimum_of_the_hinge(loss):
    """The reference is libsvm, with a duality gap of its own as the error that is allowed."""
    rng = np.random.default_rng(5)
    for seed in range(25):
        k = 2 if loss == "hinge" else 3
        n, d, l2 = int(rng.integers(8, 40)), int(rng.integers(1, 5)), 10.0 ** rng.uniform(-3, 0)
        X, y = np.round(rng.standard_normal((n, d)), seed % 3), np.arange(n) % k
        weight = rng.choice([0.5, 1.0, 2.0], n)
        clf = LinearClassifier(loss, l2=l2, tol=10.0 ** rng.uniform(-6, -1))
        clf.fit(X, y, weight)
        found = clf.certified(X, X, y, sample_weight=weight)
        for c in [1] if k == 2 else range(k):
            sign = np.where(y == c, 1.0, -1.0)
            w, biases, error = svm(X, sign, weight / weight.sum(), l2)
            error = error * np.linalg.norm(X - X.mean(axis=0), axis=1) + 1e-9
            low, high = (each if k == 2 else each[:, c] for each in (
                found.score_low, found.score_high,
            ))  # fmt: skip
            assert np.all(low <= X @ w + biases[0] + error)  # all minimisers are covered
            assert np.all(X @ w + biases[1] - error <= high)


def svm(X, sign, p, l2):
    """w, the interval of best biases, and a bound on the error of w by weak duality."""
    model = SVC(kernel="linear", C=1.0, tol=1e-7, max_iter=100_000)
    model.fit(X, sign, p / (2.0 * l2))
    alpha = np.zeros(len(sign))
    alpha[model.support_] = 2.0 * l2 * model.dual_coef_[0] * sign[model.support_]
    w = (alpha * sign) @ X / (2.0 * l2)
    breaks = np.sort(sign - X @ w)
    means = np.array([p @ np.maximum(0.0, 1.0 - sign * (X @ w + b)) for b in breaks])
    best = breaks[means <= means.min() + 1e-9]
    gap = means.min() + l2 * (w @ w) - (alpha.sum() - l2 * (w @ w))
    # Where the loss is flat in b, breaks within its error are minimisers, too.
    return w, (best.min(), best.max()), np.sqrt(max(gap, 0.0) / l2) + 1e-6


def test_bounds_are_attained_where_only_the_penalty_curves_the_objective():
    """Without such problems, bounds that are too small by a factor would pass."""
    for gap in (1e-2, 1e-6):
        X, y = np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 0.0], [-3.0, 0.0]]), np.array([1, 0, 1, 0])
        clf = LinearClassifier("logistic", l2=0.5, tol=1e-14, fit_intercept=False).fit(X, y)
        exact = clf.decision_function([[0.0, 1.0]])[0]
        clf.coef_[0, 1] += np.sqrt(gap / 0.5)
        clf.objective_ += gap
        clf.gap_ = gap
        found = clf.certified([[0.0, 1.0]], X, y)
        width = float(found.score_high[0] - found.score_low[0])
        assert found.score_low[0] <= exact <= found.score_low[0] + 1e-3 * width


@quiet
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge", "one_vs_rest_logistic"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.sampled(4)
def test_a_fit_that_certifies_rows_has_the_labels_of_the_minimum(loss, k):
    loss = f"one_vs_rest_{loss}" if (loss, k) == ("hinge", 3) else loss
    for seed in range(6):
        rng = np.random.default_rng(seed)
        centres = rng.standard_normal((k, 4))
        y = np.arange(150) % k
        X = rng.standard_normal((150, 4)) + centres[y]
        rows = rng.standard_normal((60, 4))
        clf = LinearClassifier(loss, l2=1e-2, tol=1e-2, standardize=True, stop=Stop(certify=rows))
        exact = LinearClassifier(loss, l2=1e-2, tol=1e-14, standardize=True).fit(X, y)
        clf.fit(X, y)
        assert clf.stop_ == "certified"
        assert clf.converged_
        assert np.array_equal(clf.predict(rows), exact.predict(rows))
        assert clf.certified(rows, X, y).decided.all()


def test_a_row_on_the_boundary_is_never_decided():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
    clf = LinearClassifier("squared", stop=Stop(certify=X), tol=1e-3).fit(X, y)  # w = 0, b = 0
    assert clf.stop_ in ("optimal", "closed form")
    found = clf.certified(X, X, y)
    assert found.labels.tolist() == ["undecided"] * 4
    assert not found.decided.any()


def blobs(n=80, k=2, seed=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.standard_normal((n, 3)) + 1.5 * np.eye(3)[y % 3] * (1 + y[:, None]), y


def same(a, b):
    pairs = zip(vars(a).values(), vars(b).values(), strict=True)
    return all(np.array_equal(x, y) for x, y in pairs)


def source_of(X, y):
    return ArraySource(X, np.where(y > 0, 1.0, -1.0), np.array([0, 1]))


def test_bounds_do_not_depend_on_how_the_rows_are_passed():
    X, y = blobs()
    clf = LinearClassifier(certify_predictions=True).fit(X, y)
    found = clf.certified(X)
    shown = X.copy()
    shown.flags.writeable = False
    for rows in (
        shown,
        np.asfortranarray(X),
        X.tolist(),
        source_of(X, y),
    ):
        assert same(found, clf.certified(rows))
    later = LinearClassifier().fit(X, y)
    assert same(found, later.certified(X, X, y))
    assert same(found, later.certified(X))
    assert same(
        found,
        LinearClassifier().fit(X, y).certified(X, source_of(X, y)),
    )
    sparse = clf.certified(sp.csr_array(X))
    assert np.allclose(sparse.score_low, found.score_low, rtol=0, atol=1e-9)
    assert found.score_low.shape == (80,)
    assert found.probability_high.shape == (80, 2)


@quiet
def test_bounds_follow_weights_classes_offsets_and_corrections():
    X, y = blobs(k=2)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    offset = np.random.default_rng(1).standard_normal(len(y))
    for settings, given, of_rows in (
        ({"class_weight": {0: 1.0, 1: 5.0}}, {"sample_weight": weight}, {}),
        ({"class_weight": {0: 1.0, 1: 5.0}, "prior_correction": True}, {}, {}),
        ({}, {"offset": offset}, {"offset": offset}),
    ):
        clf = LinearClassifier(l2=1e-2, tol=1e-4, **settings).fit(X, y, **given)
        exact = LinearClassifier(l2=1e-2, tol=1e-14, **settings).fit(X, y, **given)
        training = {"train_offset" if name == "offset" else name: v for name, v in given.items()}
        found = clf.certified(X, X, y, **of_rows, **training)
        scores = exact.decision_function(X, **of_rows)
        assert np.all((found.score_low <= scores) & (scores <= found.score_high))
        assert np.max(found.score_high - found.score_low) < 0.5
    clf.set_decision(threshold=0.9)
    found = clf.certified(X, **of_rows)
    right = exact.set_decision(threshold=0.9).predict(X, **of_rows)
    assert found.labels[found.decided].tolist() == right[found.decided].tolist()
    assert found.decided.mean() > 0.9


@quiet
def test_a_search_for_the_penalty_certifies_its_last_fit():
    X, y = blobs(k=3)
    clf = LinearClassifierCV(l2s=[0.01, 1.0], cv=3, scoring="loss").fit(X, y)
    exact = LinearClassifier(l2=clf.l2_, tol=1e-14).fit(X, y)
    found = clf.certified(X, X, y)
    assert np.all(found.score_low <= exact.decision_function(X) + 1e-12)
    assert np.all(exact.decision_function(X) <= found.score_high + 1e-12)


def test_bounds_are_kept_in_model_files(tmp_path):
    X, y = blobs()
    clf = LinearClassifier(certify_predictions=True, standardize=True).fit(X, y)
    separatrix.save(clf, tmp_path / "model.sep")
    assert same(clf.certified(X), separatrix.load(tmp_path / "model.sep").certified(X))
    clf.fit(X + 1.0, y)
    clf.set_params(certify_predictions=False).fit(X, y)
    with pytest.raises(ValueError, match="needs the training rows once"):
        clf.certified(X)
    clf.set_params(stop=Stop(certify=X))
    with pytest.raises(TypeError, match="holds rows"):
        separatrix.save(clf, tmp_path / "model.sep")


def test_files_with_bounds_of_another_shape_are_refused(tmp_path):
    X, y = blobs()
    clf = LinearClassifier(certify_predictions=True).fit(X, y)
    good = clf.prediction_bounds_
    for change in (
        {"centre": good.centre[:2]}, {"radius": -1.0}, {"bias_low": good.bias_high + 1.0},
        {"reach": good.reach * np.nan}, {"factors": -good.factors}, {"bias": np.zeros(2)},
        {"factors": good.factors[:, 1:]},
    ):  # fmt: skip
        clf.prediction_bounds_ = replace(good, **change)
        separatrix.save(clf, tmp_path / "model.sep")
        with pytest.raises(ValueError, match="prediction_bounds_"):
            separatrix.load(tmp_path / "model.sep")


@pytest.mark.parametrize(
    ("settings", "k", "message"),
    [
        ({"loss": "hinge"}, 3, "one_vs_rest_hinge"),
        ({"l1": 0.1}, 2, "l1 is not 0"),
        ({"l2": 0.0}, 2, "l2 > 0"),
        ({"penalty_weights": [1.0, 0.0, 1.0]}, 2, "penalty_weights > 0"),
        ({"loss": "tanh_squared"}, 2, "not convex"),
        ({"loss": "perceptron"}, 2, "minimum at zero weights"),
        ({"tol": None}, 2, "makes no proof"),
    ],
)
def test_what_cannot_be_certified_is_refused_before_the_fit(settings, k, message):
    X, y = blobs(k=k)
    for asked in ({"certify_predictions": True}, {"stop": Stop(certify=X)}):
        clf = LinearClassifier(**asked).set_params(**settings)
        with pytest.raises(ValueError, match=message):
            clf.fit(X, y)
        assert not hasattr(clf, "coef_")
    plain = LinearClassifier(**settings)
    quiet_fit(plain, X, y)
    message = "gap_" if "tol" in settings else message
    with pytest.raises(ValueError, match=message):
        plain.certified(X, X, y)


def quiet_fit(clf, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, y)


def test_bad_input_is_refused():
    X, y = blobs()
    clf = LinearClassifier().fit(X, y)
    with pytest.raises(ValueError, match="pass the rows of the fit"):
        clf.certified(X)
    with pytest.raises(ValueError, match="the objective on these rows"):
        clf.certified(X, X + 1e-3 * X**2, y)
    with pytest.raises(ValueError, match="the objective on these rows"):
        clf.certified(X, X, y, sample_weight=np.linspace(1.0, 2.0, len(y)))
    with pytest.raises(ValueError, match="pass y_train"):
        clf.certified(X, X)
    with pytest.raises(ValueError, match="expecting 3 features"):
        clf.certified(X[:, :2], X, y)
    assert not hasattr(clf, "prediction_bounds_")
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            clf.certified(np.full(X.shape, bad), X, y)
    with pytest.raises(ValueError, match="train_offset"):
        clf.certified(X, X, y, train_offset=np.ones(len(y)))
    for name in ("y_train", "sample_weight", "train_offset"):
        with pytest.raises(ValueError, match=f"{name} belongs to the rows of the fit"):
            clf.certified(X, **{name: y})
    for empty in (X[:0], sp.csr_array(X[:0])):
        with pytest.raises(ValueError, match="0 sample"):
            clf.certified(empty, X, y)
        with pytest.raises(ValueError, match=r"rows of Stop\(certify=...\).*0 sample"):
            LinearClassifier(stop=Stop(certify=empty)).fit(X, y)
    with pytest.raises(ValueError, match=r"rows of Stop\(certify=...\).*NaN"):
        LinearClassifier(stop=Stop(certify=X * np.nan)).fit(X, y)
    with pytest.raises(TypeError, match=r"rows of Stop\(certify=...\).*path"):
        LinearClassifier(stop=Stop(certify="rows.csv")).fit(X, y)
    with pytest.raises(NotFittedError):
        LinearClassifier().certified(X, X, y)
    with pytest.raises(ValueError, match="float64"):
        LinearClassifier(standardize=True, certify_predictions=True).fit(X.astype(np.float32), y)
    with pytest.raises(ValueError, match="partial_fit"):
        LinearClassifier(certify_predictions=True).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="LinearClassifier"):
        LinearClassifierCV(stop=Stop(certify=X)).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        LinearClassifier(stop=Stop(certify=X[:, :2])).fit(X, y)
    with pytest.raises(ValueError, match="an offset"):
        LinearClassifier(stop=Stop(certify=X)).fit(X, y, offset=np.ones(len(y)))
    with pytest.raises(TypeError, match="certify_predictions"):
        LinearClassifier(certify_predictions="yes").fit(X, y)


def test_parameters_set_after_the_fit_change_no_certificate():
    X, y = blobs(k=3)
    clf = LinearClassifier(tol=1e-3).fit(X, y)
    found = clf.certified(X, X, y)
    clf.set_params(fit_intercept=False, loss="one_vs_rest_logistic", l2=1.0, standardize=True)
    assert same(found, clf.certified(X, X, y))


@quiet
def test_means_far_from_zero_cost_no_precision():
    X, y = blobs()
    clf = LinearClassifier(l2=1e-2, tol=1e-12).fit(X, y)
    near = clf.certified(X, X, y)
    far = LinearClassifier(l2=1e-2, tol=1e-12).fit(X + 2.0**20, y)
    found = far.certified(X + 2.0**20, sp.csr_array(X + 2.0**20), y)
    assert np.all(near.score_low <= found.score_high)
    assert np.all(found.score_low <= near.score_high)
    assert "80 of 80" in repr(found)


def test_a_run_that_certifies_goes_on_from_a_checkpoint(tmp_path):
    X, y = blobs(200)
    settings = {
        "tol": 1e-2, "solver": GradientDescent(), "stop": Stop(certify=X + 0.01), "max_iter": 5000,
    }  # fmt: skip
    whole = LinearClassifier(**settings).fit(X, y)
    cut = separatrix.Checkpoint(tmp_path / "run", every=1)
    first = LinearClassifier(**settings, callbacks=[cut, lambda step, info: info.iteration >= 3])
    first.fit(X, y)
    again = LinearClassifier(**settings, callbacks=[separatrix.Checkpoint(tmp_path / "run")])
    again.fit(X, y)
    assert whole.stop_ == again.stop_ == "certified"
    assert np.array_equal(whole.coef_, again.coef_)
    assert whole.n_iter_ == again.n_iter_
