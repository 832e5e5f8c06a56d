"""``--offset``: a column of known numbers, which the model reads from every table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from apps.cli.tables import output

import separatrix
from separatrix.apps.cli.app import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(5, 2, 400), "known": rng.normal(0, 2, 400)})
    score = (table["size"] - 5) / 2 + table["known"] + rng.logistic(0, 1, 400)
    table["kind"] = np.where(score > 0.0, "rose", "iris")
    table.round(3).to_csv("t.csv", index=False)
    return tmp_path


FIT = "fit", "t.csv", "--target", "kind", "--offset", "known"


def test_a_fit_and_what_follows_it(capsys):
    assert run([*FIT, "--l2", "0", "--test", "0", "-o", "m.sep"]) == 0
    clf, table = separatrix.load("m.sep"), pd.read_csv("t.csv")
    assert clf.uses_offset_
    expected = separatrix.LinearClassifier(l2=0.0, tol=1e-10)
    expected.fit(table[["size"]].to_numpy(), table["kind"], offset=table["known"])
    np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=1e-4)
    capsys.readouterr()
    assert run(["predict", "m.sep", "t.csv", "--proba"]) == 0
    written = pd.read_csv(pd.io.common.StringIO(capsys.readouterr().out))
    own = expected.predict_proba(table[["size"]].to_numpy(), offset=table["known"])
    np.testing.assert_allclose(written["probability_rose"], own[:, 1], atol=1e-3)
    code, found = output(capsys, "evaluate", "m.sep", "t.csv")
    assert code == 0
    code, found = output(capsys, "inference", "m.sep", "t.csv")
    assert found["inference"]["names"] == ["size", "(intercept)"]
    code, found = output(capsys, "certify", "m.sep", "t.csv")
    assert code == 0


def test_a_search_and_a_path(capsys):
    assert run([*FIT, "-o", "m.sep"]) == 0
    assert separatrix.load("m.sep").uses_offset_
    capsys.readouterr()
    code, _ = output(capsys, "path", "t.csv", "--target", "kind", "--offset", "known")
    assert code == 0


def test_errors_name_the_option_and_the_column(capsys):
    assert run(["fit", "t.csv", "--target", "kind", "--offset", "hours"]) != 0
    assert "--offset names the column 'hours'" in capsys.readouterr().err
    assert run([*FIT, "--l2", "1", "-o", "m.sep"]) == 0
    pd.read_csv("t.csv").drop(columns="known").to_csv("without.csv", index=False)
    capsys.readouterr()
    assert run(["predict", "m.sep", "without.csv"]) != 0
    assert "no column 'known'" in capsys.readouterr().err
