"""The page docs/decision.md, as it stands: every command, every block, and what it says of them."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from separatrix.apps.cli.app import run

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "decision.md").read_text()


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_page_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    script = ROOT / "examples" / "churn.py"
    first, *lines = [
        line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S) for line in block.splitlines()
    ]
    assert first == "python examples/churn.py churn.csv"
    subprocess.run([sys.executable, str(script), "churn.csv"], check=True)
    table = pd.read_csv("churn.csv")
    assert f"{len(table):,} rows and the columns" in PAGE
    assert f"{int((table.churned == 'yes').sum())} customers have left" in PAGE
    assert len(lines) == 7
    printed = []
    for line in lines:
        assert run(shlex.split(line)[1:]) == 0, line
        printed.append(" ".join(capsys.readouterr().out.split()))
    for words in ("'closing_fee' alone says the class", "--drop customer", "holds dates"):
        assert words in printed[0]
    _check_plain(capsys)
    _check_costs(printed, lines[2], capsys)
    cost = [re.search(r"cost per row ([\d.]+)", text)[1] for text in printed[2:4]]
    assert cost[0] == cost[1]  # measured on the same rows
    assert "yes is predicted where its probability is at least 0.5." in printed[4]
    scored = pd.read_csv("scored.csv")
    assert (scored.prediction.eq("yes") == (scored.probability_yes >= _threshold(capsys))).all()
    _check_query(table, scored)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(code, names)
    assert capsys.readouterr().out.split() == ["True"] * 4
    assert Path("python.html").read_text().startswith("<!DOCTYPE html>")


def _check_query(table, scored):
    """The query finds the same in a database."""
    database = sqlite3.connect(":memory:")
    table.to_sql("customers", database, index=False)
    found = pd.read_sql(Path("churn.sql").read_text(), database).merge(scored, on="customer")
    assert len(found) == len(table)
    assert (found.label == found.prediction).all()
    assert np.allclose(found.probability_yes_x, found.probability_yes_y, rtol=1e-12)
    database.close()


def _check_plain(capsys):
    """AUC, calibration, and few predictions of ``yes``."""
    run(["evaluate", "plain.sep", "churn.csv", "--json"])
    found = json.loads(capsys.readouterr().out)["figures"]
    assert f"the AUC is {found['auc']:.2f}" in PAGE
    assert f"in {found['auc']:.0%}".replace("%", " %") in PAGE
    assert found["calibration_error"] < 0.01
    assert found["classes"][1]["recall"] < 0.2


def _check_costs(printed, line, capsys):
    assert line.endswith("--cost fp=1,fn=8 --report report.html -o churn.sep")
    assert "which are not measured" in printed[2]
    assert f"{_threshold(capsys):.2f}" == "0.12"
    report = Path("report.html").read_text()
    assert "<script" not in report
    assert report.count("<img") == 6


def _threshold(capsys):
    run(["inspect", "churn.sep", "--json"])
    return json.loads(capsys.readouterr().out)["decision"]["threshold"]


def test_the_readme_and_the_guide_lead_to_the_page():
    assert "docs/decision.md" in (ROOT / "README.md").read_text()
    assert "decision.md" in (ROOT / "docs" / "guide.md").read_text()
