"""``python tests/models/write_golden.py``: model files of this version, one of each kind.

They are written once, before a version is released, and stay: tests/models/test_golden.py loads the
files of all versions and compares their predictions. A file that exists is left as it is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # kept_models, as pytest finds it

from kept_models import X, features, fits  # noqa: E402
from kept_results import results  # noqa: E402

import separatrix  # noqa: E402


def write(folder: Path) -> None:
    """Write the files that the folder lacks, and what the models in them predict."""
    folder.mkdir(exist_ok=True)
    record = folder / "expected.json"
    expected = json.loads(record.read_text()) if record.exists() else {}
    without_arguments = {case: (*found, {}) for case, found in fits().items()}
    for case, (clf, rows, given) in (without_arguments | results()).items():
        name = case.replace(" ", "_")
        if name in expected:
            continue
        separatrix.save(clf, folder / f"{name}.sep")
        expected[name] = {
            "scores": clf.decision_function(rows, **given).tolist(),
            "classes": clf.predict(rows, **given).tolist(),
        }
        if hasattr(clf, "predict_proba"):
            expected[name]["probabilities"] = clf.predict_proba(rows, **given).tolist()
        if "prediction_bounds_" in vars(clf):
            found = clf.certified(rows)
            expected[name]["bounds"] = [found.score_low.tolist(), found.score_high.tolist()]
    if "features" not in expected:
        separatrix.save(features(), folder / "features.sep")
        rows = X.astype("float32")
        expected["features"] = {"transformed": features().transform(rows).tolist()}
    record.write_text(json.dumps(expected))


if __name__ == "__main__":
    write(HERE / "golden" / separatrix.__version__)
