"""``inference``: the table of coefficients on the rows of the fit."""

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
    table = pd.DataFrame({"size": rng.normal(5, 2, 400), "height": rng.normal(50, 20, 400)})
    score = (table["size"] - 5) / 2 + rng.logistic(0, 1, 400)
    table["kind"] = np.where(score > 0.3, "rose", "iris")
    table.round(3).to_csv("t.csv", index=False)
    return tmp_path


def test_the_numbers_are_those_of_python(capsys):
    assert run(["fit", "t.csv", "--target", "kind", "--l2", "0", "-o", "m.sep"]) == 0
    capsys.readouterr()
    code, found = output(
        capsys, "inference", "m.sep", "t.csv", "--test", "height", "--level", "0.9"
    )
    assert code == 0
    clf = separatrix.load("m.sep")
    rows = clf._reading.split  # the rows that the fit held out are left out, as by `certify`
    assert rows is not None
    assert found["data"]["held_out_rows"] > 0
    numbers = found["inference"]
    assert numbers["names"] == ["size", "height", "(intercept)"]
    np.testing.assert_allclose(numbers["coef"], [*clf.coef_[0], *clf.intercept_])
    assert numbers["level"] == 0.9
    assert found["test"]["degrees"] == 1
    assert run(["inference", "m.sep", "t.csv", "--test", "size,height"]) == 0
    text = capsys.readouterr().out
    assert "std. error" in text
    assert "Without size, height: likelihood ratio" in text
    assert run(["inference", "m.sep", "t.csv", "--covariance", "sandwich"]) == 0
    assert "sandwich" in capsys.readouterr().out


def test_all_rows_of_a_fit_without_a_test_set(capsys):
    arguments = ["fit", "t.csv", "--target", "kind", "--l2", "0", "--test", "0", "-o", "m.sep"]
    assert run(arguments) == 0
    capsys.readouterr()
    _, found = output(capsys, "inference", "m.sep", "t.csv")
    table = pd.read_csv("t.csv")
    clf = separatrix.LinearClassifier(l2=0.0, tol=1e-10).fit(
        table[["size", "height"]], table["kind"]
    )
    expected = separatrix.inference(clf, table[["size", "height"]], table["kind"])
    np.testing.assert_allclose(
        found["inference"]["standard_errors"], expected.standard_errors, rtol=1e-5
    )


def test_profile_intervals_of_some_features(capsys):
    assert run(["fit", "t.csv", "--target", "kind", "--l2", "0", "-o", "m.sep"]) == 0
    capsys.readouterr()
    options = ["--intervals", "profile", "--features", "height,(intercept)"]
    _, found = output(capsys, "inference", "m.sep", "t.csv", *options)
    _, wald = output(capsys, "inference", "m.sep", "t.csv", *options[2:])
    assert found["inference"]["names"] == ["height", "(intercept)"]
    assert found["inference"]["intervals"] == "profile"
    assert found["inference"]["coef"] == wald["inference"]["coef"]
    np.testing.assert_allclose(found["inference"]["lower"], wald["inference"]["lower"], rtol=0.1)
    assert found["inference"]["lower"] != wald["inference"]["lower"]


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore:there are 2 clusters")
@pytest.mark.parametrize("held_out", ["0", "0.2"])
@pytest.mark.parametrize("names", [str, int, "ab"])
def test_clusters_are_a_column(capsys, held_out, names):
    table = pd.read_csv("t.csv")
    patient = np.arange(400) // (200 if names == "ab" else 8)
    table["patient"] = [f"p {each}" for each in patient] if names is str else patient
    table["times"] = np.arange(400) % 3
    table.to_csv("t.csv", index=False)
    arguments = ["fit", "t.csv", "--target", "kind", "--l2", "0", "--drop", "patient"]
    arguments += ["--weight", "times", "--test", held_out, "-o", "m.sep"]
    assert run(arguments) == 0
    capsys.readouterr()
    code, found = output(capsys, "inference", "m.sep", "t.csv", "--groups", "patient")
    assert code == 0
    clf = separatrix.load("m.sep")
    rows = separatrix.read("t.csv", like=clf, validation=float(held_out) or None)
    every = separatrix.read(
        "t.csv", target="patient", features=["height"], weight="times",
        validation=float(held_out) or None,
    )  # fmt: skip
    rows, every = rows.sample(rows.n_rows), every.sample(every.n_rows)
    expected = separatrix.inference(clf, rows, covariance="cluster", groups=every.y)
    np.testing.assert_allclose(
        found["inference"]["standard_errors"], expected.standard_errors, rtol=1e-12
    )
    clusters = len(np.unique(every.y))
    assert clusters == (2 if names == "ab" else 50)
    assert found["inference"]["covariance"] == f"sandwich, for {clusters} clusters"
    assert run(["inference", "m.sep", "t.csv", "--groups", "patients"]) == 2
    assert "patients" in capsys.readouterr().err
    assert run(["inference", "m.sep", "t.csv", "--groups", "patient", "--covariance", "model"]) == 2
    assert "covariance='cluster'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--level", "2"], "level must be between 0 and 1"),
        (["--test", "width"], "unknown feature 'width'"),
        (["--reference", "tulip"], "reference must be one of"),
        (["--covariance", "hc3"], "covariance must be one of"),
        (["--covariance", "cluster"], "groups names the cluster"),
        (["--intervals", "exact"], "intervals must be one of"),
        (["--features", "width"], "unknown feature 'width'"),
    ],
)
def test_wrong_options_are_named(capsys, options, text):
    assert run(["fit", "t.csv", "--target", "kind", "--l2", "0", "-o", "m.sep"]) == 0
    capsys.readouterr()
    assert run(["inference", "m.sep", "t.csv", *options]) == 2
    assert text in " ".join(capsys.readouterr().err.split())


def test_other_rows_are_refused(capsys):
    assert run(["fit", "t.csv", "--target", "kind", "--l2", "0", "-o", "m.sep"]) == 0
    pd.read_csv("t.csv").iloc[:100].to_csv("other.csv", index=False)
    capsys.readouterr()
    assert run(["inference", "m.sep", "other.csv"]) == 2
    assert "of the fit" in " ".join(capsys.readouterr().err.split())
