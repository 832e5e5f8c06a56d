"""Sums of features and of their squares by class, for means and variances.

They are computed along with a pass over the rows. Sums over rows weighted by class, standardised
rows, or rows without a fold then follow from them without another read.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..numeric.standardization import Standardization
from ..numeric.types import Array, Ints
from ..rows import HostRows, Rows
from ..rows.thresholds import VALUES_AT_ONCE
from .blocks import Block
from .labels import class_numbers
from .sum import Sum
from .thresholds import MOST_SUMS

FEW_ROWS = 64  # number of rows whose mean approximates the mean of all


class ClassMoments(NamedTuple):
    """Weighted sums of x - shift and of its squares over each class."""

    shift: Array  # (d,)
    sums: Array  # (classes, d)
    counts: Array  # sum of the weights of each class, (classes,)
    squares: Array  # (classes, d)

    def weighed(self, per_class: Array) -> ClassMoments:
        """The moments after multiplying the weights of each class by a factor."""
        each = per_class[:, None]
        return ClassMoments(
            self.shift, each * self.sums, per_class * self.counts, each * self.squares
        )

    def standardized(self, standardization: Standardization) -> ClassMoments:
        """The moments of (x - mean) / scale."""
        mean, scale = standardization.mean, standardization.scale[:-1]
        with np.errstate(over="ignore"):
            squares = self.squares / scale / scale
        return ClassMoments((self.shift - mean) / scale, self.sums / scale, self.counts, squares)


@dataclass(frozen=True)
class ClassWeightSums(Sum[tuple[Array]]):
    classes: int

    def of(self, block: Block) -> tuple[Array]:
        """(classes,)."""
        if block.y.ndim == 2:
            return (block.weights @ (block.y > 0),)
        number = class_numbers(block.y, self.classes)
        return (block.rows.weight_sums(block.weight, number, self.classes),)


class RunningMoments:
    """Sums by class, accumulated block by block; features and classes may grow."""

    def __init__(self) -> None:
        self.shift: Array | None = None
        self.sums, self.squares = np.zeros((0, 0)), np.zeros((0, 0))
        self.bounded = True

    def add(self, rows: HostRows, weight: Array | None, codes: Ints) -> None:
        """Add rows with the codes of their classes; stops if there are too many sums."""
        k = max(int(codes.max(initial=-1)) + 1, len(self.sums))
        d = max(rows.shape[1], self.sums.shape[1])
        self.bounded = self.bounded and k * d <= MOST_SUMS
        if not self.bounded:
            self.sums = self.squares = np.zeros((0, 0))
            return
        if self.shift is None and rows.storage == "dense":
            self.shift = _typical(rows, weight)
        found = group_sums(rows, weight, codes, k, self.shift)
        self.sums = _widened(self.sums, (k, d)) + _widened(found[0], (k, d))
        self.squares = _widened(self.squares, (k, d)) + _widened(found[1], (k, d))

    def of_codes(self, codes: Ints, features: int, counts: Array) -> ClassMoments | None:
        """The moments of the classes with these codes; None if there were too many sums."""
        if not self.bounded:
            return None
        shape = max(int(codes.max()) + 1, len(self.sums)), features
        shift = np.zeros(features) if self.shift is None else self.shift
        sums, squares = (_widened(each, shape)[codes] for each in (self.sums, self.squares))
        return ClassMoments(shift, sums, counts, squares)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        arrays = {"shift": self.shift, "sums": self.sums, "squares": self.squares}
        texts = {name: None if a is None else _text(a) for name, a in arrays.items()}
        return {**texts, "shape": list(self.sums.shape), "bounded": self.bounded}

    @classmethod
    def from_dict(cls, data: dict[str, Any], codes: int, features: int) -> RunningMoments:
        """Restore from plain data; ValueError if the numbers of codes and features differ."""
        found = cls()
        found.bounded = data["bounded"]
        found.shift = None if data["shift"] is None else _numbers(data["shift"])
        shape = (codes, features) if found.bounded and codes else (0, 0)
        if type(found.bounded) is not bool or tuple(data["shape"]) != shape:
            raise ValueError(f"sums of the shape {data['shape']}, expected {shape}")
        if found.shift is not None and found.shift.shape != (features,):
            raise ValueError("a shift of other features")
        found.sums, found.squares = (
            _numbers(data[name]).reshape(shape) for name in ("sums", "squares")
        )
        return found


def _text(array: Array) -> str:
    return b64encode(array.tobytes()).decode()


def _numbers(text: str) -> Array:
    return np.frombuffer(b64decode(text), dtype=np.float64)


def _widened(array: Array, shape: tuple[int, int]) -> Array:
    """Pad with zeros for new classes and features."""
    if array.shape == shape:
        return array
    wide = np.zeros(shape)
    wide[: array.shape[0], : array.shape[1]] = array
    return wide


def _typical(rows: Rows, weight: Array | None) -> Array | None:
    """The mean of the first rows of non-zero weight; None if there are none."""
    present = np.arange(rows.shape[0]) if weight is None else np.flatnonzero(weight)
    if not len(present):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        mean = rows.take(present[:FEW_ROWS]).mean()
    return np.where(np.isfinite(mean), mean, 0.0)


def group_sums(
    rows: HostRows, weight: Array | None, group: Ints, groups: int, shift: Array | None
) -> tuple[Array, Array]:
    """Weighted sums of x - shift, and of its squares, over the rows of each group: (groups, d).

    Sparse rows have no shift.
    """
    d = rows.shape[1]
    sums, squares, unused = np.zeros((groups, d)), np.zeros((groups, d)), np.zeros(d)
    rows.moments(weight, group, shift, sums, unused)
    size = max(1, int(VALUES_AT_ONCE * len(group) // max(rows.n_values, 1)))
    for start in range(0, len(group), size):  # a few rows at a time: squares stay in the cache
        at = slice(start, min(start + size, len(group)))
        some = None if weight is None else weight[at]
        square = rows.part(at.start, at.stop).squares(shift)
        square.moments(some, group[at], None, squares, unused)
    return sums, squares
