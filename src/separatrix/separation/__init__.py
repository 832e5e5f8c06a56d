"""Whether classes can be separated: the verdict, and certificates that can be verified."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Source
from ..data.cluster.dask_input import dask_source, is_dask
from ..data.device_arrays import on_device
from ..data.labels import refuse_label_source
from ..data.validation import array_source, check_rows
from ..numeric.types import Ints
from . import reduction
from .budget import CountedSource, OutOfReads, ReadBudget
from .result import Separability
from .scales import as_given, rescaled
from .settled import Proven
from .signed_rows import SignedRows
from .witness import PairWitness, Witness, named

__all__ = ["PairWitness", "Separability", "Witness", "decide", "separability"]


def separability(
    X: Any,
    y: Any = None,
    *,
    exact: bool = False,
    feature_names: Any = None,
    fit_intercept: bool = True,
) -> Separability:
    """Whether a hyperplane separates the classes, with a proof of the answer.

    For two classes the margin of a row is ``y * (w.x + b)``. The verdict is ``"separable"`` if some
    (w, b) has all margins > 0; ``"quasi-separable"`` if not, but some (w, b) has all margins >= 0
    and at least one > 0; else ``"overlapping"``. A logistic fit without penalty exists exactly
    in the last case. For more classes the same holds for the joint problem, where each class has a
    score and the row's own class must have the highest, and for every pair of classes. An offset of
    the rows does not count: what is finite does not change where weights diverge.

    Parameters
    ----------
    X : array or sparse matrix (n, d), or a Source
        The rows. A source contains the labels.
    y : labels (n,)
        Two or more classes; not with a source.
    exact : bool
        Decide the verdict in exact arithmetic, and return weights as fractions. Otherwise this is
        done only if floating point is within its own error of a tie.
    feature_names : list of str, optional
        Names of the features; default: the columns of a data frame, or x0, x1, ...
    fit_intercept : bool
        False: only planes through the origin, b = 0.

    See Also
    --------
    Separability : the result.
    CertificateDisplay : plots the certificate.
    Perceptron : accepts the result as ``monitor``.

    Examples
    --------
    >>> found = separability([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> found.verdict, round(found.margin, 6), round(found.mistake_bound)
    ('separable', 0.242536, 51)
    >>> xor = separability([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], exact=True)
    >>> xor.verdict, xor.witness.rows, xor.witness.weights[0], xor.verify(exact=True)
    ('overlapping', array([0, 1, 2, 3]), Fraction(1, 4), True)
    """
    source = _source(X, y).without_offset
    names = _names(feature_names, X, source.n_features)
    rows = SignedRows(source, intercept=fit_intercept)
    scaled, powers = rescaled(rows)
    decision = reduction.decision(scaled, exact)
    pairs = _pairs(scaled, decision.verdict)
    return _result(rows, powers, decision, exact, names, pairs)


def decide(
    source: Source, *, intercept: bool, most_reads: int, feature_names: list[str] | None = None
) -> Separability | None:
    """As :func:`separability`, but None if it is not decided within a number of source reads.

    Every ``source.total`` counts as one read, even one that selects few rows. Programs over rows
    that were read before cost none; products with them, as with many sparse features, cost their
    share of a read. Most data sets take 4 to 40. The verdicts of pairs of classes are not computed:
    ``pairs`` is None. What the result computes on first access (the margin, infinite coefficients,
    ``verify``) reads the source without a limit.
    """
    source = source.without_offset
    budget = ReadBudget(most_reads, source.n_rows)
    counted = SignedRows(CountedSource(source, budget), intercept=intercept)
    try:
        scaled, powers = rescaled(counted)
        decision = reduction.decision(scaled, budget=budget)
    except OutOfReads:
        return None
    names = _names(feature_names, None, source.n_features)
    return _result(SignedRows(source, intercept=intercept), powers, decision, False, names, None)


def _result(
    rows: SignedRows,
    powers: Ints,
    decision: Proven,
    exact: bool,
    names: list[str],
    pairs: Any,
) -> Separability:
    decision.direction, decision.exact_direction = as_given(
        rows, powers, decision.direction, decision.exact_direction
    )
    return Separability(
        verdict=decision.verdict,
        classes=rows.source.classes,
        feature_names=names,
        n_rows=rows.source.n_rows,
        exact=decision.exact,
        rounds=decision.rounds,
        pairs=pairs,
        signed=rows,
        **_certificate(rows, decision, exact),
    )


def _source(X: Any, y: Any) -> Source:
    if is_dask(X):
        return dask_source(X, y, None)
    if isinstance(X, Source):
        if y is not None:
            raise ValueError("a source contains its labels: pass separability(source) without y.")
        refuse_label_source(X, "separability")
        return X
    if y is None:
        raise ValueError("y is missing: pass separability(X, y), or a Source, which has labels.")
    rows = check_rows(X)
    if not on_device(X):  # whose types are all exact
        _refuse_rounded(X)
    return array_source(rows, y)


def _refuse_rounded(X: Any) -> None:
    """Refuse numbers that would be rounded: the verdict would be for other rows."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    as_floats = values.astype(np.float64)
    if values.dtype.kind == "f":
        same = bool(np.all(as_floats == values))
    elif values.dtype.kind == "O" or np.abs(as_floats).max(initial=0.0) >= 2.0**53:
        pairs = zip(as_floats.ravel().tolist(), values.ravel().tolist(), strict=True)
        same = all(a == b for a, b in pairs)  # Python compares exactly
    else:
        same = True
    if not same:
        raise ValueError(
            "X has numbers that are not exact in double precision, such as integers beyond 2**53: "
            "the verdict would be about rounded rows; subtract an offset, or scale the features"
        )


def _names(given: Any, X: Any, d: int) -> list[str]:
    if given is None:
        given = getattr(X, "columns", None)
    names = [f"x{j}" for j in range(d)] if given is None else [str(name) for name in given]
    if len(names) != d:
        raise ValueError(f"feature_names has {len(names)} names for {d} features: give one each.")
    if len(set(names)) != d:
        raise ValueError("feature_names has a duplicate: every feature needs a unique name.")
    return names


def _certificate(rows: SignedRows, decision: Proven, exact: bool) -> dict[str, Any]:
    def of(weights: Any) -> Any:
        if weights is None:
            return None
        values, fractions = weights.floats, weights.fractions
        beyond = not np.all((values > 0.0) & (values < np.inf))  # out of the range of a float
        if fractions is not None and (exact or beyond):
            values = fractions.each()
        return named(rows, rows.source.classes, weights.ids, values)

    boundary, k = decision.boundary, rows.encoding.stacked
    if boundary is not None and k > 1:
        boundary = np.stack(np.divmod(boundary, k), axis=1)
    direction, exact_direction = decision.direction, None
    if decision.exact_direction is not None:
        each = np.array(decision.exact_direction.each(), object).reshape(rows.shape)
        exact_direction = tuple(Fraction(v) for v in rows.encoding.full(each).ravel())
    return {
        "direction": None if direction is None else rows.encoding.full(direction),
        "exact_direction": exact_direction,
        "witness": of(decision.witness),
        "interior": of(decision.interior),
        "boundary": boundary,
    }


def _pairs(rows: SignedRows, verdict: str) -> dict[tuple[Any, Any], str] | None:
    """Verdicts of pairs: all are separable if the classes jointly are; else each is decided."""
    labels = rows.source.classes.tolist()
    if len(labels) == 2:
        return None
    return {
        (labels[a], labels[b]): verdict
        if verdict == "separable"
        else reduction.decision(SignedRows(rows.source, (a, b), rows.intercept)).verdict
        for a, b in combinations(range(len(labels)), 2)
    }
