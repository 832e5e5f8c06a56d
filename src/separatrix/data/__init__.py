"""Where rows come from."""

from .arrays import ArraySource
from .source import Block, Source

__all__ = ["ArraySource", "Block", "Source"]
