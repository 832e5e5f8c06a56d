"""``LinearClassifierCV(stop=...)``: each fit ends as a single one with the same rules."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold

import separatrix
from separatrix import Checkpoint, GradientDescent, LinearClassifier, LinearClassifierCV, Stop

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 12)) * rng.uniform(0.1, 5.0, 12) + 1.0
X[:, 5] = np.where(rng.random(150) < 0.9, 0.0, X[:, 5])
y = np.where(X[:, 0] / 3.0 + rng.normal(size=150) > 0.3, "b", "a")
ROWS, LABELS = X[:100], y[:100]
STOP = Stop(validation=(X[100:], y[100:]), patience=3)
FOLDS = list(StratifiedKFold(3).split(ROWS, LABELS))
L2S = [0.1, 1e-3, 1e-6]


def loss(clf, rows, labels):
    margins = np.where(labels == "b", 1.0, -1.0) * clf.decision_function(rows)
    return np.logaddexp(0.0, -margins).mean()


@pytest.mark.sampled
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse", "a feature that no row has"])
@pytest.mark.parametrize(
    "solver", [GradientDescent(batch_size=1, learning_rate=0.01), "auto"], ids=["descent", "auto"]
)
def test_scores_are_those_of_fits_that_end_early(solver, kind, standardize):
    rows, others = ROWS, X[100:]
    if kind == "sparse":
        rows = sp.csr_array(np.where(np.abs(ROWS) > 1.0, ROWS, 0.0))
    elif kind != "dense":
        rows, others = np.insert(ROWS, 4, 0.0, axis=1), np.insert(others, 4, 3.0, axis=1)
        rows = sp.csr_array(rows)
    given = {"solver": solver, "standardize": standardize, "random_state": 0}
    given["stop"] = Stop(validation=(others, y[100:]), patience=3)
    clf = LinearClassifierCV(l2s=L2S, cv=FOLDS, scoring="loss", **given)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the best score is that of")
        clf.fit(rows, LABELS)
    for number, (training, test) in enumerate(FOLDS):
        for at, l2 in enumerate(L2S):
            alone = LinearClassifier(l2=l2, **given).fit(rows[training], LABELS[training])
            found = clf.cv_results_[f"split{number}_test_score"][at]
            expected = -loss(alone, rows[test], LABELS[test])
            assert found == pytest.approx(expected, rel=1e-9)
    last = LinearClassifier(l2=clf.l2_, **given).fit(rows, LABELS)
    assert clf.stop_ == last.stop_
    np.testing.assert_allclose(clf.coef_, last.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        clf.history_["validation_loss"], last.history_["validation_loss"], rtol=1e-9
    )
    if solver != "auto":
        assert clf.stop_ == "validation"


def test_rows_that_a_source_holds_out(tmp_path):
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)]).assign(kind=y)
    table.to_csv(tmp_path / "rows.csv", index=False)
    source = separatrix.read(tmp_path / "rows.csv", target="kind", validation=0.3)
    given = {
        "solver": GradientDescent(batch_size=1, learning_rate=0.01), "random_state": 0,
        "stop": Stop(validation=True, patience=3),
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the best score is that of")
        clf = LinearClassifierCV(l2s=[1e-2, 1e-6], cv=3, scoring="loss", **given).fit(source)
    last = LinearClassifier(l2=clf.l2_, **given).fit(source)
    assert clf.stop_ == last.stop_ == "validation"
    np.testing.assert_array_equal(clf.coef_, last.coef_)
    with pytest.raises(ValueError, match="holds out no rows"):
        clf.fit(source.sample(150))
    separatrix.save(clf, tmp_path / "m.sep")
    assert separatrix.load(tmp_path / "m.sep").stop.validation is True


def test_each_fit_has_its_time():
    slow = GradientDescent(batch_size=1, learning_rate=0.01)
    given = {"solver": slow, "random_state": 0, "stop": Stop(seconds=1e-9)}
    clf = LinearClassifierCV(l2s=[1e-3], cv=FOLDS, scoring="loss", **given).fit(ROWS, LABELS)
    assert (clf.stop_, clf.n_iter_) == ("seconds", 1)
    for number, (training, test) in enumerate(FOLDS):
        alone = LinearClassifier(l2=1e-3, **given).fit(ROWS[training], LABELS[training])
        found = clf.cv_results_[f"split{number}_test_score"][0]
        assert found == pytest.approx(-loss(alone, ROWS[test], LABELS[test]), rel=1e-12)


def test_a_search_that_was_cut_off_goes_on_with_the_same_bits(tmp_path):
    given = {
        "solver": GradientDescent(batch_size=1, learning_rate=0.01), "stop": STOP, "l2s": L2S,
        "cv": FOLDS, "scoring": "loss", "random_state": 0,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = LinearClassifierCV(**given).fit(ROWS, LABELS)
        run = Checkpoint(tmp_path / "run.ckpt", every=1)
        LinearClassifierCV(**given | {"max_iter": 1}, callbacks=[run]).fit(ROWS, LABELS)
        again = LinearClassifierCV(**given, callbacks=[run]).fit(ROWS, LABELS)
        np.testing.assert_array_equal(again.coef_, whole.coef_)
        other = Stop(validation=(X[101:], y[101:]), patience=3)
        with pytest.raises(ValueError, match="early stopping"):
            LinearClassifierCV(**given | {"stop": other}, callbacks=[run]).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": "loo", "loss": "squared"}, "cv='loo' removes rows from the minimum"),
        ({"stop": Stop(validation=(X[:, 1:], y), patience=3)}, "11 features"),
        ({"stop": Stop(validation=(X, np.where(y == "a", "c", y)), patience=3)}, "labels"),
        ({"stop": Stop(tol=1e-3)}, "tol is a parameter of the estimator"),
    ],
)
def test_refused_before_the_first_step(options, message):
    clf = LinearClassifierCV(**{"stop": STOP, "scoring": "loss"} | options)
    with pytest.raises(ValueError, match=message):
        clf.fit(ROWS, LABELS)
    assert not hasattr(clf, "coef_")
