"""Tables with many columns: work grows with their number, not with its square."""

from __future__ import annotations

import cProfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import separatrix
from separatrix import LinearClassifier
from separatrix.data.files import csv_types, source, stored
from separatrix.data.files.formats import open_reader
from separatrix.data.files.tables import TableFiles

WORDS = ["red", "green", "blue", "n/e", "true north"]


def written(path, columns, kind):
    rng = np.random.default_rng(0)
    draw = {
        "numbers": lambda: rng.standard_normal(3).round(3).tolist(),
        "words": lambda: rng.choice(WORDS, 3).tolist(),
    }[kind]
    table = {f"c{j}": draw() for j in range(columns)} | {"y": ["a", "b", "a"]}
    if path.suffix == ".parquet":
        parquet.write_table(pa.table(table), path)
    else:
        rows = zip(*table.values(), strict=True)
        lines = [",".join(table), *(",".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    return path


def calls(work):
    """Calls of functions, those of C included."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("kind", ["numbers", "words"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_calls_grow_with_the_number_of_columns(tmp_path, monkeypatch, kind, suffix):
    for module in (stored, source):  # all in this thread, where calls are counted
        monkeypatch.setattr(module, "prefetched", lambda make, *_, **__: make())
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")

    def work(columns):
        path = written(tmp_path / f"{kind}{columns}.{suffix}", columns, kind)
        fit = LinearClassifier(l2=1.0, solver=separatrix.LBFGS()).fit
        fit(separatrix.read(path, target="y")).predict(path)

    work(10)  # imports
    few, more = calls(lambda: work(300)), calls(lambda: work(600))
    assert more < 2.3 * few


@pytest.mark.parametrize("kind", ["numbers", "words"])
def test_calls_for_a_fitted_model_grow_with_the_number_of_columns(tmp_path, kind):
    """Kept, exported and diagnosed; the words here leave features that never change."""
    found = []
    for columns in (10, 200, 400):
        path = written(tmp_path / f"{columns}.csv", columns, kind)
        rows = separatrix.read(path, target="y").sample(10)
        model = LinearClassifier(l2=1.0).fit(rows)

        def work(model=model, rows=rows):
            separatrix.save(model, tmp_path / "model.sep")
            separatrix.load(tmp_path / "model.sep")
            for language in ("sql", "json", "onnx"):
                separatrix.export(model, tmp_path / "exported", language)
            separatrix.diagnose(model, rows)

        found.append(calls(work))
    assert found[2] < 2.3 * found[1]


def test_a_small_table_is_decoded_once(tmp_path, monkeypatch):
    passes, pieces = [], TableFiles.pieces

    def counted(self, columns=None):
        passes.append(columns)
        return pieces(self, columns)

    monkeypatch.setattr(TableFiles, "pieces", counted)
    found = []
    for kept_bytes in (0, 1 << 20):
        monkeypatch.setattr(stored, "KEPT_BYTES", kept_bytes)
        rows = separatrix.read(written(tmp_path / "t.csv", 30, "numbers"), target="y")
        found.append(LinearClassifier(l2=1e-2, solver=separatrix.LBFGS()).fit(rows))
        passes.append(None)
    assert passes.index(None) > 3
    assert len(passes) - passes.index(None) - 2 == 1
    np.testing.assert_array_equal(found[0].coef_, found[1].coef_)


def test_a_small_table_that_changes_is_an_error_all_the_same(tmp_path):
    path = written(tmp_path / "t.csv", 30, "numbers")
    rows = separatrix.read(path, target="y")
    LinearClassifier(l2=1.0).fit(rows)
    path.write_text(path.read_text().replace("a\n", "b\n"))
    with path.open("a") as file:
        file.write(",".join(["1"] * 30) + ",a\n")
    with pytest.raises(ValueError, match="has changed since it was first read"):
        LinearClassifier(l2=1.0).fit(rows)


VALUES = [
    "1", "-0", "007", "+5", "1.5", "5.", ".5", "-.5", "1e5", "1e999", "1234567890123456789",
    "99999999999999999999", "0x1F", "inf", "-Infinity", "nan", "NaNny", "infer", "true", "truest",
    "FALSE", "word", "ünï", " 7", "7\t", "  ", "-", ".", "e5", "1e", "12a", "", "NA",
]  # fmt: skip


def test_short_columns_have_the_types_that_each_has_by_itself(tmp_path, monkeypatch):
    """All pairs of values, in one batch and in two."""
    pairs = [(one, other) for one in VALUES for other in VALUES]
    path = tmp_path / "pairs.csv"
    lines = [",".join(f"c{j}" for j in range(len(pairs)))]
    lines += [",".join(f'"{pair[row]}"' if pair[row] else "" for pair in pairs) for row in (0, 1)]
    path.write_text("\n".join(lines) + "\n")
    for chunk in (1 << 18, 8):
        monkeypatch.setattr("separatrix.data.files.csv.CHUNK_BYTES", chunk)
        found = []
        for few in (64, 0):
            monkeypatch.setattr(csv_types, "FEW_ROWS", few)
            types = open_reader(path).findings()
            found.append((types.types, types.words, types.numbers))
        assert found[0] == found[1]
