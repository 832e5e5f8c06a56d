"""Categories of a table as features: one for each value, or hashed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from encoded_tables import columns_of, dense, encoding_of, frame, words
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import FeatureHasher
from sklearn.preprocessing import OneHotEncoder

import separatrix
from separatrix.data.files.encoding import category_surveys
from separatrix.data.files.encoding.encoding import Encoding
from separatrix.data.files.encoding.options import EncodingOptions
from separatrix.data.files.encoding.survey import Survey
from separatrix.data.files.readers.reader import Place
from separatrix.rows import CsrRows, rows_of


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_one_hot_has_the_columns_of_scikit_learn(storage, monkeypatch):
    ratio = 100 if storage == "dense" else 1
    monkeypatch.setattr("separatrix.data.files.encoding.encoding.FEATURES_PER_VALUE", ratio)
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
    found = rows_of(encoding.encode(pa.table(data)).X).as_scipy()
    assert (found != oracle.transform(rows)).nnz == 0
    assert encoding.n_features == len(encoding.coef_names) == 2**bits
    assert encoding.storage == ("dense" if bits == 3 else "csr")
    assert found.has_canonical_format


def test_the_least_hash_has_a_feature_too(monkeypatch):
    monkeypatch.setattr(
        "separatrix.data.files.encoding.encoders.murmurhash3_32", lambda word: -(2**31)
    )
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
    assert encoding_of(pa.table(data)).coef_names.tolist() == ["word_b"]


def test_too_many_categories_are_refused_while_they_are_counted(monkeypatch):
    monkeypatch.setattr(category_surveys, "MOST_CATEGORIES", 20)
    table = pa.table({"url": [f"u{i}" for i in range(10_000)]})
    found = Survey(columns_of(table), EncodingOptions())
    first, second, third = table.to_batches(max_chunksize=7)[:3]
    found.add(first)
    found.add(second)
    with pytest.raises(ValueError, match=r"'url' has 21 different .*row 20 .*categorical='hash'"):
        found.add(third, Place(first=14))
    assert encoding_of(table, categorical={"url": "hash"}).n_features == 2**18


def test_long_categories_are_refused(monkeypatch):
    monkeypatch.setattr(category_surveys, "MOST_CATEGORY_BYTES", 1000)
    with pytest.raises(ValueError, match=r"'text' has .* categorical='hash'"):
        encoding_of(pa.table({"text": [f"{i}" * 60 for i in range(30)]}))


@pytest.mark.parametrize("way", ["onehot", "hash"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_numbers_too_large_to_be_distinguished_are_no_categories(suffix, way, tmp_path):
    """As float64, which text of 20 digits becomes, both identifiers are one."""
    large = np.array([2**64 - 1, 2**64 - 2] * 4, dtype=np.uint64)
    data = pd.DataFrame({"id": large, "a": np.arange(8.0), "y": [0, 1] * 4})
    path = tmp_path / f"t.{suffix}"

    def read(data, **options):
        data.to_csv(path, index=False) if suffix == "csv" else data.to_parquet(path)
        return separatrix.read(path, **options)

    with pytest.raises(ValueError, match=r"column 'id' holds 18?\d*.*, too large.*a letter before"):
        read(data, target="y", categorical={"id": way}, hash_bits=4)
    as_words = data.assign(id=[f"i{number}" for number in large])
    assert read(as_words, target="y").n_features == 2
    signed = data.assign(id=np.array([2**63 - 2, 2**63 - 3] * 4))
    named = read(signed, target="y", categorical={"id": "onehot"})
    assert list(named.reading.encoding.coef_names) == [f"id_{2**63 - 2}", "a"]
    if suffix == "csv":
        with pytest.raises(ValueError, match=r"the target 'id' holds 1\.8.*too large"):
            read(data, target="id")


def test_sparse_rows_are_in_order_where_numbers_follow_a_hashed_column():
    data = frame()[["word", "a", "code"]]
    encoding = encoding_of(pa.table(data), categorical="hash")
    rows = rows_of(encoding.encode(pa.table(data)).X)
    assert rows.storage == "csr"
    assert rows.sound
    assert_array_equal(dense(encoding.encode(pa.table(data)).X)[:, :2], data[["a", "code"]])


@pytest.mark.parametrize(
    ("values", "options", "name", "expected"),
    [
        (["b", "a", "b", "a"], {}, "word_b", [1, 0, 1, 0]),
        (["b", None, "b", "b"], {"missing": "mean"}, "missingindicator_word", [0, 1, 0, 0]),
        (["a", "b", "a", "c"], {"max_categories": 2}, "word_infrequent_sklearn", [0, 1, 0, 1]),
    ],
)
def test_two_categories_are_one_feature(values, options, name, expected):
    table = pa.table({"word": values})
    encoding = encoding_of(table, **options)
    assert encoding.coef_names.tolist() == [name]
    assert_array_equal(dense(encoding.encode(table).X), np.array([expected]).T)
    assert Encoding.from_dict(encoding.to_dict()) == encoding
    new = encoding.encode(pa.table({"word": ["new"]}))
    assert (dense(new.X).tolist(), new.unknown) == ([[0.0]], {"word": 1})


def test_two_categories_and_missing_values_that_are_zero_are_two_features():
    table = pa.table({"word": ["b", None, "a"]})
    encoding = encoding_of(table, missing="zero")
    assert_array_equal(dense(encoding.encode(table).X), [[0, 1], [0, 0], [1, 0]])


def test_two_categories_repeat_no_other_feature(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=300), "plan": rng.choice(["basic", "pro"], 300)})
    data["y"] = data["x"] + (data["plan"] == "pro") + rng.normal(size=300) > 0.5
    source = separatrix.read(data, target="y")
    clf = separatrix.LinearClassifier(l2=1e-2).fit(source)
    causes = [finding.cause for finding in separatrix.diagnose(clf, source.sample(300)).findings]
    assert "duplicate features" not in causes
    assert clf.coef_names_.tolist() == ["x", "plan_pro"]
    separatrix.save(clf, tmp_path / "m.sep")
    again = separatrix.load(tmp_path / "m.sep")
    assert_array_equal(again.predict(data), clf.predict(data))
    assert again.coef_names_.tolist() == ["x", "plan_pro"]


def test_an_encoding_from_before_keeps_a_feature_for_each_of_two_categories():
    table = pa.table({"word": ["b", "a"]})
    found = encoding_of(table).to_dict()
    del found["columns"][0]["binary"]  # as files have it that were written before
    old = Encoding.from_dict(found)
    assert old.coef_names.tolist() == ["word_a", "word_b"]
    assert_array_equal(dense(old.encode(table).X), [[0, 1], [1, 0]])
    for binary, categories in ((1, ["a", "b"]), (True, ["a"])):
        found["columns"][0] |= {"binary": binary, "categories": categories}
        with pytest.raises(TypeError):
            Encoding.from_dict(found)


@pytest.mark.parametrize("limits", [{}, {"max_categories": 3}, {"min_frequency": 1000}])
@pytest.mark.parametrize("ratio", [100, 1])
def test_without_the_first_category_as_in_scikit_learn(limits, ratio, monkeypatch):
    monkeypatch.setattr("separatrix.data.files.encoding.encoding.FEATURES_PER_VALUE", ratio)
    data = pd.DataFrame({"word": words(), "other": words(kinds=3, seed=1)})
    oracle = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False, **limits)
    encoding = encoding_of(pa.table(data), drop_first=True, **limits)
    if limits.get("min_frequency"):  # a single group keeps its feature
        assert encoding.n_features == 2
        return
    expected = oracle.fit_transform(data)
    assert_array_equal(dense(encoding.encode(pa.table(data)).X), expected)
    assert_array_equal(encoding.coef_names, oracle.get_feature_names_out())
    assert Encoding.from_dict(encoding.to_dict()) == encoding


def test_drop_first_is_true_or_false():
    with pytest.raises(TypeError, match="drop_first must be True or False, got 'word'"):
        EncodingOptions(drop_first="word")
