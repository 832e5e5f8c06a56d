"""The compiled parser and Arrow's give the same rows, encodings, warnings and errors."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import separatrix
from separatrix.data.files.readers import csv_plain
from separatrix.numeric.rows import to_dense

ROWS = 60


def outcome(path, **options):
    """All that a read finds out, or its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            source = separatrix.read(path, target="y", **options)
            blocks = [(to_dense(block.X), block.y, block.weight) for block in source.blocks()]
        except (ValueError, TypeError) as error:
            return type(error), str(error)
    reported = [(each.category, str(each.message)) for each in caught]
    X, y = (np.concatenate([block[part] for block in blocks]) for part in (0, 1))
    weight = None if blocks[0][2] is None else np.concatenate([block[2] for block in blocks])
    encoding = source.rows.encoding.to_dict()
    facts = (source.classes.tolist(), source.row_values, source.rows.unknown, source.weight_sum)
    return X.tobytes(), X.shape, y.tolist(), repr(weight), encoding, facts, reported


def both(monkeypatch, path, chunk=1 << 20, **options):
    """The outcomes by the compiled parser and by Arrow's, and whether the first was used."""
    monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", chunk)
    used, batch = [], csv_plain.PlainCsv.batch

    def counted(self, text, has_names):
        found = batch(self, text, has_names)
        used.append(found is not None)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(csv_plain.PlainCsv, "batch", counted)
        ours = outcome(path, **options)
        patch.setattr(csv_plain.PlainCsv, "batch", lambda *_: None)
        return ours, outcome(path, **options), used


def text_of(columns, end="\n"):
    lines = [",".join(columns)] + [",".join(row) for row in zip(*columns.values(), strict=True)]
    return end.join(lines) + end


def columns(seed=0):
    rng = random.Random(seed)
    day = [f"2024-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}" for _ in range(ROWS)]
    return {
        "x": [f"{rng.gauss(0, 1):.5g}" for _ in range(ROWS)],
        "count": [str(rng.randint(0, 20)) for _ in range(ROWS)],
        "day": day,
        "colour": [rng.choice(["red", '"two, words"', '"a ""q"""', "é"]) for _ in range(ROWS)],
        "w": [rng.choice(["0", "1", "2.5"]) for _ in range(ROWS)],
        "y": [rng.choice(["no", "yes"]) for _ in range(ROWS)],
    }


OPTIONS = [
    {},
    {"weight": "w"},
    {"categorical": {"count": "onehot", "colour": "onehot"}, "max_categories": 6},
    {"categorical": "hash", "dtype": "float32"},
    {"dates": {"day": ["year", "month", "weekday", "days"]}},
    {"features": ["colour", "x", "count"]},
    {"drop": ["day"], "missing": "indicator", "validation": 0.3},
    {"dates": {"day": ["month", "hour"]}, "missing": "zero", "weight": "w"},
]


@pytest.mark.sampled
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("chunk", [64, 700, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_are_the_same(tmp_path, monkeypatch, options, chunk, end):
    path = tmp_path / "t.csv"
    path.write_bytes(text_of(columns(), end).encode())
    ours, arrows, used = both(monkeypatch, path, chunk, block_rows=17, **options)
    assert ours == arrows
    assert all(used)
    assert used


DOUBTFUL = [
    "", "NA", "1", "-1.5", "1e999", "1e-400", "inf", "+1", " 2", "x", "x y", '"3"', '"', 'a"b',
    '"a"b', "1,2", "é", "true", "null", "2024-02-30", "\r", "12345678901234567890", "0x1F", "\0",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["error", "mean"])
@pytest.mark.parametrize("name", ["x", "count", "colour", "day", "w", "y"])
def test_a_doubtful_value_has_the_same_consequence(tmp_path, monkeypatch, name, missing):
    """Rows, or an error with the same file, line and cause."""
    path, given = tmp_path / "t.csv", {"missing": missing, "dates": {"day": ["month"]}}
    for value in DOUBTFUL:
        table = columns()
        table[name][37] = value
        path.write_bytes(text_of(table).encode())
        for chunk in (200, 1 << 20):
            ours, arrows, _ = both(monkeypatch, path, chunk, weight="w", **given)
            assert ours == arrows, (name, value)


def test_bytes_that_are_no_text_are_left_to_arrow(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(text_of(columns()).encode().replace("é".encode(), b"\xe9", 1))
    (kind, said), arrows, used = both(monkeypatch, path)
    assert kind is ValueError
    assert "is not in UTF-8" in said
    assert arrows == (kind, said)
    assert not any(used)


def test_a_model_predicts_the_same_labels(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text(text_of(columns()))
    source = separatrix.read(path, target="y", categorical={"day": "onehot"})
    clf = separatrix.LinearClassifier(l2=0.1).fit(source)
    path.write_text(text_of(columns(1)))
    found = clf.predict(path), clf.score(path), dict(clf.unknown_categories_)
    assert found[2]["day"] > 0
    monkeypatch.setattr(csv_plain.PlainCsv, "batch", lambda *_: None)
    assert np.array_equal(clf.predict(path), found[0])
    assert (clf.score(path), dict(clf.unknown_categories_)) == found[1:]
