"""Sizes from which another method is faster, or up to which BLAS uses one thread."""

from __future__ import annotations

ONE_THREAD_DOT = 10_000
"""Numbers up to which a dot product is left to BLAS: OpenBLAS sums so short ones with one thread.
For more, einsum keeps the bits the same on any number of threads, but is slower.

Measured: perceptron-and, 1.15; softmax-digits, 1.08."""

ONE_THREAD_BLAS = 200_000
"""Multiplications up to which BLAS is not limited to one thread: OpenBLAS splits from 262,144 on.
For small calls, setting the limit costs more than the call.

Measured: logistic-small, 1.16; cross-validation-small-hinge, 1.16; hinge-small, 1.12."""
