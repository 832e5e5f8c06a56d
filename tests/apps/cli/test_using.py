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
from apps.cli.tables import COMMAND, flowers, output, process
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
    code, found = output(capsys, "predict", "model.sep", "new.csv", "-o", "out.csv", "--proba")
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


SPREADSHEET = "\ufeffsep=;\r\nnote;colour;height;size;kind\r\n"


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        (SPREADSHEET + '"a; ""b""";red;50,5;4,25;rose\r\nplain;blue;30;;iris\r\n', ","),
        ("note;colour;height;size\n'x';\"red\";50;4\nb;blue;30;5\n\n", ","),
        ("note;colour;height;size\nx;red;50.5;4.25\nb;blue;30;5", "."),
        ('note,colour,height,size\r\n"1,5",red,50.5,4.25\r\n"two\nlines",blue,30,', "."),
    ],
    ids=["spreadsheet", "whole numbers", "points", "commas"],
)
def test_what_is_added_is_written_as_the_file_is(folder, text, decimal):
    (folder / "in.csv").write_bytes(text.encode())
    assert run(["predict", "model.sep", "in.csv", "-o", "out.csv", "--proba"]) == 0
    written = (folder / "out.csv").read_bytes().decode()
    newline = "\r\n" if "\r\n" in text else "\n"
    lines, given = written.split(newline), text.rstrip("\r\n").split(newline)
    delimiter = ";" if ";" in given[-1] else ","
    assert written.endswith(newline)
    assert all(out.startswith(line) for line, out in zip(given, lines, strict=False))
    model = separatrix.load("model.sep")
    shares = model.predict_proba("in.csv")
    assert lines[-2] == delimiter.join(
        [
            given[-1],
            model.predict("in.csv")[-1],
            *(str(p).replace(".", decimal) for p in shares[-1]),
        ]
    )
    assert np.array_equal(model.predict_proba("out.csv"), shares)  # and is read again


def test_files_in_another_order_by_a_glob_and_of_another_kind(folder, capsys):
    new()[:15].to_csv("part-0.csv", index=False)
    new()[15:][["size", "colour", "note", "height"]].to_csv("part-1.csv", index=False)
    assert run(["predict", "model.sep", "part-*.csv", "-o", "out.csv"]) == 0
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), expected())
    new().to_csv("part-2.csv", index=False, sep=";")
    assert run(["predict", "model.sep", "part-*.csv", "-o", "out.csv"]) == 2
    assert "part-2.csv separates values with ';'" in capsys.readouterr().err
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), expected())
    assert run(["predict", "model.sep", "none-*.csv"]) == 2
    assert "no file matches none-*.csv" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["predict", "fit", "export", "trace"])
def test_what_is_read_is_never_written_over(folder, capsys, command):
    (folder / "link.csv").symlink_to("new.csv")
    (folder / "link.sep").symlink_to("model.sep")
    fit = ["fit", "new.csv", "-t", "colour"]
    lines = {
        "predict": [["predict", "model.sep", "new.csv", "-o", "link.csv"],
                    ["predict", "model.sep", "n*.csv", "-o", "./new.csv"],
                    ["predict", "model.sep", "new.csv", "-o", "model.sep"]],
        "fit": [[*fit, "-o", "new.csv"]],
        "trace": [[*fit, "--trace", "link.csv"], [*fit, "--trace", "m.sep", "-o", "m.sep"]],
        "export": [["export", "model.sep", "--to", "json", "-o", "link.sep"]],
    }  # fmt: skip
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for line in lines[command]:
        assert run(line) == 2
        err = capsys.readouterr().err
        assert "it is an input file" in err or "this is the file of the model" in err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.processes
def test_the_names_of_files_say_how_they_are_compressed(folder, capsys):
    assert run(["predict", "model.sep", "new.csv", "-o", "out.csv.gz"]) == 0
    pd.testing.assert_frame_equal(pd.read_csv("out.csv.gz"), expected())
    packed = gzip.compress((folder / "new.csv").read_bytes())
    done = process("predict", "model.sep", "-", input=packed)  # recognised by its first bytes
    assert done.returncode == 0, done.stderr
    pd.testing.assert_frame_equal(pd.read_csv(io.BytesIO(done.stdout)), expected())


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


