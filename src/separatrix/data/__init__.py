"""Where rows come from."""

from .arrays import ArraySource, Subset
from .blocks import Block, Shuffle, Visit
from .source import InMemory, Source, Sum

__all__ = ["ArraySource", "Block", "InMemory", "Shuffle", "Source", "Subset", "Sum", "Visit"]
