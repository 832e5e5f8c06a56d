"""skl2onnx takes the classifiers of separatrix as the last step of a pipeline."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from kept_models import THREE, TWO, WORDS, X
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LinearClassifier, Perceptron
from separatrix.models.onnx_converter import register_converters

skl2onnx = pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize(
    ("clf", "y"),
    [
        (LinearClassifier(l2=0.01), TWO),
        (LinearClassifier(l2=0.01), WORDS[THREE]),
        (LinearClassifier("hinge", l2=0.01), THREE),
        (Perceptron(10, random_state=0), WORDS[TWO]),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_pipeline_through_skl2onnx(clf, y, dtype):
    register_converters()
    pipeline = make_pipeline(StandardScaler(), clf).fit(X, y)
    rows = X.astype(dtype)
    model = skl2onnx.to_onnx(
        pipeline, rows[:1], options={id(pipeline): {"zipmap": False}}, target_opset=17
    )
    run = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    labels, shares = run.run(None, {"X": rows})
    assert labels.tolist() == pipeline.predict(X).tolist()
    margins = pipeline.decision_function(X)
    expected = np.column_stack([-margins, margins]) if margins.ndim == 1 else margins
    if hasattr(pipeline, "predict_proba"):
        expected = pipeline.predict_proba(X)
    error = 1e-12 if dtype is np.float64 else 1e-5
    assert shares.dtype == dtype
    assert np.allclose(shares, expected, rtol=error, atol=error)


CODE = """
import {first}, {second}, pickle, sys
import numpy as np, skl2onnx, onnxruntime
X = np.load(sys.argv[1])
with open(sys.argv[2], "rb") as file:
    pipeline = pickle.load(file)
for rows, most in ((X, 1e-12), (X.astype(np.float32), 1e-5)):
    model = skl2onnx.to_onnx(pipeline, rows[:1], target_opset=17)
    run = onnxruntime.InferenceSession(model.SerializeToString(),
                                       providers=["CPUExecutionProvider"])
    label, shares = run.run(None, {{"X": rows}})
    assert label.tolist() == pipeline.predict(X).tolist()
    assert np.allclose(shares, pipeline.predict_proba(X), rtol=most, atol=most)
    assert shares.dtype == rows.dtype
print("same")
"""


@pytest.mark.processes
@pytest.mark.parametrize("order", [("separatrix", "skl2onnx"), ("skl2onnx", "separatrix")])
def test_a_pipeline_is_converted_without_any_call_before(order, tmp_path):
    pipeline = make_pipeline(StandardScaler(), LinearClassifier(l2=0.01)).fit(X, WORDS[THREE])
    np.save(tmp_path / "X.npy", X)
    (tmp_path / "pipeline.pkl").write_bytes(pickle.dumps(pipeline))
    code = CODE.format(first=order[0], second=order[1])
    files = [str(tmp_path / "X.npy"), str(tmp_path / "pipeline.pkl")]
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, check=False)
    assert done.stdout == b"same\n", done.stderr.decode()


def test_a_label_that_is_no_unicode_is_named():
    register_converters()  # which takes options: without them skl2onnx writes the labels first
    clf = LinearClassifier(l2=1.0).fit([[-1.0], [1.0]], ["a", "b\ud800"])
    options = {id(clf): {"zipmap": False}}
    with pytest.raises(ValueError, match=r"'b\\ud800' holds half of a surrogate pair"):
        skl2onnx.to_onnx(clf, np.zeros((1, 1)), options=options, target_opset=17)
