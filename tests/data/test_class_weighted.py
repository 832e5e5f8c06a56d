"""Rows of files weighed by their class: the same fit as of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix
from separatrix import GradientDescent, LinearClassifier, LinearClassifierCV, Perceptron

RNG = np.random.default_rng(3)
N = 300
X = RNG.standard_normal((N, 3))
WORDS = np.array(["no", "so", "yes"])
WEIGHT = RNG.integers(0, 4, N).astype(float)


def labels(k):
    scores = X[:, :1] * np.arange(k) + RNG.standard_normal((N, k)) + [2.0, 0.0, 0.0][:k]
    return WORDS[scores.argmax(axis=1)]


def source_of(y, weight=None, **options):
    def pieces():
        for at in range(0, N, 70):
            some = slice(at, at + 70)
            yield (X[some], y[some]) if weight is None else (X[some], y[some], weight[some])

    return separatrix.read(pieces, block_rows=64, **options)


@pytest.mark.sampled
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("class_weight", ["balanced", {"no": 0.25, "so": 3.0}])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_minimum_is_that_of_arrays(k, loss, class_weight, weight):
    y = labels(k)
    clf = LinearClassifier(loss, l2=1e-2, class_weight=class_weight, tol=1e-10)
    here = clf.fit(X, y, weight).objective_
    assert clf.fit(source_of(y, weight)).objective_ == pytest.approx(here, rel=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_way_of_reading_has_the_weights():
    y = labels(2)
    per_class = {"no": 2.0, "so": 0.5}
    weight = WEIGHT * np.where(y == "no", 2.0, 0.5)
    for clf in (
        Perceptron(max_iter=3, tol=None, random_state=0),
        LinearClassifier(solver=GradientDescent(1), max_iter=2, tol=None, random_state=0),
        LinearClassifier(standardize=True),
        LinearClassifierCV(l2s=[1e-3, 1e-1], cv=3, scoring=None),
    ):
        weighed = clf.set_params(class_weight=per_class).fit(source_of(y, WEIGHT)).coef_
        expected = clf.set_params(class_weight=None).fit(source_of(y, weight)).coef_
        np.testing.assert_allclose(weighed, expected, rtol=1e-8, atol=1e-10)


def test_rows_held_out_keep_their_weights():
    y = labels(2)
    fit = LinearClassifier(class_weight="balanced").fit(source_of(y, validation=0.3))
    held_out = source_of(y, validation=0.3).validation
    (block,) = [np.concatenate(part) for part in [[b.X for b in held_out.blocks()]]]
    margin = np.concatenate([b.y for b in held_out.blocks()]) * fit.decision_function(block)
    loss = np.logaddexp(0.0, -margin).mean()
    assert fit.history_["validation_loss"][-1] == pytest.approx(loss, rel=1e-9)


def test_wrong_weights_are_refused_and_the_fit_before_stays():
    source = source_of(labels(2))
    fit = LinearClassifier().fit(X[:, :2], X[:, 0] > 0)
    for class_weight, message in (
        ({"no": 0.0}, "leaves out the class 'no'; expected weights above 0"),
        ({"perhaps": 1.0}, "labels \\['perhaps'\\], which are not among"),
        ("even", "must be a dict, 'balanced' or None"),
        ({"no": -1.0}, "finite and not negative"),
    ):
        with pytest.raises(ValueError, match=message):
            fit.set_params(class_weight=class_weight).fit(source)
        assert (fit.n_features_in_, fit.coef_.shape) == (2, (1, 2))


def test_the_name_of_the_data_has_the_weights_of_classes_in_it():
    from separatrix.data.class_weighted import ClassWeightedSource

    source = source_of(labels(2))
    names = {
        ClassWeightedSource(source, np.array(weights)).fingerprint()
        for weights in ([1.0, 2.0], [2.0, 1.0], [1.0, 2.0])
    }
    assert len(names) == 2
