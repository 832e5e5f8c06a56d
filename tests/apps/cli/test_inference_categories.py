"""The command ``inference`` on a table with categories and a rare symptom."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from separatrix.apps.cli.app import run

pytest.importorskip("pyarrow")


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"age": rng.normal(50, 12, 300).round(1)})
    data["drug"] = rng.choice(["a", "b", "c"], 300)
    sick = rng.random(300) < 1 / (1 + np.exp(-0.05 * (data["age"] - 50)))
    data["sick"] = np.where(sick, "yes", "no")
    data.to_csv("t.csv", index=False)
    rare = np.where(sick, (rng.random(300) < 0.2).astype(int), 0)
    data.assign(rare=rare).to_csv("rare.csv", index=False)
    data.assign(leak=np.where(sick, 1, -1) * rng.uniform(1, 2, 300)).to_csv("leak.csv", index=False)


def test_the_first_category_is_the_reference(table, capsys):
    assert run(["fit", "t.csv", "--target", "sick", "--l2", "0"]) == 0
    capsys.readouterr()
    assert run(["inference", "model.sep", "t.csv", "--test", "drug_b,drug_c"]) == 0
    text = capsys.readouterr().out
    assert "Categories are compared with drug: a." in text
    assert "Without drug_b, drug_c: likelihood ratio" in text
    assert "2 degrees of freedom" in text
    assert run(["fit", "t.csv", "--target", "sick", "--l2", "0.01", "-o", "p.sep"]) == 0
    capsys.readouterr()
    assert run(["inference", "p.sep", "t.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["inference"]
    assert found["names"] == ["age", "drug_a", "drug_b", "drug_c", "(intercept)"]


@pytest.mark.filterwarnings("ignore")
def test_separable_columns_have_remedies_in_words_of_the_command(table, capsys):
    assert run(["fit", "leak.csv", "--target", "sick", "--l2", "0"]) == 0
    assert "--bias-reduction firth or --bias-reduction mdypl" in " ".join(
        capsys.readouterr().out.split()
    )
    assert run(["inference", "model.sep", "leak.csv"]) == 2
    said = capsys.readouterr().err
    assert "at infinity in" in said
    assert "use --bias-reduction firth, or use a penalty (--l2 0.0001)" in said
    assert run(["fit", "rare.csv", "--target", "sick", "--bias-reduction", "firth"]) == 0
    capsys.readouterr()
    assert run(["inference", "model.sep", "rare.csv", "--intervals", "profile"]) == 0
    assert "with Firth's penalty" in capsys.readouterr().out


def test_other_rows_are_an_option(table, capsys):
    assert run(["fit", "t.csv", "--target", "sick", "--l2", "0", "--test", "0"]) == 0
    pd.read_csv("t.csv").iloc[:200].to_csv("some.csv", index=False)
    capsys.readouterr()
    assert run(["inference", "model.sep", "some.csv"]) == 2
    assert "or --other-rows for other rows" in capsys.readouterr().err
    assert run(["inference", "model.sep", "some.csv", "--other-rows"]) == 0
    assert "these are not the rows of the fit" in " ".join(capsys.readouterr().out.split())
