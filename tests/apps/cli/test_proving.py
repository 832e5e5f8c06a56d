"""``check``, ``diagnose`` and ``inspect``: verdicts, their exit codes, and what is in a model."""

from __future__ import annotations

import pickle
import re
import shlex
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from apps.cli.tables import flowers, output
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.linear_model import Perceptron as SkPerceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import separatrix
from separatrix.apps.cli.app import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("gate", "code"), [("and", 0), ("xor", 3)])
def test_check_says_so_by_its_code(gate, code, capsys):
    X, y = separatrix.datasets.logic(gate)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "out": y}).to_csv("gate.csv", index=False)
    found, verdict = output(capsys, "check", "gate.csv", "--target", "out")
    assert found == code
    assert verdict["separability"] == separatrix.separability(X, y, feature_names="ab").to_dict()
    assert run(["check", "gate.csv", "--target", "out"]) == code
    words = " ".join(capsys.readouterr().out.split())
    assert "are separable" in words if code == 0 else "overlap" in words


def test_a_category_that_runs_away_is_named(capsys):
    table = pd.DataFrame({"colour": ["red", "red", "blue", "blue"], "label": [0, 0, 0, 1]})
    table.to_csv("t.csv", index=False)
    code, found = output(capsys, "check", "t.csv", "--target", "label")
    assert (code, found["separability"]["verdict"]) == (3, "quasi-separable")
    assert set(found["separability"]["runaway"]) <= {"colour_red", "(intercept)"}
    assert found["separability"]["feature_names"] == ["colour_red"]


def test_check_names_a_column_that_says_the_class(capsys):
    rng = np.random.default_rng(0)
    gone = rng.random(300) < 0.3
    table = pd.DataFrame({"age": rng.integers(18, 80, 300), "gone": np.where(gone, "yes", "no")})
    table.to_csv("t.csv", index=False)
    assert output(capsys, "check", "t.csv", "-t", "gone")[1]["findings"] == []
    table["the reason"] = np.where(gone, np.where(table["age"] > 40, "price", "moved"), "none")
    table["days, left"] = np.where(gone, 10.0, 50.0) + table["age"] / 9
    table["signup"] = [f"2024-01-{i % 28 + 1:02d}" for i in range(300)]
    table.to_csv("t.csv", index=False)
    code, found = output(capsys, "check", "t.csv", "-t", "gone")
    dates, leak = found["findings"]
    assert (code, dates["cause"]) == (0, "dates as categories")
    assert leak["cause"] == "one feature separates"
    assert "'days, left'" in leak["sentence"]
    assert "'the reason' alone say the class of every row" in leak["sentence"]
    (option,) = re.findall(r"leave it out by (.*)\.$", leak["sentence"])
    assert run(["check", "t.csv", "-t", "gone"]) == 0
    assert leak["sentence"] in " ".join(capsys.readouterr().err.split())
    code, found = output(capsys, "check", "t.csv", "-t", "gone", *shlex.split(option))
    assert code == 3
    assert [each["cause"] for each in found["findings"]] == ["dates as categories"]


def test_diagnose_reads_as_the_model_does(capsys):
    table = flowers()
    table["again"] = table["height"]
    table.to_csv("t.csv", index=False)
    rows = separatrix.read(table, target="kind", missing="indicator").sample(300)
    separatrix.save(separatrix.LinearClassifier(l2=1e-2, standardize=True).fit(rows), "m.sep")
    code, found = output(capsys, "diagnose", "m.sep", "t.csv")
    assert code == 0
    expected = separatrix.diagnose(separatrix.load("m.sep"), rows)
    causes = [each["cause"] for each in found["findings"]]
    assert causes == [each.cause for each in expected.findings]
    assert "duplicate features" in causes
    assert run(["diagnose", "m.sep", "t.csv"]) == 0
    out = capsys.readouterr().out
    assert "300 rows in memory" in out
    assert "'again'" in out


