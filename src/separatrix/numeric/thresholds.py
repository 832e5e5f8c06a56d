"""Sizes from which on another way is faster, or up to which BLAS keeps to one thread."""

from __future__ import annotations

ONE_THREAD_DOT = 10_000
"""Numbers up to which a dot product is left to BLAS: OpenBLAS sums so few with one thread. Of more
einsum keeps the bits the same on any number of threads, at some loss of speed.

Measured: perceptron-and, 1.15; softmax-digits, 1.08."""

ONE_THREAD_BLAS = 200_000
"""Multiplications up to which BLAS is not held to one thread: OpenBLAS splits from 262,144 on.

Saves small calls the price of setting the limit, which is more than theirs.

Measured: logistic-small, 1.16; cross-validation-small-hinge, 1.16; hinge-small, 1.12."""
