"""Tables with many columns: work grows with their number, not with its square."""

from __future__ import annotations

import cProfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import separatrix
from separatrix import LinearClassifier
from separatrix.data.files import source, stored
from separatrix.data.files.readers import csv_types, wide
from separatrix.data.files.readers.formats import open_reader
from separatrix.data.files.readers.tables import TableFiles

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


@pytest.mark.slow
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


def test_columns_of_numbers_are_read_and_kept_together(tmp_path, monkeypatch):
    """100,000 columns are read, fitted and saved in seconds: a few calls for each."""
    for module in (stored, source):  # all in this thread, where calls are counted
        monkeypatch.setattr(module, "prefetched", lambda make, *_, **__: make())
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")

    def work(path):
        rows = separatrix.read(path, target="y", missing="indicator").sample(3)
        model = LinearClassifier(l2=1.0).fit(rows)
        separatrix.save(model, tmp_path / "model.sep")

    paths = [written(tmp_path / f"{d}.csv", d, "numbers") for d in (500, 1000, 2000)]
    work(paths[0])  # imports
    few, more = (calls(lambda path=path: work(path)) for path in paths[1:])
    assert more - few < 50 * 1000


@pytest.mark.slow
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


@pytest.mark.slow
def test_short_columns_have_the_types_that_each_has_by_itself(tmp_path, monkeypatch):
    """All pairs of values, in one batch and in two."""
    pairs = [(one, other) for one in VALUES for other in VALUES]
    path = tmp_path / "pairs.csv"
    lines = [",".join(f"c{j}" for j in range(len(pairs)))]
    lines += [",".join(f'"{pair[row]}"' if pair[row] else "" for pair in pairs) for row in (0, 1)]
    path.write_text("\n".join(lines) + "\n")
    for chunk in (1 << 18, 8):
        monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", chunk)
        found = []
        for few in (64, 0):
            monkeypatch.setattr(csv_types, "FEW_ROWS", few)
            types = open_reader(path).findings()
            found.append((types.types, types.words, types.numbers))
        assert found[0] == found[1]


PAIRS = [(one, other) for at, one in enumerate(VALUES) for other in VALUES[at % 4 :: 4]]
LINES = [",".join(f"c{j}" for j in range(len(PAIRS)))] + [
    ",".join(pair[row] for pair in PAIRS) for row in (0, 1, 1, 0)
]
WRITTEN = {
    "plain": "\n".join(LINES) + "\n",
    "windows": "\ufeff" + "\r\n".join(LINES),
    "empty lines": "\n\n" + "\n\n".join(LINES) + "\n\n",
    "no values": LINES[0] + "\n",
    "quotes": "\n".join([*LINES, LINES[1].replace("word", '"word"')]),
    "old mac": "\r".join(LINES),
}


def found_in(path):
    """Types and values of a file by pyarrow's types; or the error."""
    reader = open_reader(path)
    try:
        types = reader.findings()
        return types.types, types.words, types.numbers, [
            [piece.X.column(name).to_pylist() for name in reader.names] for piece in reader.pieces()
        ]  # fmt: skip
    except ValueError as error:
        return str(error)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize("chunk", [1 << 18, 8])
def test_many_columns_are_read_as_arrow_reads_each(tmp_path, monkeypatch, how, chunk):
    """NaN where a number is missing is null, as it is of Arrow's."""
    monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", chunk)
    path = tmp_path / "t.csv"
    path.write_bytes(WRITTEN[how].encode())
    together = found_in(path)
    monkeypatch.setattr(wide, "MANY_COLUMNS", 1 << 30)
    np.testing.assert_equal(together, found_in(path))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda line: line + ",1", rf"t\.csv, line 3 has {len(PAIRS) + 1} values; expected"),
        (lambda line: line.replace("word", "\udcff"), r"t\.csv, line 3 is not in UTF-8"),
    ],
)
def test_errors_in_many_columns_name_the_line(tmp_path, broken, message):
    path = tmp_path / "t.csv"
    text = "\n".join([*LINES[:2], broken(LINES[1] + "x"), *LINES[2:]])
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=message):
        separatrix.read(path, target="c0")


@pytest.mark.sampled
@pytest.mark.parametrize("missing", ["mean", "indicator", "zero"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_columns_with_missing_values_and_words(tmp_path, monkeypatch, missing, dtype):
    """The same rows, whichever way they are parsed, with categories between the numbers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 300)).round(2).astype(str)
    X[rng.random(X.shape) < 0.1] = ""
    X[:, [5, 70]] = rng.choice(["red", "blue"], (9, 2))
    X[:, 299] = list("ababababa")
    path = tmp_path / "t.csv"
    lines = [",".join(f"c{j}" for j in range(300)), *map(",".join, X)]
    path.write_text("\n".join(lines) + "\n")
    found = []
    for many in (256, 1 << 30):
        monkeypatch.setattr(wide, "MANY_COLUMNS", many)
        rows = separatrix.read(path, target="c299", missing=missing, dtype=dtype, block_rows=4)
        found.append((rows.reading.encoding, rows.sample(9).block().X))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_infinity_among_many_columns_is_named(tmp_path):
    path = written(tmp_path / "t.csv", 300, "numbers")
    lines = path.read_text().splitlines()
    lines[2] = "inf," + lines[2].partition(",")[2]
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"column 'c0' holds infinity in .*t\.csv, line 3"):
        separatrix.read(path, target="y", missing="mean")
