"""How the products of features that a Hessian is made of are summed."""

from __future__ import annotations

OWN_GRAM_FEATURES = 128
"""Features up to which a compiled loop of our own sums products, not BLAS on copies of rows.

Measured: squared-tall, 1.54; cross-validation, 1.17."""

GRAM_TILE = 256
"""Features from which on threads share the tiles of one sum, about so many square, not the rows.

Measured: logistic-correlated-wide, 1.32; softmax, 1.02."""

GRAM_ROWS = 512
"""Rows converted to float64 at a time, for BLAS.

Measured: no method is chosen, a copy is kept small."""
