"""All workloads; to import this package registers them."""

from ..registry import WORKLOADS
from . import everyday, fits, growth, passes, streams, text, wide

__all__ = ["WORKLOADS", "everyday", "fits", "growth", "passes", "streams", "text", "wide"]
