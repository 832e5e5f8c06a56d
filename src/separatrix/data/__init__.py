"""Where rows come from."""

from .arrays import ArraySource, Subset
from .source import Block, InMemory, Shuffle, Source, Sum

__all__ = ["ArraySource", "Block", "InMemory", "Shuffle", "Source", "Subset", "Sum"]
