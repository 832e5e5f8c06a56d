"""Where rows come from."""

from .arrays import ArraySource, RowsOf
from .source import Block, CompiledPart, Shuffle, Source

__all__ = ["ArraySource", "Block", "CompiledPart", "RowsOf", "Shuffle", "Source"]
