"""Predictions, errors, edge cases and routing of estimators that were fitted with an offset."""

import inspect
import pickle

import numpy as np
import pytest
import sklearn
from offset_oracles import table
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    LBFGS,
    ArraySource,
    LinearClassifier,
    Perceptron,
    load,
    save,
    separability,
)

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


@pytest.mark.parametrize("model", [LinearClassifier, Perceptron])
@pytest.mark.parametrize("method", [
    "fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "decision_function",
    "score",
])  # fmt: skip
def test_the_offset_is_metadata(model, method):
    if not hasattr(model(), method):
        pytest.skip("a perceptron has no probabilities")
    assert "offset" in inspect.signature(getattr(model, method)).parameters
    with sklearn.config_context(enable_metadata_routing=True):
        setting = getattr(model(), f"set_{method}_request")(offset=True)
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
