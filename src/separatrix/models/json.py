"""A linear model as JSON: columns, features, weights and classes, for programs of any language."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from .formula import Formula

# Of the format: docs/models.md describes it.
VERSION, VERSION_WITH_DECISION, VERSION_WITH_LABELS = 1, 2, 3


def as_json(formula: Formula) -> str:
    """The JSON text; numbers have enough digits to be read back exactly.

    Escaped so that it is safe inside HTML.
    """
    formula.refuse_dates("JSON")
    features = [asdict(feature) for feature in formula.features]
    for feature in features:
        del feature["part"]
    model: dict[str, Any] = {
        "format": "separatrix linear model",
        "version": VERSION,
        "columns": [
            {"name": name, "type": type}
            for name, type in zip(formula.columns, formula.types, strict=True)
        ],
        "features": features,
        "coef": formula.coef.tolist(),
        "intercept": formula.intercept.tolist(),
        "classes": formula.labels,
        "probability": formula.probability,
    }
    if formula.cut or formula.costs is not None:  # a program for version 1 would predict otherwise
        costs = None if formula.costs is None else formula.costs.tolist()
        model |= {"version": VERSION_WITH_DECISION, "threshold": formula.cut, "costs": costs}
    if formula.several:
        model |= {"version": VERSION_WITH_LABELS, "multilabel": True}
    text = json.dumps(model, indent=1, allow_nan=False)
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text + "\n"
