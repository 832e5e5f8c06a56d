"""Facts about every part before a fit, and the check that parts are compatible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...numeric.types import AnyArray, Array
from ...rows import Storage, host_rows_of, rows_of
from .parts import Part


@dataclass(frozen=True)
class PartFacts:
    number: int
    rows: int
    present: int = 0  # number of rows of non-zero weight
    n_features: int = 0
    names: tuple[str, ...] | None = None
    storage: Storage = "dense"
    dtype: str = "float64"
    values: int = 0  # number of stored values
    index_bytes: int = 0
    labels: AnyArray = field(default_factory=lambda: np.empty(0))
    """Distinct labels of rows of non-zero weight."""
    weights: Array = field(default_factory=lambda: np.empty(0))  # sum of the weights of each label
    offsets: int = 0  # number of columns of its offset


@dataclass(frozen=True)
class FactsOf:
    """Collects the facts about each part."""

    def __call__(self, part: Part, threads: int) -> tuple[list[PartFacts]]:
        if part.X is None:
            return ([PartFacts(part.number, 0)],)
        rows, offset = host_rows_of(part.X), rows_of(part.X).offset
        n, n_features = rows.shape
        weights = part.block.weights
        present = weights != 0.0
        labels, number = np.unique(part.y[present], return_inverse=True)
        facts = PartFacts(
            part.number, n, int(np.count_nonzero(present)), n_features, part.names,
            rows.storage, rows.dtype.name, rows.values.size, rows.index_bytes,
            labels, np.bincount(number, weights[present], len(labels)).astype(np.float64),
            0 if offset is None else offset.shape[1],
        )  # fmt: skip
        return ([facts],)


def check_alike(found: Sequence[PartFacts]) -> list[PartFacts]:
    """Facts of the non-empty parts, which must be compatible; the error names two parts."""
    filled = [facts for facts in found if facts.rows]
    if not filled:
        raise ValueError(
            f"none of the {len(found)} parts has a row: expected at least one row of two classes."
        )
    if not any(facts.present for facts in filled):
        raise ValueError("sample_weight is zero for every row: no row is left to learn from.")
    first = filled[0]
    for other in filled[1:]:
        _check_pair(first, other)
    return filled


def _check_pair(first: PartFacts, other: PartFacts) -> None:
    where = f"part {other.number}", f"part {first.number}"
    if other.names is not None and first.names is not None and other.names != first.names:
        pairs = zip(other.names, first.names, strict=False)
        differ = next((pair for pair in pairs if pair[0] != pair[1]), None)
        what = (
            f"{len(other.names)} and {len(first.names)} of them"
            if differ is None
            else f"{differ[0]!r} in the place of {differ[1]!r}"
        )
        raise ValueError(
            f"{where[0]} has other columns than {where[1]}: {what}; expected the same columns in "
            "the same order in all parts."
        )
    if other.n_features != first.n_features:
        raise ValueError(
            f"{where[0]} has {other.n_features} columns and {where[1]} {first.n_features}; "
            "expected as many in all parts."
        )
    if other.storage != first.storage:
        raise ValueError(
            f"{where[0]} is {other.storage} and {where[1]} {first.storage}; expected all parts "
            "sparse (CSR), or all dense."
        )
    if other.offsets != first.offsets:
        raise ValueError(
            f"{where[0]} has {other.offsets} columns of offsets and {where[1]} {first.offsets}; "
            "expected as many in all parts."
        )
    kinds = [facts.labels.dtype.kind in "OUT" for facts in (other, first)]
    if other.present and first.present and kinds[0] != kinds[1]:
        words = ["words" if kind else "numbers" for kind in kinds]
        raise ValueError(
            f"the labels of {where[0]} are {words[0]} and those of {where[1]} {words[1]}; "
            "expected labels of one kind."
        )
