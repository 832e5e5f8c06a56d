"""Models of scikit-learn that skops wrote: opened only if all in them is known by name."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from typing import Any

TRUSTED = {
    "sklearn.pipeline": {"Pipeline"},
    "sklearn.linear_model": {
        "LogisticRegression", "LogisticRegressionCV", "Perceptron", "RidgeClassifier",
        "RidgeClassifierCV", "SGDClassifier",
    },
    "sklearn.svm": {"LinearSVC"},
    "sklearn.preprocessing": {
        "LabelBinarizer", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "RobustScaler",
        "StandardScaler",
    },
}  # fmt: skip
"""Linear models, scalers and pipelines; LabelBinarizer is a part of RidgeClassifier."""
LOSSES = ("sklearn.linear_model._sgd_fast", "sklearn._loss._loss", "sklearn._loss.loss")
"""Modules of the losses that an SGDClassifier keeps."""
PLAIN = {"builtins", "numpy", "numpy.random.mtrand", "numpy.random._generator", "scipy.sparse"}
"""Modules of numbers, words, lists and arrays; what in them is a program, skops refuses."""


def loaded(path: str) -> Any:
    """The model in a file of skops."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(f"skops is needed to open {path}: pip install skops") from error
    try:
        with zipfile.ZipFile(path) as file:
            schema = json.loads(file.read("schema.json"))
        names = sorted({name for name in _types(schema) if not _is_trusted(*name)})
        unknown = skops.io.get_untrusted_types(file=path)
    except Exception as error:  # of zip, JSON and skops itself, whatever is in the file
        raise ValueError(
            f"{path} is damaged, or no file of skops ({error}): write the model by "
            "skops.io.dump(model, 'model.skops')"
        ) from error
    others = [".".join(name) for name in names]
    others += [name for name in unknown if not _is_trusted(*name.rpartition(".")[::2])]
    if others:
        raise ValueError(
            f"{path} holds a {others[0]}; only linear models, scalers and pipelines of "
            "scikit-learn are opened"
        )
    return skops.io.load(path, trusted=unknown)


def _types(schema: Any) -> Iterator[tuple[str, str]]:
    """Module and name of all that a file holds."""
    nodes = [schema]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            if "__class__" in node or "__module__" in node:
                yield str(node.get("__module__")), str(node.get("__class__"))
            nodes.extend(node.values())
        elif isinstance(node, list):
            nodes.extend(node)


def _is_trusted(module: str, name: str) -> bool:
    if module in LOSSES or module in PLAIN:
        return True
    room = ".".join(module.split(".")[:2])
    return name in TRUSTED.get(room, ())
