"""Models of scikit-learn in files that skops wrote, read as data.

Such a file is a zip archive: ``schema.json`` is a tree of nodes, and arrays are separate members.
Every node names a loader, a module and a class, and skops imports and calls what it names. Here a
file can only name what ``TRUSTED`` lists. All names are compared with it before any object is
created; the objects are then created in this file, without skops, so that no loader of skops runs.

Memory: a file unpacks to at most ``MOST_EXPANSION`` times its size, and each array is read once.
The schema has at most ``MOST_SCHEMA`` bytes; as Python objects it takes up to 25 times as much.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import zipfile
from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...numeric.regular_file import open_regular

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
NUMPY = {("numpy", name) for name in ("bool", "str_", *INTEGERS, *FLOATS)}

TRUSTED: dict[str, set[tuple[str, str]]] = {
    "ObjectNode": {
        ("sklearn.pipeline", "Pipeline"),
        ("sklearn.linear_model._logistic", "LogisticRegression"),
        ("sklearn.linear_model._logistic", "LogisticRegressionCV"),
        ("sklearn.linear_model._perceptron", "Perceptron"),
        ("sklearn.linear_model._ridge", "RidgeClassifier"),
        ("sklearn.linear_model._ridge", "RidgeClassifierCV"),
        ("sklearn.linear_model._stochastic_gradient", "SGDClassifier"),
        ("sklearn.multiclass", "OneVsRestClassifier"),
        ("sklearn.multiclass", "_ConstantPredictor"),  # of a label that does not vary
        ("sklearn.svm._classes", "LinearSVC"),
        ("sklearn.preprocessing._data", "MaxAbsScaler"),
        ("sklearn.preprocessing._data", "MinMaxScaler"),
        ("sklearn.preprocessing._data", "Normalizer"),
        ("sklearn.preprocessing._data", "RobustScaler"),
        ("sklearn.preprocessing._data", "StandardScaler"),
        ("sklearn.preprocessing._label", "LabelBinarizer"),  # an attribute of RidgeClassifier
    },
    "LossNode": {  # an attribute of SGDClassifier
        ("sklearn._loss._loss", "CyHalfBinomialLoss"),
        ("sklearn._loss._loss", "CyHalfSquaredError"),
        ("sklearn._loss._loss", "CyHuberLoss"),
        ("sklearn.linear_model._sgd_fast", "EpsilonInsensitive"),
        ("sklearn.linear_model._sgd_fast", "Hinge"),
        ("sklearn.linear_model._sgd_fast", "ModifiedHuber"),
        ("sklearn.linear_model._sgd_fast", "SquaredEpsilonInsensitive"),
        ("sklearn.linear_model._sgd_fast", "SquaredHinge"),
    },
    "RandomStateNode": {("numpy.random.mtrand", "RandomState")},
    "NdArrayNode": {("numpy", "ndarray"), *NUMPY},
    "DictNode": {("builtins", "dict")},
    "ListNode": {("builtins", "list")},
    "TupleNode": {("builtins", "tuple")},
    "JsonNode": {("builtins", "str")},
    "TypeNode": {*(("builtins", name) for name in ("bool", "int", "float", "str")), *NUMPY},
}
"""Module and class of everything that a file may contain, by the loader that a node names."""

NAMES = ("__loader__", "__module__", "__class__")
SCALARS = (str, int, float, np.generic, type(None))
MOST_EXPANSION = 64  # a compressed schema of many names reaches 54
MOST_SCHEMA = 100_000_000  # bytes, as for the header of separatrix model files


class Untrusted(Exception):
    """A node that ``TRUSTED`` does not list."""


class BadArchive(Exception):
    """A file that skops did not write, or that was changed since."""


def loaded(path: str) -> Any:
    """Load the model in a skops file: only what ``certify`` needs, no losses or generators."""
    with open_regular(path) as file:
        try:
            return _model(file)
        except Untrusted as error:
            raise ValueError(
                f"{path} contains a {error}; only linear models, scalers and pipelines of "
                "scikit-learn are opened"
            ) from None
        except Exception as error:  # of zip, JSON, NumPy and scikit-learn, depending on the content
            raise ValueError(
                f"{path} is damaged or not a skops file ({error}): write the model with "
                "skops.io.dump(model, 'model.skops')"
            ) from error


def _model(file: BinaryIO) -> Any:
    with zipfile.ZipFile(file) as archive:
        members = {info.filename: info for info in archive.infolist()}
        _check_sizes(archive, os.fstat(file.fileno()).st_size)
        schema = json.loads(_content(archive, members["schema.json"]), object_pairs_hook=_unique)
        _check_names(schema)
        if schema.get("__loader__") != "ObjectNode":
            raise BadArchive("it does not contain a model")
        names = [name for name in members if name != "schema.json"]
        arrays = {name: _array(_content(archive, members[name])) for name in names}
    return _Reader(arrays).value(schema)


def _check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse archives that unpack to much more than their size, before anything is unpacked."""
    infos = archive.infolist()
    if len({info.filename for info in infos}) < len(infos):
        raise BadArchive("it has two members with the same name")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
        raise BadArchive("its compression is neither ZIP_STORED nor ZIP_DEFLATED")
    unpacked = sum(info.file_size for info in infos)
    if unpacked > MOST_EXPANSION * size:
        raise BadArchive(
            f"its {size} bytes unpack to {unpacked}, and at most {MOST_EXPANSION} times its size "
            "is allowed: write it without compression"
        )
    schema = sum(info.file_size for info in infos if info.filename == "schema.json")
    if schema > MOST_SCHEMA:
        raise BadArchive(f"its schema has {schema} bytes, and at most {MOST_SCHEMA} are allowed")


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member: unlike in read(), no more are unpacked than it claims to have."""
    with archive.open(info) as member:
        content = member.read(info.file_size)
    if len(content) < info.file_size:
        raise BadArchive(f"{info.filename} is shorter than it should be")
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadArchive("its schema has a key twice")
    return found


def _check_names(node: Any) -> None:
    """Refuse a name that is not listed, at any depth, also where skops would not look for one."""
    if isinstance(node, list):
        for child in node:
            _check_names(child)
    elif isinstance(node, dict):
        if not node.keys().isdisjoint(NAMES):
            named = [node.get(key) for key in NAMES]
            loader, module, name = (str(word)[:100] for word in named)
            if named != [loader, module, name] or (module, name) not in TRUSTED.get(loader, ()):
                hint = ": call densify() before writing it" * (loader == "SparseMatrixNode")
                raise Untrusted(f"{module}.{name} ({loader}){hint}")
        for child in node.values():
            _check_names(child)


def _array(content: bytes) -> NDArray[Any]:
    """Numbers or text in NumPy's format, as many as the header says; no pickle."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    if dtype.kind not in "biufU" or not dtype.itemsize:
        raise BadArchive(f"it has an array of type {dtype}, and only numbers and text are allowed")
    if min(shape, default=0) < 0 or prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise BadArchive(f"an array of shape {shape} has the wrong number of bytes")
    array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    if dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise BadArchive("an array of Booleans contains other values")
    return array


