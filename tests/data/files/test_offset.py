"""A column of offsets in a table: read, cached, held out, and needed for predictions."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import (
    LinearClassifier,
    LinearClassifierCV,
    certify,
    inference,
    load,
    read,
    save,
    separability,
)

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


def table(n=300, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X, offset = rng.normal(size=(n, 3)), rng.normal(size=n) + 2.0
    colour = rng.choice(["red", "green", "blue"], size=n)
    scores = X @ [1.0, -0.5, 0.2] + offset - 2.0 + (colour == "red") + rng.logistic(size=n)
    y = np.digitize(scores, [0.0] if classes == 2 else [-1.0, 1.0])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["colour"], frame["known"], frame["label"] = colour, offset, y
    frame["size"] = rng.integers(0, 3, size=n).astype(float)
    return frame


def encoded(frame):
    """The features of the table, as the fit orders them."""
    names = ["blue", "green", "red"]
    hot = np.column_stack([frame["colour"] == name for name in names]).astype(float)
    return np.column_stack([frame[["a", "b", "c"]].to_numpy(), hot])


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return str(path)


OPTIONS = {"target": "label", "offset": "known", "drop": ["size"]}


@pytest.mark.sampled
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("block_rows", [None, 41])
@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_a_fit_is_that_of_arrays(tmp_path, suffix, block_rows, loss):
    frame = table()
    path = write(frame, tmp_path / f"table{suffix}")
    source = read(path, block_rows=block_rows, **OPTIONS)
    assert source.has_offset
    assert source.n_features == 6
    clf = LinearClassifier(loss, l2=1e-2, tol=1e-9).fit(source)
    expected = LinearClassifier(loss, l2=1e-2, tol=1e-9)
    expected.fit(encoded(frame), frame["label"], offset=frame["known"])
    assert clf.stop_ == "optimal"
    assert clf.objective_ == pytest.approx(expected.objective_, rel=1e-8)
    assert clf.uses_offset_
    assert "known" not in clf.coef_names_.tolist()
    scores = expected.decision_function(encoded(frame), offset=frame["known"])
    for rows in (path, frame, source):
        np.testing.assert_allclose(clf.decision_function(rows), scores, atol=1e-3)
    accuracy = np.mean((scores >= 0.0) == (frame["label"] == 1))
    assert clf.score(path) == pytest.approx(accuracy, abs=0.01)
    assert clf.score(source) == pytest.approx(clf.score(path))


def test_weights_and_held_out_rows_and_a_cache(tmp_path):
    frame = table()
    path = write(frame, tmp_path / "table.csv")
    given = {**OPTIONS, "drop": [], "weight": "size", "validation": 0.3, "block_rows": 50}
    plain = read(path, **given)
    first = read(path, cache=tmp_path / "cache", **given)
    again = read(path, cache=tmp_path / "cache", **given)
    fits = [LinearClassifier(l2=1e-2).fit(source) for source in (plain, first, again)]
    for clf in fits[1:]:
        np.testing.assert_array_equal(clf.coef_, fits[0].coef_)
        np.testing.assert_array_equal(
            clf.history_["validation_loss"], fits[0].history_["validation_loss"]
        )
    assert plain.fingerprint() == again.fingerprint()
    held = plain.validation
    assert held.has_offset
    trained = sum(len(block.y) for block in plain.blocks())
    offsets = np.concatenate([block.rows.offset for block in (*plain.blocks(), *held.blocks())])
    assert trained < len(offsets) == len(frame)
    np.testing.assert_array_equal(np.sort(offsets[:, 0]), np.sort(frame["known"]))


def test_tables_without_the_column_are_refused(tmp_path):
    frame = table()
    clf = LinearClassifier(l2=1e-2).fit(read(write(frame, tmp_path / "table.csv"), **OPTIONS))
    without = frame.drop(columns=["known"])
    with pytest.raises(ValueError, match="no column 'known'"):
        clf.predict(without)
    with pytest.raises(ValueError, match="fitted with an offset"):
        clf.predict(read(write(without, tmp_path / "b.csv"), target="label", drop=["size"]))
    with pytest.raises(TypeError, match="offset was also given"):
        clf.predict(frame, offset=frame["known"])


def test_a_model_file_reads_the_column(tmp_path):
    frame = table()
    path = write(frame, tmp_path / "table.csv")
    clf = LinearClassifier(l2=1e-2).fit(read(path, **OPTIONS))
    save(clf, tmp_path / "model.sep")
    found = load(tmp_path / "model.sep")
    np.testing.assert_array_equal(found.predict_proba(path), clf.predict_proba(path))
    with pytest.raises(ValueError, match="no column 'known'"):
        found.predict(frame.drop(columns=["known"]))
    alike = read(path, like=found)
    assert alike.has_offset
    np.testing.assert_allclose(found.decision_function(alike), clf.decision_function(path))


def test_inference_and_certificates_of_files(tmp_path):
    frame = table()
    path = write(frame, tmp_path / "table.csv")
    source = read(path, **{**OPTIONS, "drop": ["size", "colour"]})
    clf = LinearClassifier(l2=0.0, tol=1e-12).fit(source)
    X, y, offset = frame[["a", "b", "c"]].to_numpy(), frame["label"], frame["known"]
    arrays = LinearClassifier(l2=0.0, tol=1e-12).fit(X, y, offset=offset)
    expected = inference(arrays, X, y, offset=offset)
    for rows in (path, source):
        found = inference(clf, rows)
        np.testing.assert_allclose(found.cov, expected.cov, rtol=1e-6)
        assert found.null_log_likelihood == pytest.approx(expected.null_log_likelihood)
        assert certify(clf, rows).relative_gap < 1e-6
    low, high = found.predict_interval(frame.head(4))
    others = expected.predict_interval(X[:4], offset=offset[:4])
    np.testing.assert_allclose([low, high], others, rtol=1e-6)


def test_folds_of_files(tmp_path):
    frame = table()
    path = write(frame, tmp_path / "table.csv")
    search = LinearClassifierCV(l2s=[1e-1, 1e-3], cv=3, scoring="loss")
    of_file = search.fit(read(path, **OPTIONS)).cv_results_["mean_test_score"]
    plain = LinearClassifierCV(l2s=[1e-1, 1e-3], cv=3, scoring="loss")
    without = plain.fit(read(path, target="label", drop=["size", "known"])).cv_results_
    assert np.all(of_file > without["mean_test_score"])  # which lack what is known


def test_separability_ignores_the_column(tmp_path):
    path = write(table(), tmp_path / "table.csv")
    source = read(path, **OPTIONS)
    assert separability(source).verdict == "overlapping"
    assert not source.without_offset.has_offset


@pytest.mark.parametrize(("value", "message"), [
    (np.nan, "the offset 'known' is missing"), (np.inf, "'known'.* inf"),
])  # fmt: skip
def test_an_offset_that_is_no_number_is_an_error(tmp_path, value, message):
    frame = table()
    frame.loc[7, "known"] = value
    with pytest.raises(ValueError, match=message):
        read(write(frame, tmp_path / "table.parquet"), **OPTIONS)


def test_what_has_no_column_of_offsets(tmp_path):
    frame = table(classes=3)
    path = write(frame, tmp_path / "table.csv")
    with pytest.raises(ValueError, match="for the score of two classes"):
        read(path, **OPTIONS)
    with pytest.raises(ValueError, match="a column has two roles"):
        read(path, target="label", offset="label")
    with pytest.raises(ValueError, match="offset names the column 'nothing'"):
        read(path, target="label", offset="nothing")
    with pytest.raises(TypeError, match="offset must be the name of a column"):
        read(path, target="label", offset=3)
    np.save(tmp_path / "X.npy", np.eye(3))
    with pytest.raises(ValueError, match="offset='known' is about the columns of a table"):
        read(tmp_path / "X.npy", offset="known")
