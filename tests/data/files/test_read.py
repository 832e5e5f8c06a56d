"""``separatrix.read``: from every kind of data to the same rows, and errors that say what to do."""

from __future__ import annotations

import gc
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv, feather, parquet

import separatrix
from separatrix import LinearClassifier, diagnose

N = 400


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    found = pd.DataFrame(
        {
            "a": rng.standard_normal(N),
            "colour": rng.choice(["red", "green", "blue"], N),
            "b": rng.integers(-5, 5, N),
        }
    )
    score = found["a"] + (found["colour"] == "red") + 0.5 * rng.standard_normal(N)
    return found.assign(label=np.where(score > 0.3, "yes", "no"), weight=rng.integers(0, 4, N))


def encoded(frame):
    """The same by pandas: numbers as they are, a column for every colour."""
    dummies = pd.get_dummies(frame["colour"], prefix="colour", dtype=float)
    return np.column_stack([frame["a"], dummies, frame["b"]])


def written(frame, folder, kind):
    table = pa.Table.from_pandas(frame)
    if kind == "parquet":
        for number, start in enumerate(range(0, N, 150)):
            parquet.write_table(table[start : start + 150], folder / f"part-{number}.parquet",
                                row_group_size=40)  # fmt: skip
        return str(folder / "part-*.parquet")
    if kind == "feather":
        feather.write_feather(table, folder / "rows.feather", chunksize=70)
        return folder / "rows.feather"
    if kind == "csv.gz":
        with pa.CompressedOutputStream(str(folder / "rows.csv.gz"), "gzip") as file:
            csv.write_csv(table, file)
        return [folder / "rows.csv.gz"]
    if kind == "pandas":
        return frame
    return table if kind == "arrow" else pytest.importorskip("polars").from_arrow(table).lazy()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("kind", ["parquet", "feather", "csv.gz", "pandas", "arrow", "lazy"])
def test_the_same_fit_from_everywhere(frame, tmp_path, kind, cached):
    source = separatrix.read(
        written(frame, tmp_path, kind), target="label", weight="weight", block_rows=64,
        cache=tmp_path / "cache" if cached else None,
    )  # fmt: skip
    assert (source.n_features, source.classes.tolist()) == (5, ["no", "yes"])
    assert source.n_rows == np.count_nonzero(frame["weight"])
    there = LinearClassifier(tol=1e-10).fit(source)
    X = encoded(frame)
    here = LinearClassifier(tol=1e-10).fit(X, frame["label"], frame["weight"])
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-4, atol=1e-4)
    expected = here.score(X, frame["label"], frame["weight"])
    assert there.score(source) == pytest.approx(expected, abs=1e-12)


def test_later_runs_read_the_cache_and_changed_files_or_options_do_not(frame, tmp_path):
    path, options = tmp_path / "rows.csv", {"target": "label", "cache": tmp_path / "cache"}
    frame.to_csv(path, index=False)

    def caches():
        return {file.name: file.stat().st_ino for file in (tmp_path / "cache").iterdir()}

    first = separatrix.read(path, **options).fingerprint()
    kept = caches()
    assert separatrix.read(path, **options).fingerprint() == first
    assert caches() == kept
    assert len(kept) == 1
    separatrix.read(path, **options, missing="zero")
    assert len(caches()) == 2
    frame[:300].to_csv(path, index=False)
    again = separatrix.read(path, **options)
    assert again.n_rows == 300
    assert again.fingerprint() != first
    assert len(caches()) == 2


def test_what_can_be_read_only_once_needs_a_cache(frame, tmp_path):
    table = pa.Table.from_pandas(frame[["a", "label"]])
    text = frame[["a", "label"]].to_csv(index=False).encode()
    for once, options in (
        (lambda: table.to_reader(50), {}),
        (lambda: io.BytesIO(text), {"format": "csv"}),
    ):
        with pytest.raises(ValueError, match=r'only once.*cache="auto"'):
            separatrix.read(once(), target="label", **options)
        source = separatrix.read(once(), target="label", cache=tmp_path, **options)
        fit = LinearClassifier().fit(source)
        here = LinearClassifier().fit(frame[["a"]].to_numpy(), frame["label"])
        assert fit.objective_ == pytest.approx(here.objective_, rel=1e-6)
        del source, fit
        gc.collect()
        assert not list(tmp_path.iterdir())


