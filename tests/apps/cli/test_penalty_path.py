"""``path``: the scores are those of a cross-validation, and the command to go on with works."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pytest
from apps.cli.tables import flowers, told

import separatrix
from separatrix.apps.cli.app import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a folder").mkdir()
    flowers().to_csv("flowers.csv", index=False)
    flowers().to_csv("a folder/flowers.csv", index=False)


def test_the_path_along_the_penalties(folder, capsys):
    code, found = told(capsys, "path", "flowers.csv", "-t", "kind", "--values", "5")
    assert code == 0
    rows = separatrix.read("flowers.csv", target="kind", missing="indicator").sample(300)
    cv = separatrix.LinearClassifierCV(
        l2s=5, cv=5, scoring="loss", standardize=True, random_state=0
    ).fit(rows)
    assert [each["l2"] for each in found["path"]] == cv.l2_path_.tolist()
    scores = [each["score"] for each in found["path"]]
    assert scores == cv.cv_results_["mean_test_score"].tolist()
    assert found["best"] == cv.l2_path_[int(np.argmax(scores))]
    assert run(["path", "flowers.csv", "-t", "kind", "--values", "5"]) == 0
    out = capsys.readouterr().out
    assert "300 rows in memory" in out
    assert "best" in out


def test_the_command_that_it_names_works(folder, capsys):
    line = ["path", "a folder/flowers.csv", "-t", "kind", "--values", "2"]
    assert run(line) == 0
    (named,) = re.findall(r"^Next: separatrix (.*)$", capsys.readouterr().out, re.M)
    assert run(shlex.split(named)) == 0
