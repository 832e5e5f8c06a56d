"""Pickle, joblib, skops and clone keep a model, too, also across processes."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from kept_models import X, assert_same, fits
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


def test_a_pickle_in_another_process(tmp_path):
    clf = FITS["three"][0]
    (tmp_path / "model.pkl").write_bytes(pickle.dumps((clf, X)))
    code = (
        "import pickle, sys; clf, X = pickle.load(open(sys.argv[1], 'rb')); "
        "print(clf.decision_function(X).tobytes().hex())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model.pkl")]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found.strip() == clf.decision_function(X).tobytes().hex()


@pytest.mark.parametrize("case", ["two classes", "cv", "perceptron", "rbf"])
def test_skops(case):
    skops = pytest.importorskip("skops.io")
    clf, rows = FITS[case]
    data = skops.dumps(clf)
    types = skops.get_untrusted_types(data=data)
    assert all(name.startswith("separatrix.") for name in types), types
    loaded = skops.loads(data, trusted=types)
    assert np.array_equal(loaded.decision_function(rows), clf.decision_function(rows))
