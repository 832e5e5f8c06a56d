"""Thresholds of the room: by what size another number of threads or another shape is chosen."""

WORTH_A_THREAD = 200_000
"""Kernel values from which on they are computed on all threads: below, waking a thread costs about
as much as it saves. The bits are the same either way.

Measured: kernel-rbf, 1.21; kernel-laplacian, 1.00."""
