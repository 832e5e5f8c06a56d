"""How rows in memory are cut into blocks, the parts of a sum that threads share.

Blocks decide the bits of a sum, so none of these numbers depends on the number of threads.
"""

from __future__ import annotations

BLOCK_BYTES = 1 << 20
"""Bytes of a block, at least: with less to read a thread costs more than it saves."""

MOST_BLOCKS, FEW_BLOCKS = 64, 8
"""Blocks of all rows, at most; and so many there are at least where a sum over features is long.

Trades the sums that wait to be added up for work that can be shared evenly."""

BLOCK_ROWS_PER_SUM = 32
"""A block's rows are so many times as long as its own sum over features, if blocks are not FEW.

Trades the reading of rows for the adding up of long sums."""

LONG_RUN = 1024
"""Neighbouring rows of a subset from which on they are a block without a copy."""

KEPT_SAMPLE = 1 / 16
"""Share of the rows up to which a sample is copied once; a larger one whenever it is read.

Trades memory for copying."""

READ_AT_ONCE = 4 << 20
"""Bytes of rows or indices that a thread looks through at a time, where they are only checked."""
