"""Sizes of the blocks in which a device computes, and of the teams of its threads."""

from __future__ import annotations

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
