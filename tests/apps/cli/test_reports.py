"""``--report``: the page of a fit or an evaluation."""

from __future__ import annotations

import base64
import re

import pytest
from apps.cli.tables import flowers, output

from separatrix.apps.cli.app import run

FIT = ["fit", "rows.csv", "-t", "kind", "--l2", "0.01", "-o", "m.sep"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flowers(400).to_csv("rows.csv", index=False)
    return tmp_path


def test_fit_and_evaluate_write_reports(folder, capsys):
    pytest.importorskip("matplotlib")
    code, found = output(capsys, *FIT, "--cost", "fp=1,fn=6", "--report", "fit.html")
    assert code == 0
    page = (folder / "fit.html").read_text()
    assert "<title>rows.csv: held-out rows</title>" in page
    assert f"<td>{found['held_out']['auc']:.4g}</td>" in page
    assert run(["evaluate", "m.sep", "rows.csv", "--report", "evaluate.html"]) == 0
    title = re.compile("<title>.*</title>|<h1>.*</h1>")
    other = (folder / "evaluate.html").read_text()
    assert title.sub("", other) == title.sub("", page)


@pytest.mark.slow
def test_a_report_without_held_out_rows_is_about_the_training_rows(folder):
    pytest.importorskip("matplotlib")
    assert run([*FIT, "--test", "0", "--report", "training.html"]) == 0
    assert "rows.csv: training rows" in (folder / "training.html").read_text()


@pytest.mark.slow
def test_a_report_of_a_search_has_no_formulas_as_labels(folder, capsys):
    pytest.importorskip("matplotlib")
    assert run(["fit", "rows.csv", "-t", "kind", "-o", "m.sep", "--report", "fit.html"]) == 0
    page = (folder / "fit.html").read_text()
    pictures = re.findall("base64,([A-Za-z0-9+/=]+)", page)
    assert pictures
    assert not any(b"mathdefault" in base64.b64decode(each) for each in pictures)


def test_without_matplotlib_nothing_is_fitted(folder, capsys, monkeypatch):
    monkeypatch.setattr("separatrix.apps.cli.written.find_spec", lambda name: None)
    assert run([*FIT, "--report", "r.html"]) == 2
    assert "pip install 'separatrix[plot]'" in capsys.readouterr().err
    assert not (folder / "m.sep").exists()
