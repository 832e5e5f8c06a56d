"""Where the estimators go another way by size: the kernel perceptron's memory."""

from __future__ import annotations

# The kernel between rows to classify and the supports is filled so many bytes, and at most so many
# rows, at a time. Measured: no method is chosen, and no bit changed.
KERNEL_BLOCK_BYTES = 32 << 20
KERNEL_BLOCK_ROWS = 4096

# Megabytes of kernel rows kept where they are dear to compute again.
# Measured: kernel-laplacian, 5.16; kernel-rbf, which goes by blocks, 1.00.
KERNEL_CACHE_MB = 200.0
