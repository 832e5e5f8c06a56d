"""How the products of features that a Hessian is made of are summed, and over which rows."""

from __future__ import annotations

GRAM_TILE = 256
"""Features from which on threads share the tiles of one sum, about so many square, not the rows.

Measured: logistic-correlated-wide, 1.32; softmax, 1.02."""

# ---- the rows that tell the second derivative

SAMPLE_ROWS, SAMPLE_PER_FEATURE = 4096, 10
"""Rows of the sample whose Hessian preconditions: at least so many, and so many per feature.

Measured: logistic-correlated-tall-32, 70.6; logistic-correlated-wide, 6.48; softmax-images-weak,
0.53."""
SAMPLE_SHARE, SAMPLE_COST = 1 / 32, 3.0
"""Of more rows 1 / 32 or 3 / d are sampled, whichever is less: what costs no more than an
evaluation of all.

Measured: logistic-correlated-tall-32, 1.53; logistic-correlated-tall, 1.52."""
DEAR, FEWEST_PER_FEATURE = 200.0, 3
"""Where ten rows per feature are more than 200 / d of all rows, these will do, but no fewer than
three per feature: each evaluation brings J nearer by their number per feature.

Measured: logistic-correlated-wide, 1.74; logistic-correlated-wide-32, 1.58; softmax, 1.02."""