@dataclass(frozen=True)
class _Reader:
    """The objects that nodes describe, once all their names have been checked."""

    arrays: dict[str, NDArray[Any]]

    def value(self, node: Any) -> Any:
        match node["__loader__"]:
            case "JsonNode":
                return _scalar(json.loads(node["content"]))
            case "ListNode":
                return [self.value(child) for child in node["content"]]
            case "TupleNode":
                return tuple(self.value(child) for child in node["content"])
            case "DictNode":
                return self._dict(node)
            case "NdArrayNode":
                return self._array(node)
            case "ObjectNode":
                return self._estimator(node)
            case "LossNode" | "RandomStateNode":
                return None  # only fit uses them
        raise BadArchive(f"a {node['__loader__']} is not allowed there")

    def _dict(self, node: Any) -> dict[Any, Any]:
        content = node["content"]
        types = [child["__class__"] for child in node["key_types"]["content"]]
        return {
            _key(type, key): self.value(child)
            for type, (key, child) in zip(types, content.items(), strict=True)
        }

    def _array(self, node: Any) -> Any:
        """An array, a NumPy scalar, or an array of objects, which must be scalars themselves."""
        if node["type"] == "json":
            entries = [_scalar(self.value(child)) for child in node["content"]]
            array = np.empty(len(entries), dtype=object)
            array[:] = entries
            return array
        array = self.arrays[node["file"]]
        if node["__class__"] == "ndarray":
            return array
        if array.ndim or array.dtype.type.__name__ != node["__class__"]:
            raise BadArchive(f"an array of type {array.dtype} is given as a {node['__class__']}")
        return array[()]

    def _estimator(self, node: Any) -> Any:
        """An estimator with checked parameters, and attributes that do not hide its methods."""
        cls: Any = getattr(import_module(node["__module__"]), node["__class__"])
        attributes = self.value(node["content"])
        for name in attributes:
            if not isinstance(name, str) or hasattr(cls, name):
                raise BadArchive(f"a {cls.__name__} cannot have an attribute {name!r}")
        # A file of an older scikit-learn may lack parameters of this one.
        defaults = {one.name: one.default for one in inspect.signature(cls).parameters.values()}
        estimator = cls.__new__(cls)
        estimator.__setstate__(defaults | attributes)
        if hasattr(cls, "_parameter_constraints"):  # a constant predictor has no parameters
            estimator._validate_params()
        if hasattr(estimator, "_validate_steps"):
            estimator._validate_steps()
        return estimator


def _scalar(value: Any) -> Any:
    if not isinstance(value, SCALARS):
        raise BadArchive(f"a {type(value).__name__} is given instead of a number or text")
    return value


def _key(type: str, text: str) -> str | int | float | bool:
    """A dictionary key, which JSON stores as text."""
    if type == "bool":
        return {"true": True, "false": False}[text]
    if type in ("int", *INTEGERS):
        return int(text)
    return float(text) if type in ("float", *FLOATS) else text
