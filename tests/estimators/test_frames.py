"""Frames with strings, categories and Booleans, against scikit-learn's encoder before the fit."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import quiet
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder

import separatrix
from separatrix import KernelPerceptron, LinearClassifier, LinearClassifierCV, Perceptron
from separatrix.data.files.encoding.suspects import ColumnWarning

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

WORDS = ["town", "plan"]


def frame(n=150, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "town": rng.choice(["Aa", "Bb", "None", "Dd"], n),
            "flag": rng.random(n) < 0.5,
            "plan": pd.Categorical(rng.choice(["basic", "pro"], n)),
            "age": rng.integers(18, 80, n),
        },
        index=pd.Index(rng.permutation(n), name="id"),
    )


def labels(data, seed=0):
    noise = np.random.default_rng(seed).normal(size=len(data))
    score = data["size"] + (data["town"] == "Aa") - (data["plan"] == "pro") + noise
    return np.where(score > 0, "yes", "no")


DATA, Y = frame(), labels(frame())
KINDS = {
    "pandas": lambda data: data,
    "pandas strings": lambda data: data.astype({"town": "string", "age": "Int64"}),
    "polars": lambda data: pl.from_pandas(data),
    "polars categories": lambda data: pl.from_pandas(data).with_columns(
        pl.col("town").cast(pl.Categorical)
    ),
    "arrow": lambda data: pa.Table.from_pandas(data, preserve_index=False),
}
ENCODER = make_column_transformer(
    (OneHotEncoder(drop="if_binary", sparse_output=False, handle_unknown="ignore"), WORDS),
    remainder="passthrough", verbose_feature_names_out=False,
)  # fmt: skip


def encoded(data):
    """Arrays of scikit-learn's features, in the order of the columns."""
    ENCODER.set_output(transform="pandas").fit(DATA)
    towns = [f"town_{town}" for town in ("Aa", "Bb", "Dd", "None")]
    order = ["size", *towns, "flag", "plan_pro", "age"]
    return ENCODER.transform(data)[order].astype(float), order


@pytest.mark.sampled
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "model",
    [
        LinearClassifier(l2=1e-2, tol=1e-9, standardize=True),
        LinearClassifierCV(l2s=[1e-1, 1e-2], cv=3, random_state=0, scoring="loss"),
        Perceptron(max_iter=3, random_state=0),
        LinearClassifierCV(l2s=[1e-1, 1e-2], cv=3, random_state=0, scoring="f1_macro"),
    ],
    ids=["linear", "cv", "perceptron", "scored"],
)
@quiet
def test_the_fit_is_that_of_scikit_learns_features(model, kind):
    X, names = encoded(DATA)
    given = KINDS[kind](DATA)
    found, expected = clone(model).fit(given, Y), clone(model).fit(X.to_numpy(), Y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    assert found.coef_names_.tolist() == names
    assert found.feature_names_in_.tolist() == DATA.columns.tolist()
    assert found.n_features_in_ == 5
    new = frame(60, seed=1)
    scores = expected.decision_function(encoded(new)[0].to_numpy())
    for other in KINDS:  # whichever library the new rows come from
        np.testing.assert_allclose(found.decision_function(KINDS[other](new)), scores, rtol=1e-9)
    assert found.score(given, Y) == expected.score(X.to_numpy(), Y)


def test_the_model_remembers_the_encoding(tmp_path):
    clf = LinearClassifier().fit(DATA, Y)
    separatrix.save(clf, tmp_path / "m.sep")
    new = frame(20, seed=2).assign(town=["Zz"] * 5 + ["Aa"] * 15, more="x")
    for again in (separatrix.load(tmp_path / "m.sep"), pickle.loads(pickle.dumps(clf))):
        columns = new.columns[::-1]  # found by name
        np.testing.assert_array_equal(again.predict_proba(new[columns]), clf.predict_proba(new))
        assert again.unknown_categories_ == {"town": 5}
        assert again.coef_names_.tolist() == clf.coef_names_.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda new: new.drop(columns="town"), r"there is no column 'town'.*as in the fit"),
        (lambda new: new.rename(columns={"town": "Town"}), r"no column 'town'.*is it 'Town'"),
        (lambda new: new.assign(town=3), r"column 'town' is int64 .*row 0.*expected text"),
        (lambda new: new.assign(size="big"), r"column 'size' is .*string .*expected numbers"),
        (lambda new: new.assign(size=np.nan), r"column 'size' has no value in .*row 0"),
        (lambda new: new.assign(town=None), r"column 'town' has no value in .*row 0"),
        (lambda new: new.to_numpy()[:, :3], r"X has the shape \(9, 3\); expected a frame or"),
    ],
)
def test_other_columns_or_types_are_refused_by_name(change, message):
    clf = LinearClassifier().fit(DATA, Y)
    with pytest.raises(ValueError, match=message):
        clf.predict(change(frame(9, seed=3)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda X: X.assign(town=X["town"].where(X["size"] < 1)),
            r"column 'town' has no value in X",
        ),
        (lambda X: X.assign(size=np.inf), r"column 'size' holds infinity in X, row 0"),
        (lambda X: X.assign(town=[1, "a"] * 75), r"X cannot be read .*'?town'?.*one type"),
        (lambda X: X.assign(day=pd.Timestamp(0)), r"X, in the columns \['day'\], holds dates"),
        (lambda X: X.assign(pairs=[[1, 2]] * 150), r"column 'pairs' is list"),
    ],
)
def test_columns_that_cannot_be_encoded(change, message):
    before = LinearClassifier().fit(DATA, Y)
    coef = before.coef_
    with pytest.raises(ValueError, match=message):
        before.fit(change(DATA), Y)
    assert before.coef_ is coef
    assert before.predict(DATA).shape == (150,)


