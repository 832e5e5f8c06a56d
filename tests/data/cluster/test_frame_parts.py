"""Dask frames with words and categories, against the same table in a file and in memory."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from cluster_engine import HereEngine
from conftest import quiet
from dask_cluster import client_of, dask, local_cluster, sockets_left
from sklearn.base import clone

import separatrix
from separatrix import LinearClassifier, Perceptron
from separatrix.data.cluster import dask_input

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
dd = pytest.importorskip("dask.dataframe")

pytestmark = sockets_left
N, PARTS = 240, 5


def frame(seed=0, n=N, towns=("Aa", "Bb", "Cc", "Dd")):
    rng = np.random.default_rng(seed)
    town, size = rng.choice(towns, n), rng.standard_normal(n)
    late = size + (town == "Aa") + rng.standard_normal(n) > 0.5
    return pd.DataFrame(
        {
            "town": town,
            "kind": pd.Categorical(rng.choice(["x", "y", "z"], n)),
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "flag": rng.random(n) < 0.5,
            "w": rng.integers(0, 3, n).astype(float),
            "y": np.where(late, "yes", "no"),
        },
        index=pd.Index(rng.permutation(n), name="id"),
    )


@pytest.fixture
def here(monkeypatch):
    """Partitions are encoded in this process; the engines that were made."""
    engines = []

    def engine(client, parts, make):
        computed = [tuple(one.compute() for one in part) for part in parts]
        engines.append(HereEngine(computed, make=make))
        return engines[-1]

    monkeypatch.setattr(dask_input, "DaskEngine", engine)
    monkeypatch.setattr(dask_input, "active_client", lambda *_: None)
    return engines


def partitions(of, parts=PARTS):
    edges = np.linspace(0, len(of), parts + 1).astype(int)
    return [dask.delayed(of.iloc[a:b]) for a, b in pairwise(edges)]


def in_a_file(of, folder):
    path = folder / "t.parquet"
    pq.write_table(pa.Table.from_pandas(of, preserve_index=False), path)
    return path


def all_rows(source):
    return np.concatenate([np.asarray(block.X) for block in source.blocks()])


OPTIONS = [
    {"missing": "mean"},
    {"missing": "indicator", "weight": "w", "min_frequency": 0.3},
    {"missing": "zero", "weight": "w", "categorical": {"town": "hash", "kind": "onehot"}},
    {"drop": ["size", "w"], "dtype": "float32"},
]


@pytest.mark.sampled(1)
@quiet
@pytest.mark.parametrize("options", OPTIONS)
def test_encoded_as_the_same_rows_of_a_file(here, tmp_path, options):
    given = frame()
    there = separatrix.read(partitions(given), target="y", **options)
    one = separatrix.read(in_a_file(given, tmp_path), target="y", **options)
    found, expected = there.reading.encoding, one.reading.encoding
    assert found.coef_names.tolist() == expected.coef_names.tolist()
    assert (there.n_rows, there.weight_sum, there.dtype) == (one.n_rows, one.weight_sum, one.dtype)
    assert there.classes.tolist() == ["no", "yes"]
    model = LinearClassifier(l2=1e-2, tol=1e-11)
    far, near = clone(model).fit(there), clone(model).fit(one)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-6)
    assert far.predict(given).tolist() == near.predict(given).tolist()
    assert far.score(there) == pytest.approx(near.score(one))


def test_types_and_categories_come_from_all_partitions(here, tmp_path):
    first, second = frame(1, 30, ("Aa", "Bb")), frame(2, 40, ("Bb", "Ee"))
    first["late"], second["late"] = None, ["p", "q"] * 20  # no values in the first
    first["count"], second["count"] = np.arange(30), np.arange(40) / 8
    parts = [dask.delayed(each) for each in (first, second.iloc[:0], second)]
    options = {"target": "y", "missing": "mean", "drop": ["w"]}
    there = separatrix.read(parts, **options)
    joined = pd.concat([first, second], ignore_index=True)
    one = separatrix.read(in_a_file(joined, tmp_path), **options)
    assert there.reading.encoding.columns[0].categories == ("Aa", "Bb", "Ee")
    np.testing.assert_allclose(all_rows(there), all_rows(one), rtol=1e-12)


def test_a_partition_that_is_lost_is_encoded_again(here):
    def lose(step, info):
        here[-1].lost = [0, 3]

    parts = partitions(frame())
    fits = [
        Perceptron(max_iter=4, random_state=0, callbacks=calls).fit(
            separatrix.read(parts, target="y", missing="mean")
        )
        for calls in ([], [lose])
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert all(isinstance(part.file, str) for part in here[-1].parts)  # no frame is kept twice


@quiet
def test_a_frame_of_a_cluster_is_read_fitted_and_predicted():
    given = frame().drop(columns="w")
    with local_cluster(2) as cluster, client_of(cluster, 2):
        collection = dd.from_pandas(given, npartitions=3, sort=False)
        source = separatrix.read(collection, target="y", missing="mean")
        clf = LinearClassifier(l2=1e-3, tol=1e-10).fit(source)
        assert clf.predict(collection).compute().tolist() == clf.predict(given).tolist()
        alike = separatrix.read(collection, like=clf)
        assert clf.score(alike) == clf.score(source)
        with pytest.raises(ValueError, match=r"'town'.*holds words.*separatrix\.read"):
            LinearClassifier().fit(collection[["town", "flag"]], collection["y"])
    near = LinearClassifier(l2=1e-3, tol=1e-10).fit(
        separatrix.read(given.reset_index(drop=True), target="y", missing="mean")
    )
    assert clf.objective_ == pytest.approx(near.objective_, rel=1e-8)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"block_rows": 10}, r"block_rows=10 is not for a Dask frame: leave it out"),
        ({}, {"format": "csv"}, r"format='csv' is not for a Dask frame"),
        ({}, {"target": None}, r"a Dask frame is for rows with labels.*target"),
        ({}, {"drop": ["w"]}, r"'size' has no value in partition 0 of the Dask frame, row \d+ "),
        ({"town": 3}, {"drop": ["size"]}, r"'town' is .* in partition 0 .* in partition 4"),
        ({"town": object()}, {"drop": ["size"]}, r"partition 4 of the Dask frame cannot be read"),
    ],
)
def test_what_is_refused_and_where_it_stands(here, change, options, message):
    parts = partitions(frame())
    parts[4] = dask.delayed(frame(9, 20).assign(**change))
    with pytest.raises(ValueError, match=message):
        separatrix.read(parts, **{"target": "y", **options})


def test_collections_without_columns_are_refused(here):
    array = pytest.importorskip("dask.array").zeros((4, 2))
    with pytest.raises(TypeError, match=r"read takes frames with named columns.*pass.*to fit"):
        separatrix.read(array, target="y")
