"""Random orders in Python."""

from __future__ import annotations

import numpy as np

from separatrix.numeric.types import Ints


def draw_order(n: int, block_rows: int, blocks_per_group: int, seed: int, number: int = 0) -> Ints:
    """One of ``draw_orders`` in Python."""
    word, step = (1 << 64) - 1, 0x9E3779B97F4A7C15  # SplitMix64

    def mixed(z: int) -> int:
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & word
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & word
        return z ^ (z >> 31)

    state = mixed((seed + (number + 1) * step) & word)

    def below(most: int) -> int:
        nonlocal state
        state = (state + step) & word
        return (mixed(state) >> 32) * most >> 32

    def put(items: list[int], item: int) -> None:
        at = below(len(items) + 1)
        items.append(item)
        items[at], items[-1] = item, items[at]

    count = -(-n // block_rows)
    blocks: list[int] = []
    for b in range(count):
        put(blocks, b) if count > blocks_per_group else blocks.append(b)
    order: list[int] = []
    for first in range(0, count, blocks_per_group):
        group: list[int] = []
        for start in (block_rows * b for b in blocks[first : first + blocks_per_group]):
            for i in range(start, min(n, start + block_rows)):
                put(group, i)
        order += group
    return np.array(order, dtype=np.int64)
