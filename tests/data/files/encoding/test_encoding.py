"""Tables as rows of numbers, compared with scikit-learn's encoders on the same columns."""

from __future__ import annotations

import importlib
import json
import pickle
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from encoded_tables import columns_of, dense, encoding_of, frame
from numpy.testing import assert_array_equal

from separatrix.data.files import encoding as package
from separatrix.data.files.encoding.encoding import Encoding
from separatrix.data.files.encoding.options import EncodingOptions
from separatrix.data.files.encoding.survey import Survey
from separatrix.data.files.readers.reader import Place


def test_numbers_of_every_type_become_features():
    types = [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.bool_(), pa.decimal128(5, 2)]
    table = pa.table({f"c{i}": pa.array([1, 0, 1], pa.int8()).cast(t) for i, t in enumerate(types)})
    assert_array_equal(encoding_of(table).encode(table).X, np.repeat([[1.0], [0.0], [1.0]], 6, 1))
    single = encoding_of(table, dtype="float32").encode(table).X
    assert single.dtype == np.float32


@pytest.mark.parametrize(
    "column",
    [
        pd.to_datetime(["2020-01-01"]), pd.to_timedelta(["1 day"]), [[1, 2]], [{"a": 1}], [b"x"],
    ],
)  # fmt: skip
def test_dates_and_nested_columns_are_refused_by_name(column):
    table = pa.table({"x": [1.0], "odd": pa.array(column)})
    with pytest.raises(ValueError, match=r"column 'odd' is .*(features=|dates=.*drop=)"):
        encoding_of(table)
    assert encoding_of(table, features=["x"]).n_features == 1


