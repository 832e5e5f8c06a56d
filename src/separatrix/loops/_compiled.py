"""The compiled module. Only ``loops`` may import this file; import-linter checks it."""

from . import _loops

__all__ = ["_loops"]
