"""Pickle, joblib, skops and clone keep a model, too, also across processes."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from kept_models import THREE, X, assert_same, fits
from sklearn.base import clone

FITS = fits()


@pytest.mark.parametrize("case", FITS)
def test_pickle_joblib_and_clone(case):
    clf, rows = FITS[case]
    buffer = io.BytesIO()
    joblib.dump(clf, buffer)
    buffer.seek(0)
    for copy in (pickle.loads(pickle.dumps(clf)), joblib.load(buffer)):
        assert_same(copy.decision_function(rows), clf.decision_function(rows))
        assert copy.stop_ == clf.stop_
    assert clone(clf).get_params().keys() == clf.get_params().keys()
    assert not hasattr(clone(clf), "classes_")


CODE = """
import sys, joblib, pickle, numpy as np
from sklearn.base import clone
X, y, path = np.load(sys.argv[1]), np.load(sys.argv[2]), sys.argv[3]
if path.endswith("skops"):
    import skops.io
    clf = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
else:
    clf = joblib.load(path) if path.endswith("joblib") else pickle.load(open(path, "rb"))
print(clf.decision_function(X).tobytes().hex())
print(clone(clf).fit(X, y).coef_.tobytes().hex())
"""


@pytest.mark.parametrize("way", ["pickle", "joblib", "skops"])
def test_another_process_predicts_and_fits_the_same_bits(way, tmp_path):
    clf, path = FITS["three"][0], tmp_path / f"model.{way}"
    if way == "skops":
        pytest.importorskip("skops.io").dump(clf, path)
    elif way == "joblib":
        joblib.dump(clf, path)
    else:
        path.write_bytes(pickle.dumps(clf))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", THREE)
    files = [str(tmp_path / "X.npy"), str(tmp_path / "y.npy"), str(path)]
    command = [sys.executable, "-c", CODE, *files]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    expected = (clf.decision_function(X), clone(clf).fit(X, THREE).coef_)
    assert found == [array.tobytes().hex() for array in expected]


@pytest.mark.parametrize("case", ["two classes", "cv", "perceptron", "rbf"])
def test_skops(case):
    skops = pytest.importorskip("skops.io")
    clf, rows = FITS[case]
    data = skops.dumps(clf)
    types = skops.get_untrusted_types(data=data)
    assert all(name.startswith("separatrix.") for name in types), types
    loaded = skops.loads(data, trusted=types)
    assert np.array_equal(loaded.decision_function(rows), clf.decision_function(rows))
