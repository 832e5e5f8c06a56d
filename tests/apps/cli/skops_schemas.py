"""Files of skops, written node by node."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression


def nodes(schema):
    """All nodes of a schema."""
    if isinstance(schema, dict):
        if "__loader__" in schema:
            yield schema
        for child in schema.values():
            yield from nodes(child)
    elif isinstance(schema, list):
        for child in schema:
            yield from nodes(child)


def node(loader, module, name, **rest):
    return {"__loader__": loader, "__module__": module, "__class__": name, **rest}


def scalar(value):
    return node("JsonNode", "builtins", "str", content=json.dumps(value), is_json=True)


def sequence(*values, name="tuple"):
    return node(f"{name.title()}Node", "builtins", name, content=list(values))


def mapping(values):
    types = [node("TypeNode", "builtins", "str") for _ in values]
    key_types = sequence(*types, name="list")
    return node("DictNode", "builtins", "dict", content=values, key_types=key_types)


def a_model(**attributes):
    """The schema of a fitted model, with these attributes in addition."""
    values = {name: scalar(value) for name, value in LogisticRegression().get_params().items()}
    values |= {"coef_": node("NdArrayNode", "numpy", "ndarray", type="numpy", file="0.npy")}
    values |= {"_sklearn_version": scalar(sklearn.__version__)}
    cls = ("sklearn.linear_model._logistic", "LogisticRegression")
    return node("ObjectNode", *cls, content=mapping(values | attributes), protocol=2)


def npy(array=np.ones((1, 3))):  # noqa: B008 (never written to)
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=array.dtype.hasobject)
    return stream.getvalue()


def write(schema, method=zipfile.ZIP_STORED, **members):
    text = schema if isinstance(schema, (str, bytes)) else json.dumps(schema)
    with zipfile.ZipFile("m.skops", "w", method) as archive:
        archive.writestr("schema.json", text)
        for name, content in {"0.npy": npy(), **members}.items():
            archive.writestr(name, content)
