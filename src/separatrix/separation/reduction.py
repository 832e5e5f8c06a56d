"""The verdict: rows that weak separators decide are removed, and the rest is searched.

A weak separator of the rest, plus a large multiple of those of the removed rows, is one of all
rows; so the verdict is that of the rest, but rows that overlap there are the boundary here. Weights
with which rows of the rest cancel prove the same for all features: a feature that is left out is a
combination of the others there.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ..data import Source
from ..numeric.types import Ints
from . import thresholds
from .budget import CountedSource, ReadBudget
from .faces import Face, FaceSearch
from .rational import common_denominator
from .search import SeparabilitySearch
from .settled import Proven, Weights, rounded
from .signed_rows import SignedRows
from .single_features import Remaining, Removal


def decision(rows: SignedRows, exact: bool = False, budget: ReadBudget | None = None) -> Proven:
    """The verdict with its certificate."""
    size = rows.source.n_rows * rows.source.row_bytes
    if rows.encoding.stacked == 1 and size <= thresholds.SINGLE_FEATURE_BYTES:
        reduction = Reduction(rows, exact, budget)
        core = reduction.core()
        if reduction.steps or core is not None:
            return reduction.composed(core)
    return SeparabilitySearch(rows, exact, budget).decide()


class Reduction:
    """The rows that are left, and how the others were removed."""

    def __init__(self, rows: SignedRows, exact: bool, budget: ReadBudget | None) -> None:
        self.rows, self.exact, self.budget = rows, exact, budget
        self.rest = Remaining.of(rows)
        self.steps = self.rest.removed()
        self.features: Ints = np.empty(0, np.int64)
        """Features of the search on the rest."""

    def core(self) -> Proven | None:
        """The verdict on the rest, where no more rows can be removed; None if nothing is left.

        Also None if nothing was removed and Newton's method does not decide the question.
        """
        while len(self.rest.ids):
            self.features = self.rest.varying()
            found = self._face()
            if isinstance(found, Face):
                self.steps.append(self.rest.beyond(found, self.features))
                self.steps += self.rest.removed()
                continue
            if found is None and self.steps:
                self.features = self.rest.varying()
                found = SeparabilitySearch(self._signed(), self.exact, self.budget).decide()
            return found
        return None

    def _face(self) -> Proven | Face | None:
        """By Newton's method on sparse rows, without the features that depend on others."""
        least, most = thresholds.FACE_FEATURES, thresholds.GRAM_DIMENSION
        if not sp.issparse(self.rest.X) or not least < len(self.features) < most:
            return None
        self.features = self.rest.independent(self.features)
        if len(self.features) <= least:
            return None
        return FaceSearch(self._signed(sparse=True), self.exact, self.budget).step()

    def _signed(self, sparse: bool = False) -> SignedRows:
        source: Source = self.rest.source(self.features)
        if self.budget is not None:
            share = len(self.rest.ids) / self.budget.n_rows
            source = CountedSource(source, self.budget, share)
        return SignedRows(source, intercept=self.rows.intercept, sparse=sparse)

    def composed(self, core: Proven | None) -> Proven:
        """The verdict on all rows, from the steps and that on the rows that they leave."""
        ids = self.rest.ids
        witness = None if core is None else _renamed(core.witness, ids)
        interior = None if core is None else _renamed(core.interior, ids)
        if core is not None and core.verdict == "overlapping" and not self.steps:
            return replace(core, witness=witness, interior=interior)
        w = common_denominator(_direction(self.rows, self.steps, core, self.features))
        found = Proven("separable", rounded(w, self.rows.shape), w, exact=True)
        if core is None:
            return found
        found.rounds = core.rounds
        if core.verdict == "separable":
            return found
        on = ids if core.boundary is None else ids[core.boundary]
        return replace(
            found, verdict="quasi-separable", exact=core.exact, witness=witness,
            interior=interior, boundary=np.sort(on),
        )  # fmt: skip


def _direction(
    rows: SignedRows, steps: list[Removal], core: Proven | None, features: Ints
) -> list[Fraction]:
    """Weights with which every removed row is strictly correct, and the rest as in the core."""
    d = rows.source.n_features
    total = [Fraction(0)] * rows.width
    if core is not None and core.direction is not None:
        own = core.exact_direction
        each = own.each() if own is not None else map(Fraction, core.direction.ravel().tolist())
        for j, weight in zip([*features.tolist(), d], each, strict=False):
            total[j] = weight
    reach = [*map(Fraction, rows.largest.tolist())]
    most = sum((abs(w) * r for w, r in zip(total, reach, strict=True)), Fraction(0))
    for step in reversed(steps):
        times = Fraction(1)
        if most:
            ratio = 2 * most / Fraction(step.least)
            times = Fraction(2) ** (
                ratio.numerator.bit_length() - ratio.denominator.bit_length() + 1
            )
        for j, weight in zip(step.features.tolist(), step.weights, strict=True):
            total[j] += times * weight
        if rows.intercept:
            total[-1] += times * step.bias
        most += times * step.most
    return total


def _renamed(weights: Weights | None, ids: Ints) -> Weights | None:
    """The same weights with other row numbers, in increasing order."""
    if weights is None:
        return None
    renamed = ids[weights.ids]
    order = np.argsort(renamed, kind="stable")
    fractions = weights.fractions
    if fractions is not None:
        fractions = fractions._replace(numerators=fractions.numerators[order])
    return Weights(renamed[order], weights.floats[order], fractions)
