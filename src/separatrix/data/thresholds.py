"""How rows in memory are cut into blocks, the parts of a sum that threads share, and shuffled.

Blocks decide the bits of a sum, so none of these numbers depends on the number of threads.
"""

from __future__ import annotations

BLOCK_BYTES = 1 << 20
"""Bytes of a block, at least: with less to read a thread costs more than it saves.

Measured, as blocks on threads: logistic-independent-tall, 1.63; cross-validation, 1.37."""

ONE_THREAD_BYTES = 4 << 20
"""Bytes of rows up to which scores and norms, one number a row, are found without threads.

Measured, microseconds on two threads and on one, documents of 1.1, 1.5, 3.0 and 5.9 MB: scores 164
and 89, 204 and 123, 346 and 256, 635 and 520; norms 111 and 53, 123 and 72, 216 and 155, 403 and
315."""

MOST_BLOCKS, FEW_BLOCKS = 64, 8
"""Blocks of all rows, at most; and so many there are at least where a sum over features is long.

Measured: no method is chosen, sums that wait to be added up are kept few."""

BLOCK_ROWS_PER_SUM = 32
"""A block's rows are so many times as long as its own sum over features, if blocks are not FEW.

Measured: logistic-very-wide-text, 1.24; logistic-text-lbfgs, 1.06."""

LONG_RUN = 1024
"""Neighbouring rows of a subset that are a block of their own, without a copy: the rows of a fold
lie together but for its ends.

Measured: cross-validation, 1.05: without it slower than it once was."""

KEPT_SAMPLE = 1 / 16
"""Random rows are copied once and for all if they are at most this part of the rows, or one block.

Measured: logistic-correlated-tall in float64, 1.07: without it slower than it once was."""

NEIGHBOURS_BYTES, GROUP = 16 << 10, 256
"""Random orders take neighbouring rows of so many bytes together, and mix so many such blocks: data
sorted by class is mixed to within a few per cent in every group.

Measured: passes-tall-32, 1.58; passes-tall-64, 1.52; hinge-sparse, 1.14."""

VALUES_AT_ONCE = 1 << 15
"""Values that are mapped to others at a time, as where rows are standardised while they are read.

Measured: no method is chosen, what is between two steps stays in the cache."""

MOST_DEVIATIONS_OFF = 100
"""Rows that are standardised while they are read are summed as they were given, by weights divided
by the scale, where the mean of no feature is farther from 0 than so many deviations: that distance
is by how much rounding grows.

Measured: logistic-blocks, 2.31; logistic-blocks-float32, 1.87."""

MOST_OCCUPIED = 0.5
"""Sparse rows that store no more than this part of the features are fitted without the others.

Measured, CPU seconds with all features over those with the occupied ones, documents: softmax, 743 x
334,158 of which 5,761, k = 6: 50; softmax, 1,896 x 47,124 of which 8,281, k = 20: 48; hinge, 611 x
154,513 of which 6,801, k = 32: 7."""

MOST_NONZERO = 0.3
"""Dense rows of which no more than this part is not 0 are copied without zeros before many classes
climb the dual row by row.

Measured: hinge-images, 1.34; hinge-classes-tall, 0.94."""
