"""Is it separable? The verdict, and certificates that anyone can check again."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Source
from ..data.cluster.dask_input import dask_source, is_dask
from ..data.validation import array_source, check_rows
from ..numeric.types import Ints
from .budget import CountedSource, OutOfReads, ReadBudget
from .result import Separability
from .scales import as_given, rescaled
from .search import Decision, SeparabilitySearch
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

    Two classes, every row's margin being ``y * (w.x + b)``: ``"separable"`` if some (w, b) has
    every margin > 0; ``"quasi-separable"`` if not, but some has every margin >= 0 and at least
    one > 0; else ``"overlapping"``. Exactly in the last case a logistic fit without penalty
    exists. More classes: the same for the joint problem, one score per class and the row's own
    to be the highest, and for every two classes.

    Parameters
    ----------
    X : array or sparse matrix (n, d), or a Source
        The rows. A source brings its labels with it.
    y : labels (n,)
        Two classes or more; to be omitted with a source.
    exact : bool
        Settle the verdict in exact arithmetic, and give weights as fractions. Otherwise that is
        done only where floating point is within its own error of a tie.
    feature_names : list of str, optional
        Otherwise the columns of a data frame, or x0, x1, ...
    fit_intercept : bool
        False: the same of planes through the origin, b = 0.

    See Also
    --------
    Separability : what it returns.
    CertificateDisplay : a picture of it.
    Perceptron : whose ``monitor`` it can be.

    Examples
    --------
    >>> found = separability([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> found.verdict, round(found.margin, 6), round(found.mistake_bound)
    ('separable', 0.242536, 51)
    >>> xor = separability([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], exact=True)
    >>> xor.verdict, xor.witness.rows, xor.witness.weights[0], xor.verify(exact=True)
    ('overlapping', array([0, 1, 2, 3]), Fraction(1, 4), True)
    """
    source = _source(X, y)
    names = _names(feature_names, X, source.n_features)
    rows = SignedRows(source, intercept=fit_intercept)
    scaled, powers = rescaled(rows)
    decision = SeparabilitySearch(scaled, exact).decide()
    pairs = _pairs(scaled, decision.verdict)
    return _told(rows, powers, decision, exact, names, pairs)


def decide(
    source: Source, *, intercept: bool, most_reads: int, feature_names: list[str] | None = None
) -> Separability | None:
    """As :func:`separability`, but None if it is not settled by a number of reads of the source.

    Every ``source.total`` counts as one read, even one that picks but a few rows. Programs over
    rows that were read before cost none; products with them, as with many sparse features, cost
    their share of a read. Most sets take 4 to 40. The verdict of every two of many classes is not
    asked for: ``pairs`` is None. What the result computes when first asked for (the margin,
    infinite coefficients, ``verify``) reads the source without a limit.
    """
    budget = ReadBudget(most_reads, source.n_rows)
    counted = SignedRows(CountedSource(source, budget), intercept=intercept)
    try:
        scaled, powers = rescaled(counted)
        decision = SeparabilitySearch(scaled, budget=budget).decide()
    except OutOfReads:
        return None
    names = _names(feature_names, None, source.n_features)
    return _told(SignedRows(source, intercept=intercept), powers, decision, False, names, None)


def _told(
    rows: SignedRows, powers: Ints, decision: Decision, exact: bool, names: list[str], pairs: Any
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
            raise ValueError("a source brings its own labels: pass separability(source) without y.")
        return X
    if y is None:
        raise ValueError("y is missing: pass separability(X, y), or a Source, which has labels.")
    rows = check_rows(X)
    _refuse_rounded(X)
    return array_source(rows, y)


def _refuse_rounded(X: Any) -> None:
    """A verdict on rounded numbers would be one on other rows: 2**53 and 2**53 + 1 are the same."""
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
        raise ValueError("feature_names has a name twice: give every feature a name of its own.")
    return names


def _certificate(rows: SignedRows, decision: Decision, exact: bool) -> dict[str, Any]:
    def of(weights: Any) -> Any:
        if weights is None:
            return None
        values, fractions = weights.floats, weights.fractions
        beyond = not np.all((values > 0.0) & (values < np.inf))  # what a float can hold
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
    """Jointly separable implies every two classes separable; otherwise each is asked."""
    labels = rows.source.classes.tolist()
    if len(labels) == 2:
        return None
    return {
        (labels[a], labels[b]): verdict
        if verdict == "separable"
        else SeparabilitySearch(SignedRows(rows.source, (a, b), rows.intercept)).decide().verdict
        for a, b in combinations(range(len(labels)), 2)
    }
