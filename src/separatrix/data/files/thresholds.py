"""How rows of files are stored, cut into blocks, and mixed.

Blocks decide the bits of a sum: none of these numbers depends on the reader, or on threads.
"""

from __future__ import annotations

DENSE_BLOCK_VALUES, MOST_BLOCK_ROWS = 1 << 20, 1 << 16
"""A block of dense rows has so many values, 8 MB in float64, and so many rows at most.

Measured: no method is chosen, blocks are large beside what each costs and small beside memory."""

SPARSE_BLOCK_ROWS = 1 << 13
"""Rows of a block of sparse ones: how many values they have is not known before they are read.

Measured: no method is chosen, 8 MB at about 85 values a row."""

KEPT_BYTES = 8 << 20
"""A table that is one block of at most this many bytes is decoded once and stays in memory.

Measured: CSV of 3 rows and 300 columns, a fit of 50 steps: 1.7 s of processor time if every pass
decodes and 0.09 s if one does."""

WINDOW, ROUNDS = 2, 8
"""A shuffled pass mixes the rows of so many blocks, each of which is visited in so many parts.

Measured: no method is chosen, memory is bounded."""

MANY_DECODINGS, LONG_DECODING = 4, 10.0
"""Where rows were decoded so often without a cache, and for so many seconds in all, a warning says
that there could be one.

Measured: no method is chosen."""

FEATURES_PER_VALUE = 4
"""Rows are sparse if they have at least so many features for each value that is not 0.

Measured: 5 numbers and 8 columns of 6, 12 and 24 categories each (4.1, 7.8 and 15.2 features for a
value): hinge 1.20, 3.33 and 10.7; logistic 1.25, 1.75 and 2.17."""
