"""Model files of every released version load, and predict what they predicted then."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_models import X, features, fits
from kept_results import results

import separatrix
from separatrix.models.files import ESTIMATORS, OPTIONAL
from separatrix.models.plain import RECORDS
from separatrix.numeric.registry import KINDS

GOLDEN = Path(__file__).parent / "golden"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
FILES = [(version, path.stem) for version in VERSIONS for path in (GOLDEN / version).glob("*.sep")]
GIVEN = {case: (rows, {}) for case, (_, rows) in fits().items()}
GIVEN |= {case: (rows, given) for case, (_, rows, given) in results().items()}
ROWS = {case.replace(" ", "_"): found for case, found in GIVEN.items()}


@pytest.mark.parametrize(("version", "name"), FILES)
def test_a_model_file_predicts_what_it_predicted(version, name):
    expected = json.loads((GOLDEN / version / "expected.json").read_text())[name]
    model = separatrix.load(GOLDEN / version / f"{name}.sep")
    if name == "features":
        found = model.transform(X.astype("float32"))
        np.testing.assert_allclose(found, expected["transformed"], rtol=1e-6, atol=1e-7)
        return
    rows, given = ROWS[name]
    scores = model.decision_function(rows, **given)
    np.testing.assert_allclose(scores, expected["scores"], rtol=1e-12, atol=1e-12)
    assert model.predict(rows, **given).tolist() == expected["classes"]
    if "probabilities" in expected:
        found = model.predict_proba(rows, **given)
        np.testing.assert_allclose(found, expected["probabilities"], rtol=1e-12, atol=1e-12)
    if "bounds" in expected:  # a later version may only narrow them
        low, high = np.array(expected["bounds"])
        found, room = model.certified(rows), 1e-12 + 1e-9 * (high - low)
        assert np.all((low - room <= found.score_low) & (found.score_high <= high + room))
        assert np.all((found.score_low <= scores) & (scores <= found.score_high))


@pytest.mark.parametrize("name", ["offset", "offset_three", "offset_stream"])
def test_a_loaded_model_with_an_offset_asks_for_it(name):
    model, (rows, _) = separatrix.load(GOLDEN / "0.1.0" / f"{name}.sep"), ROWS[name]
    assert model.uses_offset_
    with pytest.raises(ValueError, match="offset"):
        model.predict(rows)


def contents(folder: Path) -> tuple[set[str], set[str], set[tuple[str, str]]]:
    """Attributes, records, and losses and others by name, that model files of a folder contain."""
    attributes: set[str] = set()
    records: set[str] = set()
    registered: set[tuple[str, str]] = set()

    def walk(value: Any) -> None:
        if isinstance(value, list):
            for entry in value:
                walk(entry)
        elif isinstance(value, dict):
            for key, entry in value.items():
                if key in ("$record", "$records"):
                    records.add(entry[0])
                elif key in KINDS and isinstance(entry, str):
                    registered.add((key, entry))
                walk(entry)

    for path in folder.glob("*.sep"):
        raw = path.read_bytes()
        (length,) = struct.unpack("<Q", raw[:8])
        model = json.loads(json.loads(raw[8 : 8 + length])["__metadata__"]["model"])
        attributes |= set(model["attributes"])
        walk(model)
    return attributes, records, registered


def test_the_first_version_has_a_file_of_each_of_its_kinds():
    models = [separatrix.load(path) for path in (GOLDEN / "0.1.0").glob("*.sep")]
    first = {"KernelPerceptron", "LinearClassifier", "LinearClassifierCV", "Perceptron"}
    first |= {"PassiveAggressive", "AROW", "Winnow"}
    assert {type(model).__name__ for model in models} == first | {type(features()).__name__}
    assert len(models) == 63


def test_this_version_has_a_file_of_each_kind_once_it_is_released():
    folder = GOLDEN / separatrix.__version__
    if not folder.is_dir():  # make release-check asks for it
        return
    assert {type(separatrix.load(path)) for path in folder.glob("*.sep")} == {*ESTIMATORS.values()}
    attributes, records, registered = contents(folder)
    assert set(OPTIONAL) <= attributes
    assert set(RECORDS) <= records
    ours = {
        (kind, name)
        for kind, root in KINDS.items()
        for name, cls in root._registry.items()
        if cls.__module__.startswith("separatrix.")
    }
    assert ours - registered == {("loss", "zero_one")}  # a measure, never a training loss
