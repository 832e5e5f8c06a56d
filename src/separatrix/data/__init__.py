"""Where rows come from."""

from .arrays import ArraySource, RowsOf
from .source import Block, InMemory, Shuffle, Source, Sum

__all__ = ["ArraySource", "Block", "InMemory", "RowsOf", "Shuffle", "Source", "Sum"]
