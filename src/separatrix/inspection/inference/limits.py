"""Quasi-separable rows: which coefficients are infinite, and the model that the others belong to.

The likelihood grows along a weak separator: a direction that gives no row a negative margin. In the
limit, the rows inside the right side have no loss, and those on the boundary keep theirs. So the
finite coefficients are the estimates of the model of the boundary rows alone, and so are their
errors (A. Albert and J. A. Anderson, Biometrika 71, 1984). These rows do not determine the others.
For more than two classes the same holds for pairs of a row and a rival class (``class_pairs``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import Block, Source
from ...data.wrapped import BlockMap, MappedSource, SomeFeatures
from ...numeric.lazy import cached_property
from ...numeric.types import Array, Ints
from ...objective import Objective
from ...objective.sums import Hessian
from ...penalties import L2
from ...separation import decide, modular
from ...separation.settled import spanned
from ...separation.signed_rows import SignedRows
from .class_pairs import BoundaryPairs, ClassPairs
from .fitted import FittedLikelihood, infinite, refuse_collinear
from .profile import Profile, fitted_weights, one_end

MOST_READS = 400  # of the rows for the verdict
FLAT = 1e-6  # slope per row that counts as none
SIGNS = {"+inf": np.inf, "-inf": -np.inf}


def limiting(found: FittedLikelihood) -> FittedLikelihood:
    """The likelihood of the rows, or pairs of classes, on the boundary, at its maximum.

    ValueError if that is not certain, or if no coefficient is finite.
    """
    clf, runaway = found.clf, found.clf._runaway
    if found.penalised or not runaway.settled:
        raise ValueError(infinite(clf))
    rows = _signed(found, found.source)
    verdict = decide(rows.source, intercept=rows.intercept, most_reads=MOST_READS)
    if verdict is None or verdict.boundary is None or verdict.infinite_coefficients is None:
        raise ValueError(infinite(clf))
    words = [*verdict.infinite_coefficients.values()]
    words += [str(verdict.infinite_intercept)] if rows.intercept else []
    if "not identified" in words:
        width = found.source.n_features + found.objective.intercept
        name = clf.coef_names_[words.index("not identified") % width]
        raise ValueError(
            f"the coefficient of {str(name)!r} is not determined: the feature is a combination of "
            "others; leave it out, or use a penalty (l2 > 0)"
        )
    if "finite" not in words:
        raise ValueError(infinite(clf))
    limit = np.array([0.0 if w == "finite" else SIGNS.get(w, np.nan) for w in words])
    start = replace(found, whole=found.source, limit=limit)
    reduced = _on_boundary(start, verdict.boundary)
    refuse_collinear(reduced)
    at_maximum = _at(reduced, fitted_weights(reduced))
    # Variables that the boundary does not determine have no slope, if they are the right ones.
    reported = found.reported_variables
    off = ~reduced.free[reported]
    slope = np.abs(_in_units_of(found, at_maximum)[reported][off]).max(initial=0.0)
    if (limit[off] == 0.0).any() or not slope <= FLAT * found.source.weight_sum:
        raise ValueError(infinite(clf))
    return at_maximum


def _in_units_of(whole: FittedLikelihood, reduced: FittedLikelihood) -> Array:
    """The gradient of some rows in the units of all: a feature may be constant on the boundary."""
    own = reduced.standardization
    given = reduced.gradient.reshape(reduced.weights.shape) * own.scale
    given[:, :-1] += given[:, -1:] * own.mean
    return whole.standardization.gradient(given).ravel()


def profile_ends(found: FittedLikelihood, at: Ints, level: float) -> Array:
    """Profile intervals of the coefficients with these numbers, finite or not: (m, 2)."""
    if found.limit is None:
        return Profile(found).intervals(at, level)
    limits = found.limit[at]
    ends = np.empty((len(at), 2))
    finite = limits == 0.0
    ends[finite] = Profile(found).intervals(at[finite], level)
    for place in np.flatnonzero(~finite):
        ends[place] = _of_infinite(found, int(at[place]), level)
    return ends


def _of_infinite(found: FittedLikelihood, number: int, level: float) -> tuple[float, float]:
    """The interval of an infinite coefficient.

    If it is fixed, the others may diverge along weak separators of the rows without its feature;
    again only the boundary counts.
    """
    limit, source = found.limit, found.whole
    if limit is None or source is None:
        raise TypeError("there is no infinite coefficient")
    if np.isnan(limit[number]):  # weak separators have either sign, so every value does
        return -np.inf, np.inf
    rows = _signed(found, source)
    features = np.arange(rows.source.n_features)
    intercept = rows.intercept and number < len(features)
    rest = SomeFeatures(rows.source, features[features != number])
    verdict = decide(rest, intercept=intercept, most_reads=MOST_READS)
    if verdict is None:
        return np.nan, np.nan
    if verdict.verdict == "separable":
        return -np.inf, np.inf
    ids = rows.all() if verdict.boundary is None else np.asarray(verdict.boundary)
    if not spanned(rows, ids)[1].axes()[number]:  # these rows do not depend on it
        return -np.inf, np.inf
    reduced = _on_boundary(replace(found, limit=None), ids)
    side = -np.sign(limit[number])
    end = one_end(reduced, number, float(side), found.loss_sum, level)
    return (end, np.inf) if side < 0.0 else (-np.inf, end)


def _signed(found: FittedLikelihood, source: Source) -> SignedRows:
    """The rows whose margins decide, in the order of the reported coefficients."""
    if len(found.weights) == 1:
        return SignedRows(source, intercept=found.objective.intercept)
    pairs = ClassPairs(source, found.reference, found.objective.intercept)
    return SignedRows(pairs, intercept=False)


def _on_boundary(found: FittedLikelihood, ids: Any) -> FittedLikelihood:
    """The likelihood of some rows or pairs, at weights of 0, in variables that they determine.

    These are the intercepts and features that no combination of others replaces, by elimination.
    Intercepts are first, so that standardised features have the same span as those given.
    """
    whole, intercept = found.whole or found.source, found.objective.intercept
    rows, reported = _signed(found, whole), found.reported_variables
    basis = spanned(rows, np.asarray(ids))[0]
    width = found.weights.shape[1]
    order = np.argsort(reported % width != width - 1, kind="stable")
    prime = modular.PRIMES[0]
    pivots = modular.eliminated(modular.residues_of_floats(basis[:, order], prime), prime).columns
    kept = np.zeros(found.weights.size, dtype=np.bool_)
    kept[reported[order[pivots]]] = True
    source = (BoundaryRows if len(found.weights) == 1 else BoundaryPairs)(whole, ids)
    objective = Objective(found.objective.loss, L2(0.0), source, intercept)
    start = replace(
        found,
        source=source,
        objective=objective,
        standardization=objective.standardization,
        dropped=~kept,
    )
    return _at(start, np.zeros_like(found.weights))


def _at(found: FittedLikelihood, W: Array) -> FittedLikelihood:
    """The sums at other weights."""
    own = found.standardization
    loss_sum, _, gradient, hessian = found.source.total(Hessian(found.objective.loss, W, own))
    slope = own.gradient(gradient).ravel()
    return replace(found, weights=W, loss_sum=float(loss_sum), gradient=slope, hessian=hessian)


class BoundaryRows(MappedSource):
    """Some rows of another source, given by their numbers; others have the weight 0."""

    def __init__(self, source: Source, rows: Any) -> None:
        self.rows = np.asarray(rows, dtype=np.int64)
        super().__init__(source, OthersAbsent(self.rows))

    @property
    def n_rows(self) -> int:
        """Number of the given rows."""
        return len(self.rows)

    @cached_property
    def _weight_sum(self) -> float:
        return float(np.sum(self.class_weight_sums()))

    @property
    def weight_sum(self) -> float:
        """Their weights."""
        return self._weight_sum


@dataclass(frozen=True)
class OthersAbsent(BlockMap):
    """A block in which only the given rows have a weight."""

    rows: Ints

    @property
    def copies(self) -> bool:
        """No: only weights are new."""
        return False

    def __call__(self, block: Block) -> Block:
        numbers = np.arange(block.start, block.start + len(block.y))
        return block._replace(weight=np.where(np.isin(numbers, self.rows), block.weights, 0.0))
