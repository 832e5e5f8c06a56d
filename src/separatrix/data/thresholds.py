"""Thresholds for cutting rows in memory into blocks, which threads share, shuffling, and labels.

Block boundaries affect the bits of a sum, so none of these depends on the number of threads.
"""

from __future__ import annotations

BLOCK_BYTES = 1 << 20
"""Least size of a block in bytes: for less, a thread costs more than it saves.

Measured, as blocks on threads: logistic-independent-tall, 1.63; cross-validation, 1.37."""

ONE_THREAD_BYTES = 4 << 20
"""Bytes of rows up to which scores and norms, one number a row, are computed without threads.

Measured, microseconds on two threads and on one, documents of 1.1, 1.5, 3.0 and 5.9 MB: scores 164
and 89, 204 and 123, 346 and 256, 635 and 520; norms 111 and 53, 123 and 72, 216 and 155, 403 and
315."""

MOST_BLOCKS, FEW_BLOCKS = 64, 8
"""Most blocks of all rows; and fewest, if the sum itself is long compared with a block.

Measured: no method is chosen, few sums wait to be added up."""

BLOCK_ROWS_PER_SUM = 32
"""Least size of a block's rows as a multiple of its sum over features, unless blocks are FEW.

Measured: logistic-very-wide-text, 1.24; logistic-text-lbfgs, 1.06."""

LONG_RUN = 1024
"""Number of neighbouring rows of a subset that form a separate block, without a copy: rows of a
fold are contiguous except at its ends.

Measured: cross-validation, 1.05: without it slower than it once was."""

KEPT_SAMPLE = 1 / 16
"""A random sample is copied once if it is at most this share of the rows, or one block.

Measured: logistic-correlated-tall in float64, 1.07: without it slower than it once was."""

NEIGHBOURS_BYTES, GROUP = 16 << 10, 256
"""Random orders keep blocks of neighbouring rows of this many bytes together and mix groups of this
many blocks: in data sorted by class, every group is mixed to within a few per cent.

Measured: passes-tall-32, 1.58; passes-tall-64, 1.52; hinge-sparse, 1.14."""

MOST_DEVIATIONS_OFF = 100
"""Rows that are standardised while they are read are summed unstandardised, with weights divided by
the scale, if the mean of every feature is at most this many deviations from 0: rounding errors grow
by that distance.

Measured: logistic-blocks, 2.31; logistic-blocks-float32, 1.87."""

MOST_SUMS = 1 << 20
"""Features times classes up to which sums of features by class are kept from the first pass, 16 MB.

Measured: no method is chosen, memory is bounded."""

MOST_OCCUPIED = 0.5
"""Sparse rows that use at most this share of the features are fitted without the others.

Measured, CPU seconds with all features over those with the occupied ones, documents: softmax, 743 x
334,158 of which 5,761, k = 6: 50; softmax, 1,896 x 47,124 of which 8,281, k = 20: 48; hinge, 611 x
154,513 of which 6,801, k = 32: 7."""

MOST_NONZERO = 0.3
"""Dense rows with at most this share of non-zero values are copied as sparse rows before multiclass
dual coordinate ascent.

Measured: hinge-images, 1.34; hinge-classes-tall, 0.94."""

COUNTED_LABELS, SEARCHED_LABELS = 1 << 16, 4
"""Range of integer labels up to which the distinct ones are found by counting, and up to which by
comparing with each value; others are hashed or sorted.

Measured, processor time of ``np.unique`` over that on a Xeon, a million labels of 2 values, 39; of
5, 11; of 100, 5.7; of 60,000, 76. Counting takes 6.8 times as long as comparing for 2 values, 1.8
times for 5."""
