"""Suggested commands: each one runs, and with the options of the run that suggests it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from apps.cli.tables import flowers, output
from sklearn.exceptions import ConvergenceWarning

import separatrix
from separatrix.apps import cli
from separatrix.apps.cli import suggestions
from separatrix.apps.cli.app import run

OPTIONS = [
    "--target", "kind", "--drop", "height", "--drop=-id", "--loss", "squared_hinge",
    "--as-category", "year", "--date", "signup:year,month", "--missing", "mean",
    "--weight", "size of it", "--no-standardize", "--format", "csv",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = flowers()
    table["year"] = rng.integers(2020, 2023, len(table))
    table["-id"] = np.arange(len(table))
    table["signup"] = [f"{y}-0{m}-11" for y, m in rng.integers([2020, 1], [2023, 9], (300, 2))]
    table["size of it"] = rng.integers(1, 3, len(table))
    table.to_csv("some flowers", index=False)
    table.to_csv("flowers.csv", index=False)


def suggested(out):
    """All commands in the output."""
    return [shlex.split(line) for line in re.findall(r"separatrix (\w+ .*)$", out, re.M)]


def test_path_suggests_a_fit_with_its_options(folder, capsys):
    assert run(["path", "some flowers", *OPTIONS, "--values", "2"]) == 0
    (line,) = suggested(capsys.readouterr().out)
    assert sorted(line[:2]) == ["fit", "some flowers"]
    assert {*OPTIONS} <= {*line}
    assert {*line} - {*OPTIONS} - {"fit", "some flowers", "--l2"} == {line[line.index("--l2") + 1]}
    assert run(line) == 0
    model = separatrix.load("model.sep")
    assert model.loss == "squared_hinge"
    assert model.standardize is False
    assert list(model.feature_names_in_) == ["size", "colour", "year", "signup"]
    assert "year_2021" in model.coef_names_
    assert "signup_month" in " ".join(model.coef_names_)
    assert not any("missing" in name for name in model.coef_names_)
    capsys.readouterr()
    code, found = output(capsys, "inspect", "model.sep")
    assert (code, f"{found['model']['l2']:.3g}") == (0, f"{model.l2:.3g}")
    assert separatrix.read("some flowers", like=model, format="csv").weight_sum > 300


def test_defaults_are_not_repeated(folder, capsys):
    assert run(["path", "flowers.csv", "-t", "kind", "--drop=-id", "--values", "2"]) == 0
    (line,) = suggested(capsys.readouterr().out)
    assert line[:4] == ["fit", "flowers.csv", "--target", "kind"]
    assert len(line) == 7


@pytest.mark.slow
def test_all_commands_that_are_suggested_run(folder, capsys):
    ran = []
    for start in (["path", "flowers.csv", "-t", "kind", "--drop=-id", "--values", "2"], ["demo"]):
        assert run(start) == 0
        for line in suggested(capsys.readouterr().out):
            assert run(line) == 0, line
            capsys.readouterr()
            ran.append(line[0])
    assert ran == ["fit", "inspect", "predict", "path"]


def test_commands_are_built_in_one_place():
    files = Path(cli.__file__).parent.glob("*.py")
    built = [path.name for path in files if '"separatrix",' in path.read_text()]
    assert sorted(built) == ["app.py", "suggestions.py"]  # app.py: its own name


@pytest.fixture
def rare(tmp_path, monkeypatch):
    """A table in which one class has 95 % of the rows and cannot be found without weights."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    y = np.where(x[:, 0] + 3.0 * rng.normal(size=600) > 5.0, "churned", "stayed")
    table = pd.DataFrame({"usage": x[:, 0], "noise": x[:, 1], "status": y, "same": 1.0})
    table.to_csv("rare.csv", index=False)


def test_a_dominant_class_names_the_option(rare, capsys):
    assert run(["fit", "rare.csv", "-t", "status"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "One class dominates" in out
    share = re.search(r"Fit again with --threshold (0\.\d+)\.", out)[1]  # that of "stayed"
    assert float(share) == pytest.approx(0.95, abs=0.02)
    assert run(["diagnose", "model.sep", "rare.csv"]) == 0
    out = capsys.readouterr().out
    assert f"   fit again with --threshold {share}\n" in out
    assert "   fit again with --drop same\n" in out
    assert "clf" not in out
    assert run(["fit", "rare.csv", "-t", "status", "--threshold", share, "--drop", "same"]) == 0
    out = capsys.readouterr().out
    assert "One class dominates" not in out
    assert "never changes" not in out
    code, found = output(capsys, "diagnose", "model.sep", "rare.csv")
    assert (code, found["healthy"]) == (0, True)


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"l2": 0.001, "max_iter": 50}, "--l2 0.001 --max-iter 50"),
        ({"loss": "logistic"}, "--loss logistic"),
        ({"penalty__l2": 3e-7}, "--l2 3e-07"),
        ({"drop": ["a b", "-c"]}, "--drop 'a b' --drop=-c"),
        ({"class_weight": "balanced"}, "--balanced"),
        ({"prior_correction": True}, "--prior-correction"),
        ({"threshold": 0.05}, "--threshold 0.05"),
        ({"class_weight": None}, None),
        ({"max_iter": 9, "tol": None}, None),
        ({"solver__learning_rate": "auto"}, None),
        ({"l2": 0.1, "shuffle": True}, None),
        ({}, None),
    ],
)
def test_options_for_changes(changes, options):
    assert suggestions.options(changes) == options


def test_certify_names_the_options_for_another_fit(folder, capsys):
    fit = ["fit", "flowers.csv", "-t", "kind", "--l2", "1e-4", "--drop=-id"]
    assert run([*fit, "--max-iter", "1"]) == 0
    capsys.readouterr()
    assert run(["certify", "model.sep", "flowers.csv"]) == 0
    out = capsys.readouterr().out
    (options,) = re.findall(r"Remedy: fit again with (.*)\n", out)
    assert "clf" not in out
    code, found = output(capsys, "certify", "model.sep", "flowers.csv")
    assert (code, found["certificate"]["options"]) == (0, options)
    assert run([*fit, *shlex.split(options)]) == 0
    capsys.readouterr()
    assert run(["certify", "model.sep", "flowers.csv"]) == 0
    assert "Remedy" not in capsys.readouterr().out
    rows = separatrix.read("flowers.csv", target="kind", missing="mean", drop=["-id", "signup"])
    perceptron = separatrix.Perceptron(max_iter=1, patience=None)
    separatrix.save(perceptron.fit(rows), "steps.sep")
    assert run(["certify", "steps.sep", "flowers.csv"]) == 0
    out = capsys.readouterr().out
    assert "Remedy: in Python, where clf is the model: " in out
    assert (
        output(capsys, "certify", "steps.sep", "flowers.csv")[1]["certificate"]["options"] is None
    )


def test_a_model_from_python_is_answered_in_python(rare, capsys):
    rows = separatrix.read("rare.csv", target="status").sample(600)
    solver = separatrix.GradientDescent(learning_rate=50.0)
    model = separatrix.LinearClassifier(solver=solver, max_iter=20)
    with pytest.warns(ConvergenceWarning):
        model.fit(rows)
    separatrix.save(model, "steps.sep")
    assert run(["diagnose", "steps.sep", "rare.csv"]) == 0
    assert "in Python: clf.set_params(solver__learning_rate='auto')" in capsys.readouterr().out
    code, found = output(capsys, "diagnose", "steps.sep", "rare.csv")
    assert code == 0
    assert {"options": None, "cause": "step above 2/L"}.items() <= found["findings"][0].items()
    json.dumps(found)
