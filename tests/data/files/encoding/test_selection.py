"""Columns kept and dropped by name and pattern, against lists written out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import separatrix
from separatrix import LinearClassifier

NAMES = ["id_a", "age", "id_b", "visits_1", "visits_2", "size [m]", "town", "weight", "kind"]


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(rng.normal(size=(n, len(NAMES))), columns=NAMES)
    found["town"] = rng.choice(["a", "b", "c"], n)
    found["weight"] = rng.random(n) + 0.5
    found["kind"] = np.where(found["age"] + rng.normal(size=n) > 0, "yes", "no")
    return found


@pytest.fixture
def path(tmp_path):
    table().to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def columns(path, **given):
    source = separatrix.read(path, target="kind", weight="weight", **given)
    return source.reading.encoding.feature_names.tolist()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["id_a", "age", "id_b", "visits_1", "visits_2", "size [m]", "town"]),
        ({"keep": ["town", "age"]}, ["age", "town"]),  # in the order of the table
        ({"keep": ["visits_*"]}, ["visits_1", "visits_2"]),
        ({"keep": ["visits_[2-9]", "id_?"]}, ["id_a", "id_b", "visits_2"]),
        ({"keep": ["size [m]"]}, ["size [m]"]),  # a name, though it looks like a pattern
        ({"keep": ["*"]}, ["id_a", "age", "id_b", "visits_1", "visits_2", "size [m]", "town"]),
        ({"drop": ["id_*", "size [m]"]}, ["age", "visits_1", "visits_2", "town"]),
        ({"keep": ["visits_*", "age"], "drop": ["*_2"]}, ["age", "visits_1"]),
        ({"keep": ["visits_1"], "drop": ["visits_2"]}, ["visits_1"]),
        ({"features": ["town", "age"]}, ["town", "age"]),
    ],
)
def test_which_columns_are_features(path, given, expected):
    assert columns(path, **given) == expected
    assert columns(pd.read_csv(path), **given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keep": ["aeg"]}, r"keep names the column 'aeg', and there is none: is it 'age'\?"),
        ({"drop": ["Town"]}, r"drop names the column 'Town', and there is none: is it 'town'\?"),
        ({"drop": ["ID_*"]}, r"drop has the pattern 'ID_\*', and no feature matches it: .*'id_a'"),
        ({"keep": ["w*t"]}, r"keep has the pattern 'w\*t', and no feature matches"),  # the weight
        ({"keep": ["kind"]}, r"keep names 'kind', which is the target or the weight"),
        ({"drop": ["weight"]}, r"drop names 'weight', which is the target or the weight"),
        ({"keep": ["age", "town"], "drop": ["age"]}, r"keep and drop both name 'age'"),
        ({"keep": ["id_*"], "drop": ["id_*"]}, r"no column left to be a feature"),
        ({"keep": []}, r"no column left to be a feature"),
        ({"features": ["age"], "keep": ["age"]}, r"features and keep are both given"),
        ({"features": ["age"], "drop": ["town"]}, r"features and drop are both given"),
        ({"keep": ["age"], "categorical": {"town": "hash"}}, r"'town', which is not among"),
        ({"keep": ["age"], "dates": {"town": ["year"]}}, r"'town', which is not among"),
    ],
)
def test_columns_that_cannot_be_chosen(path, given, message):
    with pytest.raises(ValueError, match=message):
        columns(path, **given)


@pytest.mark.parametrize("name", ["keep", "drop"])
def test_a_single_name_is_no_list(path, name):
    with pytest.raises(TypeError, match=rf"{name} must be a list of names"):
        columns(path, **{name: "age"})


def test_rows_without_names_have_nothing_to_keep(tmp_path):
    np.save(tmp_path / "t.npy", np.eye(4))
    with pytest.raises(ValueError, match=r"keep=\['a'\] is about the columns of a table"):
        separatrix.read(tmp_path / "t.npy", keep=["a"])


def test_the_model_needs_only_the_kept_columns(path, tmp_path):
    source = separatrix.read(path, target="kind", keep=["visits_*", "town"])
    clf = LinearClassifier(l2=0.1).fit(source)
    separatrix.save(clf, tmp_path / "m.sep")
    again = separatrix.load(tmp_path / "m.sep")
    new = table(20, seed=1)
    few = new[["town", "visits_2", "visits_1"]]
    expected = clf.predict_proba(new)
    np.testing.assert_array_equal(again.predict_proba(few), expected)
    few.to_csv(tmp_path / "few.csv", index=False)
    np.testing.assert_allclose(again.predict_proba(tmp_path / "few.csv"), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="no column 'town'"):
        again.predict(new.drop(columns="town"))
    with pytest.raises(ValueError, match=r"like= says how columns are read, and keep="):
        separatrix.read(path, like=clf, keep=["age"])
