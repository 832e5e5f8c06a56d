"""Files that workers read, against the same files read on one machine."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from cluster_engine import HereEngine
from conftest import quiet
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

import separatrix
from separatrix import LinearClassifier, Perceptron
from separatrix.data.cluster import dask_input
from separatrix.data.cluster.parts import named

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
csv = pytest.importorskip("pyarrow.csv")
feather = pytest.importorskip("pyarrow.feather")

N, GROUP = 300, 40


@pytest.fixture
def here(monkeypatch):
    """Workers that are none read the parts; the engines that were made."""
    engines = []

    def engine(parts):
        engines.append(HereEngine([(part,) for part in parts], make=named))
        return engines[-1]

    monkeypatch.setattr(dask_input, "dask_files", engine)
    return engines


def table(seed, n=N, towns=("Aa", "Bb", "Cc", "Dd")):
    rng = np.random.default_rng(seed)
    town = rng.choice(towns, n)
    size = rng.standard_normal(n) * 3.0 + 1.0
    logit = size - 1.0 + (town == "Aa") + rng.standard_normal(n)
    sizes = [None if lost else value for value, lost in zip(size, rng.random(n) < 0.1, strict=True)]
    return pa.table(
        {
            "town": town,
            "size": pa.array(sizes, pa.float64()),
            "age": rng.integers(0, 90, n),
            "w": rng.integers(0, 4, n).astype(float),
            "y": np.where(logit > 0, "yes", "no"),
        }
    )


TABLES = [table(0), table(1, towns=("Aa", "Bb", "Ee")), table(2, 0), table(3, 35, ("Zz", "Aa"))]


def in_parquet(folder):
    for number, each in enumerate(TABLES):
        pq.write_table(each, folder / f"part-{number}.parquet", row_group_size=GROUP)
    return str(folder / "part-*.parquet")


def in_feather(folder):
    for number, each in enumerate(TABLES):
        feather.write_feather(each, folder / f"part-{number}.arrow")
    return [folder / f"part-{number}.arrow" for number in range(len(TABLES))]


def in_csv(folder):
    for number, each in enumerate(TABLES):
        path = folder / f"part-{number}.csv"
        csv.write_csv(each, path)
        if number == 1:
            (folder / "part-1.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    return str(folder / "part-*.csv*")


OPTIONS = [
    {"missing": "mean"},
    {"missing": "indicator", "weight": "w", "min_frequency": 0.1},
    {"missing": "zero", "weight": "w", "categorical": {"town": "hash", "age": "onehot"}},
    {"features": ["town", "age"], "dtype": "float32"},
]


@pytest.mark.sampled(1)
@quiet
@pytest.mark.parametrize(
    ("write", "options"),
    [
        (in_parquet, OPTIONS[0]), (in_parquet, OPTIONS[1]), (in_feather, OPTIONS[2]),
        (in_feather, OPTIONS[3]), (in_csv, OPTIONS[1]), (in_csv, OPTIONS[2]),
    ],
)  # fmt: skip
def test_the_same_coding_and_objective_as_on_one_machine(here, tmp_path, write, options):
    what = write(tmp_path)
    one = separatrix.read(what, target="y", **options)
    there = separatrix.read(what, target="y", engine="dask", **options)
    assert (there.n_rows, there.n_features) == (one.n_rows, one.n_features)
    assert (there.storage, there.dtype) == (one.storage, one.dtype)
    assert there.weight_sum == pytest.approx(one.weight_sum)
    assert there.classes.tolist() == one.classes.tolist() == ["no", "yes"]
    rtol = 1e-10 if there.dtype == np.float64 else 1e-6
    model = LinearClassifier(l2=1e-2, tol=1e-11)
    far, near = clone(model).fit(there), clone(model).fit(one)
    assert far.coef_names_.tolist() == near.coef_names_.tolist()
    assert far.feature_names_in_.tolist() == near.feature_names_in_.tolist()
    assert far.objective_ == pytest.approx(near.objective_, rel=rtol)
    assert far.score(there) == pytest.approx(near.score(one))
    np.testing.assert_allclose(far.decision_function(what), near.decision_function(what), 1e-4)
    assert far.predict(TABLES[0]).tolist() == near.predict(TABLES[0]).tolist()


def test_row_groups_are_parts_once_they_are_large(here, tmp_path, monkeypatch):
    what = in_parquet(tmp_path)
    separatrix.read(what, target="y", missing="mean", engine="dask")
    assert [str(part[0].path.name)[5] for part in here[-1].rows] == ["0", "1", "2", "3"]
    monkeypatch.setattr("separatrix.data.files.readers.parquet.PART_BYTES", 1)
    source = separatrix.read(what, target="y", missing="mean", engine="dask")
    assert source.lengths == [*[40] * 7, 20, *[40] * 7, 20, 0, 35]
    one = separatrix.read(what, target="y", missing="mean")
    found = np.concatenate([block.X for block in source.blocks()])
    expected = np.concatenate([block.X for block in one.blocks()])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_text_without_columns(here, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 7)) * (rng.random((90, 7)) < 0.5)
    y = np.where(X[:, 0] + rng.standard_normal(90) > 0, 1, 2)
    X[:30, 5:] = 0.0  # the first file knows fewer features
    for number in range(3):
        at = slice(30 * number, 30 * number + 30)
        dump_svmlight_file(X[at], y[at], str(tmp_path / f"{number}.svm"), zero_based=number == 1)
    what = [tmp_path / "0.svm", tmp_path / "1.svm", tmp_path / "2.svm"]
    one = separatrix.read(what)
    there = separatrix.read(what, engine="dask")
    assert there.n_features == one.n_features
    model = LinearClassifier(l2=1e-2, tol=1e-11)
    far, near = clone(model).fit(there), clone(model).fit(one)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-10)
    few = separatrix.read(what[:1], like=far, engine="dask")
    assert few.n_features == one.n_features
    assert far.score(few) == far.score(what[:1])


@quiet
def test_other_files_are_read_like_those_of_the_fit(here, tmp_path):
    what = in_parquet(tmp_path)
    clf = LinearClassifier().fit(separatrix.read(what, target="y", missing="mean", engine="dask"))
    pq.write_table(table(9, towns=("Dd", "Qq")), tmp_path / "other.parquet")
    other = str(tmp_path / "other.parquet")
    alike = separatrix.read(other, like=clf, engine="dask")
    assert clf.score(alike) == clf.score(other)
    with pytest.raises(ValueError, match=r"other columns, dictionaries or means.*like=model"):
        clf.score(separatrix.read(other, target="y", missing="mean", engine="dask"))


def test_a_part_that_is_lost_is_read_again(here, tmp_path):
    def lose(step, info):
        here[-1].lost = [0, 3]

    what, model = in_csv(tmp_path), Perceptron(max_iter=4, random_state=0)
    fits = [
        clone(model)
        .set_params(callbacks=calls)
        .fit(separatrix.read(what, target="y", missing="mean", engine="dask"))
        for calls in ([], [lose])
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


def test_types_of_text_come_from_all_files(here, tmp_path):
    (tmp_path / "a.csv").write_text("x,t,z,y\n1,5,,0\n2,6,,1\n")
    (tmp_path / "b.csv").write_text("x,t,z,y\n1.5,word,2,1\n2,x,3,0\n")
    what = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for engine in (None, "dask"):
        with pytest.raises(ValueError, match=r"b.csv, line 2: column 't' holds 'word', but num"):
            separatrix.read(what, target="y", missing="zero", engine=engine)
    options = {"target": "y", "missing": "zero", "categorical": {"t": "onehot"}}
    one, there = (separatrix.read(what, engine=engine, **options) for engine in (None, "dask"))
    assert there.reading.encoding == one.reading.encoding
    whole = [np.concatenate([block.X for block in each.blocks()]) for each in (one, there)]
    np.testing.assert_array_equal(*whole)


# ---- what is refused


@pytest.mark.parametrize(
    ("option", "value"), [("block_rows", 10), ("cache", "auto"), ("validation", 0.5)]
)
def test_what_is_of_one_machine_is_refused_by_name(tmp_path, option, value):
    with pytest.raises(ValueError, match=rf"{option}=.* is not for engine='dask': leave it out"):
        separatrix.read(in_csv(tmp_path), target="y", engine="dask", **{option: value})


def test_what_workers_cannot_read(here, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"does not read \.npy files: fit to dask arrays"):
        separatrix.read(tmp_path / "x.npy", target=0, engine="dask")
    for what in (TABLES[0], list):
        with pytest.raises(TypeError, match=r"expected a path, a glob or a list"):
            separatrix.read(what, target="y", engine="dask")
    with pytest.raises(ValueError, match=r"engine must be"):
        separatrix.read(in_csv(tmp_path), target="y", engine="spark")
    with pytest.raises(ValueError, match=r"engine='dask' is for rows with labels.*target"):
        separatrix.read(in_csv(tmp_path), engine="dask")


def test_errors_name_the_file_and_the_row(here, tmp_path):
    what = in_parquet(tmp_path)
    with pytest.raises(
        ValueError, match=r"'size' has no value in .*part-0\.parquet, row group 0, "
    ):
        separatrix.read(what, target="y", engine="dask")
    path = tmp_path / "late.parquet"
    late = table(5, 200).drop(["size"])
    values = late["age"].to_pylist()
    values[150] = None
    late = late.set_column(1, "age", pa.array(values, pa.int64()))
    pq.write_table(late, path, row_group_size=GROUP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("separatrix.data.files.readers.parquet.PART_BYTES", 1)
        with pytest.raises(ValueError, match=r"'age' has no value in .*row group 3, row 150 "):
            separatrix.read(path, target="y", engine="dask")


def test_a_worker_that_does_not_see_a_file_says_so(here, tmp_path):
    what = in_csv(tmp_path)
    source = separatrix.read(what, target="y", missing="mean", engine="dask")
    path = tmp_path / "part-3.csv"
    text = path.read_text()
    for change, error, message in (
        (lambda: path.write_text(text + "Aa,1,2,1,no\n"), ValueError, r"part-3.csv has \d+ bytes"),
        (path.unlink, FileNotFoundError, r"part-3.csv cannot be opened on the worker at .*all of"),
    ):
        change()
        here[-1].lost = [3]
        with pytest.raises(error, match=message):
            source.take(np.array([0]))


def test_files_need_a_client(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(RuntimeError, match=r"workers read files, and there is no client"):
        separatrix.read(in_csv(tmp_path), target="y", engine="dask")
