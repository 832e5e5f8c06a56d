"""skops files with hostile schemas: a model, or a refusal; nothing of the file is executed."""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix.apps.cli.skops_files import loaded

from .expected import Claim, result_or_refusal
from .mutations import STRANGE, mutated_bytes, mutated_tree

MARK = "separatrix_fuzz_mark"
NAMES = (
    ("builtins", "eval"), ("builtins", "exec"), ("builtins", "getattr"), ("builtins", "open"),
    ("builtins", "__import__"), ("builtins", "type"), ("builtins", "object"), ("os", "system"),
    ("posix", "system"), ("subprocess", "Popen"), ("numpy", "fromfile"), ("numpy", "load"),
    ("numpy", "save"), ("numpy", "vectorize"), ("numpy", "memmap"), ("functools", "partial"),
    ("operator", "methodcaller"), ("operator", "attrgetter"), ("scipy.sparse", "load_npz"),
    ("sklearn.utils._testing", "raises"), ("sklearn.linear_model", "os"), ("importlib",
    "import_module"),
)  # fmt: skip
LOADERS = (
    "ObjectNode", "ConstructorFromReduceNode", "ReduceNode", "FunctionNode", "TypeNode",
    "PartialNode", "MethodNode", "OperatorFuncNode", "CachedNode", "JsonNode", "DictNode",
    "ListNode", "TupleNode", "SetNode", "BytesNode", "BytearrayNode", "SliceNode", "NdArrayNode",
    "MaskedArrayNode", "RandomStateNode", "RandomGeneratorNode", "DtypeNode", "SparseMatrixNode",
    "SGDNode", "TreeNode", "DefaultDictNode", "DictWithCountsNode", "UfuncNode", "LossNode",
    "DatetimeTimedeltaNode", "_C",
)  # fmt: skip
executed: list[str] = []


def _watch(event: str, args: tuple[Any, ...]) -> None:
    """An audit hook: what a payload would do shows up here even if its result is thrown away."""
    if event in ("os.system", "subprocess.Popen", "os.exec", "os.fork", "shutil.rmtree"):
        executed.append(event)
    elif event in ("open", "exec", "compile", "os.mkdir", "import") and MARK in repr(args)[:2000]:
        executed.append(f"{event} {args!r}"[:200])


sys.addaudithook(_watch)


@cache
def files() -> list[bytes]:
    """Files of models that are opened."""
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            LogisticRegression().fit(X, y), SGDClassifier(max_iter=3).fit(X, y),
            make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, y),
        ]  # fmt: skip
    return [skops.io.dumps(model) for model in models]


def one(seed: int) -> str:
    """One changed file."""
    draw = random.Random(seed)
    raw = draw.choice(files())
    raw = mutated_bytes(raw, draw) if draw.random() < 0.1 else _with_schema(raw, draw)
    executed.clear()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "hostile.skops"
        path.write_bytes(raw)
        model, _ = result_or_refusal(loaded, str(path), names=path.name)
        if executed:  # before the folder is removed, which the hook sees, too
            raise Claim(f"executed: {executed[0]}")
    return "refused" if model is None else f"opened {type(model).__name__}"


def _with_schema(raw: bytes, draw: random.Random) -> bytes:
    """The same file with another schema."""
    with zipfile.ZipFile(io.BytesIO(raw)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    schema = json.loads(members["schema.json"])
    members["schema.json"] = json.dumps(mutated_tree(schema, draw, _strange(draw))).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return out.getvalue()


def _strange(draw: random.Random) -> list[Any]:
    """Nodes that would call something, names and loaders, and plain strange values."""
    module, name = draw.choice(NAMES)
    code = f"open('{MARK}', 'w')"
    plain = {"__module__": "builtins", "__id__": 1}
    argument = plain | {
        "__class__": "str", "__loader__": "JsonNode", "content": json.dumps(code), "is_json": True,
    }  # fmt: skip
    arguments = plain | {"__class__": "tuple", "__loader__": "TupleNode", "content": [argument]}
    contents = [arguments, argument, {"args": arguments, "kwargs": {}}, {"func": argument}, code]
    call = {
        "__class__": name, "__module__": module, "__loader__": draw.choice(LOADERS), "__id__": 1,
        "content": draw.choice(contents), "args": arguments, "constructor": arguments,
    }  # fmt: skip
    return [call] * 20 + [name, module, f"{module}.{name}"] * 3 + list(LOADERS) + list(STRANGE)
