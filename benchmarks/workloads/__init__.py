"""All workloads; to import this package registers them, save those on ``real`` data."""

from ..registry import WORKLOADS
from . import (
    everyday,
    files,
    fits,
    growth,
    labels,
    lasso,
    passes,
    paths,
    real,
    small,
    streams,
    text,
    wide,
)

__all__ = [
    "WORKLOADS", "everyday", "files", "fits", "growth", "labels", "lasso", "passes", "paths",
    "real", "small", "streams", "text", "wide",
]  # fmt: skip
