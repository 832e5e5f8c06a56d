"""Model files that were changed and signed again: refused by name, or safe to use."""

from __future__ import annotations

import json
import random
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hostile_files import arrays_of, parts, signed, with_arrays
from kept_models import TWO, X, features, fits

import separatrix as sx

from .expected import expect, result_or_refusal
from .mutations import STRANGE, mutated_array, mutated_tree

TAGGED: tuple[Any, ...] = (
    {"$float": "nan"}, {"$float": "1"}, {"$number": ["<f8", 1]}, {"$number": ["<V8", 1]},
    {"$array": "coef_"}, {"$array": 3}, {"$tuple": [1, 2]}, {"$dict": [[[], 1]]}, {"$dict": 3},
    {"$values": ["<U1000000000", ["a"]]}, {"$values": ["<i4,(60000000,)f8", []]},
    {"$values": ["O", [None]]}, {"$values": ["<i8", [2**70]]}, {"$record": ["Trace", {}]},
    {"$record": ["os.system", {}]}, {"$record": ["Linear", {}]}, {"$loss": {"loss": "hinge"}},
    {"$records": ["Number", {}]}, {"$records": ["Number", {"name": ["a", "b"], "fill": [1.0]}]},
    {"$records": ["Trace", {"n_iter": [1, 1]}]}, {"$records": ["os.system", {"name": ["a"]}]},
    {"$solver": {"solver": "LBFGS", "memory": -1}}, {"$csr": [True, [2**40, 2**40], {}]},
)  # fmt: skip


@cache
def files() -> dict[str, tuple[bytes, Any]]:
    """Saved models of every kind, and rows for each."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.sep"
        for name, (model, rows) in {**fits(), "features": (features(), X)}.items():
            sx.save(model, path)
            found[name] = path.read_bytes(), rows
    return found


def one(seed: int) -> str:
    """One changed file, loaded and used."""
    draw = random.Random(seed)
    name = draw.choice(sorted(files()))
    raw, rows = files()[name]
    raw = _with_other_array(raw, draw) if draw.random() < 0.4 else _with_other_json(raw, draw)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "hostile.sep"
        path.write_bytes(raw)
        model, _ = result_or_refusal(sx.load, path, names=path.name)
        if model is None:
            return "refused"
        used = [use(model, rows, Path(folder)) for use in USES]
    return f"loaded, {sum(used)} of {len(used)} uses refused"


def _with_other_array(raw: bytes, draw: random.Random) -> bytes:
    arrays = arrays_of(raw)
    if not arrays:
        return raw
    name = draw.choice(sorted(arrays))
    return with_arrays(raw, **{name: mutated_array(arrays[name], draw)})


def _with_other_json(raw: bytes, draw: random.Random) -> bytes:
    header, data = parts(raw)
    if draw.random() < 0.1:
        changed = mutated_tree(header, draw)
        return signed(changed, data) if isinstance(changed.get("__metadata__", {}), dict) else raw
    model = json.loads(header["__metadata__"]["model"])
    changed = mutated_tree(model, draw, (*STRANGE, *TAGGED))
    header["__metadata__"]["model"] = json.dumps(changed)
    return signed(header, data)


def _predicted(model: Any, rows: Any, folder: Path) -> bool:
    names = ("predict", "decision_function", "transform")
    done = [result_or_refusal(getattr(model, n), rows) for n in names if hasattr(model, n)]
    for result, _ in done:
        expect(result is None or len(result) == 60, "a result of another length")
    return any(result is None for result, _ in done)


def _continued(model: Any, rows: Any, folder: Path) -> bool:
    if not hasattr(model, "partial_fit") or not isinstance(rows, np.ndarray):
        return False
    # A copy: the other uses are for the model of the file.
    with tempfile.TemporaryDirectory() as other:
        path = Path(other) / "copy.sep"
        if result_or_refusal(sx.save, model, path)[1]:
            return True
        again, _ = result_or_refusal(sx.load, path)
    if again is None:
        return True
    labels = np.asarray(getattr(again, "classes_", [0, 1]))[TWO]
    return result_or_refusal(again.partial_fit, rows, labels)[0] is None


def _exported(model: Any, rows: Any, folder: Path) -> bool:
    refused = False
    for suffix in (".json", ".c", ".sql"):
        path = folder / f"export{suffix}"
        refused |= bool(result_or_refusal(sx.export, model, path)[1])
    return refused


def _shown(model: Any, rows: Any, folder: Path) -> bool:
    return result_or_refusal(repr, model)[0] is None


def _replayed(model: Any, rows: Any, folder: Path) -> bool:
    trace = getattr(model, "trace_", None)
    if trace is None or not isinstance(rows, np.ndarray) or not hasattr(trace, "replay"):
        return False
    labels = np.asarray(model.classes_)[TWO]
    return result_or_refusal(lambda: sum(1 for _ in trace.replay(rows, labels)))[0] is None


USES = (_predicted, _continued, _exported, _shown, _replayed)
