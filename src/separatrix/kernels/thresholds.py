"""Thresholds of this package: sizes from which another number of threads or shape is chosen."""

WORTH_A_THREAD = 200_000
"""Number of kernel values from which all threads are used: below, waking a thread costs about as
much as it saves. The bits are the same either way.

Measured: kernel-rbf, 1.21; kernel-laplacian, 1.00."""