def test_inspect(capsys):
    table = flowers()
    table.to_csv("t.csv", index=False)
    output(capsys, "fit", "t.csv", "-t", "kind", "--l2", "0.01", "-o", "m.sep")
    code, found = output(capsys, "inspect", "m.sep")
    model = separatrix.load("m.sep")
    facts = found["model"]
    assert code == 0
    assert (facts["l2"], facts["gap"], facts["stop"]) == (0.01, model.gap_, "optimal")
    assert facts["objective"] == model.objective_
    assert found["columns"] == ["size", "height", "colour"]
    assert run(["inspect", "m.sep"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "size, height, colour" in out
    assert "Optimal: the objective" in out


def test_models_that_were_fitted_to_arrays(capsys):
    X, y = flowers()[["height"]].to_numpy(), flowers()["kind"].to_numpy()
    separatrix.save(separatrix.Perceptron(random_state=0).fit(X, y), "p.sep")
    assert run(["inspect", "p.sep"]) == 0
    assert "Perceptron" in capsys.readouterr().out
    pd.DataFrame({"height": X[:, 0]}).to_csv("t.csv", index=False)
    for command in ("predict", "evaluate", "diagnose"):
        assert run([command, "p.sep", "t.csv"]) == 2
        assert "t.csv: " in (err := capsys.readouterr().err)
        assert "fitted" in err


def test_certify_a_model_of_ours_on_the_rows_of_its_fit(capsys):
    flowers().to_csv("t.csv", index=False)
    output(capsys, "fit", "t.csv", "-t", "kind", "--l2", "0.01", "-o", "m.sep")
    code, found = output(capsys, "certify", "m.sep", "t.csv")
    model = separatrix.load("m.sep")
    certificate = found["certificate"]
    assert code == 0
    assert certificate["objective"] == pytest.approx(model.objective_)
    assert certificate["relative_gap"] <= 2e-6
    trained = separatrix.read("t.csv", like=model, validation=0.2)
    assert found["data"]["is_of_fit"] is True
    assert found["data"]["rows"] == trained.n_rows
    assert found["data"]["held_out_rows"] == trained.validation.n_rows
    assert run(["certify", "m.sep", "t.csv"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"The {trained.n_rows} rows of its fit, without {300 - trained.n_rows} others" in out
    assert "above" in out
    assert "cannot be checked" not in out  # a fingerprint has
    flowers(seed=1).to_csv("other.csv", index=False)
    assert run(["certify", "m.sep", "other.csv"]) == 0
    assert "cannot be checked" in " ".join(capsys.readouterr().out.split())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", ["certify", "diagnose", "evaluate"])
def test_another_file_than_that_of_the_fit_is_reported(command, capsys):
    table = flowers()
    table.to_csv("t.csv", index=False)
    output(capsys, "fit", "t.csv", "-t", "kind", "--l2", "0.01", "-o", "m.sep")
    table.loc[7, "height"] += 0.01  # one number of one row
    held_out = separatrix.read(table, target="kind", missing="indicator", validation=0.2).validation
    table.to_csv("changed.csv", index=False)
    table[:2].to_csv("few.csv", index=False)  # of these none is held out
    _, found = output(capsys, command, "m.sep", "t.csv")
    assert found["data"]["is_of_fit"] is True
    if command == "evaluate":
        assert found["figures"]["rows"] == held_out.n_rows
    for name, rows in {"changed.csv": 300, "few.csv": 2}.items():
        if command == "certify" and rows == 2:
            continue  # of one class
        code, found = output(capsys, command, "m.sep", name)
        assert code == 0
        assert found["data"]["is_of_fit"] is False
        assert found["data"]["rows"] == rows
        assert run([command, "m.sep", name]) == 0
        assert "this is not the file of its fit" in capsys.readouterr().err or command == "evaluate"


def test_a_fit_that_held_nothing_out_knows_its_file_too(capsys):
    table = flowers()
    table.to_csv("t.csv", index=False)
    output(capsys, "fit", "t.csv", "-t", "kind", "--l2", "0.01", "--test", "0", "-o", "m.sep")
    table.loc[7, "height"] += 0.01
    table.to_csv("changed.csv", index=False)
    for command in ("certify", "diagnose", "evaluate"):
        for name, is_of_fit in {"t.csv": True, "changed.csv": False}.items():
            _, found = output(capsys, command, "m.sep", name)
            assert found["data"]["is_of_fit"] is is_of_fit
            assert (found["data"]["rows"], found["data"]["held_out_rows"]) == (300, 0)
    assert run(["certify", "m.sep", "t.csv"]) == 0
    assert "The 300 rows of its fit." in capsys.readouterr().out
    assert run(["evaluate", "m.sep", "t.csv"]) == 0
    assert "warning: it was trained on these rows" in capsys.readouterr().err
    _, found = output(capsys, "inspect", "m.sep")
    assert found["held_out"] is None


def test_certify_a_model_of_scikit_learn(capsys):
    skops = pytest.importorskip("skops.io")
    table = flowers().dropna()
    table.to_csv("t.csv", index=False)
    X, y = table[["height", "size"]], table["kind"]
    pipe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2, tol=1e-12))
    with warnings.catch_warnings(action="ignore"):
        skops.dump(pipe.fit(X, y), "m.skops")
    code, found = output(capsys, "certify", "m.skops", "t.csv", "--target", "kind")
    expected = separatrix.certify(pipe, X, y).to_dict()
    assert code == 0
    assert found["certificate"]["relative_gap"] == pytest.approx(expected["relative_gap"], rel=1e-3)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(), RandomForestClassifier(2), LinearRegression(), SVC(),
        make_pipeline(PolynomialFeatures(), LogisticRegression()),
        make_pipeline(FunctionTransformer(np.exp), StandardScaler(), LogisticRegression()),
    ],
)  # fmt: skip
def test_of_skops_only_linear_models_scalers_and_pipelines_are_opened(model, capsys):
    """Also not what skops itself takes for safe."""
    skops = pytest.importorskip("skops.io")
    table = flowers().dropna()
    table.to_csv("t.csv", index=False)
    skops.dump(model.fit(table[["height"]] / 100, table["kind"] == "rose"), "m.skops")
    assert run(["certify", "m.skops", "t.csv", "-t", "kind"]) == 2
    err = capsys.readouterr().err
    assert "only linear models, scalers and pipelines of scikit-learn are opened" in err
    first = model[0] if hasattr(model, "steps") else model
    assert f"m.skops contains a {type(first).__module__}.{type(first).__name__}" in err


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(), SGDClassifier(random_state=0), SGDClassifier("log_loss", random_state=0),
        SGDClassifier("squared_hinge", random_state=0), RidgeClassifier(), SkPerceptron(),
        LogisticRegressionCV(Cs=2, cv=2, l1_ratios=(0,), use_legacy_attributes=False),
        *(make_pipeline(scaler, LogisticRegression())
          for scaler in (StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler())),
    ],
)  # fmt: skip
def test_every_linear_model_that_skops_writes_is_opened(model, capsys):
    skops = pytest.importorskip("skops.io")
    table = flowers().dropna()
    table.to_csv("t.csv", index=False)
    with warnings.catch_warnings(action="ignore"):
        skops.dump(model.fit(table[["height", "size"]], table["kind"]), "m.skops")
    code, found = output(capsys, "certify", "m.skops", "t.csv", "-t", "kind")
    assert code == 0
    expected = separatrix.certify(model, table[["height", "size"]], table["kind"])
    assert found["certificate"]["objective"] == pytest.approx(expected.objective)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04garbage", pickle.dumps([1, 2])])
def test_what_is_no_file_of_skops_is_bad_input(folder, capsys, content):
    pytest.importorskip("skops.io")
    flowers().to_csv("t.csv", index=False)
    Path("m.skops").write_bytes(content)
    assert run(["certify", "m.skops", "t.csv", "-t", "kind"]) == 2
    assert "m.skops is damaged or not a skops file" in capsys.readouterr().err


def test_pickles_are_not_opened(folder, capsys):
    (folder / "m.pkl").write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.")
    assert run(["certify", "m.pkl", "t.csv"]) == 2
    assert "m.pkl is a pickle" in capsys.readouterr().err
    assert not (folder / "pwned").exists()
