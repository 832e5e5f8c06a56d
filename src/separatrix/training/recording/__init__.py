"""A fit step by step, for people to look at: numbers, arithmetic and a sentence for every step."""

from .recording import Recording

__all__ = ["Recording"]
