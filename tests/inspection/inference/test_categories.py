"""Columns of categories: without a penalty the first category has no feature."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from inspection.inference.cases import EXACT, close

import separatrix
from separatrix import LinearClassifier, inference, read

pytest.importorskip("pyarrow")


def patients(n=300, seed=0):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"age": rng.normal(50, 10, n).round(1)})
    data["drug"] = rng.choice(["c", "a", "b"], n)
    data["sex"] = rng.choice(["m", "f"], n)
    scores = 0.05 * (data["age"] - 50) + 0.8 * (data["drug"] == "b") + rng.logistic(size=n)
    return data, np.where(scores > 0, "yes", "no")


def by_pandas(data):
    """The columns that pandas makes of the same categories."""
    made = pd.get_dummies(data, columns=["drug", "sex"], drop_first=True)
    return made, made.to_numpy(dtype=float)


@pytest.mark.parametrize("options", [{}, {"bias_reduction": "firth", "l2": 1e-4}])
def test_a_frame_without_a_penalty(options):
    data, y = patients()
    made, X = by_pandas(data)
    clf = LinearClassifier(**EXACT | {"tol": 1e-10} | options).fit(data, y)
    plain = LinearClassifier(**EXACT | {"tol": 1e-10} | options).fit(X, y)
    assert clf.coef_names_.tolist() == list(made.columns)
    found = inference(clf, data, y)
    close(found.cov, inference(plain, X, y).cov)
    assert found.names == (*made.columns, "(intercept)")
    assert found.reference_categories == {"drug": "a", "sex": "f"}
    assert "Categories are compared with drug: a, sex: f." in str(found)
    assert found.to_dict()["reference_categories"] == {"drug": "a", "sex": "f"}
    assert inference(clf, data, y, features="drug_b").reference_categories == {"drug": "a"}
    ratio = found.test(["drug_b", "drug_c"])
    assert ratio.degrees == 2
    close(ratio.statistic, inference(plain, X, y).test([1, 2]).statistic, 1e-6)


@pytest.mark.parametrize("options", [{}, {"l2": 0.0, "fit_intercept": False}])
def test_every_category_has_a_feature_with_a_penalty_or_without_an_intercept(options):
    data, y = patients()
    names = LinearClassifier(**options).fit(data, y).coef_names_.tolist()
    assert names == ["age", "drug_a", "drug_b", "drug_c", "sex_m"]


def test_tables_read_with_drop_first_predict_alike(tmp_path):
    data, y = patients()
    table = data.assign(sick=y)
    table.to_csv(tmp_path / "t.csv", index=False)
    whole = LinearClassifier(**EXACT).fit(read(table, target="sick"))
    with pytest.raises(ValueError, match=r"combination of 'drug.*read with drop_first=True"):
        inference(whole, read(table, target="sick"))
    source = read(str(tmp_path / "t.csv"), target="sick", drop_first=True)
    clf = LinearClassifier(**EXACT).fit(source)
    close(clf.predict_proba(data), whole.predict_proba(data), 1e-6)
    _, X = by_pandas(data)
    plain = LinearClassifier(**EXACT).fit(X, y)
    close(inference(clf, source).cov, inference(plain, X, y).cov)
    other = data.assign(drug="never seen")
    close(clf.decision_function(other), clf.decision_function(data.assign(drug="a")), 1e-12)
    separatrix.save(clf, tmp_path / "m.sep")
    kept = separatrix.load(tmp_path / "m.sep")
    assert np.array_equal(kept.decision_function(data), clf.decision_function(data))
    assert inference(kept, source).reference_categories == {"drug": "a", "sex": "f"}


def test_a_firth_fit_of_all_categories_names_the_remedy():
    data, y = patients()
    with pytest.raises(ValueError, match="read with drop_first=True"):
        LinearClassifier(bias_reduction="firth").fit(read(data.assign(sick=y), target="sick"))
