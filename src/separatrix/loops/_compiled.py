"""The compiled module, in a room of its own: only ``loops`` may enter, and a linter checks."""

from . import _loops

__all__ = ["_loops"]
