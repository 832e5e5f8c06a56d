"""Thresholds of the proofs: at which sizes another bound is tried."""

from __future__ import annotations

BOUND_ROWS, BOUND_PER_FEATURE, BOUND_SHARE = 2048, 5, 1 / 8
"""Rows of the sample whose curvature proves a bound near the minimum: this number, or
this number per feature, if that is at most this share of all rows.

Measured: softmax-clouds-weak, 1.30; softmax-clouds, 1.09; logistic-correlated-wide-32, 0.98."""
MOST_FEATURES = 5000
"""Features up to which such a sample is drawn: more need a larger one.

Measured: no speed, memory for the second derivative of the sample is bounded."""
