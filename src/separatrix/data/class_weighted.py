"""Rows weighed by their class too, while they are read."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from ..numeric.types import Array
from .blocks import Block
from .class_moments import ClassMoments
from .fingerprint import DIGEST_BYTES
from .labels import class_numbers
from .source import Source
from .wrapped import MappedSource


class ClassWeightedSource(MappedSource):
    """The same rows, the weight of each times that of its class, which is not 0.

    Rows that are held out keep the weights that they have: they are watched, not trained on.
    """

    def __init__(self, source: Source, per_class: Array) -> None:
        super().__init__(source, ClassWeighted(per_class))
        self.per_class = per_class
        self.validation = source.validation

    @property
    def weight_sum(self) -> float:
        """Sum of the weights."""
        return float(self.class_weight_sums().sum())

    def class_weight_sums(self) -> Array:
        """What the rows of every class weigh."""
        return self.source.class_weight_sums() * self.per_class

    def class_moments(self) -> ClassMoments | None:
        """Those of the source, weighed."""
        known = self.source.class_moments()
        return None if known is None else known.weighed(self.per_class)

    def fingerprint(self) -> str:
        """Of what the source says of itself, and of the weights of the classes."""
        whole = blake2b(self.source.fingerprint().encode(), digest_size=DIGEST_BYTES)
        whole.update(self.per_class.tobytes())
        return whole.hexdigest()


@dataclass(frozen=True)
class ClassWeighted:
    """What weighs the rows of blocks by their class."""

    per_class: Array

    def __call__(self, block: Block) -> Block:
        """The same block with other weights."""
        number = class_numbers(block.y, len(self.per_class))
        return block._replace(weight=block.weights * self.per_class[number])
