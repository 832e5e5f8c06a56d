"""How often files are read, and that later passes find what the first one reported."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import separatrix
from separatrix import LBFGS, LinearClassifier, LinearClassifierCV
from separatrix.data.files.cache.blocks import CacheWarning
from separatrix.data.files.held_out import held_out
from separatrix.data.files.readers.tables import TableFiles
from separatrix.numeric.rows import shape_of, to_dense

N = 500


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    """Tables are small here, and read as those that are not."""
    monkeypatch.setattr("separatrix.data.files.stored.KEPT_BYTES", 0)


@pytest.fixture
def passes(monkeypatch):
    """A list that grows by one entry whenever a reader begins to read all rows."""
    found, pieces = [], TableFiles.pieces

    def counted(self, columns=None):
        found.append(columns)
        return pieces(self, columns)

    monkeypatch.setattr(TableFiles, "pieces", counted)
    return found


def table(words=True, seed=0):
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.integers(0, 9, N) * (rng.random(N) < 0.1) for j in range(6)}
    columns["a"] = rng.standard_normal(N)
    if words:
        columns["word"] = rng.choice(list("abcdefghijkl"), N)
    columns["weight"] = rng.random(N) * (rng.random(N) < 0.9)
    columns["label"] = np.where(columns["a"] + rng.standard_normal(N) > 0, "yes", "no")
    return pa.table(columns)


def written(folder, words=True, kind="parquet"):
    path = folder / f"rows.{kind}"
    if kind == "csv":
        csv.write_csv(table(words), path)
    else:
        parquet.write_table(table(words), path, row_group_size=90)
    return path


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("words", [True, False])
def test_one_pass_suffices_without_a_cache(tmp_path, passes, words, kind):
    source = separatrix.read(written(tmp_path, words, kind), target="label", weight="weight")
    assert len(passes) == 1
    LinearClassifier(l2=1e-2).fit(source)
    assert len(passes) > 1


@pytest.mark.parametrize(
    ("first", "last", "options", "expected"),
    [
        ("1", "2.5", {}, ["v", "w"]),
        ("1", "2.5", {"categorical": {"v": "onehot"}}, ["v_2.5", "w"]),
        ("1", "3", {"categorical": {"v": "onehot"}}, ["v_3", "w"]),
        ("", "2.5", {"missing": "zero"}, ["v", "w"]),
        ("", "word", {"missing": "zero"}, ["v_word", "w"]),
        ("true", "false", {}, ["v", "w"]),
        ("12345678901234567890", "3", {}, ["v", "w"]),
        ("word", "1", {"categorical": {"v": "onehot"}}, ["v_word", "w"]),
    ],
)
def test_types_do_not_depend_on_the_rows_that_they_are_guessed_from(
    tmp_path, monkeypatch, first, last, options, expected
):
    """One row, or all of them."""
    text = "v,w,label\n" + f"{first},1,0\n" * 40 + f"{last},2,1\n{first},0.5,1\n"
    (tmp_path / "rows.csv").write_text(text)
    found = []
    for chunk in (8, 1 << 20):
        monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", chunk)
        source = separatrix.read(tmp_path / "rows.csv", target="label", **options)
        assert list(source.reading.encoding.coef_names) == expected
        assert (source.classes.dtype, source.n_rows) == (np.int64, 42)
        found.append(np.concatenate([to_dense(block.X) for block in source.blocks()]))
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0][:, -1], [1.0] * 40 + [2.0, 0.5])


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize(("first", "last"), [("1", "word"), ("word", "1")])
def test_words_among_numbers_are_refused_wherever_they_stand(
    tmp_path, monkeypatch, first, last, hashed
):
    (tmp_path / "rows.csv").write_text(f"v,label\n{first},0\n{first},1\n{last},1\n")
    monkeypatch.setattr("separatrix.data.files.readers.csv.CHUNK_BYTES", 8)
    options = {"target": "label", "categorical": "hash" if hashed else "onehot"}
    for _ in range(2):  # nor is a cache left that would be believed
        with pytest.raises(ValueError, match=r"column 'v' holds 'word', but numbers such as 1"):
            separatrix.read(tmp_path / "rows.csv", **options, cache=tmp_path / "cache")


def test_a_cache_takes_a_pass_after_a_survey_and_later_runs_none(tmp_path, passes):
    path = written(tmp_path)
    for expected in (2, 2):
        source = separatrix.read(path, target="label", cache=tmp_path / "cache")
        LinearClassifier(l2=1e-2).fit(source)
        assert len(passes) == expected


SPLIT, WEIGHTED = {"validation": 0.3}, {"weight": "weight"}
HASHED, SINGLE = {"categorical": "hash"}, {"dtype": "float32"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(  # every pair of options
    ("block_rows", "options", "more"),
    [
        (None, {}, {}), (64, {}, HASHED), (7, {}, SINGLE),
        (None, SPLIT, SINGLE), (64, SPLIT, {}), (7, SPLIT, HASHED),
        (None, WEIGHTED, HASHED), (64, WEIGHTED, SINGLE), (7, WEIGHTED, {}),
    ],
)  # fmt: skip
def test_a_survey_knows_what_decoding_finds(tmp_path, block_rows, options, more):
    path = written(tmp_path)
    options = {"target": "label", "block_rows": block_rows, **options, **more}
    surveyed = separatrix.read(path, **options)
    decoded = separatrix.read(path, **options, cache=tmp_path / "cache")
    assert surveyed.rows.facts == decoded.rows.facts
    assert surveyed.row_bytes == decoded.row_bytes
    for side in (surveyed, *([surveyed.validation] if "validation" in options else [])):
        blocks = list(side.blocks())
        assert side.length == sum(len(block.y) for block in blocks)
        assert side.n_rows == sum(np.count_nonzero(block.weights) for block in blocks)
        starts = np.cumsum([0] + [len(block.y) for block in blocks])[:-1]
        assert [block.start for block in blocks] == starts.tolist()
        assert {shape_of(block.X)[1] for block in blocks} == {side.n_features}
        sums = [sum(block.weights[block.y == y].sum() for block in blocks) for y in (-1.0, 1.0)]
        np.testing.assert_allclose(side.class_weight_sums(), sums, rtol=1e-12)


def test_lines_are_counted_only_for_errors(tmp_path, monkeypatch):
    """Each time takes a read of the text before it."""
    asked = []
    monkeypatch.setattr("separatrix.data.files.readers.csv.line_of", lambda *_: asked.append(1))
    source = separatrix.read(written(tmp_path, kind="csv"), target="label", missing="mean")
    LinearClassifier(l2=1e-2).fit(source)
    assert not asked


@pytest.mark.sampled(1)
@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize(
    "options", [{}, {"class_weight": {"no": 3.0, "yes": 1.0}}, {"fit_intercept": False}]
)
def test_standardize_takes_no_pass_more(tmp_path, passes, words, options):
    """What a first pass over decoded rows sums serves the scales, and all that follows."""
    path, options = written(tmp_path, words), {"l2": 1e-2, "solver": LBFGS(), **options}
    frame, share = table(words).to_pandas(), None if words else 0.2
    taken = {}
    for standardize in (False, True):
        source = separatrix.read(path, target="label", weight="weight", validation=share)
        if share:
            source.fingerprint()  # by which a model knows its split, found once
        before = len(passes)
        clf = LinearClassifier(**options, tol=1e-9, standardize=standardize, max_iter=3)
        for _ in range(2):
            with warnings.catch_warnings(action="ignore"):
                clf.fit(source)
            taken.setdefault(standardize, []).append(len(passes) - before)
            before = len(passes)
    reads = clf.history_["pass"][-1]
    assert taken[True] == taken[False]
    assert taken[True][0] == taken[True][1] + words  # a survey sees no rows of numbers
    assert taken[True][1] >= reads
    # The scales are those of NumPy, of the rows that are not held out.
    kept = ~held_out(0, N, share or 0.0)
    weight = frame["weight"].to_numpy() * kept
    if "class_weight" in options:
        weight = weight * np.where(frame["label"] == "no", 3.0, 1.0)
    for name, scale in zip(clf.coef_names_, clf.scale_, strict=True):
        column, _, word = name.partition("_")
        x = frame[column].to_numpy()
        x = (x == word).astype(float) if word else x.astype(float)
        mean = np.average(x, weights=weight)
        assert scale == pytest.approx(np.sqrt(np.average((x - mean) ** 2, weights=weight)))


@pytest.mark.slow
def test_folds_are_standardised_without_a_pass_more(tmp_path, passes):
    path, found = written(tmp_path, words=False), []
    for standardize in (False, True):
        source = separatrix.read(path, target="label", drop=["weight"])
        before = len(passes)
        with warnings.catch_warnings(action="ignore"):
            clf = LinearClassifierCV(
                l2s=[0.1],
                cv=3,
                solver=LBFGS(),
                tol=None,
                max_iter=2,
                standardize=standardize,
                scoring=None,
            )
            clf.fit(source)
        found.append(len(passes) - before)
    assert found[0] == found[1]


def test_many_decodings_are_reported_once_where_the_user_stands(tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.data.files.stored.LONG_DECODING", 0.0)
    path = written(tmp_path, words=False)
    with pytest.warns(
        CacheWarning, match=r"decoded 4 times.*cache=\"auto\".* MB on disk"
    ) as reported:
        clf = LinearClassifier(l2=1e-2).fit(separatrix.read(path, target="label"))
    assert clf.stop_ == "optimal"
    assert [warning.filename for warning in reported] == [__file__]
    with warnings.catch_warnings(action="error"):
        LinearClassifier(l2=1e-2).fit(separatrix.read(path, target="label", cache=tmp_path / "c"))


@pytest.mark.parametrize("cache", [None, "cache"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_alone_that_are_mostly_zeros_are_sparse(tmp_path, passes, cache, dtype):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, 9)) * (rng.random((N, 9)) < 0.2)
    X[:100] = rng.standard_normal((100, 9))  # of which the first rows say nothing
    X[:, :3] *= rng.random((N, 3)) < 0.1
    y = (X.sum(axis=1) + rng.standard_normal(N) > 0).astype(int)
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({**{f"x{j}": X[:, j] for j in range(9)}, "y": y}), path)
    options = {"target": "y", "dtype": dtype, "cache": cache and tmp_path / cache}
    rows = separatrix.read(path, **options)
    assert len(passes) == (1 if cache is None else 2)
    sparse = 4 * np.count_nonzero(X) <= X.size
    assert sparse == (rows.storage == "csr")
    assert rows.row_values == (np.count_nonzero(X) / N if sparse else 9)
    blocks = list(rows.blocks())
    np.testing.assert_array_equal(
        np.concatenate([to_dense(block.X) for block in blocks]), X.astype(dtype)
    )
    found = LinearClassifier(l2=1e-2, tol=1e-10).fit(rows)
    expected = LinearClassifier(l2=1e-2, tol=1e-10).fit(X.astype(dtype), y)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)
    if cache is not None:
        again, before = separatrix.read(path, **options), len(passes)
        assert (again.storage, len(passes)) == ("csr", before)
        np.testing.assert_array_equal(
            LinearClassifier(l2=1e-2, tol=1e-10).fit(again).coef_, found.coef_
        )


def test_what_a_source_says_of_itself(tmp_path):
    path = written(tmp_path, words=False)
    source = separatrix.read(path, target="label", drop=["weight"], validation=0.5)
    assert repr(source) == (
        f"<FileSource of {path}: {source.n_rows} rows x 7 features, sparse float64, 2 classes>"
    )
    assert repr(source.validation).endswith("2 classes, held out>")


def test_rows_that_are_mostly_zeros_are_sparse(tmp_path):
    """A value in ten of six columns, a number, and one of twelve words: 2.6 of 19 features."""
    rows = separatrix.read(written(tmp_path), target="label", drop=["weight"])
    assert (rows.storage, rows.n_features) == ("csr", 19)
    here = table().drop_columns(["weight"]).to_pandas()
    X = here[[f"x{j}" for j in range(6)] + ["a"]].to_numpy(float)
    X = np.column_stack([X, here["word"].to_numpy()[:, None] == np.unique(here["word"])])
    expected = LinearClassifier(tol=1e-10, standardize=True).fit(X, here["label"])
    found = LinearClassifier(tol=1e-10, standardize=True).fit(rows)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-4, atol=1e-5)
