"""Sizes from which on another way is faster, or up to which BLAS keeps to one thread."""

from __future__ import annotations

ONE_THREAD_BLAS = 200_000
"""Multiplications up to which BLAS is not held to one thread: OpenBLAS splits from 262,144 on.

Saves small calls the price of setting the limit, which is more than theirs.

Measured: logistic-small, 1.16; cross-validation-small-hinge, 1.16; hinge-small, 1.12."""

CSR_VALUES_AT_ONCE = 1 << 17
"""Sparse values whose squares are taken at a time.

Measured: no method is chosen, a copy is kept small."""

PRODUCT_ROWS = 512
"""Sparse rows whose products with all others are made at a time, sparse at first.

Measured: no method is chosen, memory is bounded."""
