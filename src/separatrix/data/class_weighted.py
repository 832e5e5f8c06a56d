"""Rows whose weights are multiplied by class weights while they are read."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from ..numeric.types import Array
from .blocks import Block
from .class_moments import ClassMoments
from .fingerprint import DIGEST_BYTES
from .labels import class_numbers
from .source import Source
from .wrapped import BlockMap, MappedSource


class ClassWeightedSource(MappedSource):
    """The same rows, each weight multiplied by its class's weight, which must not be 0.

    Held-out rows keep their weights: they are only evaluated, not trained on.
    """

    def __init__(self, source: Source, per_class: Array) -> None:
        super().__init__(source, ClassWeighted(per_class))
        self.per_class = per_class
        self.validation = source.validation

    @property
    def weight_sum(self) -> float:
        return float(self.class_weight_sums().sum())

    def class_weight_sums(self) -> Array:
        return self.source.class_weight_sums() * self.per_class

    def class_moments(self) -> ClassMoments | None:
        known = self.source.class_moments()
        return None if known is None else known.weighed(self.per_class)

    def fingerprint(self) -> str:
        whole = blake2b(self.source.fingerprint().encode(), digest_size=DIGEST_BYTES)
        whole.update(self.per_class.tobytes())
        return whole.hexdigest()


@dataclass(frozen=True)
class ClassWeighted(BlockMap):
    """Multiplies the weights of a block by the class weights."""

    per_class: Array
    copies = False

    def __call__(self, block: Block) -> Block:
        number = class_numbers(block.y, len(self.per_class))
        return block._replace(weight=block.weights * self.per_class[number])
