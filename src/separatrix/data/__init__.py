"""Where rows come from."""

from .arrays import ArraySource, RowsOf
from .source import Block, Source

__all__ = ["ArraySource", "Block", "RowsOf", "Source"]
