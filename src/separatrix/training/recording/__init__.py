"""Step-by-step recordings of a fit: numbers, formulas and a sentence for every step."""

from .recording import Recording

__all__ = ["Recording"]
