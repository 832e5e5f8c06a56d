"""A model that was fitted to files reads what it is to predict as it read the rows of its fit."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

import separatrix
from separatrix import KernelPerceptron, LinearClassifier, Perceptron, read

COLUMNS = ["a", "b", "word", "code"]


def table(n=300, seed=0):
    """Numbers, some of them missing, words, codes, labels and weights."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n), rng.normal(2.0, 1.0, n)
    word = rng.choice(["red", "green", "blue"], n, p=[0.6, 0.3, 0.1])
    score = a - b + 2.0 + (word == "red") - (word == "blue") + rng.logistic(size=n)
    b[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "a": a, "b": b, "word": word, "code": rng.integers(0, 3, n),
            "label": np.where(score > 0.5, "yes", "no"), "w": rng.integers(0, 3, n),
        }
    )  # fmt: skip


OPTIONS = {
    "target": "label", "weight": "w", "missing": "mean", "categorical": {"code": "onehot"},
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reading")
    table().to_parquet(folder / "train.parquet")
    table(80, seed=1).to_parquet(folder / "new.parquet")
    table(80, seed=1).to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(files):
    return LinearClassifier(tol=1e-10).fit(read(files / "train.parquet", **OPTIONS))


def oracle(data, fit_to):
    """scikit-learn's encoders of the columns, fitted to rows whose weight is not 0."""
    parts = [
        ("a", "passthrough", ["a"]),
        ("b", SimpleImputer(), ["b"]),
        ("words", OneHotEncoder(handle_unknown="ignore"), ["word", "code"]),
    ]
    encoder = ColumnTransformer(parts, sparse_threshold=0.0, verbose_feature_names_out=False)
    mean = np.average(fit_to["b"].dropna(), weights=fit_to["w"][fit_to["b"].notna()])
    encoder.fit(fit_to[fit_to["w"] > 0][COLUMNS])
    X = encoder.transform(data[COLUMNS].assign(b=data["b"].fillna(mean)))
    return X, encoder.get_feature_names_out()


def test_a_fit_to_a_file_is_that_to_its_encoded_rows(fitted):
    data = table()
    X, names = oracle(data, data)
    alike = LinearClassifier(tol=1e-10).fit(X, data["label"], data["w"])
    assert_allclose(fitted.objective_, alike.objective_, rtol=1e-9)
    assert_allclose(fitted.coef_, alike.coef_, atol=1e-4)
    assert_array_equal(fitted.coef_names_, names)
    assert_array_equal(fitted.feature_names_in_, COLUMNS)
    assert fitted.n_features_in_ == 4
    assert fitted.coef_.shape == (1, 8)


KINDS = {
    "path": lambda folder, data: folder / "new.parquet",
    "text": lambda folder, data: str(folder / "new.parquet"),
    "csv": lambda folder, data: folder / "new.csv",
    "list": lambda folder, data: [folder / "new.parquet"],
    "glob": lambda folder, data: str(folder / "ne*.parquet"),
    "pandas": lambda folder, data: data,
    "turned": lambda folder, data: data[list(data)[::-1]].assign(odd=[object()] * len(data)),
    "polars": lambda folder, data: pl.from_pandas(data),
    "lazy": lambda folder, data: pl.from_pandas(data).lazy(),
    "arrow": lambda folder, data: pa.table(data),
    "source": lambda folder, data: read(folder / "new.parquet", **OPTIONS),
    "source of its own": lambda folder, data: read(
        folder / "new.parquet", target="label", weight="w", missing="zero", categorical="hash"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_the_models_own_encoding(kind, files, fitted):
    data = table(80, seed=1)
    X, _ = oracle(data, table())
    new = KINDS[kind](files, data)
    scores = X @ fitted.coef_[0] + fitted.intercept_[0]
    assert_allclose(fitted.decision_function(new), scores, rtol=1e-9, atol=1e-12)
    assert_array_equal(fitted.predict(new), np.where(scores >= 0, "yes", "no"))
    assert_allclose(fitted.predict_proba(new)[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-9)
    right = fitted.predict(new) == data["label"]
    assert fitted.score(new) == pytest.approx(np.average(right, weights=data["w"]))
    assert fitted.unknown_categories_ == {}


def test_labels_may_be_given_or_not(files, fitted):
    data = table(80, seed=1)
    rows = data[COLUMNS]
    assert_array_equal(fitted.predict(rows), fitted.predict(data))
    right = np.mean(fitted.predict(rows) == data["label"])
    assert fitted.score(rows, data["label"]) == pytest.approx(right)
    assert fitted.score(files / "new.parquet", data["label"]) == pytest.approx(right)
    with pytest.raises(ValueError, match="label"):
        fitted.score(rows)
    unlabelled = read(rows, missing="mean", categorical={"code": "onehot"})
    assert_array_equal(fitted.predict(unlabelled), fitted.predict(data))


def test_columns_may_come_as_an_array(fitted):
    data = table(80, seed=1)
    expected = fitted.decision_function(data)
    array = data[COLUMNS].to_numpy(dtype=object)
    assert_array_equal(fitted.decision_function(array), expected)
    with pytest.raises(ValueError, match=r"shape \(80, 3\); expected .*'word'"):
        fitted.predict(array[:, :3])


def test_unknown_categories_are_zero_and_counted(fitted, tmp_path):
    data = table(80, seed=1)
    odd = data.copy()
    odd.loc[:4, "word"] = "pink"
    odd.loc[:1, "code"] = 7
    odd.to_parquet(tmp_path / "odd.parquet")
    X, _ = oracle(odd, table())
    assert X[0, 2:].sum() == 0.0
    for new in (odd, tmp_path / "odd.parquet", read(odd, **OPTIONS)):
        scores = fitted.decision_function(new)
        assert fitted.unknown_categories_ == {"word": 5, "code": 2}
        assert_allclose(scores, X @ fitted.coef_[0] + fitted.intercept_[0], rtol=1e-9)
    fitted.predict(data)
    assert fitted.unknown_categories_ == {}


def test_means_and_infrequent_categories_are_those_of_the_fit(files):
    source = read(files / "train.parquet", **OPTIONS | {"min_frequency": 60})
    clf = LinearClassifier().fit(source)
    assert clf.coef_names_.tolist()[2:5] == ["word_green", "word_red", "word_infrequent_sklearn"]
    blue = pd.DataFrame({"a": [0.0], "b": [np.nan], "word": ["blue"], "code": [0]})
    others = read(
        pd.concat([blue.assign(label=x, w=1) for x in ("no", "yes")]),
        **OPTIONS | {"missing": "zero"},
    )
    (score,) = clf.decision_function(blue)
    assert_allclose(clf.decision_function(others), [score, score], rtol=1e-12)
    mean = np.average(table()["b"].dropna(), weights=table()["w"][table()["b"].notna()])
    expected = clf.coef_[0] @ [0.0, mean, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0] + clf.intercept_[0]
    assert score == pytest.approx(expected)


@pytest.mark.parametrize("path", ["x.parquet", ["x.parquet"]])
@pytest.mark.parametrize("clf", [LinearClassifier(), Perceptron(), KernelPerceptron()])
def test_models_fitted_to_arrays_refuse_paths(clf, path):
    clf = clone(clf).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match=r"path 'x.parquet'.*separatrix.read"):
        clf.predict(path)
    with pytest.raises(TypeError, match=r"path 'x.parquet'.*separatrix.read"):
        clone(clf).fit(path, [0, 1])


def test_a_fit_to_arrays_forgets_files(files, fitted):
    clf = pickle.loads(pickle.dumps(fitted))
    clf.fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    assert clf.n_features_in_ == 2
    assert clf.coef_names_.tolist() == ["x0", "x1"]
    with pytest.raises(TypeError, match="path"):
        clf.predict(str(files / "new.parquet"))


def test_a_fit_that_fails_keeps_the_reading(files, fitted):
    clf = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(ValueError, match="one class"):
        clf.fit([[0.0]], [1])
    assert_array_equal(clf.predict(files / "new.csv"), fitted.predict(files / "new.csv"))
    assert clf.coef_names_.tolist() == fitted.coef_names_.tolist()


def test_names_of_weights_without_files():
    data = table()[["a", "code"]]
    clf = LinearClassifier().fit(data, table()["label"])
    assert clf.coef_names_.tolist() == ["a", "code"]
    assert Perceptron().fit([[0.0], [1.0]], [0, 1]).coef_names_.tolist() == ["x0"]


def test_more_than_two_classes_and_other_estimators(files):
    data = table().assign(label=table()["word"])
    source = read(data, target="label", features=["a", "code", "word"])
    for clf in (LinearClassifier(), Perceptron()):
        clf.fit(source)
        assert clf.predict(data).tolist() == data["label"].tolist()
        assert clf.score(data) == 1.0


def test_warm_starts_need_the_same_features(files):
    clf = LinearClassifier(warm_start=True).fit(read(files / "train.parquet", **OPTIONS))
    clf.fit(read(files / "train.parquet", **OPTIONS))
    other = table().replace({"word": {"blue": "pink"}})
    with pytest.raises(ValueError, match="warm_start=True, but 'word_blue' is a feature of only"):
        clf.fit(read(other, **OPTIONS))


def test_partial_fit_goes_on_with_frames(files):
    clf = LinearClassifier().fit(read(files / "train.parquet", **OPTIONS))
    before = clf.coef_.copy()
    clf.partial_fit(table(80, seed=1), table(80, seed=1)["label"])
    assert clf.coef_.shape == before.shape
    assert np.any(clf.coef_ != before)
    assert_array_equal(clf.predict(files / "new.csv"), clf.predict(table(80, seed=1)))


def test_a_table_is_no_rows_of_numbers(files, fitted):
    def numbers():
        yield np.ones((3, 8)), [0, 1, 1]

    with pytest.raises(TypeError, match="expected rows of the same kind"):
        fitted.predict(read(numbers))
    clf = LinearClassifier().fit(read(numbers))
    assert clf.n_features_in_ == 8
    with pytest.raises(TypeError, match="expected"):
        clf.predict(files / "new.parquet")


def test_rows_of_numbers_are_predicted_too(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), np.arange(50) % 2
    np.save(tmp_path / "X.npy", X)
    clf = LinearClassifier().fit(read(lambda: iter([(X, y)])))
    assert_allclose(clf.decision_function(tmp_path / "X.npy"), clf.decision_function(X), rtol=1e-12)
    assert clf.partial_fit(X, y).coef_.shape == (1, 3)
    np.save(tmp_path / "wide.npy", rng.normal(size=(5, 4)))
    with pytest.raises(ValueError, match="X has 4 features, but there were 3 in the fit"):
        clf.predict(tmp_path / "wide.npy")


def test_the_suffix_need_not_tell_the_format_again(files, tmp_path):
    data = table(80, seed=1)
    table().to_csv(tmp_path / "train.txt", index=False)
    data.to_csv(tmp_path / "new.txt", index=False)
    clf = LinearClassifier().fit(read(tmp_path / "train.txt", format="csv", **OPTIONS))
    assert_array_equal(clf.predict(tmp_path / "new.txt"), clf.predict(data))
    assert_array_equal(clf.predict(files / "new.parquet"), clf.predict(data))


@pytest.mark.parametrize("cache", [False, True])
def test_features_of_text_are_numbered_as_in_the_fit(tmp_path, cache):
    (tmp_path / "train.svm").write_text("1 0:1 2:0.5\n0 1:2\n1 0:2\n0 2:-1 3:1\n")
    (tmp_path / "new.svm").write_text("1 1:1\n0 2:3 9:5\n")
    where = {"cache": tmp_path / "cache"} if cache else {}
    for _ in range(2):  # written to the cache, and from there
        clf = LinearClassifier().fit(read(tmp_path / "train.svm", **where))
    expected = np.array([[0.0, 1, 0, 0], [0.0, 0, 3, 0]]) @ clf.coef_[0] + clf.intercept_[0]
    right = np.mean((expected >= 0) == [1, 0])
    for new in (tmp_path / "new.svm", read(tmp_path / "new.svm")):
        assert_allclose(clf.decision_function(new), expected)
        assert clf.unknown_categories_ == {"features": 1}
        assert clf.score(new) == right
    reported = read(tmp_path / "new.svm", format="svmlight-1")
    expected = np.array([[1.0, 0, 0, 0], [0.0, 3, 0, 0]]) @ clf.coef_[0] + clf.intercept_[0]
    assert_allclose(clf.decision_function(reported), expected)


def test_rows_held_out_are_read_as_the_others(files):
    source = read(files / "train.parquet", validation=0.3, **OPTIONS)
    clf = LinearClassifier().fit(source)
    other = read(files / "train.parquet", validation=0.3, **OPTIONS | {"categorical": "hash"})
    for mine, its in ((source, other), (source.validation, other.validation)):
        assert len(clf.predict(mine)) == len(clf.predict(its))
        assert clf.score(its) == pytest.approx(clf.score(mine))


@pytest.mark.parametrize("in_memory", [False, True])
def test_which_rows_were_held_out_is_kept(files, tmp_path, in_memory):
    rows = read(files / "train.parquet", validation=0.3, **OPTIONS)
    given = rows.sample(rows.n_rows) if in_memory else rows
    separatrix.save(LinearClassifier().fit(given), tmp_path / "model.sep")
    clf = separatrix.load(tmp_path / "model.sep")
    split = clf.split_
    assert split.held_out == 0.3
    again = read(files / "train.parquet", like=clf, validation=split.held_out)
    again = again.sample(again.n_rows) if in_memory else again
    assert again.fingerprint() == split.trained_on
    other = pd.read_parquet(files / "train.parquet")
    other.loc[other.index[:20], "a"] += 1e-9
    assert read(other, like=clf, validation=0.3).fingerprint() != split.trained_on
    assert pickle.loads(pickle.dumps(clf)).split_ == split
    assert LinearClassifier().fit(read(files / "train.parquet", **OPTIONS)).split_ is None
    assert LinearClassifier().fit([[0.0], [1.0]], [0, 1]).split_ is None
