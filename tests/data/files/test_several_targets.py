"""Several targets: columns of 0 and 1 of a table, for rows with several labels each."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification

import separatrix
from separatrix import LinearClassifier

NAMES = ["zebra", "ant", "cow"]
X, Y = make_multilabel_classification(200, 4, n_classes=3, random_state=0)


def table(Y=Y):
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(4)])
    frame["city"] = np.where(X[:, 1] > 3, "rome", "oslo")
    for j, name in enumerate(NAMES):
        frame[name] = Y[:, j]
    return frame


@pytest.fixture(params=["csv", "parquet"])
def path(request, tmp_path):
    found = tmp_path / f"rows.{request.param}"
    table().to_csv(found, index=False) if request.param == "csv" else table().to_parquet(found)
    return found


def others(name):
    return [other for other in NAMES if other != name]


def test_every_label_is_fitted_as_the_only_target(path):
    source = separatrix.read(path, target=NAMES, block_rows=64)
    assert source.multilabel
    assert source.class_weight_sums().tolist() == Y.sum(axis=0).tolist()
    clf = LinearClassifier(l2=1e-2, tol=1e-10).fit(source)
    assert clf.stop_ == "optimal"
    assert clf.classes_.tolist() == NAMES
    assert clf.coef_names_.tolist() == ["x0", "x1", "x2", "x3", "city_rome"]
    for c, name in enumerate(NAMES):
        one = separatrix.read(path, target=name, drop=others(name))
        alone = LinearClassifier(l2=1e-2, tol=1e-10).fit(one)
        assert np.allclose(clf.coef_[c], alone.coef_[0], atol=1e-5)


def test_the_model_reads_other_files(path, tmp_path):
    source = separatrix.read(path, target=NAMES)
    clf = LinearClassifier(l2=1e-2).fit(source)
    separatrix.save(clf, tmp_path / "model.sep")
    loaded = separatrix.load(tmp_path / "model.sep")
    expected = np.mean((clf.predict(table()) == Y).all(axis=1))
    for model in (clf, loaded):
        assert np.array_equal(model.predict(path), clf.predict(table()))
        assert model.score(path) == expected
        assert model.score(table()) == expected
        assert model.score(source) == expected
        assert model.score(separatrix.read(path, like=model)) == expected
        found = separatrix.certify(model, path)
        assert found.proven
        assert found.relative_gap <= 2e-6
        assert separatrix.certify(model, source).flips == 0
    unlabelled = table().drop(columns=NAMES)
    assert loaded.predict_proba(unlabelled).shape == (200, 3)


def test_standardized_cached_and_weighted_rows(tmp_path):
    frame = table()
    frame["w"] = np.random.default_rng(0).uniform(0.1, 2.0, len(frame))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = {"target": NAMES, "weight": "w", "cache": tmp_path / "cache"}
    first = separatrix.read(tmp_path / "rows.csv", **options)
    a = LinearClassifier(l2=1e-2, tol=1e-10, standardize=True).fit(first)
    second = separatrix.read(tmp_path / "rows.csv", **options)
    b = LinearClassifier(l2=1e-2, tol=1e-10, standardize=True).fit(second)
    assert np.array_equal(a.coef_, b.coef_)
    features = np.column_stack([X, X[:, 1] > 3]).astype(float)
    c = LinearClassifier(l2=1e-2, tol=1e-10, standardize=True)
    c.fit(features, Y, sample_weight=frame["w"])
    assert np.allclose(a.coef_, c.coef_, atol=1e-5)


def test_held_out_rows(path):
    source = separatrix.read(path, target=NAMES, validation=0.25)
    clf = LinearClassifier(l2=1e-2).fit(source)
    assert 0.0 < clf.score(source.validation) < 1.0
    rows = source.validation.sample(1000)
    assert rows.n_rows == source.validation.n_rows
    assert clf.score(rows) == clf.score(source.validation)
    losses = clf.history_["validation_loss"]
    (loss, _) = rows.total(
        separatrix.objective.sums.Value(
            separatrix.losses.MultiLabel(separatrix.losses.Logistic()), clf._weights()
        )
    )
    assert np.isclose(losses[-1], loss / rows.n_rows)


@pytest.mark.parametrize("varying", [1, 2])
def test_constant_targets(tmp_path, varying):
    given = Y.copy()
    given[:, varying:] = 1
    table(given).to_csv(tmp_path / "rows.csv", index=False)
    source = separatrix.read(tmp_path / "rows.csv", target=NAMES)
    with pytest.warns(UserWarning, match="every row has the label"):
        clf = LinearClassifier(l2=1e-2).fit(source)
    assert np.all(clf.predict(table())[:, varying:] == 1)
    assert clf.score(source) == clf.score(tmp_path / "rows.csv")
    assert np.all(clf.predict_proba(table())[:, varying:] == 1.0)


def test_a_list_of_one_is_a_single_target(path):
    source = separatrix.read(path, target=["ant"], drop=others("ant"))
    assert not source.multilabel
    assert source.classes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("change", "target", "message"),
    [
        ({}, ["ant", "bee"], r"target names the column 'bee', and there is none"),
        ({}, ["ant", "ant"], "names a column twice"),
        ({}, ["ant", 3], "a list of columns"),
        ({}, [], "a list of columns"),
        ({}, ["ant", "x0"], r"line 2|row 0.*'x0'.*expected 0 or 1"),
        ({}, ["ant", "city"], "'city' is '(rome|oslo)'.*expected 0 or 1"),
        ({"cow": np.nan}, ["ant", "cow"], "'cow' has no label"),
        ({"cow": 2}, ["ant", "cow"], "'cow' is 2.*expected 0 or 1"),
        ({"cow": 0, "ant": 1}, ["ant", "cow"], "only one value"),
    ],
    ids=range(9),
)
def test_other_targets_are_refused(tmp_path, change, target, message):
    table().assign(**change).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises((ValueError, TypeError), match=message):
        separatrix.read(tmp_path / "rows.csv", target=target)


def test_a_search_over_files_has_a_loss_for_every_fold(path):
    source = separatrix.read(path, target=NAMES)
    grid = [1e-4, 1e-2, 10.0]
    clf = separatrix.LinearClassifierCV(l2s=grid, cv=3, scoring="loss").fit(source)
    results = clf.cv_results_
    folds = np.array([results[f"split{fold}_test_score"] for fold in range(3)])
    assert np.all(folds < 0.0)
    np.testing.assert_allclose(results["mean_test_score"], folds.mean(axis=0))
    assert clf.l2_ == results["l2"][np.argmax(results["mean_test_score"])]
    plain = LinearClassifier(l2=clf.l2_).fit(source)
    np.testing.assert_allclose(clf.coef_, plain.coef_, rtol=1e-3, atol=1e-6)


def test_other_uses_of_such_a_source_are_refused(path):
    source = separatrix.read(path, target=NAMES)
    for fit in (
        separatrix.Perceptron().fit, separatrix.separability,
        lambda source: separatrix.separability(source.sample(1000)),
        lambda source: separatrix.diagnose(
            LinearClassifier(l2=0.1).fit(source), source.sample(1000)
        ),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="several labels"):
            fit(source)
    clf = LinearClassifier(l2=0.1).fit(separatrix.read(path, target="ant", drop=others("ant")))
    with pytest.raises(ValueError, match="other labels than the model"):
        clf.score(separatrix.read(path, target=NAMES, features=["x0", "x1", "x2", "x3", "city"]))