def test_a_category_is_refused_where_none_is_wanted():
    with pytest.raises(ValueError, match=r"'word' holds categories .*categorical='error'"):
        encoding_of(pa.table(frame()), categorical="error")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([2, 1, 2], [1, 2]), ([2.0, 1.0, 2.0], [1.0, 2.0]), ([True, False, True], [False, True]),
        (["b", "a", "b"], ["a", "b"]), (pd.Categorical(["b", "a", "b"]), ["a", "b"]),
    ],
)  # fmt: skip
def test_labels_are_those_of_the_table(labels, classes):
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": pa.array(labels)})
    found = encoding_of(table, target="y").encode(table).y
    assert found.tolist() == list(labels)
    assert np.unique(found).tolist() == classes


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array(["a", None, "b"]), r"target 'y' has no label in row 1 "),
        (pa.array([1.0, 2.0, np.nan]), r"target 'y' has no label in row 2 "),
        (pa.array(pd.to_datetime(["2020-01-01"] * 3)), r"target 'y' is timestamp"),
    ],
)
def test_bad_labels_are_refused(column, message):
    """By the survey, and by what encodes."""
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": column})
    encoding = encoding_of(table[:0], target="y")
    with pytest.raises(ValueError, match=message):
        encoding.encode(table)
    with pytest.raises(ValueError, match=message):
        encoding_of(table, 2, target="y")


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], "weight 'w' is -1 in row 1 "),
        ([None, 1.0], "weight 'w' is none in row 0 "),
        ([np.inf, 1.0], "column 'w' holds infinity in row 0 "),
        (["a", "b"], "column 'w' is string .* expected numbers"),
        ([0.0, 0.0], "of 2 rows none has a weight above 0"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        encoding_of(pa.table({"x": [1.0, 2.0], "w": weight}), weight="w", missing="mean")


def test_weights_come_with_the_rows():
    table = pa.table({"x": [1.0, 2.0], "w": pa.array([3, 0], pa.int16())})
    found = encoding_of(table, weight="w").encode(table)
    assert_array_equal(found.weight, [3.0, 0.0])
    assert_array_equal(found.X, [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "q"}, "target names the column 'q', and there is none: the columns are"),
        ({"features": ["a", "q"]}, "features names the column 'q'"),
        ({"categorical": {"q": "hash"}}, "categorical names the column 'q'"),
        ({"target": "a", "features": ["a"]}, "two roles"),
        ({"target": "a", "categorical": {"a": "hash"}}, "'a', which is not among the features"),
        ({"features": []}, "no column left"),
        ({"hash_bits": 31}, "hash_bits"),
        ({"hash_bits": 0}, "hash_bits"),
        ({"categorical": "one"}, "categorical must be one of"),
        ({"categorical": {"a": "one"}}, r"categorical\['a'\] must be one of"),
        ({"missing": "median"}, "missing must be one of"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"max_categories": 0}, "max_categories"),
        ({"min_frequency": 0}, "min_frequency"),
        ({"min_frequency": 1.5}, "min_frequency"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        encoding_of(pa.table({"a": [1.0], "b": ["x"]}), **options)


@pytest.mark.parametrize("options", [{"target": 3}, {"features": "a"}, {"features": [1]}])
def test_names_of_columns_are_strings(options):
    with pytest.raises(TypeError, match="must be"):
        EncodingOptions(**options)


def test_two_columns_of_one_name_are_refused():
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    with pytest.raises(ValueError, match="several columns are called 'a'"):
        encoding_of(table)


def test_a_table_without_a_column_of_the_fit_is_refused():
    encoding = encoding_of(pa.table(frame()), target="label")
    with pytest.raises(ValueError, match=r"there is no column 'word' in f.csv; expected .*fit: "):
        encoding.encode(pa.table({"a": [1.0]}), place=Place("f.csv"))
    with pytest.raises(ValueError, match=r"column 'a' is large_string .*expected numbers"):
        encoding.encode(pa.table(frame().assign(a="x")))


def test_columns_are_found_by_name():
    data = frame()
    encoding = encoding_of(pa.table(data), target="label")
    turned = pa.table(data[list(data)[::-1]].assign(more=1.0))
    assert_array_equal(dense(encoding.encode(turned).X), dense(encoding.encode(pa.table(data)).X))


def test_no_rows_make_no_rows():
    table = pa.table(frame())
    for ways in ("onehot", "hash"):
        encoding = encoding_of(table, target="label", categorical=ways, hash_bits=5)
        found = encoding.encode(table.slice(0, 0))
        assert dense(found.X).shape == (0, encoding.n_features)
        assert len(found.y) == 0


@pytest.mark.parametrize(
    ("options", "needs"),
    [
        ({}, True),
        ({"features": ["a", "flag"]}, False),
        ({"features": ["a", "flag"], "missing": "mean"}, True),
        ({"categorical": "hash"}, False),
        ({"categorical": {"word": "hash", "code": "onehot"}}, True),
    ],
)
def test_rows_are_surveyed_only_for_categories_and_means(options, needs):
    data = pa.table(frame().drop(columns="label"))
    found = Survey(columns_of(data), EncodingOptions(**options))
    assert found.needs_rows == needs
    if not needs:
        assert found.encoding() == encoding_of(data, **options)


def test_an_encoding_can_be_written_down():
    data = frame()
    data.loc[3, "a"] = np.nan
    ways = {"code": "onehot", "flag": "hash"}
    encoding = encoding_of(
        pa.table(data),
        target="label",
        categorical=ways,
        missing="indicator",
        max_categories=4,
        hash_bits=6,
    )
    again = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    copy = pickle.loads(pickle.dumps(encoding))
    assert again == encoding == copy
    expected = dense(encoding.encode(pa.table(data)).X)
    assert_array_equal(dense(again.encode(pa.table(data)).X), expected)


def test_what_is_known_needs_no_arrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    for name in ("encoding", "encoders"):
        monkeypatch.delitem(sys.modules, f"separatrix.data.files.encoding.{name}")
        # Importing it again replaces the attribute of the package, too: this puts it back.
        monkeypatch.setattr(package, name, getattr(package, name))
    fresh = importlib.import_module("separatrix.data.files.encoding.encoding").Encoding
    column = {"kind": "onehot", "name": "a", "type": "text", "categories": ["x", "y"]}
    data = {"columns": [column], "target": None, "weight": None, "dtype": "float64"}
    data["text_target"] = False
    assert fresh.from_dict(data).coef_names.tolist() == ["a_x", "a_y"]
