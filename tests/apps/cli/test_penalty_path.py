"""``path``: the scores are those of a cross-validation, and the command to go on with works."""

from __future__ import annotations

import re
import shlex
import warnings
from itertools import pairwise

import numpy as np
import pytest
from apps.cli.tables import flowers, output

import separatrix
from separatrix.apps.cli.app import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a folder").mkdir()
    flowers().to_csv("flowers.csv", index=False)
    flowers().to_csv("a folder/flowers.csv", index=False)


def test_the_path_along_the_penalties(folder, capsys):
    code, found = output(capsys, "path", "flowers.csv", "-t", "kind", "--values", "5")
    assert code == 0
    assert found["data"]["held_out_rows"] > 0
    rows = rows_of("flowers.csv", validation=0.2)  # as fit reads them
    assert len(rows.y) == found["data"]["rows"] == 300 - found["data"]["held_out_rows"]
    cv = separatrix.LinearClassifierCV(
        l2s=5, cv=5, scoring="loss", standardize=True, random_state=0
    ).fit(rows)
    assert [each["l2"] for each in found["path"]] == cv.l2_path_.tolist()
    scores = [each["score"] for each in found["path"]]
    assert scores == cv.cv_results_["mean_test_score"].tolist()
    assert found["best"] == cv.l2_path_[int(np.argmax(scores))]
    assert run(["path", "flowers.csv", "-t", "kind", "--values", "5"]) == 0
    out = capsys.readouterr().out
    rows, others = len(rows.y), 300 - len(rows.y)
    assert f"{rows} rows in memory, 5 folds; fit measures on {others} other rows." in out
    assert "best" in out
    assert run(["path", "flowers.csv", "-t", "kind", "--values", "2", "--test", "0"]) == 0
    assert "300 rows in memory, 5 folds.\n" in capsys.readouterr().out


def test_the_suggested_l2_has_not_seen_the_rows_that_measure_it(folder, capsys):
    line = ["path", "flowers.csv", "-t", "kind", "--values", "20", "--test", "0.3"]
    assert run(line) == 0
    (named,) = re.findall(r"^Next: separatrix (.*)$", capsys.readouterr().out, re.M)
    assert "--test 0.3" in named
    assert run(shlex.split(named)) == 0
    model = separatrix.load("model.sep")
    searched = rows_of("flowers.csv", validation=0.3)
    assert searched.fingerprint() == model.split_.trained_on
    assert run(["fit", "flowers.csv", "-t", "kind", "--test", "0.3", "-o", "auto.sep"]) == 0
    assert model.l2 == pytest.approx(separatrix.load("auto.sep").l2_, rel=5e-3)


def test_the_command_that_it_names_works(folder, capsys):
    line = ["path", "a folder/flowers.csv", "-t", "kind", "--values", "2"]
    assert run(line) == 0
    (named,) = re.findall(r"^Next: separatrix (.*)$", capsys.readouterr().out, re.M)
    assert run(shlex.split(named)) == 0


def rows_of(path, **options):
    source = separatrix.read(path, target="kind", missing="indicator", **options)
    return source.sample(source.n_rows)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("options", "given"),
    [
        (["--values", "6"], {"l1_ratio": 0, "strengths": 6}),
        (["--l1-ratio", "1", "--values", "7"], {"l1_ratio": 1, "strengths": 7}),
        (
            ["--l1-ratio", "0.5", "--smallest", "0.01", "--values", "5", "--folds", "3",
             "--balanced", "--no-standardize", "--score", "accuracy", "--loss", "squared_hinge"],
            {"l1_ratio": 0.5, "smallest": 0.01, "strengths": 5, "cv": 3, "scoring": None,
             "class_weight": "balanced", "standardize": False, "loss": "squared_hinge"},
        ),
        pytest.param(
            ["--l1-ratio", "1", "--tol", "1e-3"], {"l1_ratio": 1, "tol": 1e-3},
            marks=pytest.mark.slow,
        ),
        ([], {"l1_ratio": 0}),
    ],
    ids=["l2", "l1", "both", "default strengths", "default l2"],
)  # fmt: skip
def test_the_command_and_the_function_do_the_same(folder, capsys, options, given):
    code, found = output(capsys, "path", "flowers.csv", "-t", "kind", "--test", "0", *options)
    assert code == 0
    defaults = {"cv": 5, "standardize": True, "random_state": 0}
    with warnings.catch_warnings(action="ignore"):
        alike = separatrix.path(rows_of("flowers.csv"), **defaults | given)
    frame = alike.to_frame().rename(columns={"mean_test_score": "score"})
    for name in frame.columns.drop("entering"):
        assert [each[name] for each in found["path"]] == frame[name].tolist(), name
    names = [", ".join(each["entering"]) for each in found["path"]]
    assert names == frame["entering"].tolist()
    unit = 1.0 if given["l1_ratio"] else 0.5
    assert found["best"] == unit * alike.best_strength
    assert found["one_standard_error"] == unit * alike.one_standard_error_strength
    assert found["order_of_entry"] == (alike.order_of_entry if given["l1_ratio"] else None)
    assert found["folds"] == given.get("cv", 5)


