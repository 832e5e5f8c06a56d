"""Models as SQL, run by SQLite and DuckDB."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from exported_models import MODELS, NAMED, NUMERIC, expected
from kept_models import TWO, X
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import separatrix
from separatrix import LinearClassifier


def query(model, tmp_path):
    separatrix.export(model, tmp_path / "model.sql", "sql", table='ro"ws', key="the 'key'")
    return (tmp_path / "model.sql").read_text().rstrip(";\n") + " ORDER BY 1"


def in_sqlite(text, frame):
    with closing(sqlite3.connect(":memory:")) as connection:
        names = [column.replace('"', '""') for column in frame.columns]
        connection.execute("""CREATE TABLE "ro""ws" (""" + ", ".join(f'"{n}"' for n in names) + ")")
        marks = ", ".join("?" * len(names))
        rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
        connection.executemany(f"""INSERT INTO "ro""ws" VALUES ({marks})""", rows)
        return connection.execute(text).fetchall()


def in_duckdb(text, frame):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("given", pa.Table.from_pandas(frame, preserve_index=False))
        connection.execute('CREATE TABLE "ro""ws" AS SELECT * FROM given')
        return connection.execute(text).fetchall()


@pytest.mark.sampled
@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("case", MODELS)
def test_sql(case, run, tmp_path):
    model, frame, rows = MODELS[case]
    found = run(query(model, tmp_path), frame.assign(**{"the 'key'": range(60)}))
    labels, probabilities, margins = expected(model, rows)
    assert [row[:2] for row in found] == list(enumerate(labels))
    k = margins.shape[1]
    assert np.allclose([row[-k:] for row in found], margins, rtol=1e-12, atol=1e-12)
    if probabilities is not None:
        assert np.allclose([row[2:-k] for row in found], probabilities, rtol=1e-12, atol=1e-12)
    assert len(found[0]) == 2 + k + (0 if probabilities is None else probabilities.shape[1])


def test_features_that_were_read_as_float32(tmp_path):
    frame = pd.DataFrame(X * [1.0, 1e3, 1e-3], columns=["x0", "x1", "x2"])
    clf = LinearClassifier(l2=1e-3).fit(
        separatrix.read(frame.assign(y=TWO), target="y", dtype="float32")
    )
    text = query(clf, tmp_path)
    as_read = frame.astype(np.float32).astype(np.float64)
    for rows, units in ((as_read, 0.0), (frame, 2.0**-24)):  # of each feature: its rounding
        found = in_sqlite(text, rows.assign(**{"the 'key'": range(60)}))
        margins = np.array([row[-1] for row in found])
        most = 1e-12 + units * np.abs(rows.to_numpy()) @ np.abs(clf.coef_[0])
        assert np.all(np.abs(margins - clf.decision_function(rows)) <= most)


def test_missing_and_rare_categories_of_a_one_hot_encoder(tmp_path):
    words = pd.DataFrame({"word": [*["a"] * 30, *["b"] * 20, *[np.nan] * 5, *["c"] * 5]})
    words["word"] = words["word"].astype(object)
    hot = OneHotEncoder(min_frequency=8, drop=["a"], handle_unknown="ignore")
    model = make_pipeline(hot, LinearClassifier(l2=0.01)).fit(words, TWO)
    found = in_sqlite(query(model, tmp_path), words.assign(**{"the 'key'": range(60)}))
    margins = [row[-1] for row in found]
    assert np.allclose(margins, model.decision_function(words), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_sql_of_what_is_missing_or_unknown(run, tmp_path):
    clf = MODELS["two classes"][0]
    frame = pd.DataFrame({"the 'key'": [0, 1], "x0": [None, 1.0], "x1": 0.0, "x2": [0.0, 1.0]})
    found = run(query(clf, tmp_path), frame)
    assert found[0] == (0, None, None, None, None)
    assert None not in found[1]
    if run is in_duckdb:
        endless = frame.assign(x0=[np.inf, 1.0])
        assert run(query(clf, tmp_path), endless)[0] == (0, None, None, None, None)
        nan = query(clf, tmp_path).replace('t."x0"', "CAST('NaN' AS DOUBLE)")
        assert run(nan, frame)[1] == (1, None, None, None, None)
    other = NAMED.assign(colour="never seen", **{"the 'key'": range(60)})
    margins = [row[-1] for row in run(query(MODELS["one-hot"][0], tmp_path), other)]
    assert np.allclose(margins, MODELS["one-hot"][0].decision_function(other), rtol=1e-12)


@pytest.mark.parametrize("case", NUMERIC)
def test_numbers_in_sql_have_exponents_and_all_of_their_bits(case, tmp_path):
    """One without would be a decimal, or divide as a whole number."""
    model = MODELS[case][0]
    bare = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\bm\d+", "", query(model, tmp_path))
    numbers = re.findall(r"(?<![\w.])\d[\w.+-]*", bare.replace("ORDER BY 1", ""))
    labels = [str(label) for label in model.classes_.tolist()]
    assert all("e" in number for number in numbers if number not in labels)
    clf = model[-1] if hasattr(model, "steps") else model
    found = {float(number) for number in numbers}
    assert {*np.abs(clf.coef_).ravel().tolist(), *np.abs(clf.intercept_).tolist()} <= found


@pytest.mark.parametrize("type", ["", "REAL", "TEXT", "INTEGER"])
def test_text_in_a_column_of_numbers_is_missing_in_sqlite(type, tmp_path):
    frame = pd.DataFrame({"x0": X[:, 0], "x1": X[:, 1], "y": TWO})
    frame.loc[::7, "x0"] = np.nan
    plain = LinearClassifier().fit(X[:, :2], TWO)
    filled = LinearClassifier().fit(separatrix.read(frame, target="y", missing="indicator"))
    given = ["0.5", " 2 ", "1e3", 7, 2**60 + 1, "", "abc", "1 litre", b"1", None]
    numbers = [0.5, 2.0, 1e3, 7.0, 2.0**60, *[None] * 5]
    for model in (plain, filled):
        text = query(model, tmp_path)
        with closing(sqlite3.connect(":memory:")) as base:
            base.execute(f"""CREATE TABLE "ro""ws" ("the 'key'", x0 {type}, x1 REAL)""")
            rows = [(i, value, 1.0) for i, value in enumerate(given)]
            base.executemany("""INSERT INTO "ro""ws" VALUES (?, ?, ?)""", rows)
            margins = [row[-1] for row in base.execute(text)]
        if model is plain:
            assert margins[5:] == [None] * 5
            expected = plain.decision_function([[value, 1.0] for value in numbers[:5]])
            assert np.allclose(margins[:5], expected, rtol=1e-12)
        else:
            table = pd.DataFrame({"x0": np.array(numbers, dtype=float), "x1": 1.0})
            assert np.allclose(margins, filled.decision_function(table), rtol=1e-12)


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_sql_refuses_a_column_that_is_not_there(run, tmp_path):
    frame = pd.DataFrame({"the 'key'": [0], "x0": [1.0], "x1": [0.0]})
    text = query(MODELS["two classes"][0], tmp_path)
    with pytest.raises(Exception, match="x2"):
        run(text, frame)


@pytest.mark.slow
def test_sql_of_many_features_is_not_nested_too_deeply(tmp_path):
    wide = np.random.default_rng(0).normal(size=(30, 1500))
    clf = LinearClassifier().fit(wide, np.arange(30) % 2)
    frame = pd.DataFrame(wide, columns=[f"x{j}" for j in range(1500)])
    frame.insert(0, "the 'key'", range(30))
    found = in_sqlite(query(clf, tmp_path), frame)
    assert np.allclose([row[-1] for row in found], clf.decision_function(wide), atol=1e-12)
