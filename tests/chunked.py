"""A source of rows that come in blocks, as those of files do."""

from __future__ import annotations

from itertools import pairwise

from separatrix import Source
from separatrix.data import Block


class Chunked(Source):
    """The rows of another source between one edge and the next; equal edges make an empty block."""

    storage = dtype = None  # those of the rows

    def __init__(self, whole, edges):
        self.whole, self.edges = whole, edges
        self.storage, self.dtype = whole.storage, whole.dtype
        self.n_features, self.classes = whole.n_features, whole.classes

    @property
    def n_rows(self):
        return self.whole.n_rows

    @property
    def weight_sum(self):
        return self.whole.weight_sum

    def blocks(self, *shuffle):
        for start, stop in pairwise(self.edges):
            yield Block(*self.whole.block(slice(start, stop))[:3], start)
