"""Where rows come from."""

from .arrays import ArraySource
from .blocks import Block, Shuffle, Visit
from .source import InMemory, Source
from .subset import Subset
from .sum import Sum

__all__ = ["ArraySource", "Block", "InMemory", "Shuffle", "Source", "Subset", "Sum", "Visit"]
