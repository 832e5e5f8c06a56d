"""Sizes of the blocks in which a device computes, and of the teams of its threads."""

from __future__ import annotations

HOST_WEIGHTS, HOST_WIDTH = 1 << 14, 513
"""Most weights, and most weights of a class, for which L-BFGS computes with vectors in main memory.

Measured: one H200, logistic, 10,000,000 x 128: 0.047 s with vectors of 129 numbers on the device,
most of it for some 900 launches of kernels; 0.022 s with vectors in main memory."""

START_BYTES = 1 << 30
"""Bytes of rows that could be read while a sum over them is started: L-BFGS on fewer starts from 0,
not from the minimum of a sample.

Measured: one H200, logistic, 10,000,000 x 128, correlated: 0.031 s with a sample of its sample of
233,000 rows, 0.026 s without."""

RESIDENT_PER_LANE = 4
"""Most features of a row per lane with which a multiprocessor must hold four blocks.

Measured: one H200, d = 128, sums in float64: 4.2 TB/s, with three blocks 4.1; d = 256: with three
2.6, with two 4.5."""

AHEAD_BYTES, SHARED_BYTES = 32 << 10, 47 << 10
"""Shared memory of a block for rows that are read ahead, if two groups of rows fit, and at most.

Measured: one H200, value and gradient, d = 128, 256, 512 in float32: sums in float64, reading ahead
one group of rows 3.9, 4.4 and 4.5 TB/s, two of d = 128 4.1, none 3.6, 3.5 and 3.7; sums in float32
4.5, 4.6 and 4.6, none 4.5, 4.5 and 4.6; bfloat16 with sums in float64, d = 128: 2.2, none 1.7."""

TILE_BYTES = 512 << 20
"""Largest memory of a few rows: their values in float64, and their scores for all classes.

Measured: one H200, 65,536 x 1,024 by 1,024 x 1,000 in float64 reaches 54 to 58 TFLOP/s."""

FREE_SHARE = 4
"""A tile takes at most a quarter of the free memory.

Measured: no method is chosen, other libraries allocate the rest."""

TILE_ROWS = 65_536
"""Most rows of a tile, unless there are few features and classes.

Measured: no method is chosen, the sums of a tile wait for each other."""

REGISTERS = 64
"""Values of rows that a lane holds in registers of 4 bytes.

Measured: no method is chosen; ptxas reports no spills for sm_90."""

MOST_PER_LANE = 16
"""Most features of a row per lane, unless a row is spread over eight warps.

Measured: no method is chosen; with 32, two warps a row are faster than one."""

MOMENTS_PER_LANE = 8
"""The same for moments, which take four numbers in double precision for each feature.

Measured: no method is chosen; with more, sums would not fit into registers."""

SEGMENT = 2048
"""Most entries of a column that one warp sums in the transposed product of sparse rows.

Measured: no method is chosen; frequent features would keep one warp busy."""

STREAMED_BYTES = 256 << 20
"""Rows that do not fit are copied to the device this many bytes at a time, with their labels.

Measured: no method is chosen; one H200, copies of 64 MB reach 0.91 of the bus, of 256 MB all."""

LOCKED_BYTES = 64 << 20
"""Pages of the host are locked this many bytes at a time.

Measured: no method is chosen; one H200's host locks 4 GB in 0.24 s."""

MOST_LOCKED = 0.75
"""Largest share of main memory whose pages are locked; other rows go through a buffer.

Measured: one H200, rows in locked pages reach 0.98 of the bus, 16 threads copy 0.6 of it."""

COPY_BYTES = 4 << 20
"""Least bytes that a thread copies.

Measured: no method is chosen, a thread takes a third of a millisecond for them."""

SAMPLED_SHARE = 1 / 8
"""Largest share of the free memory for a sample of rows that do not fit.

Measured: no method is chosen, the rest is for blocks and vectors."""

COEFFICIENT_BYTES = 16 << 20
"""Most coefficients of a tile of sparse rows: they are read in random order, so from the cache.

Measured: no method is chosen; the cache of one H200 has 60 MB."""

SORTED_BYTES = 2 << 30
"""Most memory for sorting the entries of sparse rows by column.

Measured: no method is chosen; entries are sorted once."""

SORT_BYTES = 40
"""Memory for sorting one entry: its column, its number, both sorted, and copies.

Measured: no method is chosen; an upper bound."""

SUMMED_ROWS = 4096
"""Rows that one block of threads sums, if there are more than twice as many.

Measured: one H200, one block took 6 ms for 840,000 rows."""
