"""Problems with features: precision, scales, constants and duplicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...numeric.tolerances import LARGEST_FLOAT
from ...numeric.types import Array, Ints
from ...rows import rows_of
from ..remedy_lines import Line
from .comparison import SEED
from .fitted import FittedModel
from .report import Finding, plural

LEVELS = 16.0  # float32 spacings per deviation, below which precision is exhausted
WILD = 1e3  # ratio of deviations, from which scales are reported
UNFINISHED = 0.95  # ranks above the early stop that it causes
ROUGHLY = 1e-5  # how close the hashes of duplicates are
EQUAL, EQUAL32 = 1e-8, 1e-4  # tolerance for the columns themselves, in deviations
NAMED = 5  # number of features that a sentence names
FEWEST_PAIRS, VALUES_COMPARED = 10, 50_000_000  # limits of a check for duplicates
FEWEST_ROWS = 5  # with fewer, columns are multiples of each other by accident


def _named(model: FittedModel, at: Ints) -> str:
    names = ", ".join(model.name(int(j)) for j in at[:NAMED])
    return names if len(at) <= NAMED else f"{names} and {len(at) - NAMED} more"


def float32_exhausted(model: FittedModel) -> Finding | None:
    """Values so far from 0 that float32 cannot distinguish them."""
    if model.source.dtype != np.float32 or _precomputed(model):
        return None
    mean, deviation = model.moments
    spacing = np.finfo(np.float32).eps * np.abs(mean)
    levels = np.divide(deviation, spacing, out=np.full(len(mean), np.inf), where=spacing > 0.0)
    found = np.flatnonzero((levels < LEVELS) & (deviation > 0.0))
    if not len(found):
        return None
    worst = int(found[levels[found].argmin()])
    text = (
        f"float32 is exhausted: {model.name(worst)} lies around {mean[worst]:.3g}, where numbers "
        f"are {spacing[worst]:.2g} apart, and varies by only {deviation[worst]:.2g}; what was "
        "rounded away is only restored by reading the data as float64."
    )
    evidence = {
        "features": [model.name(int(j)) for j in found], "mean": float(mean[worst]),
        "deviation": float(deviation[worst]), "spacing": float(spacing[worst]),
        "steps_in_a_deviation": float(levels[worst]),
    }  # fmt: skip
    remedy = "X = np.asarray(X, dtype=np.float64); X = X - X.mean(axis=0); clf.fit(X, y)"
    if model.sparse:
        remedy = "X = X.astype(np.float64); clf.fit(X, y)"
    return Finding("float32 exhausted", text, evidence, remedy)


def _precomputed(model: FittedModel) -> bool:
    return model.kernel and model.clf.kernel == "precomputed"


def different_scales(model: FittedModel) -> Finding | None:
    """Some features are far larger than others, or far from 0, and this has a cost."""
    if _precomputed(model):
        return None
    mean, deviation = model.moments
    varies = np.flatnonzero(deviation > 0.0)
    if not len(varies):
        return None
    size = np.hypot(mean, deviation) if not model.sparse else deviation
    large = int(varies[size[varies].argmax()])
    small = int(varies[deviation[varies].argmin()])
    with np.errstate(over="ignore"):
        ratio = min(float(size[large] / deviation[small]), LARGEST_FLOAT)
    if ratio <= WILD:
        return None
    evidence: dict[str, Any] = {
        "ratio": ratio, "largest_feature": model.name(large), "largest_size": float(size[large]),
        "smallest_feature": model.name(small), "smallest_deviation": float(deviation[small]),
        "stop": model.clf.stop_,
    }  # fmt: skip
    harm = _harm_of_scales(model, evidence)
    if harm is None:
        return None
    text = (
        f"The features are on wildly different scales: {model.name(large)} is about "
        f"{size[large]:.2g} and {model.name(small)} varies by {deviation[small]:.2g}, a ratio of "
        f"{'at least ' * (ratio == LARGEST_FLOAT)}{ratio:.2g}; {evidence['effect']}."
    )
    return Finding("different scales", text, evidence, model.scaling(), harm)


def _harm_of_scales(model: FittedModel, evidence: dict[str, Any]) -> float | None:
    """The cost: a run that did not finish, or loss on held-out rows; None if there is none."""
    if model.clf.stop_ in ("max_iter", "no progress", "max_norm") and not model.streams:
        evidence["effect"] = (
            f"steps that suit one are too long or too short for the other, and the run stopped "
            f"with {model.clf.stop_!r}"
        )
        return UNFINISHED
    if model.l2 == 0.0 or not model.held_out.possible:
        return None
    (own,) = model.held_out.losses(np.array([model.l2]))
    standardised = model.held_out.losses_on(model.standardised_sample)
    gain = model.held_out.gain(own, standardised)
    if not gain.clear:
        return None
    evidence |= {
        "held_out_loss": gain.own, "held_out_loss_standardised": gain.other,
        "standard_error": gain.error, "rows_in_sample": len(model.sample),
        "effect": f"the penalty mainly affects the small ones; on held-out rows the mean loss is "
        f"{gain.own:.3g} instead of {gain.other:.3g} with features of one scale",
    }  # fmt: skip
    return gain.share


def constant(model: FittedModel) -> Finding | None:
    if model.kernel:
        return None
    mean, deviation = model.moments
    at = np.flatnonzero(deviation == 0.0)
    if not model.objective.intercept:
        at = at[mean[at] == 0.0]  # another constant acts as the bias
    X = model.rows
    if isinstance(X, np.ndarray):
        at = np.array([j for j in at if np.all(X[:, j] == X[0, j])], dtype=np.int64)
    if not len(at):
        return None
    text = (
        f"{plural(len(at), 'feature')} never {'change' if len(at) > 1 else 'changes'} "
        f"({_named(model, at)}): nothing can be learned from a constant, and the bias is there "
        "already."
    )
    evidence = {"features": [model.name(int(j)) for j in at], "columns": at.tolist(),
                "deviation": 0.0}  # fmt: skip
    return Finding("constant features", text, evidence, dropping(model, at), 0.0)


def dropping(model: FittedModel, at: Ints) -> Line:
    """The line that fits again without some features."""
    X = "clf[:-1].transform(X)" if model.piped else "X"
    if model.sparse:
        kept = f"np.setdiff1d(np.arange({model.source.n_features}), {at.tolist()})"
        cut = f"{X}[:, {kept}]"
    else:
        cut = f"np.delete(np.asarray({X}), {at.tolist()}, axis=1)"
    fit = "clf = clf[-1].fit(X, y)" if model.piped else "clf.fit(X, y)"
    columns = model.columns_of(at)
    return Line(f"X = {cut}; {fit}", **({} if columns is None else {"drop": columns}))


def duplicates(model: FittedModel) -> Finding | None:
    """Features that repeat others, up to scale and shift."""
    if model.kernel or model.n < FEWEST_ROWS or model.source.n_features < 2:
        return None
    allowed = EQUAL32 if model.source.dtype == np.float32 else EQUAL
    most = max(FEWEST_PAIRS, VALUES_COMPARED // model.n)
    columns = _columns(model)
    compared = [(a, b, _difference(columns(a), columns(b))) for a, b in _candidates(model)[:most]]
    pairs = [(a, b) for a, b, difference in compared if difference <= allowed]
    if not pairs:
        return None
    at = np.unique([b for _, b in pairs])
    first = "; ".join(f"{model.name(b)} is {model.name(a)} again" for a, b in pairs[:NAMED])
    more = f", and {len(pairs) - NAMED} more" if len(pairs) > NAMED else ""
    shared = (
        "without a penalty their weights are not determined"
        if not model.objective.penalty.coercive
        else "they share one weight, which the penalty counts less"
    )
    text = f"Some features are equal up to scale and shift ({first}{more}): {shared}."
    evidence = {
        "pairs": [[model.name(a), model.name(b)] for a, b in pairs], "columns": at.tolist(),
        "largest_difference": max(d for *_, d in compared if d <= allowed),
    }  # fmt: skip
    return Finding("duplicate features", text, evidence, dropping(model, at), 0.0)


def _candidates(model: FittedModel) -> list[tuple[int, int]]:
    """Pairs of features for which two random combinations of rows agree: one pass over a sample.

    The first of each pair is the first of all that agree.
    """
    rows, n = rows_of(model.sample_rows), len(model.sample)
    d = model.source.n_features
    draws = np.random.default_rng(SEED).standard_normal((n, 2))
    draws -= draws.mean(axis=0)  # shifts of a feature have no effect
    total, squares = np.zeros(d), np.zeros(d)
    shift = None if rows.storage == "csr" else rows.part(0, 1).to_dense()[0]
    rows.moments(None, None, shift, total, squares)
    with np.errstate(over="ignore", invalid="ignore"):  # squares of huge values: not compared
        variance = squares / n - (total / n) ** 2
    varies = np.flatnonzero(np.isfinite(variance) & (variance > 1e-12 * squares / n))
    products = model.sample_source.transpose_product(draws)
    hashes = products[:, varies] / np.sqrt(n * variance[varies])
    hashes *= np.where(hashes[0] < 0.0, -1.0, 1.0)
    order = np.lexsort((varies, hashes[0]))
    apart = np.abs(np.diff(hashes[:, order])).max(axis=0, initial=0.0) > ROUGHLY
    groups = np.split(varies[order], np.flatnonzero(apart) + 1)
    return sorted((int(g.min()), int(j)) for g in groups for j in g if j != g.min())


def _difference(one: Array, other: Array) -> float:
    """Largest difference of two features in any row, both with mean 0 and deviation 1."""
    if not (one.std() > 0.0 and other.std() > 0.0):
        return float("inf")
    one, other = ((x - x.mean()) / x.std() for x in (one, other))
    return float(np.abs(one - np.sign(one @ other) * other).max())


def _columns(model: FittedModel) -> Callable[[int], Array]:
    """Return a function that extracts a column of all rows in float64."""
    X = model.rows
    if isinstance(X, np.ndarray):
        return lambda j: X[:, j].astype(np.float64)
    by_column = X.as_scipy().tocsc()
    return lambda j: by_column[:, [j]].toarray()[:, 0].astype(np.float64)
