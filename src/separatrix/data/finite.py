"""Whether values are finite, on several threads."""

from __future__ import annotations

from .. import loops
from ..numeric.threads import n_threads, ordered_sum
from ..numeric.types import AnyArray
from .thresholds import READ_AT_ONCE


def all_finite(values: AnyArray) -> bool:
    """Whether no value of a contiguous array of floats is NaN or infinite."""
    if values.nbytes <= READ_AT_ONCE:
        return loops.all_finite(values)
    flat, size = values.reshape(-1), READ_AT_ONCE // values.itemsize
    blocks = [flat[start : start + size] for start in range(0, len(flat), size)]

    def part(block: AnyArray) -> tuple[int]:
        return (int(not loops.all_finite(block)),)

    return ordered_sum(part, blocks, n_threads(None)) == (0,)