def test_rows_of_weight_0_add_no_category():
    weight = (DATA["town"] != "Dd").astype(float).to_numpy()
    kept = weight > 0
    clf = LinearClassifier(tol=1e-10).fit(DATA, Y, sample_weight=weight)
    alone = LinearClassifier(tol=1e-10).fit(DATA[kept], Y[kept])
    assert clf.coef_names_.tolist() == alone.coef_names_.tolist()
    np.testing.assert_allclose(clf.coef_, alone.coef_, rtol=1e-6)


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_frames_of_numbers_and_booleans_are_as_arrays(library):
    numeric = DATA[["size", "flag", "age"]]
    given = KINDS[library](numeric)
    clf = LinearClassifier().fit(given, Y)
    array = LinearClassifier().fit(numeric.to_numpy().astype(float), Y)
    np.testing.assert_array_equal(clf.coef_, array.coef_)
    assert not hasattr(clf, "_reading")
    objects = LinearClassifier().fit(numeric.astype({"size": object}), Y)
    assert not hasattr(objects, "_reading")
    np.testing.assert_array_equal(objects.coef_, array.coef_)


def test_a_fit_to_numbers_forgets_the_categories():
    clf = LinearClassifier().fit(DATA, Y)
    clf.fit(DATA[["size", "age"]], Y)
    assert clf.coef_names_.tolist() == clf.feature_names_in_.tolist() == ["size", "age"]
    assert clf.predict(DATA[["size", "age"]]).shape == (150,)
    clf.fit(DATA, Y).fit(DATA[["size", "age"]].to_numpy(), Y)
    assert not hasattr(clf, "feature_names_in_")


def test_a_warm_start_needs_the_same_categories():
    clf = LinearClassifier(warm_start=True).fit(DATA, Y).fit(DATA, Y)
    few = DATA["town"] != "Dd"
    with pytest.raises(
        ValueError, match=r"warm_start=True, but 'town_Dd' is a feature of only one"
    ):
        clf.fit(DATA[few], Y[few])


def test_names_of_rows_are_warned_of():
    named = DATA.assign(name=[f"c{i}" for i in range(150)])
    with pytest.warns(
        ColumnWarning, match=r"'name' has 150 different values.*leave it out"
    ) as found:
        LinearClassifier().fit(named, Y)
    assert found[0].filename == __file__


def test_what_takes_numbers_alone_says_so():
    for model in (Perceptron(), LinearClassifier()):
        with pytest.raises(ValueError, match=r"columns \['town', 'plan'\], holds words"):
            model.partial_fit(DATA, Y, classes=["no", "yes"])
    with pytest.raises(ValueError, match=r"holds words"):
        KernelPerceptron().fit(DATA, Y)
    clf = LinearClassifier().fit(DATA, Y)
    with pytest.raises(TypeError, match=r"fitted to a table.*separatrix\.read\(\.\.\., like=clf\)"):
        separatrix.diagnose(clf, DATA, Y)


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"holds words.*if pyarrow is installed"):
        LinearClassifier().fit(DATA, Y)
    LinearClassifier().fit(DATA[["size", "flag"]], Y)
