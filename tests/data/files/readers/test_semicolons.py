"""What spreadsheets write, and what is read in addition: columns left out, and those of a model."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

import separatrix

SPREADSHEET = (
    "\ufeffsep=;\r\n"
    "name;size;label\r\n"
    '"a;b";1,5;yes\r\n'
    "c;-2,25e1;no\r\n"
    '"d\ne";3;yes\r\n'
    "\r\n"
    "c;,5;no\r\n"
)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_semicolons_and_decimal_commas_are_read_as_pandas_reads_them(tmp_path, compress):
    path = tmp_path / ("t.csv.gz" if compress is gzip.compress else "t.csv")
    path.write_bytes(compress(SPREADSHEET.encode()))
    source = separatrix.read(path, target="label")
    theirs = pd.read_csv(path, sep=";", decimal=",", skiprows=1, encoding="utf-8")
    X = source.sample(10).block().X
    assert X[:, -1].tolist() == theirs["size"].tolist() == [1.5, -22.5, 3.0, 0.5]
    assert source.reading.encoding.coef_names.tolist() == [
        "name_a;b", "name_c", "name_d\ne", "size",
    ]  # fmt: skip


def test_errors_of_such_files_tell_the_line_as_it_stands(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sep=;\nsize;label\n1,5;a\n2.000,5;b\n")
    with pytest.raises(ValueError, match=r"t\.csv, line 4: column 'size' holds '2.000,5'"):
        separatrix.read(path, target="label")


def test_only_blanks_line_ends_and_digits_of_ascii_count(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\x0c\u2028b;label\n1,5;x\n2,5;y\n")
    assert separatrix.read(path, target="label").sample(2).block().X.tolist() == [[1.5], [2.5]]
    path.write_text("word;label\n\u0661,\u0665;x\n\xa01,5;y\n")
    names = separatrix.read(path, target="label").reading.encoding.coef_names
    assert names.tolist() == ["word_\u0661,\u0665"]


def test_a_suffix_in_capitals(tmp_path):
    path = tmp_path / "t.TSV"
    path.write_text("size\tlabel\n1\tx\n2\ty\n")
    assert separatrix.read(path, target="label").sample(2).block().X.tolist() == [[1.0], [2.0]]


def test_a_file_with_commas_keeps_its_semicolons(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('word,label\na;b,x\n"c,5",y\n')
    names = separatrix.read(path, target="label").reading.encoding.coef_names
    assert names.tolist() == ["word_c,5"]


TABLE = pd.DataFrame(
    {
        "Size": [1.0, 2.0, 3.0, np.nan] * 10,
        "colour": ["red", "blue", "blue", "green"] * 10,
        "id": range(40),
        "label": ["no", "no", "yes", "yes"] * 10,
    }
)


def test_columns_that_are_dropped_and_names_that_are_nearly_right():
    source = separatrix.read(TABLE, target="label", drop=["id"], missing="mean")
    assert source.reading.encoding.feature_names.tolist() == ["Size", "colour"]
    for options, message in [
        ({"target": "lable"}, "target names the column 'lable'.*is it 'label'"),
        ({"target": "label", "drop": ["size"]}, "drop names the column 'size'.*is it 'Size'"),
        ({"target": "label", "drop": ["label"]}, "drop names 'label', which is the target"),
        ({"target": "label", "drop": ["id"], "features": ["Size"]}, "both given"),
    ]:
        with pytest.raises(ValueError, match=message):
            separatrix.read(TABLE, **options)
    with pytest.raises(TypeError, match="drop must be a list"):
        separatrix.read(TABLE, target="label", drop="id")


def test_rows_held_out_have_no_part_in_categories_and_means():
    n = 400
    held_out = separatrix.read(
        lambda: iter([(np.arange(n, dtype=float)[:, None], np.arange(n) % 2)]), validation=0.25
    ).validation
    out = held_out.sample(n).block().X[:, 0].astype(int)
    assert 50 < len(out) < 150
    word, value = np.full(n, "seen", dtype=object), np.ones(n)
    word[out], value[out] = "unseen", 1000.0
    value[np.setdiff1d(np.arange(n), out)[:1]] = np.nan
    table = pd.DataFrame({"word": word, "value": value, "label": np.arange(n) % 2})
    source = separatrix.read(table, target="label", validation=0.25, missing="mean")
    assert source.reading.encoding.coef_names.tolist() == ["word_seen", "value"]
    assert source.reading.encoding.columns[1].fill == 1.0
    assert np.all(source.validation.sample(n).block().X == [0.0, 1000.0])


def test_rows_read_as_a_model_reads_them(tmp_path):
    rows = separatrix.read(TABLE, target="label", drop=["id"], missing="mean").sample(100)
    model = separatrix.LinearClassifier(l2=1e-2).fit(rows)
    assert model.feature_names_in_.tolist() == ["Size", "colour"]
    path = tmp_path / "new.csv"
    pd.DataFrame({"label": ["yes", "no"], "colour": ["red", "pink"], "Size": [None, 1]}).to_csv(
        path, index=False
    )
    new = separatrix.read(path, like=model)
    assert new.sample(9).block().X.tolist() == [[2.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]]
    assert model.score(new) == model.score(path)
    assert model.unknown_categories_ == {"colour": 1}
    with pytest.raises(ValueError, match="like= says how columns are read, and missing='zero'"):
        separatrix.read(path, like=model, missing="zero")
    plain = separatrix.LinearClassifier().fit(np.eye(2), [0, 1])
    with pytest.raises(TypeError, match="expected a model that was fitted to files"):
        separatrix.read(path, like=plain)
