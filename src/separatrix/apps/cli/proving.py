"""``check``, ``certify`` and ``diagnose``: what can be proven of data and of models."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import separatrix

from . import arguments as arg
from .figures import class_counts, labels_and_weights
from .inputs import (
    Options,
    anybodys_model,
    in_memory,
    loaded,
    opened,
    read_like,
    rows_in_memory,
)
from .output import console, counted, print_json, printable
from .progress import Watch

CODE_NOT_SEPARABLE = 3


def check(
    data: arg.Data,
    target: arg.Target = None,
    drop: arg.Drop = None,
    as_category: arg.AsCategory = None,
    missing: arg.Missing = None,
    format: arg.Format = None,
    json: arg.Json = False,
) -> int:
    """Prove whether a plane separates the classes; exit code 3 if none does."""
    options = Options(target, None, drop or [], as_category or [], missing, format)
    with opened(data, format) as paths, Watch() as watch:
        watch.stage(f"Reading {data[0]}")
        source = options.read(paths)
        watch.stage("Looking for a plane")
        encoding = getattr(source.reading, "encoding", None)
        names = None if encoding is None else encoding.coef_names
        verdict = separatrix.separability(in_memory(source), feature_names=names)
        told = verdict.to_dict() if json else str(verdict)
    if isinstance(told, dict):
        facts = {"file": " ".join(data), "rows": source.n_rows, "classes": class_counts(source)}
        print_json("check", {"data": facts, "separability": told})
    else:
        console().print(printable(told))
    return 0 if verdict.verdict == "separable" else CODE_NOT_SEPARABLE


def certify(
    model: arg.Model,
    data: arg.Data,
    target: arg.Target = None,
    test: arg.Test = 0.0,
    format: arg.Format = None,
    json: arg.Json = False,
) -> None:
    """Prove how far a model, of ours or of scikit-learn (skops), is above its minimum.

    The rows are to be those of its fit. Of a fit that held rows out, say the same --test.
    """
    estimator = anybodys_model(model)
    with opened(data, format) as paths, Watch() as watch:
        watch.stage("Fitting the same objective")
        if type(estimator).__module__.startswith("separatrix"):
            given = {"target": target, "format": format, "validation": test or None}
            rows = in_memory(read_like(estimator, paths, **given))
            certificate = separatrix.certify(estimator, rows)
        else:
            rows, certificate = _certified(estimator, paths, target, test, format)
    if json:
        facts = {"file": " ".join(data), "rows": rows.n_rows}
        found = {"model": model, "data": facts, "certificate": certificate.to_dict()}
        print_json("certify", found)
    else:
        console().print(printable(certificate))


def _certified(
    estimator: Any, paths: list[str], target: str | None, test: float, format: str | None
) -> tuple[Any, Any]:
    """Of a model that scikit-learn fitted, to columns in its own order if it knows their names."""
    options = Options(target=target, missing="error", format=format, test=test)
    names = getattr(estimator, "feature_names_in_", None)
    options.features = None if names is None else [str(name) for name in names]
    rows = rows_in_memory(options.read(paths), "certify")
    labels, weights = labels_and_weights(rows)
    X = rows.block().X
    if not isinstance(X, np.ndarray):
        X = csr_array((X.data, X.indices, X.indptr), shape=(len(labels), rows.n_features))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return rows, separatrix.certify(estimator, X, labels, sample_weight=weights)


def diagnose(
    model: arg.Model,
    data: arg.Data,
    target: arg.Target = None,
    test: arg.Test = 0.0,
    format: arg.Format = None,
    json: arg.Json = False,
) -> None:
    """Say what is wrong with a model, the worst first, given the rows of its fit; in memory.

    Of a fit that held rows out, say the same --test.
    """
    estimator = loaded(model)
    with opened(data, format) as paths, Watch() as watch:
        watch.stage(f"Reading {data[0]}")
        given = {"target": target, "format": format, "validation": test or None}
        rows = rows_in_memory(read_like(estimator, paths, **given), "diagnose")
        watch.stage("Looking for causes")
        found = separatrix.diagnose(estimator, rows)
    if json:
        facts = {"file": " ".join(data), "rows": rows.n_rows, "in_memory": True}
        print_json("diagnose", {"model": model, "data": facts} | found.to_dict())
        return
    out = console()
    out.print(f"{counted(rows.n_rows, 'row')} in memory.")
    out.print(printable(found))
