"""Whether the attributes of a model that was read from a file are consistent.

A file may contain anything, and anyone can compute its digest. What passes these checks has types,
shapes and ranges with which predictions, ``partial_fit``, exports and replays never read beyond an
array; for anything else a ValueError or ``Damaged`` says what is wrong.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.feature_map import FeatureMap
from ..data.files.encoding.encoders import Column, DateParts, Hashed, Number, OneHot
from ..data.files.readers.formats import FORMATS
from ..data.files.reading import Reading
from ..data.indicator import LabelColumns
from ..estimators import KernelPerceptron
from ..estimators.decision import Decision, cost_matrix
from ..estimators.kernel_expansion import KernelExpansion
from ..estimators.minimizer import LossModel
from ..estimators.predictor import LinearPredictor
from ..estimators.stream import COLUMNS, StreamState
from ..features import RadialBasis
from ..kernels import Linear, Precomputed
from ..losses import get_loss
from ..numeric.container import Damaged
from ..numeric.dense import dense
from ..numeric.expected import MOST_COUNT, array, whole
from ..numeric.types import AnyArray
from ..penalties import Penalty
from ..proofs.prediction_bounds import PredictionBounds
from ..training.trace import Trace
from .schema import conforms

CATEGORIES = {"text": str, "whole": int, "float": float, "boolean": bool}
MOST_HASH_BITS = 30  # as a column of a table may have
MOST_DEGREE = 10_000  # of a polynomial: above, a score would take too long


MOST_SPARSE_WEIGHTS = 1 << 28  # of a sparse coef_, which predictions make dense: 2 GiB


def refuse_unsound(estimator: Any, hints: dict[str, Any]) -> None:
    """Raise ``Damaged`` if a type or shape is wrong, then check the kind of model."""
    for name, hint in hints.items():
        if name in vars(estimator) and not conforms(getattr(estimator, name), hint):
            raise Damaged(f"{name} has the wrong type")
    names, d = getattr(estimator, "feature_names_in_", None), estimator.n_features_in_
    whole()("n_features_in_", d)
    _expect("feature_names_in_", names is None or _are_names(names, d))
    if isinstance(estimator, RadialBasis):
        _expect("centers_", estimator.centers_.dtype in (np.float64, np.float32))
        _expect("centers_", estimator.centers_.ndim == 2 and estimator.centers_.shape[1] == d)
        _expect("centers_", len(estimator.centers_) > 0 and _is_finite(estimator.centers_))
        return
    trace, labels = getattr(estimator, "trace_", None), vars(estimator).get("_labels")
    if labels is None:
        _check_classes(estimator.classes_, trace)
        _expect("trace_", not getattr(getattr(trace, "loss", None), "several_labels", False))
    else:
        _check_labels(estimator, labels, trace)
    _check_history(estimator.history_)
    if isinstance(estimator, KernelPerceptron):
        _check_kernel_model(estimator)
        estimator._show(estimator._expansion)
    elif isinstance(estimator, LinearPredictor):
        _check_weights(estimator)


def check_sparse_weights(coef: Any) -> None:
    """Refuse sparse weights that would take too much memory as the dense array for predictions."""
    if sp.issparse(coef) and math.prod(coef.shape) > MOST_SPARSE_WEIGHTS:
        raise ValueError(
            f"coef_ is a sparse matrix of shape {coef.shape}, and a model file may contain "
            f"sparse ones of up to {MOST_SPARSE_WEIGHTS} weights: call densify() before saving"
        )


def _expect(name: str, is_so: bool) -> None:
    if not is_so:
        raise Damaged(f"{name} does not fit the other attributes")


def _is_finite(values: AnyArray) -> bool:
    return bool(np.all(np.isfinite(values)))


def _are_names(names: AnyArray, d: int) -> bool:
    return names.shape == (d,) and all(isinstance(name, str) for name in names.tolist())


def _are_indices(found: AnyArray, below: int) -> bool:
    """Whether integers, of any width, increase strictly from 0 or more to below a bound."""
    if found.ndim != 1 or found.dtype.kind != "i" or np.any(found[1:] <= found[:-1]):
        return False
    return not len(found) or bool(found[0] >= 0 and found[-1] < below)


def _check_classes(classes: AnyArray, trace: Any) -> None:
    """Check that labels are sorted, distinct, and the same in the trace."""
    _expect("classes_", classes.ndim == 1 and len(classes) >= 2)
    _expect("classes_", np.array_equal(np.unique(classes), classes))
    if trace is not None:
        same = trace.classes.dtype.kind == classes.dtype.kind
        _expect("trace_", same and np.array_equal(trace.classes, classes))
        _check_recipe(trace)


def _check_labels(estimator: Any, labels: LabelColumns, trace: Any) -> None:
    """Check the labels of rows that have several each, and the same in the trace."""
    names, constant = labels.names, labels.constant
    _expect("_labels", isinstance(estimator, LossModel))
    _expect("_labels", names.ndim == 1 and len(names) >= 2 and names.dtype.kind in "iO")
    _expect("_labels", len(set(names.tolist())) == len(names))
    _expect("_labels", names.dtype.kind == "i" or _are_names(names, len(names)))
    array(len(names), dtype=np.int8)("_labels.constant", constant)
    _expect("_labels", bool(np.all(np.abs(constant.astype(np.int64)) <= 1) and len(labels.varying)))
    for name, classes, expected in (
        ("classes_", estimator.classes_, names), ("trace_", trace.classes, labels.classes.ravel()),
    ):  # fmt: skip
        _expect(name, classes.dtype.kind == expected.dtype.kind)
        _expect(name, np.array_equal(classes, expected))
    _expect("trace_", trace.loss.several_labels == (len(labels.varying) > 1))
    _check_recipe(trace)


def _check_recipe(trace: Trace) -> None:
    whole()("trace_.n_rows", trace.n_rows)
    whole()("trace_.n_iter", trace.n_iter)
    whole(0, 2**128)("trace_.seed", trace.seed)


def _check_history(history: dict[str, AnyArray]) -> None:
    """Check for one number per pass in each column; a converted model has no passes."""
    _expect("history_", set(COLUMNS) <= set(history))
    n = len(history["pass"]) if history["pass"].ndim == 1 else 0
    for name, column in history.items():
        kinds = "iu" if name == "pass" and n else "iuf"
        _expect("history_", column.shape == (n,) and column.dtype.kind in kinds)


def _check_weights(estimator: Any) -> None:
    labels = vars(estimator).get("_labels")
    fitted = k = 1 if len(estimator.classes_) == 2 else len(estimator.classes_)
    if labels is not None:
        fitted, k = len(labels.varying), len(labels.names)
    coef, trace = estimator.coef_, estimator.trace_
    _expect("coef_", coef.ndim == 2 and coef.shape[0] == k and coef.dtype == np.float64)
    check_sparse_weights(coef)
    d = coef.shape[1]
    array(k)("intercept_", estimator.intercept_)
    for name in ("prior_shift_", "intercept_flic_"):
        if hasattr(estimator, name):
            array(k)(name, getattr(estimator, name))
    sigmoid = getattr(estimator, "sigmoid_", None)
    if sigmoid is not None:
        array(k, 2)("sigmoid_", sigmoid)
        _expect("sigmoid_", labels is None and bool(np.all(sigmoid[:, 0] >= 0.0)))
        _expect("sigmoid_", _is_finite(sigmoid))
    _check_reading(estimator, getattr(estimator, "_reading", None), d)
    _check_selection(estimator, k, d)
    for features in (estimator._features, trace.features):
        if features is not None:
            _check_features(features, d)
    _check_trace(trace, fitted, d)
    _check_stream(estimator._stream, (fitted, d + 1))
    runaway = getattr(estimator, "_runaway", None)
    _expect("_runaway", runaway is None or all(0 <= j < d for j in runaway.features))
    check = getattr(estimator, "loo_check_", None)
    if check is not None:
        shape = check.rows.shape
        _expect("loo_check_", len(shape) == 1 and len(check.rows) > 0)
        _expect("loo_check_", check.exact.shape == check.approximate.shape == shape)
    if isinstance(estimator, LossModel):
        get_loss(estimator.loss)
    survivors = getattr(estimator, "survivors_", None)
    _expect("votes_", (survivors is None) == (getattr(estimator, "votes_", None) is None))
    if survivors is not None:
        m = len(survivors)
        array(m, k, d + 1, finite=True)("survivors_", survivors)
        array(m, finite=True)("votes_", estimator.votes_)
        _expect("votes_", m > 0 and bool(np.all(estimator.votes_ > 0.0)))
    variances = getattr(estimator, "coef_variance_", None)
    if variances is not None:
        of_biases = estimator.intercept_variance_
        array(k, d)("coef_variance_", variances)
        array(k)("intercept_variance_", of_biases)
        for name, found in (("coef_variance_", variances), ("intercept_variance_", of_biases)):
            _expect(name, bool(np.all((found >= 0.0) & (found <= 1.0))))
    decision = getattr(estimator, "decision_", None)
    if decision is not None:
        _check_decision(estimator, decision)
    bounds = getattr(estimator, "prediction_bounds_", None)
    if bounds is not None:
        _check_bounds(bounds, k, d)


def _check_selection(estimator: Any, k: int, d: int) -> None:
    """Check that weights proven to be 0 are 0, and weights proven not to be are not."""
    for name, is_zero in (("_zero", True), ("_nonzero", False)):
        found = getattr(estimator, name, None)
        if found is not None:
            array(k, d, dtype=bool)(name, found)
            _expect(name, bool(np.all((dense(estimator.coef_)[found] == 0.0) == is_zero)))


def _check_decision(estimator: LinearPredictor, found: Decision) -> None:
    """Check for a finite threshold of two classes, or costs of more and probabilities for them."""
    k, costs = len(estimator.classes_), found.costs
    if costs is not None:
        array(k, k)("decision_.costs", costs)
        _expect("decision_", bool(np.array_equal(costs, cost_matrix(costs, estimator.classes_))))
    if k == 2:
        finite = all(x is not None and math.isfinite(x) for x in (found.threshold, found.score))
        _expect("decision_", finite)
    else:
        _expect("decision_", found.threshold is None and found.score is None)
        temperature = 1.0 if found.temperature is None else found.temperature
        _expect("decision_", 0.0 < temperature < math.inf)
        _expect("decision_", costs is not None and hasattr(estimator, "predict_proba"))


def _check_bounds(found: PredictionBounds, k: int, d: int) -> None:
    """Check the shapes of what bounds predictions; no number may be NaN, and bounds in order."""
    name = "prediction_bounds_"
    array(k, d)(f"{name}.weights", found.weights)
    for of_features in (found.centre, found.reach):
        array(d)(name, of_features)
    for of_classes in (found.bias_low, found.bias_high, found.bias, found.bias_rounding):
        array(k)(name, of_classes)
    _expect(name, bool(np.all(found.reach >= 0.0) and np.all(found.bias_rounding >= 0.0)))
    _expect(name, bool(np.all(found.bias_low <= found.bias_high)))
    _expect(name, found.radius >= 0.0 and 0.0 <= found.bias_unit < math.inf)
    known = (found.weights, found.centre, found.bias)
    _expect(name, all(map(_is_finite, known)))
    if found.factors is not None:
        m = d + (found.bias_unit > 0.0)
        array(k, m, m)(f"{name}.factors", found.factors)
        diagonal = np.diagonal(found.factors, axis1=1, axis2=2)
        _expect(name, _is_finite(found.factors) and bool(np.all(diagonal > 0.0)))


def _check_reading(estimator: Any, reading: Reading | None, d: int) -> None:
    encoding = None if reading is None else reading.encoding
    width = d if encoding is None else len(encoding.columns)
    _expect("n_features_in_", estimator.n_features_in_ == width)
    if reading is None:
        return
    _expect("_reading", reading.n_features == d and reading.dtype in ("float32", "float64"))
    _expect("_reading", reading.format is None or reading.format in FORMATS)
    _expect("_reading", reading.split is None or 0.0 <= reading.split.held_out < 1.0)
    if encoding is None:
        return
    for column in encoding.columns:
        _check_column(column)
    values = sum(column.n_values for column in encoding.columns)
    _expect("_reading", encoding.row_values is None or 0.0 <= encoding.row_values <= values)
    _expect("_reading", encoding.n_features == d)


def _check_column(column: Column) -> None:
    if isinstance(column, Number):
        _expect("_reading", column.fill is None or math.isfinite(column.fill))
        return
    if isinstance(column, DateParts):
        _expect("_reading", column.sound)
        for part in column.columns:
            _check_column(part)
        return
    _expect("_reading", getattr(column, "type", None) in CATEGORIES)
    if isinstance(column, Hashed):
        _expect("_reading", 1 <= column.hash_bits <= MOST_HASH_BITS)
    if isinstance(column, OneHot):
        _expect("_reading", column.sound)
        kind = CATEGORIES[column.type]
        for value in (*column.categories, *column.infrequent):
            _expect("_reading", value is None or type(value) is kind)
            _expect("_reading", kind is not int or value is None or -(2**63) <= value < 2**63)


def _check_features(found: FeatureMap, d: int) -> None:
    """Check the map from all d features to those of the solver."""
    _expect("_features", found.n_features == d)
    scaling, occupied = found.standardization, found.occupied
    if scaling is not None:
        array(d)("_features.mean", scaling.mean)
        array(d + 1)("_features.scale", scaling.scale)
        _expect("_features", _is_finite(scaling.mean) and _is_finite(scaling.scale))
        _expect("_features", bool(scaling.scale.min() > 0.0))
    if found.within is not None:
        _check_penalty("_features", found.within, d)
    if occupied is not None:
        _expect("_features", len(occupied) > 0 and _are_indices(occupied, d))


def _check_penalty(name: str, penalty: Penalty, d: int) -> None:
    """Check for one entry for every feature."""
    for field in ("weights", "groups", "low", "high", "units"):
        of_features = getattr(penalty, field, None)
        _expect(name, not isinstance(of_features, tuple) or len(of_features) == d)


def _check_trace(trace: Trace, k: int, d: int) -> None:
    """The records were checked when they were read; check that the recipe fits this model."""
    features = trace.features
    seen = d if features is None or features.occupied is None else len(features.occupied)
    array(k, seen + 1)("trace_.start", trace.start)
    _check_penalty("trace_", trace.penalty, seen)
    _expect("trace_", trace.parts is None or 1 <= trace.parts <= MOST_COUNT)
    if trace.state is not None and trace.solver.by_row:
        trace.solver.expected_stream_state((k, seen + 1))("trace_.state", trace.state)


def _check_stream(stream: StreamState, shape: tuple[int, int]) -> None:
    """Check the state from which ``partial_fit`` continues, row by row."""
    if stream.state is None:
        return
    solvers = (stream.asked, stream.used)
    _expect("_stream", all(solver.by_row for solver in solvers))
    stream.used.expected_stream_state(shape)("_stream.state", stream.state)


def _check_kernel_model(estimator: KernelPerceptron) -> None:
    k = 1 if len(estimator.classes_) == 2 else len(estimator.classes_)
    found, d = estimator._expansion, estimator.n_features_in_
    strengths, coef = estimator.embedding_strengths_, estimator._coef
    _expect("embedding_strengths_", strengths.ndim == min(k, 2) and strengths.dtype.kind == "i")
    _expect("embedding_strengths_", k == 1 or strengths.shape[1] == k)
    _check_expansion(found, k, d, len(strengths))
    _expect("_coef", (coef is not None) == isinstance(found.kernel, Linear))
    if coef is not None:
        array(k, d)("_coef", coef)


def _check_expansion(found: KernelExpansion, k: int, d: int, n_rows: int) -> None:
    n = len(found.support)
    _expect("support_", _are_indices(found.support, n_rows))
    array(k, n)("dual_coef_", found.sums)
    array(k)("intercept_", found.bias_sums)
    whole(1)("_expansion.visits", found.visits)
    numbers = (*asdict(found.kernel).values(), found.unit, found.bias)
    _expect("kernel", all(map(math.isfinite, numbers)))
    _expect("degree", getattr(found.kernel, "degree", 1) in range(1, MOST_DEGREE))
    vectors = found.vectors
    if isinstance(found.kernel, Precomputed):
        _expect("support_", n_rows == d and isinstance(vectors, np.ndarray) and not vectors.size)
    else:
        stored = sp.issparse(vectors) or isinstance(vectors, np.ndarray)
        _expect("support_vectors_", stored and vectors.dtype in (np.float64, np.float32))
        _expect("support_vectors_", vectors.shape == (n, d))
        values = vectors.data if sp.issparse(vectors) else vectors
        _expect("support_vectors_", _is_finite(np.asarray(values)))
    if found.votes is not None:
        votes, support = found.votes, set(found.support.tolist())
        _expect("votes", votes.columns == k and len(votes.survived) == len(votes.updates))
        _expect("votes", min(votes.survived, default=0) >= 0)
        for update in votes.updates:
            _expect("votes", update.row in support)
            _expect("votes", all(0 <= column < k for column, _ in update.changes))
