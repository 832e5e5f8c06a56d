"""Labels in files: words that look like numbers, and rows held out from standardised ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import separatrix
from separatrix import LinearClassifier

RNG = np.random.default_rng(0)
N = 200
X = RNG.standard_normal((N, 2)) * [1.0, 100.0]
Y = (X[:, 0] + RNG.standard_normal(N) > 0.0).astype(int)


def write(path, labels):
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": pa.array(list(labels))})
    if path.suffix == ".csv":
        lines = [f"{a},{b},{y}\n" for a, b, y in zip(*table.to_pydict().values(), strict=True)]
        path.write_text("a,b,y\n" + "".join(lines))
    else:
        pa.parquet.write_table(table, path)
    return path


def test_text_labels_that_look_like_numbers_are_text_where_the_fit_had_text(tmp_path):
    words = Y.astype(str).tolist()
    mixed = write(tmp_path / "mixed.csv", ["x", "x", *words[2:]])
    fit = LinearClassifier().fit(separatrix.read(mixed, target="y"))
    assert fit.classes_.tolist() == ["0", "1", "x"]
    alike = write(tmp_path / "alike.csv", words)
    expected = np.mean(fit.predict(alike) == np.array(words))
    source = separatrix.read(alike, target="y")
    assert fit.score(alike) == fit.score(source) == pytest.approx(expected)
    assert source.classes.tolist() == [0, 1]  # as before: only the model takes them for words
    assert LinearClassifier().fit(source).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("fitted", ["words", "numbers"])
def test_labels_of_another_type_are_never_wrong_in_silence(tmp_path, fitted):
    paths = {
        "words": write(tmp_path / "words.parquet", Y.astype(str).tolist()),
        "numbers": write(tmp_path / "numbers.parquet", Y.tolist()),
    }
    other = paths[{"words": "numbers", "numbers": "words"}[fitted]]
    fit = LinearClassifier().fit(separatrix.read(paths[fitted], target="y"))
    for rows in (other, separatrix.read(other, target="y"), pa.parquet.read_table(other)):
        with pytest.raises(
            ValueError, match=f"expected labels of one kind: write them as {fitted}"
        ):
            fit.score(rows)
    assert fit.score(paths[fitted]) > 0.5


def test_a_category_of_the_fit_leaves_another_source_as_it_was(tmp_path):
    (tmp_path / "words.csv").write_text("c,x,y\n" + "a,1,0\n7,2,1\n8,3,0\n7,1.5,1\n" * 9)
    (tmp_path / "numbers.csv").write_text("c,x,y\n" + "7,1,0\n8,2,1\n7,3,0\n8,1.5,1\n" * 9)
    words = separatrix.read(tmp_path / "words.csv", target="y", categorical={"c": "onehot"})
    source = separatrix.read(tmp_path / "numbers.csv", target="y")
    LinearClassifier().fit(words).score(source)
    assert LinearClassifier().fit(source).coef_.shape == (1, 2)


@pytest.mark.parametrize("standardize", [False, True])
def test_rows_held_out_are_watched_in_the_units_of_the_weights(tmp_path, standardize):
    path = write(tmp_path / "t.parquet", Y.tolist())
    source = separatrix.read(path, target="y", block_rows=64, validation=0.2)
    fit = LinearClassifier(standardize=standardize).fit(source)
    blocks = list(source.validation.blocks())
    scores = fit.decision_function(np.concatenate([block.X for block in blocks]))
    losses = np.logaddexp(0.0, -np.concatenate([block.y for block in blocks]) * scores)
    assert fit.history_["validation_loss"][-1] == pytest.approx(losses.mean(), rel=1e-9)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_labels_that_end_with_nul_are_refused(tmp_path, name):
    """An array of words has no such, and would take two classes for one."""
    path = write(tmp_path / name, ["a", "b", "a", "a\0"] * (N // 4))
    where = "line 5" if name == "t.csv" else r"row group 0, row 3 \(counted from 0\)"
    with pytest.raises(ValueError, match=rf"{name}, {where}: the target 'y' is the label 'a\\x00'"):
        separatrix.read(path, target="y")


def test_labels_of_a_function_that_end_with_nul_are_refused():
    y = np.array(["a", "b", "a\0"], dtype=object)
    with pytest.raises(ValueError, match=r"row 2 \(counted from 0\): there is the label 'a\\x00'"):
        separatrix.read(lambda: iter([(X[:3], y)]))
