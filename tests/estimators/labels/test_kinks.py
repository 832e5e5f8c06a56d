"""Losses with a kink: every label has a proof, as fits to single labels have."""

import numpy as np
import pytest
import scipy.sparse as sp
from label_columns import UNSCALED, X, Y, assert_as_columns
from sklearn.base import clone
from sklearn.svm import SVC

from separatrix import DualAscent, LinearClassifier


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("l2", [1e-3, 1e-6])
def test_unscaled_features_end_with_a_proof_as_separate_fits_do(loss, l2):
    clf = LinearClassifier(loss, l2=l2, random_state=0)
    alone = [clone(clf).fit(UNSCALED, y) for y in Y.T]
    assert {each.stop_ for each in alone} == {"optimal"}
    clf.fit(UNSCALED, Y)
    assert clf.stop_ == "optimal"
    least = sum(each.objective_ - each.gap_ for each in alone)
    assert least <= clf.objective_ <= sum(each.objective_ for each in alone) + clf.gap_


@pytest.mark.sampled(1)
@pytest.mark.parametrize("parameters", [{}, {"standardize": True}, {"fit_intercept": False}])
@pytest.mark.parametrize("kind", ["dense", "sparse", "wide"])
def test_the_hinge_of_every_label_is_that_of_separate_fits(parameters, kind):
    rng = np.random.default_rng(1)
    n, d = (30, 80) if kind == "wide" else (200, 12)
    rows = rng.standard_normal((n, d)) * (rng.random((n, d)) < (0.2 if kind == "sparse" else 1.0))
    given = (rows[:, :4] + rng.standard_normal((n, 4)) > 0.3).astype(int)
    rows = sp.csr_array(rows) if kind == "sparse" else rows
    weight = rng.uniform(0.0, 2.0, n).round(1)
    clf = LinearClassifier("hinge", l2=1e-3, tol=1e-8, random_state=0, **parameters)
    fitted = assert_as_columns(clf, rows, given, atol=2e-3, sample_weight=weight)
    assert fitted.stop_ == "optimal"
    assert fitted.gap_ <= 1e-8 * fitted.objective_
    assert isinstance(fitted.solver_, DualAscent)


def test_labels_as_a_support_vector_machine_with_a_free_bias():
    # As primal of libsvm's problem; its minimum is known from the dual, which shares no code.
    rows, l2 = (X - X.mean(axis=0)) / X.std(axis=0), 0.01
    C = 1.0 / (2.0 * l2 * len(X))
    ours = LinearClassifier("hinge", l2=l2, tol=1e-10, random_state=0).fit(rows, Y)
    for c, y in enumerate(Y.T):
        svm = SVC(C=C, kernel="linear", tol=1e-10).fit(rows, y)
        assert np.allclose(ours.coef_[c], svm.coef_[0], atol=1e-5)
