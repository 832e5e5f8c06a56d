"""``fit``: what is measured was never seen, and what it reports is so."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from apps.cli.tables import flowers, output
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, log_loss

import separatrix
from separatrix.apps.cli.app import run
from separatrix.training.recording.recording import from_json


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flowers().to_csv("flowers.csv", index=False)
    return tmp_path


def held_out_rows(n, share=0.2):
    """Their numbers, given by a table that holds nothing else."""
    table = pd.DataFrame({"row": np.arange(n, dtype=float), "label": np.arange(n) % 2})
    rows = separatrix.read(table, target="label", validation=share).validation.sample(n)
    return rows.block().X[:, 0].astype(int)


def test_the_figures_are_those_of_rows_that_the_fit_never_saw(folder, capsys):
    code, found = output(capsys, "fit", "flowers.csv", "--target", "kind", "--l2", "0.01")
    assert code == 0
    model = separatrix.load("model.sep")
    table = flowers()
    out = table.iloc[held_out_rows(len(table))]
    labels, predicted = out["kind"].to_numpy(), model.predict(out)
    figures = found["held_out"]
    assert figures["rows"] == found["split"]["held_out_rows"] == len(out)
    assert figures["accuracy"] == pytest.approx(np.mean(labels == predicted))
    assert figures["mistakes"] == np.sum(labels != predicted)
    assert figures["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(labels, predicted))
    assert figures["log_loss"] == pytest.approx(log_loss(labels, model.predict_proba(out)))
    assert figures["confusion"]["counts"] == confusion_matrix(labels, predicted).tolist()
    training = table.drop(out.index)
    most = training["kind"].mode()[0]
    assert figures["majority_accuracy"] == pytest.approx(np.mean(labels == most))
    assert found["training"]["accuracy"] == pytest.approx(
        np.mean(model.predict(training) == training["kind"])
    )
    assert found["data"]["missing"] == {"size": int(training["size"].isna().sum())}
    assert found["data"]["categories"] == {"colour": 3}
    assert found["data"]["rows"] == 300
    sizes = {each["label"]: each["rows"] for each in found["data"]["classes"]}
    assert sizes == table["kind"].value_counts().to_dict()


def test_the_word_none_is_not_missing(folder, capsys):
    table = pd.DataFrame(
        {
            "colour": ["red", None, "red", "blue", None, "blue"],
            "discount": ["None", "None", "all", "None", "all", "all"],
            "size": [1.0, 2.0, None, 4.0, 3.0, 5.0],
            "kind": list("ababab"),
        }
    )
    table.to_csv("t.csv", index=False)
    code, found = output(capsys, "fit", "t.csv", "--target", "kind", "--l2", "1", "--test", "0")
    assert code == 0
    assert found["data"]["missing"] == {"colour": 2, "size": 1}


@pytest.mark.slow
def test_the_split_comes_before_categories_means_and_the_penalty(folder, capsys):
    table = flowers()
    out = held_out_rows(len(table))
    table.loc[out, "colour"] = "green"  # known to held-out rows alone
    table.loc[out, "size"] = 1e6
    table.to_csv("trap.csv", index=False)
    _, found = output(capsys, "fit", "trap.csv", "-t", "kind", "-o", "trap.sep")
    model = separatrix.load("trap.sep")
    assert found["model"]["l2_found"]
    assert "colour_green" not in model.coef_names_
    assert model.scale_.max() < 1e3
    assert found["held_out"]["unknown_categories"] == {"colour": len(out)}
    training = flowers().drop(out)
    training.to_csv("training.csv", index=False)
    output(capsys, "fit", "training.csv", "-t", "kind", "--test", "0", "-o", "alone.sep")
    alone = separatrix.load("alone.sep")
    assert np.array_equal(alone.coef_, model.coef_)
    assert alone.l2_ == model.l2_


def test_the_most_telling_coefficients(folder, capsys):
    for standardize in ("--standardize", "--no-standardize"):
        _, found = output(capsys, "fit", "flowers.csv", "-t", "kind", "--l2", "1e-3", standardize)
        model = separatrix.load("model.sep")
        training = flowers().drop(held_out_rows(300))
        lost = training["size"].isna()
        columns = {"size": training["size"].fillna(training["size"].mean()),
                   "missingindicator_size": lost, "height": training["height"]}  # fmt: skip
        for colour in ("blue", "red", "white"):
            columns[f"colour_{colour}"] = training["colour"] == colour
        scale = np.array([np.std(columns[name]) for name in model.coef_names_])
        effects = np.abs(model.coef_[0]) * scale
        order = [model.coef_names_[j] for j in np.argsort(-effects)]
        assert [each["feature"] for each in found["coefficients"]] == order
        assert found["coefficients"][0]["effect"] == pytest.approx(effects.max())
        first = found["coefficients"][0]
        assert first["class"] == ("rose" if first["coefficient"] > 0 else "iris")


def test_what_a_person_reads(folder, capsys):
    table = flowers()
    table["name"] = [f"flower {i}" for i in range(len(table))]
    table.to_csv("named.csv", index=False)
    assert run(["fit", "named.csv", "--target", "kind", "--l2", "0.01"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for words in ("Read named.csv: 300 rows, 4 columns.", "2 classes: iris (", "held out for",
                  "Values missing in training rows: size (", "Categorical columns: colour (3)",
                  "Optimal: the objective", "by a lower bound (duality)", "majority class",
                  "true class down, predicted across", "Most important features",
                  "leave it out by --drop name", "The model is in model.sep."):  # fmt: skip
        assert words in out


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loss", ["hinge", "squared", "perceptron"])
def test_other_losses_and_many_classes(folder, capsys, loss):
    table = flowers()
    table.loc[table["height"] > 70, "kind"] = "tulip"
    table.to_csv("three.csv", index=False)
    code, found = output(
        capsys, "fit", "three.csv", "-t", "kind", "--loss", loss, "--drop", "colour",
        "--missing", "mean", "--l2", "1e-3", "--balanced", "--test", "0",
    )  # fmt: skip
    assert code == 0
    assert found["held_out"] is None
    assert found["training"]["log_loss"] is None
    assert len(found["training"]["confusion"]["labels"]) == 3
    model = separatrix.load("model.sep")
    assert model.loss == loss
    assert model.class_weight == "balanced"
    assert model.coef_names_.tolist() == ["size", "height"]


def test_columns_of_numbers_as_categories(folder, capsys):
    table = flowers()
    table["month"] = np.arange(len(table)) % 12
    table.to_csv("months.csv", index=False)
    output(capsys, "fit", "months.csv", "-t", "kind", "--l2", "1e-3", "--as-category", "month")
    assert "month_11" in separatrix.load("model.sep").coef_names_


def test_rows_that_are_too_many_for_memory_are_read_from_the_file(folder, capsys, monkeypatch):
    output(capsys, "fit", "flowers.csv", "-t", "kind", "--l2", "0.01")
    inside = separatrix.load("model.sep")
    monkeypatch.setattr("separatrix.apps.cli.inputs.MEMORY_BYTES", 0)
    code = run(["fit", "flowers.csv", "-t", "kind", "--l2", "0.01"])
    assert code == 0
    assert "--cache FOLDER" in capsys.readouterr().err
    assert np.allclose(separatrix.load("model.sep").coef_, inside.coef_, rtol=1e-6)
    assert run(["path", "flowers.csv", "-t", "kind"]) == 2
    assert "path works in memory" in capsys.readouterr().err


def test_a_fit_is_reported_step_by_step(tmp_path):
    path = tmp_path / "rows.csv"
    rows = [f"{i},{(i * 7) % 5},{'yes' if i > 20 else 'no'}" for i in range(40)]
    path.write_text("\n".join(["a,b,y", *rows]) + "\n")
    trace, model = tmp_path / "run.json", tmp_path / "model.sep"
    given = ["fit", str(path), "--target", "y", "--l2", "0.01", "--test", "0"]
    assert run([*given, "-o", str(model), "--trace", str(trace)]) == 0
    whole = from_json(trace.read_text(encoding="utf-8"))
    clf = separatrix.load(model)
    assert whole["data"]["classes"] == ["no", "yes"]
    np.testing.assert_array_equal(whole["steps"]["weights"][-1][0][:2], clf.coef_[0])
    assert whole["stop"] == clf.stop_ == "optimal"


def test_too_many_rows_for_a_trace_are_refused_before_the_fit(tmp_path, capsys):
    path, model = tmp_path / "rows.csv", tmp_path / "model.sep"
    path.write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(3000)))
    given = ["fit", str(path), "--target", "y", "--l2", "1", "-o", str(model)]
    assert run([*given, "--trace", str(tmp_path / "run.json")]) == 2
    assert "at most 2,000 rows" in capsys.readouterr().err
    assert not model.exists()


def test_l1_selects_and_tells_what_is_proven(folder, capsys):
    table, rng = flowers(), np.random.default_rng(0)
    for j in range(6):
        table[f"noise{j}"] = rng.standard_normal(len(table))
    table.to_csv("noisy.csv", index=False)
    code, found = output(capsys, "fit", "noisy.csv", "-t", "kind", "--l1", "0.05", "--tol", "1e-9")
    assert code == 0
    model, facts = separatrix.load("model.sep"), found["model"]
    assert (model.l1, model.l2, facts["l1"], facts["l2"]) == (0.05, 1e-4, 0.05, 1e-4)
    assert facts["selection"] == {
        "selected": np.count_nonzero(model.coef_), "zero": model.zero_.sum(), "undecided": 0,
    }  # fmt: skip
    assert 0 < facts["selection"]["selected"] < 6 < facts["selection"]["zero"]
    assert len(found["coefficients"]) == facts["selection"]["selected"]
    line = (
        f"Selected: {facts['selection']['selected']} of 12 features. {facts['selection']['zero']} "
        "are proven to have weight 0 in every minimum."
    )
    run(["fit", "noisy.csv", "-t", "kind", "--l1", "0.05", "--l2", "0", "--tol", "1e-9"])
    assert "Loss logistic, l1 = 0.05, l2 = 0," in capsys.readouterr().out
    output(capsys, "fit", "noisy.csv", "-t", "kind", "--l1", "0.05", "--tol", "1e-9")
    run(["inspect", "model.sep"])
    assert line in " ".join(capsys.readouterr().out.split())
    code, found = output(capsys, "certify", "model.sep", "noisy.csv")
    assert code == 0
    assert found["certificate"]["gap"] <= 1e-8 * found["certificate"]["objective"]
    _, found = output(capsys, "fit", "noisy.csv", "-t", "kind", "--l2", "0.1")
    assert (found["model"]["l1"], found["model"]["selection"]) == (0.0, None)


def test_zeros_that_are_not_proven_are_reported(folder, capsys):
    code = run(["fit", "flowers.csv", "-t", "kind", "--l1", "0.02", "--tol", "0.5"])
    assert code == 0
    assert "3 weigh 0 here, which is not proven." in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_dates_are_reported_and_the_advice_works(folder, capsys):
    table = flowers()
    days = pd.date_range("2020-01-01", periods=len(table)).astype(str)
    table.assign(picked=days).to_csv("dated.csv", index=False)
    fit = ["fit", "dated.csv", "--target", "kind", "--l2", "0.01"]
    assert run(fit) == 0
    shown = capsys.readouterr()
    out = " ".join(shown.out.split())
    assert "'picked' holds dates, such as '2020-" in out
    advice = "--date picked:year,month,weekday"
    assert advice in out
    assert "dates=" not in out + shown.err  # that is Python
    assert run([*fit, *advice.split()]) == 0
    assert "holds dates" not in capsys.readouterr().out
    names = separatrix.load("model.sep").coef_names_.tolist()
    assert {"picked_year", "picked_month_1", "picked_weekday_Monday"} <= set(names)
    for command in ("check", "path"):
        run([command, "dated.csv", "--target", "kind"])
        assert advice in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("picked", "--date picked: expected a column and parts, such as signup:year,month"),
        ("size:week", "--date size: week: expected year, month.*is it 'weekday'"),
        ("sise:year", "--date names the column 'sise', and there is none: is it 'size'"),
        ("colour:year", "flowers.csv, line 2, which is no date"),
    ],
)
def test_dates_that_are_wrong(folder, capsys, given, message):
    assert run(["fit", "flowers.csv", "--target", "kind", "--date", given]) == 2
    assert re.search(message, " ".join(capsys.readouterr().err.split()))


def test_balanced_classes_keep_their_probabilities_with_prior_correction(folder, capsys):
    asked = ("fit", "flowers.csv", "--target", "kind", "--l2", "1e-3", "--balanced")
    code = output(capsys, *asked, "--prior-correction")[0]
    assert code == 0
    model, table = separatrix.load("model.sep"), flowers()
    training = table.drop(held_out_rows(len(table)))
    expected = training["kind"].value_counts(normalize=True)[model.classes_].to_numpy()
    assert model.predict_proba(training).mean(axis=0) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("method", ["firth", "mdypl"])
def test_bias_reduction_takes_the_place_of_a_penalty(folder, capsys, method):
    table = pd.DataFrame({"x": np.arange(40.0), "kind": np.repeat(["no", "yes"], 20)})
    table.to_csv("separable.csv", index=False)
    asked = ("fit", "separable.csv", "--target", "kind", "--bias-reduction", method)
    code, found = output(capsys, *asked)
    assert code == 0
    assert found["model"]["stop"] == {"firth": "stationary", "mdypl": "optimal"}[method]
    model = separatrix.load("model.sep")
    training = table.drop(held_out_rows(len(table)))
    same = separatrix.LinearClassifier(bias_reduction=method, standardize=method == "mdypl")
    same.fit(training[["x"]].to_numpy(), training["kind"].to_numpy())
    assert model.coef_[0, 0] == pytest.approx(same.coef_[0, 0], rel=1e-4)
    assert run([*asked]) == 0
    assert ("stationary" in capsys.readouterr().out) or method == "mdypl"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--bias-reduction", "jeffreys"], "must be mdypl or firth, got jeffreys"),
        (["--bias-reduction", "firth", "--l2", "0.1"], "leave out --l2"),
        (["--bias-reduction", "firth", "--l1", "auto"], "leave out --l1"),
        (["--bias-reduction", "mdypl", "--trace", "a.json"], "leave out --trace"),
    ],
)
def test_bias_reduction_is_refused(folder, capsys, given, message):
    assert run(["fit", "flowers.csv", "--target", "kind", *given]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
