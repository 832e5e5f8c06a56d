"""Thresholds for storing, cutting and shuffling rows of files.

Block boundaries affect the bits of a sum: none of these depends on the reader or on threads.
"""

from __future__ import annotations

DENSE_BLOCK_VALUES, MOST_BLOCK_ROWS = 1 << 20, 1 << 16
"""Most values (8 MB in float64) and most rows of a block of dense rows.

Measured: no method is chosen, blocks are large for their overhead and small for memory."""

SPARSE_BLOCK_ROWS = 1 << 13
"""Rows per block of sparse rows, whose number of values is unknown before they are read.

Measured: no method is chosen, 8 MB at about 85 values a row."""

KEPT_BYTES = 8 << 20
"""A table that is one block of at most this many bytes is decoded once and stays in memory.

Measured: CSV of 3 rows and 300 columns, a fit of 50 steps: 1.7 s of processor time if every pass
decodes and 0.09 s if one does."""

WINDOW, ROUNDS = 2, 8
"""A shuffled pass mixes the rows of ``WINDOW`` blocks, visiting each in ``ROUNDS`` parts.

Measured: no method is chosen, memory is bounded."""

MANY_DECODINGS, LONG_DECODING = 4, 10.0
"""Number of decoding passes without a cache, and their seconds in all, from which a warning advises
a cache.

Measured: no method is chosen."""

FEATURES_PER_VALUE = 4
"""Rows are sparse if they have at least this many features per non-zero value.

Measured: 5 numbers and 8 columns of 6, 12 and 24 categories each (4.1, 7.8 and 15.2 features for a
value): hinge 1.20, 3.33 and 10.7; logistic 1.25, 1.75 and 2.17."""
