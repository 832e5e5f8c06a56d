"""Sizes at which the estimators change their method."""

from __future__ import annotations

# Bytes, and rows, of the kernel between rows to classify and the supports that are computed at a
# time. Measured: no method is chosen, and no bit changed.
KERNEL_BLOCK_BYTES = 32 << 20
KERNEL_BLOCK_ROWS = 4096

# Megabytes of kernel rows kept where they are expensive to recompute.
# Measured: kernel-laplacian, 5.16; kernel-rbf, which goes by blocks, 1.00.
KERNEL_CACHE_MB = 200.0

# The proof of `nonzero_` in a fit: products for each row, as a share of those of the fit's reads;
# products in all that are always made; and reads of a fit whose rows are not in memory. Measured:
# no speed but that of the proof, 0.05 to 0.4 of the processor time of a fit.
SELECTION_SHARE = 2.0
SELECTION_PRODUCTS = 5e7
SELECTION_READS = 12

# Rows are left out without fits while square matrices have this many variables: the features and
# the bias, times the classes of a joint loss. Dense copies of the rows have at most this many,
# 2 GB of values; beyond, leave_one_out asks for a sample.
# Measured: no speed, memory is bounded.
LEFT_OUT_VARIABLES, LEFT_OUT_VALUES = 2000, 1 << 28
