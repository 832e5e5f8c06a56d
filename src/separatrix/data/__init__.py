"""Where rows come from."""

from .arrays import ArraySource
from .source import Block, Shuffle, Source

__all__ = ["ArraySource", "Block", "Shuffle", "Source"]
