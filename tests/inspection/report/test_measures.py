"""The measures of a report, against sums over pairs and scikit-learn; what is undefined is said."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import metrics
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import KernelPerceptron, LinearClassifier, Perceptron, Report
from separatrix.data.validation import array_source
from separatrix.inspection.report.measures import MOST_RANKED, calibration


def rows(k=2, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)  # some scores are equal
    scores = X @ rng.normal(size=(4, k)) + rng.normal(size=(n, k))
    return X, np.array(["a", "b", "c", "d"])[scores.argmax(axis=1)], rng.integers(0, 4, n) / 2.0


def pairs(positive, scores, weight):
    """The weighted share of pairs in which the positive row is above, ties as halves."""
    of = [(s, w) for s, w, p in zip(scores, weight, positive, strict=True) if p]
    others = [(s, w) for s, w, p in zip(scores, weight, positive, strict=True) if not p]
    right = sum(
        a * b * ((s > t) + 0.5 * (s == t)) for (s, a), (t, b) in itertools.product(of, others)
    )
    return right / sum(a for _, a in of) / sum(b for _, b in others)


@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes(weighted):
    X, y, weight = rows()
    weight = weight if weighted else np.ones(len(y))
    clf = LinearClassifier(l2=0.01).fit(X, y)
    found = Report(clf, X, y, sample_weight=weight).figures
    p, predicted, b = clf.predict_proba(X)[:, 1], clf.predict(X), y == "b"
    assert found["rows"] == np.count_nonzero(weight)
    assert found["accuracy"] == pytest.approx(clf.score(X, y, weight))
    assert found["mistakes"] == weight[predicted != y].sum()
    assert found["auc"] == pytest.approx(pairs(b, clf.decision_function(X), weight))
    given = {"sample_weight": weight}
    assert found["average_precision"] == pytest.approx(
        metrics.average_precision_score(b, clf.decision_function(X), **given)
    )
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, clf.predict_proba(X), **given))
    assert found["brier"] == pytest.approx(np.average((p - b) ** 2, weights=weight))
    for j, one in enumerate(found["classes"]):
        label = "ab"[j]
        right = weight[(y == label) & (predicted == label)].sum()
        precision, recall = right / weight[predicted == label].sum(), right / one["weight"]
        assert one["weight"] == weight[y == label].sum()
        assert one["precision"] == pytest.approx(precision)
        assert one["recall"] == pytest.approx(recall)
        assert one["f1"] == pytest.approx(2 * precision * recall / (precision + recall))
        assert found["confusion"]["counts"][j][j] == pytest.approx(right)
    assert found["balanced_accuracy"] == pytest.approx(
        metrics.balanced_accuracy_score(y, predicted, **given)
    )
    for name in ("precision", "recall", "f1"):
        assert found["macro"][name] == pytest.approx(np.mean([c[name] for c in found["classes"]]))
    assert found["undefined"] == []
    json.dumps(found, allow_nan=False)


def test_a_weight_is_a_row_repeated():
    X, y, _ = rows(3)
    weight = np.arange(len(y)) % 3
    clf = LinearClassifier(l2=0.01).fit(X, y)
    weighted = Report(clf, X, y, sample_weight=weight).figures
    repeated = Report(clf, np.repeat(X, weight, axis=0), np.repeat(y, weight)).figures
    assert weighted.pop("rows") < repeated.pop("rows")
    assert _flat(weighted) == pytest.approx(_flat(repeated))


def _flat(found):
    """All numbers of nested data."""
    if isinstance(found, dict):
        return [number for each in found.values() for number in _flat(each)]
    if isinstance(found, list):
        return [number for each in found for number in _flat(each)]
    return [found] if isinstance(found, (int, float)) else []


def test_more_classes():
    X, y, weight = rows(3)
    clf = LinearClassifier(l2=0.01).fit(X, y)
    found = Report(clf, X, y, sample_weight=weight).figures
    p = clf.predict_proba(X)
    each = [pairs(y == c, p[:, j], weight) for j, c in enumerate("abc")]
    assert [c["auc"] for c in found["classes"]] == pytest.approx(each)
    assert found["auc"] == pytest.approx(np.mean(each))
    assert found["auc"] == pytest.approx(
        metrics.roc_auc_score(y, p, multi_class="ovr", sample_weight=weight)
    )
    hot = (y[:, None] == np.array(["a", "b", "c"])).astype(float)
    brier = np.average(((p - hot) ** 2).sum(axis=1), weights=weight)
    assert found["brier"] == pytest.approx(brier)
    assert len(found["calibration"]) == 3


def test_scores_without_probabilities_are_compared_with_those_of_rivals():
    """For the joint hinge only differences of the scores of a row have a meaning."""
    X, y, _ = rows(3)
    clf = LinearClassifier("hinge", l2=0.01).fit(X, y)
    found = Report(clf, X, y).figures
    scores = clf.decision_function(X)
    for j, c in enumerate("abc"):
        above = scores[:, j] - np.delete(scores, j, axis=1).max(axis=1)
        auc = pairs(y == c, above, np.ones(len(y)))
        assert found["classes"][j]["auc"] == pytest.approx(auc)
    assert found["brier"] is found["log_loss"] is found["calibration"] is None
    assert "defines no probabilities" in found["undefined"][0]


def test_groups_of_calibration():
    p = np.array([0.1] * 5 + [0.2] * 5 + [0.9] * 10)
    of_class = np.array([1] + [0] * 9 + [1] * 8 + [0] * 2)
    found = calibration(p, of_class, np.ones(20))
    assert [g["probability"] for g in found] == pytest.approx([0.1, 0.2, 0.9])
    assert [g["share"] for g in found] == pytest.approx([0.2, 0.0, 0.8])
    assert [g["weight"] for g in found] == [5.0, 5.0, 10.0]


def test_calibration_counts_every_row_once_and_has_ten_groups_of_equal_weight():
    rng = np.random.default_rng(0)
    p, weight = rng.random(1000), rng.random(1000)
    of_class = rng.random(1000) < p
    found = calibration(p, of_class, weight)
    assert len(found) == 10
    assert sum(g["weight"] for g in found) == pytest.approx(weight.sum())
    assert sum(g["weight"] * g["share"] for g in found) == pytest.approx(weight[of_class].sum())
    assert all(abs(g["weight"] / weight.sum() - 0.1) < 0.003 for g in found)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("only", ["a", "b"])
def test_rows_of_one_class(only):
    X, y, _ = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y)
    some = y == only
    found = Report(clf, X[some], y[some]).figures
    assert found["auc"] is found["average_precision"] is None
    other = {"a": "b", "b": "a"}[only]
    assert found["balanced_accuracy"] == found["classes"]["ab".index(only)]["recall"]
    text = " ".join(found["undefined"])
    assert f"recall of '{other}': there are no such rows" in text
    assert "AUC and average precision of 'a', 'b': all rows are of one class" in text
    assert found["brier"] is not None
    json.dumps(found, allow_nan=False)
    assert "<img" in Report(clf, X[some], y[some]).to_html()


def test_one_row_and_a_class_that_is_never_predicted():
    X, y, _ = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y)
    found = Report(clf, X[:1], y[:1]).figures
    assert found["rows"] == 1
    assert any("it is never predicted" in text for text in found["undefined"])


def test_labels_that_the_model_does_not_know():
    X, y, _ = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y)
    other = y.copy()
    other[:3] = "z"
    found = Report(clf, X, other).figures
    assert found["classes"][2]["label"] == "z"
    assert found["classes"][2]["auc"] is None
    assert found["log_loss"] is None
    assert "the model does not know 'z'" in " ".join(found["undefined"])
    assert found["auc"] == pytest.approx(
        pairs(other == "b", clf.decision_function(X), np.ones(len(y)))
    )


def test_many_classes_have_no_curves():
    y = np.repeat(np.arange(MOST_RANKED + 1), 2)
    X = np.eye(len(y))
    clf = LinearClassifier(l2=0.1, tol=1e-2).fit(X, y)
    found = Report(clf, X, y).figures
    assert found["auc"] is None
    assert found["confusion"] is None
    assert "at most 100 classes" in " ".join(found["undefined"])


@pytest.mark.parametrize("kind", ["sparse", "float32", "strided", "read-only", "frame"])
def test_any_container_gives_the_same(kind):
    pandas = pytest.importorskip("pandas")
    X, y, _ = rows()
    X = np.ascontiguousarray(X.astype(np.float32).astype(float))
    clf = LinearClassifier(l2=0.01).fit(X, y)
    other = X.copy()
    other.flags.writeable = False
    given = {
        "sparse": sp.csr_array(X), "float32": X.astype(np.float32), "strided": np.asfortranarray(X),
        "read-only": other, "frame": pandas.DataFrame(X),
    }[kind]  # fmt: skip
    with_names = kind == "frame"
    if with_names:
        clf = LinearClassifier(l2=0.01).fit(given.rename(columns=str), y)
        given = given.rename(columns=str)
    expected = Report(LinearClassifier(l2=0.01).fit(X, y), X, y).figures
    assert _flat(Report(clf, given, y).figures) == pytest.approx(_flat(expected))


def test_sources_and_their_weights():
    X, y, weight = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y)
    source = array_source(X, y, sample_weight=weight)
    expected = _flat(Report(clf, X, y, sample_weight=weight).figures)
    assert _flat(Report(clf, source).figures) == pytest.approx(expected)
    other = _flat(Report(clf, X, y, sample_weight=weight[::-1]).figures)
    again = Report(clf, source, sample_weight=weight[::-1]).figures
    assert _flat(again) == pytest.approx(other)


def test_files_are_read_block_by_block(tmp_path):
    X, y, _ = rows(3)
    clf = LinearClassifier(l2=0.01).fit(X, y)
    table = np.column_stack([X, np.searchsorted(["a", "b", "c"], y)])
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",", header="p,q,r,s,y", comments="")
    source = separatrix.read(tmp_path / "rows.csv", target="y", block_rows=16)
    expected = Report(clf, X, y).figures
    numbers = LinearClassifier(l2=0.01).fit(source)
    assert Report(numbers, source).figures["auc"] == pytest.approx(expected["auc"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LinearClassifier(l2=0.01)),
        Perceptron(20, random_state=0),
        KernelPerceptron(random_state=0, max_iter=5),
        LinearClassifier("one_vs_rest_logistic"),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("k", [2, 3])
def test_other_models(model, k):
    X, y, _ = rows(k)
    model.fit(X, y)
    report = Report(model, X, y)
    assert report.figures["accuracy"] == pytest.approx(model.score(X, y))
    assert (report.figures["brier"] is None) == (not hasattr(model, "predict_proba"))
    assert report.to_html().startswith("<!DOCTYPE html>")


def test_bad_input():
    X, y, weight = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y)
    with pytest.raises(TypeError, match="labels are missing: pass X and y"):
        Report(clf, X)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        Report(clf, X, y, sample_weight=0 * weight)
    with pytest.raises(ValueError, match="expected \\(120,\\)"):
        Report(clf, X, y, sample_weight=weight[1:])
    with pytest.raises(ValueError, match="X has 119 rows and y 120"):
        Report(clf, X[1:], y)
    with pytest.raises(ValueError, match="the labels are numbers"):
        Report(clf, X, np.arange(120) % 2)
    with pytest.raises(NotFittedError):
        Report(LinearClassifier(), X, y)
    with pytest.raises(TypeError, match="cannot read a source"):
        Report(LogisticRegression().fit(X, y), array_source(X, y))
    with pytest.raises(TypeError, match="is not a classifier"):
        Report(StandardScaler().fit(X), X, y)


def test_text():
    X, y, _ = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y).set_decision(threshold=0.25)
    text = str(Report(clf, X, y))
    assert text.startswith("120 rows. b is predicted where its probability is at least 0.25.")
    assert "mean of the classes: precision" in text
