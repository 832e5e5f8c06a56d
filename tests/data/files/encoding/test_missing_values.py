"""Values of a table that are missing or infinite: filled in, or refused where they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from encoded_tables import dense, encoding_of
from numpy.testing import assert_array_equal
from sklearn.feature_extraction import FeatureHasher
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from separatrix.data.files.readers.reader import Place


def holes(n=50):
    rng = np.random.default_rng(3)
    a, b = rng.normal(5.0, 1.0, n), rng.normal(size=n)
    a[::7] = np.nan
    return pd.DataFrame({"a": a, "b": b})


@pytest.mark.parametrize("how", ["mean", "zero", "indicator"])
def test_missing_numbers_are_filled_in_as_scikit_learn_does(how):
    data = holes()
    strategy = {"strategy": "constant", "fill_value": 0.0} if how == "zero" else {}
    oracle = SimpleImputer(add_indicator=how == "indicator", **strategy).set_output(
        transform="pandas"
    )
    expected = oracle.fit_transform(data)
    nulls = pa.table(data).set_column(0, "a", pa.array(data["a"], from_pandas=True))
    for table in (pa.table(data), nulls):
        encoding = encoding_of(table, missing=how)
        order = [list(expected).index(name) for name in encoding.coef_names]
        assert sorted(order) == list(range(expected.shape[1]))
        found = dense(encoding.encode(table).X)
        np.testing.assert_allclose(found, expected.to_numpy()[:, order], rtol=1e-12)
    later = encoding.encode(pa.table({"a": [1.0], "b": [None]}).cast(encoding_schema()))
    fill = 0.0 if how == "zero" else data["b"].mean()
    np.testing.assert_allclose(dense(later.X)[0, -1], fill, rtol=1e-12)


def encoding_schema():
    return pa.schema([("a", pa.float64()), ("b", pa.float64())])


def test_means_do_not_depend_on_the_batches():
    table = pa.table(holes(1000))
    assert encoding_of(table, 3, missing="mean") == encoding_of(table, 1000, missing="mean")


@pytest.mark.parametrize("how", ["mean", "indicator"])
def test_a_missing_category_is_one_of_its_own(how):
    data = pd.DataFrame({"word": ["b", None, "a", "b"]}, dtype=object)
    encoding = encoding_of(pa.table(data), missing=how)
    oracle = OneHotEncoder(sparse_output=False).fit(data)
    assert encoding.coef_names.tolist() == ["word_a", "word_b", "missingindicator_word"]
    assert_array_equal(dense(encoding.encode(pa.table(data)).X), oracle.transform(data))
    rare = encoding_of(pa.table(data), missing=how, max_categories=2)
    assert rare.coef_names.tolist() == ["word_infrequent_sklearn"]
    assert_array_equal(dense(rare.encode(pa.table(data)).X)[:, 0], [0.0, 1.0, 1.0, 0.0])


def test_a_missing_value_and_the_string_none_have_different_names():
    table = pa.table({"word": ["None", None, "a", "None"]})
    encoding = encoding_of(table, missing="indicator")
    assert encoding.coef_names.tolist() == ["word_None", "word_a", "missingindicator_word"]
    assert_array_equal(
        dense(encoding.encode(table).X), [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    )


def test_a_missing_word_is_hashed_by_its_column():
    table = pa.table({"word": ["a", None]})
    oracle = FeatureHasher(16, input_type="string")
    for how, second in (("indicator", ["word"]), ("zero", [])):
        encoding = encoding_of(table, categorical="hash", hash_bits=4, missing=how)
        expected = oracle.transform([["word=a"], second]).toarray()
        assert_array_equal(dense(encoding.encode(table).X), expected)


@pytest.mark.parametrize("categorical", ["onehot", "hash"])
def test_missing_values_are_refused_where_they_are(categorical):
    for column, row in ((pa.array(["a", None]), 11), (pa.array([1.0, 2.0, np.nan]), 12)):
        table = pa.table({"it": column})
        encoding = encoding_of(table.slice(0, 1), categorical=categorical)
        with pytest.raises(ValueError, match=rf"'it' has no value in f.csv, row {row} .*missing="):
            encoding.encode(table, place=Place("f.csv", 10))


@pytest.mark.parametrize("missing", ["error", "mean"])
def test_infinity_is_refused_where_it_is(missing):
    table = pa.table({"a": [1.0, -np.inf], "b": [1e308, 1e308]})
    match = r"column 'a' holds infinity in row 1 "
    with pytest.raises(ValueError, match=match):
        encoding_of(table, missing=missing).encode(table)
    finite = table.select(["b"])
    assert_array_equal(encoding_of(finite).encode(finite).X, [[1e308], [1e308]])
    with pytest.raises(ValueError, match=r"column 'b' holds infinity as float32 .*row 0 "):
        encoding_of(finite, dtype="float32").encode(finite)
    with pytest.raises(ValueError, match="too large to be added up"):
        encoding_of(finite, missing="mean")


def test_a_column_without_values_has_no_mean():
    table = pa.table({"a": pa.array([None, None], pa.float64())})
    with pytest.raises(ValueError, match="column 'a' has no values"):
        encoding_of(table, missing="mean")
    assert_array_equal(encoding_of(table, missing="zero").encode(table).X, [[0.0], [0.0]])
