"""Rows that are held out for validation."""

from __future__ import annotations

import numpy as np

from ...numeric.types import AnyArray
from ..blocks import row_hash


def held_out(first: int, count: int, share: float) -> AnyArray:
    """Which of these rows are held out: a share, by a hash of their numbers in the file."""
    return row_hash(first, count) < np.uint64(int(share * 2.0**64))
