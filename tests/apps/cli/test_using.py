"""``predict`` and ``evaluate``: every column and row comes back, with what the model says of it."""

from __future__ import annotations

import gzip
import io
import subprocess

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from apps.cli.tables import COMMAND, flowers, process, told
from sklearn.metrics import accuracy_score

import separatrix
from separatrix.apps.cli.app import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A model, and new rows."""
    monkeypatch.chdir(tmp_path)
    rows = separatrix.read(flowers(), target="kind", missing="indicator").sample(300)
    separatrix.save(separatrix.LinearClassifier(l2=1e-2).fit(rows), "model.sep")
    new().to_csv("new.csv", index=False)
    return tmp_path


def new():
    """Columns in another order, one that no model needs, and no labels."""
    table = flowers(40, seed=1)
    table["note"] = [f'says "{i}", or so' for i in range(len(table))]
    return table[["note", "colour", "height", "size"]]


def expected(proba=False):
    model, table = separatrix.load("model.sep"), new()
    table["prediction"] = model.predict(new())
    if proba:
        for label, values in zip(model.classes_, model.predict_proba(new()).T, strict=True):
            table[f"probability_{label}"] = values
    return table


def test_columns_and_rows_stay_as_they_are(folder, capsys):
    code, found = told(capsys, "predict", "model.sep", "new.csv", "-o", "out.csv", "--proba")
    assert code == 0
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), expected(proba=True))
    counts = {each["label"]: each["rows"] for each in found["predicted"]}
    assert counts == expected()["prediction"].value_counts().to_dict()
    lines = (folder / "new.csv").read_text().splitlines()
    written = (folder / "out.csv").read_text().splitlines()
    assert all(out.startswith(line) for line, out in zip(lines, written, strict=True))


def test_semicolons_compression_and_names_that_are_taken(folder, capsysbinary):
    text = new().rename(columns={"note": "prediction"})
    text.to_csv("s.csv", index=False, sep=";", decimal=",", encoding="utf-8-sig")
    assert run(["predict", "model.sep", "s.csv"]) == 0
    out = pd.read_csv(io.BytesIO(capsysbinary.readouterr().out), sep=";", decimal=",")
    assert list(out) == [*text.columns, "prediction_by_separatrix"]
    assert np.array_equal(out["prediction_by_separatrix"], expected()["prediction"])
    (folder / "new.csv.gz").write_bytes(gzip.compress((folder / "new.csv").read_bytes()))
    assert run(["predict", "model.sep", "new.csv.gz"]) == 0
    out = pd.read_csv(io.BytesIO(capsysbinary.readouterr().out))
    pd.testing.assert_frame_equal(out, expected())


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_tables_of_arrow_in_and_out(folder, suffix, capsysbinary):
    table = pa.table(new())
    names = [f"part-{i}.{suffix}" for i in range(2)]
    for name, part in zip(names, (table[:15], table[15:]), strict=True):
        (pq.write_table if suffix == "parquet" else feather.write_feather)(part, name)
    assert run(["predict", "model.sep", *names, "-o", f"out.{suffix}"]) == 0
    read = pd.read_parquet if suffix == "parquet" else pd.read_feather
    pd.testing.assert_frame_equal(read(f"out.{suffix}"), expected(), check_dtype=False)
    assert run(["predict", "model.sep", *names]) == 0
    out = pd.read_csv(io.BytesIO(capsysbinary.readouterr().out))
    pd.testing.assert_frame_equal(out, expected())


def test_standard_input_and_a_pipe_that_closes_early(folder):
    table = (folder / "new.csv").read_bytes()
    done = process("predict", "model.sep", "-", input=table)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    pd.testing.assert_frame_equal(pd.read_csv(io.BytesIO(done.stdout)), expected())
    pd.concat([new()] * 2000).to_csv("many.csv", index=False)
    line = f"{' '.join(COMMAND)} predict model.sep many.csv | head -n 1"
    piped = subprocess.run(line, shell=True, capture_output=True, timeout=120, check=False)
    assert piped.stdout == b"note,colour,height,size,prediction\n"
    assert piped.stderr == b""


def test_rows_of_numbers_without_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1\n0 1:2\n1 2:3\n" * 10)
    assert run(["fit", "t.svm", "--l2", "0.1", "--test", "0", "-o", "m.sep"]) == 0
    capsys.readouterr()
    assert run(["predict", "m.sep", "t.svm"]) == 0
    assert capsys.readouterr().out == "prediction\n" + "0.0\n1.0\n" * 20
    assert run(["fit", "t.svm", "--drop", "x"]) == 2
    assert "numbers without names" in capsys.readouterr().err


def test_unknown_categories_are_told(folder, capsys):
    new().assign(colour="green").to_csv("green.csv", index=False)
    assert run(["predict", "model.sep", "green.csv", "-o", "out.csv"]) == 0
    assert "40 values of 'colour' were not in the fit" in capsys.readouterr().err


def test_a_file_is_written_whole_or_not_at_all(folder, capsys):
    (folder / "out.csv").write_text("before")
    text = (folder / "new.csv").read_text()
    (folder / "bad.csv").write_text(text.replace("40.", "forty.", 1) + "x,red,many,1\n")
    assert run(["predict", "model.sep", "bad.csv", "-o", "out.csv"]) == 2
    assert "bad.csv, line" in capsys.readouterr().err
    assert (folder / "out.csv").read_text() == "before"
    assert run(["predict", "model.sep", "new.csv", "-o", "out.parquet"]) == 2
    assert sorted(p.name for p in folder.iterdir()) == [
        "bad.csv",
        "model.sep",
        "new.csv",
        "out.csv",
    ]


def test_evaluate(folder, capsys):
    table = flowers(80, seed=2)
    table.to_csv("labelled.csv", index=False)
    code, found = told(capsys, "evaluate", "model.sep", "labelled.csv")
    assert code == 0
    predicted = separatrix.load("model.sep").predict(table)
    accuracy = accuracy_score(table["kind"], predicted)
    assert found["figures"]["accuracy"] == pytest.approx(accuracy)
    table.rename(columns={"kind": "truth"}).to_csv("renamed.csv", index=False)
    code, again = told(capsys, "evaluate", "model.sep", "renamed.csv", "--target", "truth")
    assert again["figures"] == found["figures"]
    assert run(["evaluate", "model.sep", "renamed.csv"]) == 2
    assert "renamed.csv: there are no columns ['kind']" in capsys.readouterr().err
    table.assign(kind="orchid").to_csv("strange.csv", index=False)
    _, strange = told(capsys, "evaluate", "model.sep", "strange.csv")
    assert strange["figures"]["accuracy"] == 0.0
    assert strange["figures"]["log_loss"] is None