@pytest.mark.processes
def test_standard_input(frame, tmp_path):
    code = (
        "import separatrix; "
        f"s = separatrix.read('-', format='csv', target='label', cache={str(tmp_path)!r}); "
        "print(s.n_rows, s.classes.tolist())"
    )
    text = frame[["a", "label"]].to_csv(index=False)
    done = subprocess.run(
        [sys.executable, "-c", code], input=text, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == f"{N} ['no', 'yes']", done.stderr
    for given, message in (
        (text + "1,no,2\n", f"ValueError: standard input, line {N + 2}"),
        ("", "ValueError: standard input is empty"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code], input=given, capture_output=True, text=True, timeout=120
        )
        assert done.stderr.splitlines()[-1].startswith(message)


def test_numbers_have_no_columns(tmp_path):
    X, y = np.eye(4), np.array([0, 1, 0, 1])

    def rows():
        yield X, y

    for option in ({"target": "y"}, {"features": ["a"]}, {"missing": "zero"}, {"hash_bits": 4}):
        with pytest.raises(ValueError, match="rows are numbers without names: leave out"):
            separatrix.read(rows, **option)
    np.save(tmp_path / "X.npy", np.column_stack([X, y]))
    assert separatrix.read(tmp_path / "X.npy", target=-1).n_features == 4
    with pytest.raises(ValueError, match="leave out missing"):
        separatrix.read(tmp_path / "X.npy", target=-1, missing="zero")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float16"}, "dtype must be"),
        ({"block_rows": 0}, "block_rows must be"),
        ({"block_rows": 2.5}, "block_rows must be"),
        ({"validation": 0.0}, "validation must be"),
        ({"validation": 1.0}, "validation must be"),
        ({"validation": "a"}, "validation must be"),
        ({"cache": 3}, "cache must be"),
        ({"format": "excel"}, "format must be"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        separatrix.read(lambda: iter([(np.eye(2), [0, 1])]), **options)


def test_columns_that_are_not_there(frame):
    with pytest.raises(ValueError, match=r"target names the column 'Label'.*'label'"):
        separatrix.read(frame, target="Label")
    with pytest.raises(ValueError, match="no labels"):
        LinearClassifier().fit(separatrix.read(frame, features=["a", "b"]))


def test_nothing_to_read(tmp_path):
    (tmp_path / "head.csv").write_text("a,label\n")
    with pytest.raises(ValueError, match=r"head\.csv|no row"):
        separatrix.read(tmp_path / "head.csv", target="label")
    with pytest.raises(ValueError, match="gave no rows"):
        separatrix.read(lambda: iter([]))


def test_a_word_among_numbers_is_an_error_that_names_it(tmp_path):
    lines = ["a,label", *(f"{i},{i % 2}" for i in range(50)), "fifty,1"]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=r"rows\.csv.*fifty|fifty.*rows\.csv"):
        separatrix.read(tmp_path / "rows.csv", target="label")
    named = separatrix.read(tmp_path / "rows.csv", target="label", categorical={"a": "onehot"})
    assert named.n_features == 51


def test_files_that_change_between_passes(frame, tmp_path):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    source = separatrix.read(path, target="label")
    frame[:100].to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"rows\.csv has changed"):
        LinearClassifier().fit(source)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"rows\.csv has vanished"):
        LinearClassifier().fit(source)


def test_categories_make_the_coefficients(frame):
    source = separatrix.read(frame, target="label", features=["b", "colour"])
    assert source.rows.encoding.coef_names.tolist() == [
        "b", "colour_blue", "colour_green", "colour_red",
    ]  # fmt: skip
    (block,) = source.blocks()
    np.testing.assert_array_equal(block.X, encoded(frame)[:, [4, 1, 2, 3]])
    hashed = separatrix.read(frame, target="label", categorical="hash", hash_bits=5)
    assert hashed.n_features == 2 + 1 + 32  # a, b, weight


def test_a_relation_of_duckdb_is_read_again_and_again(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(0)
    x = rng.standard_normal(500)
    table = pa.table({"x": x, "c": rng.choice(["a", "b"], 500), "y": x + rng.random(500) > 0.5})
    with duckdb.connect() as connection:
        relation = connection.from_arrow(table).filter("x > -1")
        expected = separatrix.read(table.filter(pc.greater(table["x"], -1.0)), target="y")
        source = separatrix.read(relation, target="y", block_rows=100)
        assert source.n_rows == expected.n_rows
        fits = [LinearClassifier(tol=1e-10).fit(rows) for rows in (source, expected)]
        assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-10)
        np.testing.assert_array_equal(fits[0].predict(relation), fits[1].predict(relation))


def test_diagnose_says_what_it_takes(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2))
    y = (X[:, 0] + rng.standard_normal(100) > 0.0).astype(int)
    columns = {"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 1] > 0.0, "up", "down"), "y": y}
    frame = pa.table(columns)
    words = LinearClassifier().fit(separatrix.read(frame, target="y"))
    for rows in (frame, X):
        with pytest.raises(TypeError, match=r"fitted to a table.*read\(\.\.\., like=clf\)"):
            diagnose(words, rows, y)
    source = separatrix.read(frame, target="y", features=["a", "b"])
    numbers = LinearClassifier().fit(source)
    with pytest.raises(TypeError, match="pass X and y as arrays"):
        diagnose(numbers, source)
    assert diagnose(numbers, X, y).findings == diagnose(LinearClassifier().fit(X, y), X, y).findings
