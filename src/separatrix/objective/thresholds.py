"""Thresholds for summing feature products into a Hessian, and for the sample of rows used."""

from __future__ import annotations

GRAM_TILE = 256
"""Number of features from which threads share square tiles of one sum, about this wide, not rows.

Measured: logistic-correlated-wide, 1.32; softmax, 1.02."""

# ---- the sample that estimates the second derivative

SAMPLE_ROWS, SAMPLE_PER_FEATURE = 4096, 10
"""Least size of the sample whose Hessian preconditions: in all, and per feature.

Measured: logistic-correlated-tall-32, 70.6; logistic-correlated-wide, 6.48; softmax-images-weak,
0.53."""
SAMPLE_SHARE, SAMPLE_COST = 1 / 32, 3.0
"""Of more rows 1 / 32 or 3 / d are sampled, whichever is less, so that the sample costs no more
than one evaluation of all rows.

Measured: logistic-correlated-tall-32, 1.53; logistic-correlated-tall, 1.52."""
ENOUGH_ROWS, FEWEST_PER_FEATURE = 200.0, 3
"""If ten rows per feature are more than 200 / d of all rows, 200 / d are enough, but at least
three per feature: each evaluation brings J nearer by the number of rows per feature.

Measured: logistic-correlated-wide, 1.74; logistic-correlated-wide-32, 1.58; softmax, 1.02."""
