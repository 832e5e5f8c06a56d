"""``python tests/models/write_golden.py``: model files of this version, one of each kind.

They are written once, when a version is released, and stay: tests/models/test_golden.py loads the
files of all versions and compares their predictions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # kept_models, as pytest finds it

from kept_models import X, features, fits  # noqa: E402

import separatrix  # noqa: E402


def write(folder: Path) -> None:
    folder.mkdir()
    expected = {}
    for case, (clf, rows) in fits().items():
        name = case.replace(" ", "_")
        separatrix.save(clf, folder / f"{name}.sep")
        expected[name] = {
            "scores": clf.decision_function(rows).tolist(),
            "classes": clf.predict(rows).tolist(),
        }
    separatrix.save(features(), folder / "features.sep")
    expected["features"] = {"transformed": features().transform(X.astype("float32")).tolist()}
    (folder / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    write(HERE / "golden" / separatrix.__version__)
