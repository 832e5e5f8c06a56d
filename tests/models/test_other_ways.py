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
import sys, joblib, pickle, numpy as np, skops.io
from sklearn.base import clone
X, y, pickled, dumped, path = np.load(sys.argv[1]), np.load(sys.argv[2]), *sys.argv[3:]
read = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
for clf in (pickle.load(open(pickled, "rb")), joblib.load(dumped), read):
    print(clf.decision_function(X).tobytes().hex(), clone(clf).fit(X, y).coef_.tobytes().hex())
"""


@pytest.mark.processes
def test_another_process_predicts_and_fits_the_same_bits(tmp_path):
    clf = FITS["three"][0]
    files = [str(tmp_path / name) for name in ("X.npy", "y.npy", "a.pickle", "b.joblib", "c.skops")]
    np.save(files[0], X)
    np.save(files[1], THREE)
    (tmp_path / "a.pickle").write_bytes(pickle.dumps(clf))
    joblib.dump(clf, files[3])
    pytest.importorskip("skops.io").dump(clf, files[4])
    command = [sys.executable, "-c", CODE, *files]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    expected = (clf.decision_function(X), clone(clf).fit(X, THREE).coef_)
    assert found == [" ".join(array.tobytes().hex() for array in expected)] * 3


@pytest.mark.parametrize("case", ["two classes", "cv", "perceptron", "rbf"])
def test_skops(case):
    skops = pytest.importorskip("skops.io")
    clf, rows = FITS[case]
    data = skops.dumps(clf)
    types = skops.get_untrusted_types(data=data)
    assert all(name.startswith("separatrix.") for name in types), types
    loaded = skops.loads(data, trusted=types)
    assert np.array_equal(loaded.decision_function(rows), clf.decision_function(rows))
