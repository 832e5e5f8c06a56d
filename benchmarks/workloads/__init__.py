"""All workloads; to import this package registers them."""

from ..registry import WORKLOADS
from . import everyday, fits, growth, passes, text

__all__ = ["WORKLOADS", "everyday", "fits", "growth", "passes", "text"]
