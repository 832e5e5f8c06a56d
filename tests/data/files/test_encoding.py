"""Tables as rows of numbers, beside scikit-learn's encoders on the same columns."""

from __future__ import annotations

import importlib
import json
import pickle
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import FeatureHasher
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from separatrix.data.files import survey as survey_module
from separatrix.data.files.encoding import Encoding
from separatrix.data.files.options import EncodingOptions
from separatrix.data.files.reader import Place
from separatrix.data.files.survey import Survey
from separatrix.numeric.rows import CsrRows, as_scipy, to_dense


def encoding_of(table, batch_rows=7, **options):
    """The encoding that a first pass over small batches comes to."""
    found = Survey(table.schema, EncodingOptions(**options))
    for batch in table.to_batches(max_chunksize=batch_rows):
        found.add(batch, Place(first=found.n_read))
    return found.encoding()


def dense(rows):
    return to_dense(rows)


def words(n=200, kinds=6, seed=0):
    """Words of a few kinds, the later ones rarer."""
    rng = np.random.default_rng(seed)
    return rng.choice(
        [f"w{i}" for i in range(kinds)], n, p=np.arange(kinds, 0, -1) / sum(range(kinds + 1))
    )


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "word": words(n, seed=seed),
            "flag": rng.random(n) < 0.3,
            "code": rng.integers(0, 5, n),
            "label": rng.choice(["no", "yes"], n),
        }
    )


# ---- categories ----------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_one_hot_has_the_columns_of_scikit_learn(storage, monkeypatch):
    ratio = 100 if storage == "dense" else 1
    monkeypatch.setattr("separatrix.data.files.encoding.FEATURES_PER_VALUE", ratio)
    data = frame()
    encoding = encoding_of(pa.table(data), target="label", categorical={"code": "onehot"})
    oracle = ColumnTransformer(
        [
            ("a", "passthrough", ["a"]), ("word", OneHotEncoder(), ["word"]),
            ("flag", "passthrough", ["flag"]), ("code", OneHotEncoder(), ["code"]),
        ],
        verbose_feature_names_out=False, sparse_threshold=0.0,
    )  # fmt: skip
    expected = oracle.fit_transform(data).astype(float)
    found = encoding.encode(pa.table(data))
    assert encoding.storage == storage
    assert isinstance(found.X, CsrRows) == (storage == "csr")
    assert_array_equal(dense(found.X), expected)
    assert_array_equal(encoding.coef_names, oracle.get_feature_names_out())
    assert_array_equal(encoding.feature_names, ["a", "word", "flag", "code"])
    assert_array_equal(found.y, data["label"])
    assert encoding.n_features == expected.shape[1]


@pytest.mark.parametrize(
    "limits",
    [
        {"max_categories": 3}, {"max_categories": 1}, {"max_categories": 6},
        {"max_categories": 7}, {"min_frequency": 40}, {"min_frequency": 0.1},
        {"min_frequency": 30, "max_categories": 3}, {"min_frequency": 1000},
    ],
)  # fmt: skip
def test_infrequent_categories_share_the_feature_of_scikit_learn(limits):
    data = pd.DataFrame({"word": words(), "other": words(kinds=3, seed=1)})
    data.loc[:3, "word"] = ["w5", "w4", "w3", "w2"]  # ties or near
    oracle = OneHotEncoder(handle_unknown="ignore", sparse_output=False, **limits).fit(data)
    encoding = encoding_of(pa.table(data), **limits)
    assert_array_equal(encoding.coef_names, oracle.get_feature_names_out())
    assert_array_equal(dense(encoding.encode(pa.table(data)).X), oracle.transform(data))


def test_ties_of_frequency_are_broken_as_scikit_learn_breaks_them():
    data = pd.DataFrame({"word": list("dcbaabcdee")})
    oracle = OneHotEncoder(sparse_output=False, max_categories=3).fit(data)
    encoding = encoding_of(pa.table(data), max_categories=3)
    assert_array_equal(encoding.coef_names, oracle.get_feature_names_out())


def test_repeated_rows_are_as_weighted_ones():
    data = frame(60)
    data.loc[5:9, "a"] = np.nan
    data["w"] = np.random.default_rng(1).integers(0, 4, len(data)).astype(float)
    options = {"target": "label", "missing": "indicator", "min_frequency": 12}
    repeated = (
        data.loc[data.index.repeat(data["w"].astype(int))].drop(columns="w").reset_index(drop=True)
    )
    weighted = encoding_of(pa.table(data), weight="w", **options)
    plain = encoding_of(pa.table(repeated), **options)
    for one, other in zip(weighted.columns, plain.columns, strict=True):
        if one.kind == "number":
            assert one.fill == pytest.approx(other.fill, rel=1e-12)
            assert one.indicator == other.indicator
        else:
            assert one == other


def test_rows_of_weight_0_are_as_if_absent():
    data = frame(60)
    data["w"] = 1.0
    odd = data.iloc[:1].assign(word="odd", label="maybe", w=0.0, a=1e6)
    both = pa.table(pd.concat([data, odd], ignore_index=True))
    options = {"target": "label", "weight": "w", "missing": "mean", "min_frequency": 0.2}
    assert encoding_of(both, **options) == encoding_of(pa.table(data), **options)


@pytest.mark.parametrize("bits", [3, 10, 18])
def test_hashing_is_that_of_scikit_learn(bits):
    data = pd.DataFrame({"word": words(), "uni": ["ä", "日本", "", "x"] * 50, "code": range(200)})
    ways = dict.fromkeys(data, "hash")
    encoding = encoding_of(pa.table(data), categorical=ways, hash_bits=bits)
    oracle = FeatureHasher(2**bits, input_type="string")
    rows = [[f"{name}={value}" for name, value in row.items()] for row in data.to_dict("records")]
    found = as_scipy(encoding.encode(pa.table(data)).X)
    assert (found != oracle.transform(rows)).nnz == 0
    assert encoding.n_features == len(encoding.coef_names) == 2**bits
    assert encoding.storage == ("dense" if bits == 3 else "csr")
    assert found.has_canonical_format


