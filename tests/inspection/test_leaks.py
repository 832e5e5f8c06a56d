"""A feature that says the class, against plain comparisons."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import LinearClassifier, diagnose

CAUSE = "one feature separates"


def customers(n=200, seed=0):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"age": rng.integers(18, 80, n), "spent": rng.exponential(9.0, n)})
    data["gone"] = np.where(data["spent"] + rng.normal(0, 5, n) > 9, "yes", "no")
    return data


def leaks(data, **options):
    source = separatrix.read(data, target="gone")
    clf = LinearClassifier(l2=1e-2, **options).fit(source)
    found = [one for one in diagnose(clf, source.sample(len(data))).findings if one.cause == CAUSE]
    return found[0].evidence["features"] if found else []


@pytest.mark.sampled(1)
@pytest.mark.parametrize("standardize", [False, True])
def test_the_column_that_says_the_label_is_named(standardize):
    pytest.importorskip("pyarrow")
    data, gone = customers(), customers()["gone"] == "yes"
    assert leaks(data, standardize=standardize) == []
    days = np.where(gone, 100.0, 0.0) + data["age"] / 80
    assert leaks(data.assign(days=days), standardize=standardize) == ["'days'"]
    assert leaks(data.assign(days=np.where(data.index == 3, 50.0, days))) == ["'days'"]
    swapped = np.where(data.index == np.argmax(gone), 0.0, days)  # one row is wrong
    assert leaks(data.assign(days=swapped), standardize=standardize) == []
    state = np.where(gone, np.where(data["age"] > 40, "left", "moved"), "here")
    assert leaks(data.assign(state=state), standardize=standardize) == ["'state'"]
    assert leaks(data.assign(flag=gone), standardize=standardize) == ["'flag'"]


def test_a_model_of_an_array_frame_and_three_classes():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 90)
    data = pd.DataFrame({"noise": rng.normal(size=90), "copy": y * 10.0 + rng.random(90)})
    clf = make_pipeline(StandardScaler().set_output(transform="pandas"), LinearClassifier())
    found = {one.cause: one for one in diagnose(clf.fit(data, y), data, y).findings}
    assert found[CAUSE].evidence == {"features": ["'copy'"], "columns": [1]}
    exec(found[CAUSE].remedy, {"clf": clf, "X": data, "y": y, "np": np})
    named = LinearClassifier().fit(data, y)
    assert CAUSE in [one.cause for one in diagnose(named, data, y).findings]
    nameless = LinearClassifier().fit(data.to_numpy(), y)  # no column has a name
    assert CAUSE not in [one.cause for one in diagnose(nameless, data.to_numpy(), y).findings]


def test_what_chance_does_is_no_leak():
    """Of six rows, a feature without a relation to the classes often separates them."""
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.normal(size=(6, 40)), columns=[f"x{j}" for j in range(40)])
    y = np.array([0, 0, 0, 1, 1, 1])
    low, high = data[y == 0], data[y == 1]
    assert ((low.max() < high.min()) | (high.max() < low.min())).any()
    assert CAUSE not in [
        one.cause for one in diagnose(LinearClassifier().fit(data, y), data, y).findings
    ]
