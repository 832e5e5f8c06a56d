"""Where rows come from."""

from .arrays import ArraySource, RowsOf
from .source import Block, Shuffle, Source

__all__ = ["ArraySource", "Block", "RowsOf", "Shuffle", "Source"]
