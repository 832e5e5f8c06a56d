"""Model files of every released version load, and predict what they predicted then."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from kept_models import X, features, fits

import separatrix
from separatrix.models.files import ESTIMATORS

GOLDEN = Path(__file__).parent / "golden"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
FILES = [(version, path.stem) for version in VERSIONS for path in (GOLDEN / version).glob("*.sep")]
ROWS = {case.replace(" ", "_"): rows for case, (_, rows) in fits().items()}


@pytest.mark.parametrize(("version", "name"), FILES)
def test_a_model_file_predicts_what_it_predicted(version, name):
    expected = json.loads((GOLDEN / version / "expected.json").read_text())[name]
    model = separatrix.load(GOLDEN / version / f"{name}.sep")
    if name == "features":
        found = model.transform(X.astype("float32"))
        np.testing.assert_allclose(found, expected["transformed"], rtol=1e-6, atol=1e-7)
        return
    scores = model.decision_function(ROWS[name])
    np.testing.assert_allclose(scores, expected["scores"], rtol=1e-12, atol=1e-12)
    assert model.predict(ROWS[name]).tolist() == expected["classes"]


def test_the_first_version_has_a_file_of_each_of_its_kinds():
    models = [separatrix.load(path) for path in (GOLDEN / "0.1.0").glob("*.sep")]
    first = {"KernelPerceptron", "LinearClassifier", "LinearClassifierCV", "Perceptron"}
    first |= {"PassiveAggressive", "AROW", "Winnow"}
    assert {type(model).__name__ for model in models} == first | {type(features()).__name__}
    assert len(models) == 27


def test_this_version_has_a_file_of_each_kind_once_it_is_released():
    folder = GOLDEN / separatrix.__version__
    if folder.is_dir():  # make release-check asks for it
        kinds = {type(separatrix.load(path)) for path in folder.glob("*.sep")}
        assert kinds == {*ESTIMATORS.values()}
