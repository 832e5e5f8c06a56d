"""Where rows come from."""

from .arrays import ArraySource, RowsOf
from .source import Block, Folded, Shuffle, Source

__all__ = ["ArraySource", "Block", "Folded", "RowsOf", "Shuffle", "Source"]