@pytest.mark.slow
def test_features_are_named_in_order_of_entry(folder, capsys):
    line = ["path", "flowers.csv", "-t", "kind", "--l1-ratio", "1", "--values", "30", "--test", "0"]
    assert run(line) == 0
    out = capsys.readouterr().out
    text = " ".join(out.split())
    (order,) = re.findall(r"Features in order of entry: (.*?)\. Next:", text)
    entered = [name.strip() for name in order.split(",")]
    # From fits of their own: the largest strength of a finer grid at which each has a weight.
    rows = rows_of("flowers.csv")
    names = rows.reading.encoding.coef_names.tolist()
    first = {}
    for at in np.geomspace(0.5, 1e-4, 30):
        with warnings.catch_warnings(action="ignore"):
            clf = separatrix.LinearClassifier(l1=at, l2=0.0, standardize=True).fit(rows)
        for name in np.array(names)[clf.coef_[0] != 0]:
            first.setdefault(name, at)
    expected = [first.get(name, 0.0) for name in entered]
    assert entered[0] == max(first, key=first.__getitem__)
    assert len(entered) >= 4
    assert all(a >= b * 0.5 for a, b in pairwise(expected))
    rows_shown = re.findall(r"^  (\S+) .*  (\d+)  +(\S.*?) *$", out, re.M)
    assert any(entered[0] in text for _, _, text in rows_shown)
    assert "best" in out


def test_the_suggested_fit_is_the_best_of_the_path(folder, capsys):
    line = ["path", "flowers.csv", "-t", "kind", "--l1-ratio", "0.5", "--values", "12"]
    assert run(line) == 0
    (named,) = re.findall(r"^Next: separatrix (.*)$", capsys.readouterr().out, re.M)
    found = output(capsys, *line)[1]
    best = next(each for each in found["path"] if each["strength"] == found["best"])
    words = shlex.split(named)
    assert "--l1-ratio" not in words
    assert float(words[words.index("--l1") + 1]) == pytest.approx(best["l1"], rel=5e-3)
    assert float(words[words.index("--l2") + 1]) == pytest.approx(best["l2"], rel=5e-3)
    assert run(words) == 0
    model = separatrix.load("model.sep")
    assert (model.l1, model.l2) == pytest.approx((best["l1"], best["l2"]), rel=5e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--l1-ratio", "2"], "--l1-ratio must be"),
        (["--l1-ratio", "-1"], "--l1-ratio must be"),
        (["--l1-ratio", "1", "--loss", "hinge"], "--l1 is not for --loss hinge"),
        (["--l1-ratio", "1", "--values", "0"], "--values must be"),
        (["--values", "0"], "--values must be"),
        (["--smallest", "0"], "--smallest must be"),
        (["--test", "1"], "--test 1: expected a share of the rows"),
        (["--folds", "1"], "--folds 1: expected a whole number of 2 or more"),
    ],
)
def test_options_that_cannot_be(folder, capsys, options, message):
    assert run(["path", "flowers.csv", "-t", "kind", *options]) == 2
    assert message in capsys.readouterr().err
