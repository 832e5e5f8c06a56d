"""Several targets: ``fit --target a,b,c``, and what predict, evaluate and certify make of them."""

import numpy as np
import pandas as pd
import pytest
from apps.cli.tables import output
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, log_loss
from sklearn.metrics import precision_recall_fscore_support as per_label
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier

import separatrix
from separatrix import LinearClassifierCV
from separatrix.apps.cli.app import run

NAMES = ["sport", "art", "news"]


def articles(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    length, links = rng.normal(5, 2, rows), rng.normal(50, 20, rows)
    source = rng.choice(["web", "print"], rows)
    noise = rng.normal(0, 0.7, (rows, 3))
    scores = np.column_stack([length - 5, (links - 50) / 20, (source == "web") - 1.2]) + noise
    table = {"length": length.round(3), "links": links.round(2), "source": source}
    return pd.DataFrame(table | dict(zip(NAMES, (scores > 0).astype(int).T, strict=True)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    articles().to_csv("articles.csv", index=False)
    articles(80, seed=1).to_csv("new.csv", index=False)
    return tmp_path


FIT = ("fit", "articles.csv", "--target", "sport,art,news", "--l2", "1e-3")


def test_fit_reports_every_label_and_averages(folder, capsys):
    code, found = output(capsys, *FIT)
    assert code == 0
    assert found["data"]["labels"] == NAMES
    assert found["model"]["stop"] == "optimal"
    assert found["split"]["training_rows"] + found["split"]["held_out_rows"] == 300
    model = separatrix.load("model.sep")
    assert model.classes_.tolist() == NAMES
    held_out = separatrix.read("articles.csv", like=model, validation=0.2).validation
    assert found["held_out"]["subset_accuracy"] == model.score(held_out)


def test_figures_are_those_of_scikit_learn(folder, capsys):
    run([*FIT])
    capsys.readouterr()
    code, found = output(capsys, "evaluate", "model.sep", "new.csv")
    model, rows = separatrix.load("model.sep"), articles(80, seed=1)
    Y, predicted = rows[NAMES].to_numpy(), model.predict(rows)
    figures = found["figures"]
    assert code == 0
    assert found["data"]["labels"] == NAMES
    assert np.isclose(figures["subset_accuracy"], accuracy_score(Y, predicted))
    assert np.isclose(figures["label_accuracy"], 1.0 - hamming_loss(Y, predicted))
    losses = [log_loss(y, p) for y, p in zip(Y.T, model.predict_proba(rows).T, strict=True)]
    assert np.isclose(figures["log_loss"], np.mean(losses))
    for average in ("macro", "micro"):
        assert np.isclose(
            figures[average]["f1"], f1_score(Y, predicted, average=average, zero_division=0.0)
        )
    by_label = per_label(Y, predicted, zero_division=0.0)
    for name, values in zip(("precision", "recall", "f1", "rows"), by_label, strict=True):
        assert np.allclose([each[name] for each in figures["labels"]], values)
    _, again = output(capsys, "evaluate", "model.sep", "new.csv", "--target", "sport,art,news")
    assert again["figures"] == figures


def test_predict_adds_a_column_for_every_label(folder, capsys):
    run([*FIT])
    capsys.readouterr()
    code, found = output(capsys, "predict", "model.sep", "new.csv", "-o", "out.csv", "--proba")
    model, rows, out = separatrix.load("model.sep"), articles(80, seed=1), pd.read_csv("out.csv")
    assert code == 0
    predicted = out[[f"prediction_{name}" for name in NAMES]].to_numpy()
    assert np.array_equal(predicted, model.predict(rows))
    probability = out[[f"probability_{name}" for name in NAMES]].to_numpy()
    assert np.allclose(probability, model.predict_proba(rows), rtol=1e-12)
    assert [each["label"] for each in found["predicted"]] == NAMES
    assert [each["rows"] for each in found["predicted"]] == predicted.sum(axis=0).tolist()
    pd.testing.assert_frame_equal(out[rows.columns], pd.read_csv("new.csv"))


def test_text_output_names_the_labels(folder, capsys):
    assert run([*FIT]) == 0
    text = capsys.readouterr().out
    assert "3 labels" in text
    assert "macro average" in text
    assert run(["evaluate", "model.sep", "articles.csv"]) == 0
    text = capsys.readouterr().out
    assert "rows that its fit held out" in text
    assert all(name in text for name in NAMES)
    assert run(["certify", "model.sep", "articles.csv"]) == 0
    assert "summed over the labels" in " ".join(capsys.readouterr().out.split())


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("options", "scoring"), [((), "loss"), (("--metric", "f1"), "f1_macro")], ids=["loss", "f1"]
)
def test_the_penalty_is_searched_by_shuffled_folds(folder, capsys, options, scoring):
    articles().sort_values("sport").to_csv("sorted.csv", index=False)
    asked = ("fit", "sorted.csv", "--target", "sport,art,news", "--loss", "squared_hinge")
    code, found = output(capsys, *asked, *options)
    model = separatrix.load("model.sep")
    assert code == 0
    assert found["model"]["l2_found"]
    assert found["model"]["l2"] == model.l2_
    rows = separatrix.read("sorted.csv", target=NAMES, validation=0.2, missing="indicator").sample(
        1000
    )
    folds = KFold(5, shuffle=True, random_state=0)
    expected = LinearClassifierCV(
        "squared_hinge", l2s=20, cv=folds, scoring=scoring, standardize=True, tol=1e-6
    ).fit(rows)
    assert model.l2_ == expected.l2_
    scores = expected.cv_results_["mean_test_score"]
    assert np.allclose(model.cv_results_["mean_test_score"], scores, atol=1e-4)


@pytest.mark.slow
def test_a_sparse_search(folder, capsys):
    asked = ("fit", "new.csv", "--target", "sport,art", "--l1-ratio", "1", "--tol", "1e-4")
    code, found = output(capsys, *asked)
    assert code == 0
    assert found["model"]["l1"] > 0.0
    assert found["model"]["selection"]["selected"] >= 2


def test_a_label_too_rare_to_search(folder, capsys):
    rows = articles()
    _, tested = next(KFold(5, shuffle=True, random_state=0).split(rows))
    rows["news"] = 0
    rows.loc[tested[:2], "news"] = 1  # the first fold trains on rows without it
    rows.to_csv("rare.csv", index=False)
    asked = ["fit", "rare.csv", "--target", "sport,news", "--test", "0"]
    assert run(asked) == 2
    assert "give --l2 a number, or leave out rare labels" in capsys.readouterr().err
    assert run([*asked, "--l2", "0.1"]) == 0


def test_certify_a_model_of_scikit_learn(folder, capsys):
    skops = pytest.importorskip("skops.io")
    rows = articles().drop(columns="source")
    rows["art"] = 1
    rows.to_csv("numbers.csv", index=False)
    model = OneVsRestClassifier(LogisticRegression(tol=1e-9))
    with pytest.warns(UserWarning, match="present in all"):
        model.fit(rows[["length", "links"]].to_numpy(), rows[NAMES].to_numpy())
    skops.dump(model, "model.skops")
    asked = ("certify", "model.skops", "numbers.csv", "--target", "sport,art,news")
    code, found = output(capsys, *asked)
    assert code == 0
    assert found["certificate"]["proven"]
    assert found["certificate"]["relative_gap"] < 1e-5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "articles.csv", "--target", "sport,music"], "names the column 'music'"),
        (["fit", "articles.csv", "--target", "sport,links"], "expected 0 or 1"),
        ([*FIT, "--prior-correction"], "--prior-correction is for one target"),
        ([*FIT, "--balanced"], "--balanced is for one target, whose classes exclude each other"),
        ([*FIT, "--trace", "steps.html"], "--trace is for one target"),
        ([*FIT, "--report", "out.html"], "--report is for one target"),
        ([*FIT, "--threshold", "0.3"], "--threshold is for one target"),
        ([*FIT, "--cost", "fp=1,fn=2"], "--cost is for one target"),
        ([*FIT[:-2], "--metric", "auc"], "--metric auc is for one target"),
        (["check", "articles.csv", "--target", "sport,art"], "expected one column of labels"),
        (["path", "articles.csv", "--target", "sport,art"], "expected one column of labels"),
        (["evaluate", "kept.sep", "new.csv", "--target", "art,sport,news"], "in this order"),
        (["evaluate", "kept.sep", "new.csv", "--target", "art,sport"], "in this order"),
        (["diagnose", "kept.sep", "articles.csv"], "several labels for a row"),
    ],
    ids=range(14),
)
def test_what_is_refused(folder, capsys, arguments, message):
    run([*FIT, "-o", "kept.sep"])
    capsys.readouterr()
    assert run(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_column_whose_name_has_a_comma(folder, capsys):
    articles().rename(columns={"art": "sport,art"}).to_csv("comma.csv", index=False)
    code, found = output(capsys, "fit", "comma.csv", "--target", "sport,art", "--l2", "0.01")
    assert code == 0
    assert [each["label"] for each in found["data"]["classes"]] == [0, 1]
