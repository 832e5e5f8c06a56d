"""How the products of features that a Hessian is made of are summed over the rows."""

from __future__ import annotations

OWN_GRAM_FEATURES = 128
"""Features up to which a compiled loop of our own sums products, not BLAS on copies of rows.

Measured: squared-tall, 1.54; cross-validation, 1.17."""

GRAM_ROWS = 512
"""Rows converted to float64 at a time, for BLAS.

Measured: no method is chosen, a copy is kept small."""

FEW_VALUES = 1 / 25
"""Squared number of values in a sparse row, in units of that of features, on average, up to which
its values alone are multiplied, not all features.

Measured: hinge-one-hot-weak, 1.61."""

PRODUCT_ROWS = 512
"""Sparse rows whose products with all others are made at a time, sparse at first.

Measured: no method is chosen, memory is bounded."""