def test_the_least_hash_has_a_feature_too(monkeypatch):
    monkeypatch.setattr("separatrix.data.files.encoders.murmurhash3_32", lambda word: -(2**31))
    table = pa.table({"word": ["x"]})
    encoding = encoding_of(table, categorical="hash", hash_bits=4)
    assert_array_equal(dense(encoding.encode(table).X), [[-1.0] + [0.0] * 15])


def test_numbers_stand_before_what_is_hashed():
    data = frame()
    encoding = encoding_of(pa.table(data), target="label", categorical="hash", hash_bits=6)
    X = dense(encoding.encode(pa.table(data)).X)
    assert_array_equal(X[:, :3], data[["a", "flag", "code"]].astype(float))
    oracle = FeatureHasher(64, input_type="string")
    assert_array_equal(X[:, 3:], oracle.transform([[f"word={w}"] for w in data["word"]]).toarray())
    assert encoding.coef_names[:4].tolist() == ["a", "flag", "code", "hash_0"]


def test_unknown_categories_are_zero_and_counted():
    data = frame()
    encoding = encoding_of(pa.table(data), target="label", missing="zero")
    new = data.iloc[:4].assign(word=["w0", "new", None, "newer"])
    found = encoding.encode(pa.table(new.drop(columns="label")), labels=False)
    assert found.unknown == {"word": 2}
    assert found.y is None
    assert_array_equal(dense(found.X)[:, 1:-2].sum(axis=1), [1.0, 0.0, 0.0, 0.0])
    assert encoding.encode(pa.table(data)).unknown == {}


def test_codes_are_found_whatever_their_type():
    table = pa.table({"code": pa.array([3, 1, 2, 3], pa.int8())})
    encoding = encoding_of(table, categorical={"code": "onehot"}, missing="zero")
    expected = np.eye(3)[[2, 0, 1, 2]]
    for column in (
        pa.array([3, 1, 2, 3], pa.uint64()),
        pa.array([3.0, 1.0, 2.0, 3.0]),
        pa.array(["3", "1", "2", "3"]),
        pa.array([3, 1, 2, 3]).dictionary_encode(),
    ):
        assert_array_equal(dense(encoding.encode(pa.table({"code": column})).X), expected)
    with_gap = pa.table({"code": pa.array([3.0, np.nan, 2.0, 3.0])})
    assert_array_equal(dense(encoding.encode(with_gap).X)[1], np.zeros(3))
    with pytest.raises(ValueError, match=r"column 'code' is string from row 0 .*int64"):
        encoding.encode(pa.table({"code": ["x"]}))


def test_categories_of_a_frame_that_no_row_has_get_no_feature():
    data = pd.DataFrame({"word": pd.Categorical(["b", "a", "b"], categories=["c", "b", "a"])})
    assert encoding_of(pa.table(data)).coef_names.tolist() == ["word_a", "word_b"]


def test_too_many_categories_are_refused_while_they_are_counted(monkeypatch):
    monkeypatch.setattr(survey_module, "MOST_CATEGORIES", 20)
    table = pa.table({"url": [f"u{i}" for i in range(10_000)]})
    found = Survey(table.schema, EncodingOptions())
    first, second, third = table.to_batches(max_chunksize=7)[:3]
    found.add(first)
    found.add(second)
    with pytest.raises(ValueError, match=r"'url' has 21 different .*row 20 .*categorical='hash'"):
        found.add(third, Place(first=14))
    assert encoding_of(table, categorical={"url": "hash"}).n_features == 2**18


def test_long_categories_are_refused(monkeypatch):
    monkeypatch.setattr(survey_module, "MOST_CATEGORY_BYTES", 1000)
    with pytest.raises(ValueError, match=r"'text' has .* categorical='hash'"):
        encoding_of(pa.table({"text": [f"{i}" * 60 for i in range(30)]}))


# ---- missing values and infinity -----------------------------------------------------------


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
    assert_array_equal(encoding.coef_names, oracle.get_feature_names_out())
    assert_array_equal(dense(encoding.encode(pa.table(data)).X), oracle.transform(data))
    rare = encoding_of(pa.table(data), missing=how, max_categories=2)
    assert rare.coef_names.tolist() == ["word_b", "word_infrequent_sklearn"]
    assert_array_equal(dense(rare.encode(pa.table(data)).X)[:, 1], [0.0, 1.0, 1.0, 0.0])


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


# ---- types, labels, weights, roles ---------------------------------------------------------


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
    with pytest.raises(ValueError, match=r"column 'odd' is .* features="):
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
    with pytest.raises(ValueError, match=r"there is no column 'word' in f.csv among .*expected"):
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
    found = Survey(data.schema, EncodingOptions(**options))
    assert found.needs_rows == needs
    if not needs:
        assert found.encoding() == encoding_of(data, **options)


# ---- as plain data -------------------------------------------------------------------------


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
        monkeypatch.delitem(sys.modules, f"separatrix.data.files.{name}")
    fresh = importlib.import_module("separatrix.data.files.encoding").Encoding
    column = {"kind": "onehot", "name": "a", "type": "text", "categories": ["x", "y"]}
    data = {"columns": [column], "target": None, "weight": None, "dtype": "float64"}
    data["text_target"] = False
    assert fresh.from_dict(data).coef_names.tolist() == ["a_x", "a_y"]
