"""``export``: the model in forms that others run."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest
from apps.cli.tables import flowers, output

import separatrix
from separatrix.apps.cli.app import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = separatrix.read(flowers(), target="kind", missing="indicator").sample(300)
    separatrix.save(separatrix.LinearClassifier(l2=1e-2).fit(rows), "m.sep")
    return tmp_path


def test_sql_gives_the_classes_of_predict(folder, capsys):
    code, found = output(capsys, "export", "m.sep", "--to", "sql")
    assert code == 0
    query = (folder / "m.sql").read_text()
    assert found["bytes"] == len(query.encode())
    table = flowers()
    with sqlite3.connect(":memory:") as base:
        table.to_sql("rows", base, index=False)
        cursor = base.execute(query)
        names = [column[0] for column in cursor.description]
        labels = [row[names.index("label")] for row in cursor]
    assert labels == separatrix.load("m.sep").predict(table).tolist()


def test_other_forms_and_where_they_go(folder, capsys):
    assert run(["export", "m.sep", "--to", "json", "-o", "weights.json"]) == 0
    written = json.loads((folder / "weights.json").read_text())
    assert np.any(np.abs(separatrix.load("m.sep").intercept_[0]) > 0)
    assert written
    assert run(["export", "m.sep", "--to", "fortran"]) == 2
    assert "--to fortran: expected onnx, json, sql, c" in capsys.readouterr().err


def test_sql_with_a_table_and_a_key(folder, capsys):
    table = flowers().assign(**{"the id": range(300, 0, -1)})
    assert run(["export", "m.sep", "--to", "sql", "--table", "my rows", "--key", "the id"]) == 0
    with sqlite3.connect(":memory:") as base:
        table.to_sql("my rows", base, index=False)
        found = {row[0]: row[1] for row in base.execute((folder / "m.sql").read_text())}
    expected = separatrix.load("m.sep").predict(table).tolist()
    assert [found[each] for each in table["the id"]] == expected
    (folder / "m.sql").unlink()
    for option in (["--table", "t"], ["--key", "the id"]):
        assert run(["export", "m.sep", "--to", "json", *option]) == 2
        assert f"{' '.join(option)} is about a query: use it with --to sql" in (
            capsys.readouterr().err
        )
    assert not (folder / "m.json").exists()
    assert run(["export", "m.sep", "--to", "sql", "--table", "a\0b"]) == 2
    assert not (folder / "m.sql").exists()
