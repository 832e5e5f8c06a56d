"""Whether the attributes of a model that was read from a file can belong together."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from ..data.files.encoders import Column, Hashed, Number, OneHot
from ..estimators import KernelPerceptron
from ..estimators.kernel_expansion import KernelExpansion
from ..estimators.minimizer import LossModel
from ..estimators.predictor import LinearPredictor
from ..features import RadialBasis
from ..kernels import Precomputed
from ..losses import get_loss
from ..training.trace import Trace
from .layout import Damaged
from .schema import conforms

CATEGORIES = {"text": str, "whole": int, "float": float, "boolean": bool}
MOST_HASH_BITS = 30
MOST_DEGREE = 10_000  # of a polynomial: with more, a score takes no end


def refuse_unsound(estimator: Any, hints: dict[str, Any]) -> None:
    """``Damaged`` if a type or a shape is wrong; else the model is complete, and can be used."""
    for name, hint in hints.items():
        if name in vars(estimator) and not conforms(getattr(estimator, name), hint):
            raise Damaged(f"{name} is of a wrong type")
    names = getattr(estimator, "feature_names_in_", None)
    _expect("n_features_in_", estimator.n_features_in_ >= 0)
    _expect("feature_names_in_", names is None or len(names) == estimator.n_features_in_)
    if isinstance(estimator, RadialBasis):
        _expect("centers_", estimator.centers_.ndim == 2)
        _expect("centers_", estimator.centers_.shape[1] == estimator.n_features_in_)
        return
    classes = estimator.classes_
    _expect("classes_", classes.ndim == 1 and len(set(classes.tolist())) == len(classes) >= 2)
    _expect("history_", len({column.shape for column in estimator.history_.values()}) == 1)
    if isinstance(estimator, KernelPerceptron):
        _check_expansion(estimator._expansion, len(classes), estimator.n_features_in_)
        estimator._show(estimator._expansion)
    elif isinstance(estimator, LinearPredictor):
        _check_weights(estimator)


def _expect(name: str, is_so: bool) -> None:
    if not is_so:
        raise Damaged(f"{name} does not fit the other attributes")


def _check_weights(estimator: Any) -> None:
    k = 1 if len(estimator.classes_) == 2 else len(estimator.classes_)
    coef, intercept, trace = estimator.coef_, estimator.intercept_, estimator.trace_
    _expect("coef_", coef.ndim == 2 and coef.shape[0] == k and coef.dtype == np.float64)
    _expect("intercept_", intercept.shape == (k,))
    d = coef.shape[1]
    reading = getattr(estimator, "_reading", None)
    if reading is None or reading.encoding is None:
        _expect("n_features_in_", estimator.n_features_in_ == d)
    else:
        for column in reading.encoding.columns:
            _check_column(column)
        _expect("_reading", reading.encoding.n_features == d)
        _expect("n_features_in_", estimator.n_features_in_ == len(reading.encoding.columns))
    _expect("_reading", reading is None or reading.n_features == d)
    split = None if reading is None else reading.split
    _expect("_reading", split is None or 0.0 <= split.held_out < 1.0)
    zero = getattr(estimator, "_zero", None)
    _expect("_zero", zero is None or (zero.dtype == bool and zero.shape == coef.shape))
    features = estimator._features
    if features is not None and features.standardization is not None:
        _expect("_features", features.standardization.scale.shape == (d + 1,))
    _check_trace(trace, k)
    if isinstance(estimator, LossModel):
        get_loss(estimator.loss)


def _check_column(column: Column) -> None:
    if isinstance(column, Number):
        _expect("_reading", column.fill is None or math.isfinite(column.fill))
        return
    _expect("_reading", getattr(column, "type", None) in CATEGORIES)
    if isinstance(column, Hashed):
        _expect("_reading", 1 <= column.hash_bits <= MOST_HASH_BITS)
    if isinstance(column, OneHot):
        kind = CATEGORIES[column.type]
        for value in (*column.categories, *column.infrequent):
            _expect("_reading", value is None or type(value) is kind)


def _check_trace(trace: Trace, k: int) -> None:
    _expect("trace_", trace.start.ndim == 2 and len(trace.start) == k and trace.n_rows >= 0)
    told, counts = trace.to_state(), trace._counts
    rows, lengths = told["rows"], told["lengths"]
    _expect("trace_", counts is None or counts.shape == (trace.n_rows,))
    if rows is not None:
        _expect("trace_", rows.ndim == 1 and rows.dtype.kind == "i" and lengths.sum() == len(rows))
        _expect("trace_", not len(rows) or (rows.min() >= 0 and rows.max() < trace.n_rows))


def _check_expansion(found: KernelExpansion, n_classes: int, n_features: int) -> None:
    k, n = 1 if n_classes == 2 else n_classes, len(found.support)
    _expect("support_", found.support.ndim == 1 and found.sums.shape == (k, n))
    _expect("support_", found.bias_sums.shape == (k,) and found.visits >= 1)
    _expect("kernel", all(map(math.isfinite, (*asdict(found.kernel).values(), found.unit))))
    _expect("degree", getattr(found.kernel, "degree", 1) in range(1, MOST_DEGREE))
    if isinstance(found.kernel, Precomputed):
        _expect("support_", not n or 0 <= found.support.min() <= found.support.max() < n_features)
    else:
        _expect("support_vectors_", found.vectors.shape == (n, n_features))
    if found.votes is not None:
        votes, support = found.votes, set(found.support.tolist())
        _expect("votes", votes.columns == k and len(votes.survived) == len(votes.updates))
        for update in votes.updates:
            _expect("votes", update.row in support)
            _expect("votes", all(0 <= column < k for column, _ in update.changes))