@pytest.mark.processes
@pytest.mark.parametrize("name", ["out.json", "out.JSONL", "out.xlsx", "out.npy", "out.sep"])
def test_a_name_of_another_format_is_refused(folder, capsys, name):
    assert run(["predict", "model.sep", "new.csv", "-o", name]) == 2
    assert "use a name that ends in .csv, .parquet or .arrow" in capsys.readouterr().err
    assert not (folder / name).exists()


@pytest.mark.processes
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


def test_unknown_categories_are_reported(folder, capsys):
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
    code, found = output(capsys, "evaluate", "model.sep", "labelled.csv")
    assert code == 0
    predicted = separatrix.load("model.sep").predict(table)
    accuracy = accuracy_score(table["kind"], predicted)
    assert found["figures"]["accuracy"] == pytest.approx(accuracy)
    table.rename(columns={"kind": "truth"}).to_csv("renamed.csv", index=False)
    code, again = output(capsys, "evaluate", "model.sep", "renamed.csv", "--target", "truth")
    assert again["figures"] == found["figures"]
    assert run(["evaluate", "model.sep", "renamed.csv"]) == 2
    assert "there is no column 'kind' in renamed.csv" in capsys.readouterr().err
    table.assign(kind="orchid").to_csv("strange.csv", index=False)
    _, strange = output(capsys, "evaluate", "model.sep", "strange.csv")
    assert strange["figures"]["accuracy"] == 0.0
    assert strange["figures"]["log_loss"] is None
    assert run(["evaluate", "model.sep", "labelled.csv", "-t", "size"]) == 2
    err = capsys.readouterr().err
    assert "--target names the column 'size', which is a feature of the model" in err
    assert "in the fit it was 'kind'" in err


def test_rows_that_figures_are_of(folder, capsys):
    flowers().to_csv("t.csv", index=False)
    output(capsys, "fit", "t.csv", "-t", "kind", "--l2", "0.01", "-o", "m.sep")
    _, found = output(capsys, "evaluate", "m.sep", "t.csv")
    data, figures = found["data"], found["figures"]
    assert data["rows"] == data["held_out_rows"] == figures["rows"] < 100
    assert sum(each["rows"] for each in data["classes"]) == data["rows"]
    _, other = output(capsys, "evaluate", "m.sep", "t.csv", "t.csv")
    assert (other["data"]["rows"], other["data"]["held_out_rows"]) == (600, 0)


def test_certified_labels_and_bounds_are_added(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    flowers(300).to_csv("rows.csv", index=False)
    new().to_csv("new.csv", index=False)
    fitted = ["fit", "rows.csv", "--target", "kind", "--l2", "0.01"]
    assert run([*fitted, "--certify-predictions"]) == 0
    assert run(["predict", "model.sep", "new.csv", "--certified", "--proba", "-o", "out.csv"]) == 0
    found = separatrix.load("model.sep").certified("new.csv")
    table = pd.read_csv("out.csv")
    assert table["certified"].astype(str).tolist() == [str(label) for label in found.labels]
    scores = [name for name in table if name.startswith("score_low")]
    assert np.allclose(table[scores].to_numpy().reshape(found.score_low.shape), found.score_low)
    high = [name for name in table if name.startswith("probability_high")]
    assert np.allclose(table[high], found.probability_high)
    assert run([*fitted, "-o", "plain.sep"]) == 0
    capsys.readouterr()
    assert run(["predict", "plain.sep", "new.csv", "--certified"]) == 2
    assert "fit --certify-predictions" in capsys.readouterr().err
    for refused in (["--l1", "0.1"], ["--l2", "0"], ["--loss", "tanh_squared"]):
        assert run([*fitted[:4], *refused, "--certify-predictions", "-o", "none.sep"]) == 2
        assert "--certify-predictions: not" in capsys.readouterr().err
    assert not (tmp_path / "none.sep").exists()
