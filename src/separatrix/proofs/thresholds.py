"""Thresholds of the proofs: at which sizes another bound is tried."""

from __future__ import annotations

BOUND_ROWS, BOUND_PER_FEATURE, BOUND_SHARE = 2048, 5, 1 / 8
"""Rows of the sample whose curvature proves a bound near the minimum: this number, or
this number per feature, if that is at most this share of all rows.

Measured: softmax-clouds-weak, 1.30; softmax-clouds, 1.09; logistic-correlated-wide-32, 0.98."""
MOST_FEATURES = 5000
"""Features up to which such a sample is drawn: more need a larger one.

Measured: no speed, memory for the second derivative of the sample is bounded."""
DEVICE_SHARE, DEVICE_BYTES = 1 / 20, 1 << 29
"""The same sample on a device: this share of the rows, and most bytes of the copy.

Measured: one H200, softmax, 1,281,167 x 1,024 and 1,000 classes, l2 = 1.2e-6: a fit takes 6.9 s
with the sample and 9.2 s without; a bound to 2e-5 of J takes 1.2, 1.9 and 2.7 s with 1/20, 1/8 and
1/4 of the rows."""
