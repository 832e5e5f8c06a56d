"""``--threshold``, ``--cost`` and ``--metric``: decided, measured and refused."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from apps.cli.tables import flowers, output
from sklearn import metrics

import separatrix
from separatrix.apps.cli import deciding
from separatrix.apps.cli.app import run

FIT = ["fit", "rows.csv", "-t", "kind", "--l2", "0.01", "-o", "m.sep"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flowers(400).to_csv("rows.csv", index=False)
    return tmp_path


def three(rows=500):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"size": rng.normal(size=rows), "height": rng.normal(size=rows)})
    score = table["size"] + 0.8 * rng.normal(size=rows)
    table["kind"] = np.select([score < -0.5, score < 0.7], ["iris", "lily:a"], "rose")
    return table


def held_out(name="rows.csv"):
    """The held-out rows of a fit, by the model file alone."""
    return separatrix.read(name, like=separatrix.load("m.sep"), validation=0.2).validation


def rows_of(source):
    blocks = list(source.blocks())
    y = np.concatenate([block.y for block in blocks])
    labels = source.classes[(y > 0).astype(int) if len(source.classes) == 2 else y]
    return labels, np.concatenate([block.weights for block in blocks])


# ---- measures


def test_fit_and_evaluate_measure_everything_with_weights(folder, capsys):
    table = flowers(400)
    table["w"] = np.arange(len(table)) % 4
    table.to_csv("rows.csv", index=False)
    code, fit = output(capsys, *FIT, "--weight", "w")
    assert code == 0
    _, evaluated = output(capsys, "evaluate", "m.sep", "rows.csv")
    found = evaluated["figures"]
    assert found == fit["held_out"]
    model, source = separatrix.load("m.sep"), held_out()
    labels, weight = rows_of(source)
    p, rose = model.predict_proba(source)[:, 1], labels == "rose"
    given = {"sample_weight": weight}
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(rose, p, **given))
    assert found["average_precision"] == pytest.approx(
        metrics.average_precision_score(rose, p, **given)
    )
    assert found["brier"] == pytest.approx(metrics.brier_score_loss(rose, p, **given))
    three = metrics.precision_recall_fscore_support(labels, model.predict(source), **given)
    for name, expected in zip(("precision", "recall", "f1"), three[:3], strict=True):
        assert [one[name] for one in found["classes"]] == pytest.approx(list(expected))
    assert found["macro"]["f1"] == pytest.approx(np.mean(three[2]))
    assert (
        found["confusion"]["counts"]
        == metrics.confusion_matrix(labels, model.predict(source), **given).tolist()
    )
    assert found["rows"] == np.count_nonzero(weight)
    majority = labels == found["majority"]
    assert found["majority_accuracy"] == pytest.approx(weight[majority].sum() / weight.sum())


def test_the_text_has_them_and_says_what_is_undefined(folder, capsys):
    flowers(60).query("kind == 'rose'").to_csv("roses.csv", index=False)
    assert run(FIT) == 0
    out = capsys.readouterr().out
    for words in ("AUC", "average precision", "Brier score", "calibration error", "recall", "F1"):
        assert words in out
    assert run(["evaluate", "m.sep", "roses.csv"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Undefined: recall of 'iris': there are no such rows." in out
    assert "AUC and average precision of 'iris', 'rose': all rows are of one class" in out
    _, found = output(capsys, "evaluate", "m.sep", "roses.csv")
    assert found["figures"]["auc"] is None
    assert found["figures"]["classes"][0]["recall"] is None


def test_hinge_says_that_it_has_no_probabilities(folder, capsys):
    assert run([*FIT, "--loss", "hinge"]) == 0
    assert "the model defines no probabilities" in " ".join(capsys.readouterr().out.split())


# ---- a threshold


def test_a_threshold_is_kept_and_followed(folder, capsys):
    code, found = output(capsys, *FIT, "--threshold", "0.2")
    assert code == 0
    assert found["held_out"]["decision"]["threshold"] == 0.2
    assert found["split"]["threshold_rows"] == 0
    assert "rose is predicted where its probability is at least 0.2" in found["decision"]
    assert run(["predict", "m.sep", "rows.csv", "--proba", "-o", "out.csv"]) == 0
    out = pd.read_csv("out.csv")
    assert (out.prediction.eq("rose") == (out.probability_rose >= 0.2)).all()
    assert np.array_equal(separatrix.load("m.sep").predict("rows.csv"), out.prediction)
    _, inspected = output(capsys, "inspect", "m.sep")
    assert inspected["decision"]["threshold"] == 0.2
    assert run(["inspect", "m.sep"]) == 0
    assert "rose from a probability of 0.2" in capsys.readouterr().out


def test_evaluate_tries_another_threshold(folder, capsys):
    assert run([*FIT, "--threshold", "0.2"]) == 0
    capsys.readouterr()
    before = (folder / "m.sep").read_bytes()
    _, found = output(capsys, "evaluate", "m.sep", "rows.csv", "--threshold", "0.9")
    source = held_out()
    predicted = separatrix.load("m.sep").predict_proba(source)[:, 1] >= 0.9
    labels, _ = rows_of(source)
    expected = metrics.recall_score(labels == "rose", predicted)
    assert found["figures"]["classes"][1]["recall"] == pytest.approx(expected)
    assert (folder / "m.sep").read_bytes() == before


@pytest.mark.slow
def test_a_score_of_the_hinge(folder, capsys):
    assert run([*FIT, "--loss", "hinge", "--threshold", "-0.5"]) == 0
    assert "its score w·x + b is at least -0.5" in " ".join(capsys.readouterr().out.split())
    model = separatrix.load("m.sep")
    expected = np.where(model.decision_function("rows.csv") >= -0.5, "rose", "iris")
    assert np.array_equal(model.predict("rows.csv"), expected)


# ---- costs


def test_a_threshold_by_costs_is_measured_on_other_rows(folder, capsys):
    code, found = output(capsys, *FIT, "--cost", "fp=1,fn=6")
    assert code == 0
    model, source = separatrix.load("m.sep"), held_out()
    labels, _ = rows_of(source)
    scores, n = model.decision_function(source), len(labels)
    chosen = deciding.choosing_weights(source) > 0.0
    counts = [np.count_nonzero(chosen & (labels == c)) for c in ("iris", "rose")]
    halves = [np.count_nonzero(labels == c) / 2 for c in ("iris", "rose")]
    assert np.allclose(counts, halves, atol=1.0)
    assert found["split"]["threshold_rows"] == chosen.sum()
    assert found["split"]["held_out_rows"] == n
    assert found["held_out"]["rows"] == n - chosen.sum()

    def cost(threshold, rows):
        rose, positive = labels[rows] == "rose", scores[rows] >= threshold
        return np.sum(positive & ~rose) + 6.0 * np.sum(~positive & rose)

    least = min(cost(t, chosen) for t in [*scores, np.inf])
    assert cost(model.decision_.score, chosen) == least
    rest = ~chosen
    assert found["held_out"]["mean_cost"] == pytest.approx(
        cost(model.decision_.score, rest) / rest.sum()
    )
    assert found["held_out"]["accuracy"] == pytest.approx(
        np.mean((model.predict(source) == labels)[rest])
    )
    _, evaluated = output(capsys, "evaluate", "m.sep", "rows.csv")
    assert evaluated["figures"] == found["held_out"]


def test_the_text_says_which_rows_chose(folder, capsys):
    assert run([*FIT, "--cost", "fp=1,fn=6"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert re.search(r"The threshold was chosen on \d+ held-out rows, which are not measured", out)
    assert "1 for each rose predicted for iris, and 6 for each iris predicted for rose" in out
    assert run(["evaluate", "m.sep", "rows.csv"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert re.search(r"\d+ of these rows chose the threshold and are not measured", out)


def test_a_threshold_tuned_elsewhere_leaves_all_held_out_rows(folder, capsys):
    assert run(FIT) == 0
    model, other = separatrix.load("m.sep"), flowers(100, seed=5)
    model.tune_threshold(other.drop(columns="kind"), other.kind, costs={("rose", "iris"): 6.0})
    separatrix.save(model, "m.sep")
    capsys.readouterr()
    _, found = output(capsys, "evaluate", "m.sep", "rows.csv")
    assert found["figures"]["rows"] == held_out().n_rows


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "costs",
    [
        ["lily:a:iris=8,rose:iris=0.5"], ["lily:a:iris=8", "rose:iris=0.5"], ["costs.csv"],
        ["semicolons.csv"],
    ],
    ids=["pairs", "repeated", "file", "semicolons"],
)  # fmt: skip
def test_costs_of_more_classes(folder, capsys, costs):
    three().to_csv("rows.csv", index=False)
    table = "true,rose,iris,lily:a\nrose,0,0.5,1\n\nlily:a,1,8,0\niris,1,0,1\n"
    (folder / "costs.csv").write_text("\ufeff" + table)
    (folder / "semicolons.csv").write_text(table.replace(",", ";"))
    code, found = output(capsys, *FIT, *(word for cost in costs for word in ("--cost", cost)))
    assert code == 0
    expected = [[0.0, 1.0, 1.0], [8.0, 0.0, 1.0], [0.5, 1.0, 0.0]]
    model = separatrix.load("m.sep")
    assert model.decision_.costs.tolist() == expected
    assert found["split"]["threshold_rows"] == 0  # no row is needed to choose
    p = model.predict_proba("rows.csv")
    assert np.array_equal(
        model.predict("rows.csv"), model.classes_[(p @ np.array(expected)).argmin(axis=1)]
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--threshold", "1.5"], "--threshold 1.5: expected a probability above 0 and below 1"),
        (["--threshold", "nan"], "expected a finite number"),
        (["--threshold", "0.3", "--cost", "fp=1,fn=2"], "give one of them"),
        (["--cost", "fp=1,fn=2", "--test", "0"], "--test 0 holds out none"),
        (["--cost", "fp=1,fn=0"], "costs nothing"),
        (["--cost", "fp=one"], "'one' is not a cost"),
        (["--cost", "fp=-1"], "'-1' is not a cost"),
        (["--cost", "fp=inf"], "'inf' is not a cost"),
        (["--cost", "fp=1,fp=2"], "is given twice"),
        (["--cost", "fp=1,fn"], "'fn' has no '='"),
        (["--cost", "rose:lily=3"], "there is no class 'lily'"),
        (["--cost", "rosse:iris=3"], "is it 'rose'?"),
        (["--cost", "rose=3"], "does not name a true and a predicted class"),
        (["--cost", "nowhere.csv"], "there is no such file"),
        (["--cost", "bad.csv"], "a line and a column for each of the 2 classes"),
        (["--cost", "short.csv"], "has 1 costs; expected 2"),
        (["--report", "rows.csv"], "it is an input file"),
        (["--report", "m.sep"], "this file is used otherwise"),
        (["--report", "nowhere/r.html"], "does not exist"),
        (["--report", "r.pdf"], "expected a name such as report.html"),
        (["--metric", "auc"], "the penalty is given"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(folder, capsys, options, words):
    (folder / "bad.csv").write_text("true,rose\nrose,0\n")
    (folder / "short.csv").write_text("true,rose,iris\nrose,0,1\niris,1\n")
    before = sorted(path.name for path in folder.iterdir())
    assert run([*FIT, *options]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--threshold", "0.3"], "--threshold is for two classes, but there are 3: use --cost"),
        (["--cost", "fp=1"], "fp is for two classes, but there are 3"),
        (["--cost", "rose:iris=3", "--balanced"], "leave out --balanced"),
        (["--cost", "rose:iris=3", "--loss", "hinge"], "use --loss logistic"),
        (["--cost", "rose:lily:b=3"], "does not name"),
    ],
)
def test_wrong_options_for_more_classes(folder, capsys, options, words):
    three().to_csv("rows.csv", index=False)
    assert run([*FIT, *options]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not (folder / "m.sep").exists()


def test_too_few_held_out_rows_of_a_class(folder, capsys):
    table = flowers(200).query("kind == 'iris'").head(60)
    table = pd.concat([table, flowers(400).query("kind == 'rose'").head(2)])
    table.to_csv("rows.csv", index=False)
    code = run([*FIT, "--cost", "fp=1,fn=9"])
    err = " ".join(capsys.readouterr().err.split())
    assert code == 2
    assert "use a larger --test, or --threshold" in err or "only one class" in err
    assert not (folder / "m.sep").exists()


# ---- the metric of the search


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "name"),
    [("auc", "roc_auc_ovr"), ("average_precision", "average_precision"), ("f1", "f1_macro"),
     ("brier", "neg_brier_score"), ("balanced_accuracy", "balanced_accuracy"), ("loss", "loss")],
)  # fmt: skip
@pytest.mark.parametrize("k", [2, 3])
def test_the_search_measures_what_is_asked(folder, capsys, metric, name, k):
    (flowers(200) if k == 2 else three(200)).to_csv("rows.csv", index=False)
    line = ["fit", "rows.csv", "-t", "kind", "-o", "m.sep", "--metric", metric]
    code, found = output(capsys, *line)
    assert code == 0
    model = separatrix.load("m.sep")
    assert model.scoring == name
    scores = model.cv_results_["mean_test_score"]
    assert model.l2_ == pytest.approx(model.l2_path_[int(np.argmax(scores))])
    assert np.all((scores <= 1.0) & ((scores >= 0.0) | (metric in ("brier", "loss"))))
    assert found["model"]["l2_found"]


def test_a_metric_that_needs_probabilities(folder, capsys):
    line = ["fit", "rows.csv", "-t", "kind", "-o", "m.sep", "--loss", "hinge"]
    assert run([*line, "--metric", "brier"]) == 2
    assert "needs probabilities" in capsys.readouterr().err
    assert run([*line, "--metric", "aux"]) == 2
    assert "is it 'auc'?" in capsys.readouterr().err
    line = ["fit", "rows.csv", "-t", "kind", "-o", "m.sep", "--loss", "perceptron"]
    assert run([*line, "--metric", "loss"]) == 2
    assert "least at zero weights" in capsys.readouterr().err


def test_another_threshold_is_measured_by_the_costs_of_the_fit(folder, capsys):
    assert output(capsys, *FIT, "--cost", "fp=1,fn=6")[0] == 0
    code, found = output(capsys, "evaluate", "m.sep", "rows.csv", "--threshold", "0.5")
    assert code == 0
    held_out_rows, model = held_out(), separatrix.load("m.sep")
    labels, weights = rows_of(held_out_rows)
    weights = weights - deciding.choosing_weights(held_out_rows)
    above = model.predict_proba(held_out_rows)[:, 1] >= 0.5
    positive = labels == model.classes_[1]
    cost = np.where(above & ~positive, 1.0, np.where(~above & positive, 6.0, 0.0))
    figures = found["figures"]
    assert figures["mean_cost"] == pytest.approx(np.average(cost, weights=weights))


def test_json_of_a_fit_with_everything_is_json(folder, capsys):
    run([*FIT, "--threshold", "0.4", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["held_out"]["calibration"][0]["label"] == "rose"
    assert found["held_out"]["undefined"] == []
