"""Thresholds for sums over rows: feature products, from which Hessians are built, and copies."""

from __future__ import annotations

OWN_GRAM_FEATURES = 512
"""Number of features up to which a compiled loop sums products, not BLAS on copied rows.

Measured: squared-tall, 1.54; cross-validation, 1.17. One core of a Xeon with AVX-512, 430 rows of
200, 300, 512 and 1,000 features: 1.5, 1.3, 0.9 and 0.8 times as fast as BLAS. Two cores that others
use as well: 300 features take an eighth of the processor time, as threads of BLAS wait busily."""

GRAM_ROWS = 512
"""Number of rows converted to float64 at a time, for BLAS.

Measured: no method is chosen, a copy is kept small."""

FEW_VALUES = 1 / 25
"""Mean squared number of values in a sparse row, as a share of d^2, up to which only stored values
are multiplied.

Measured: hinge-one-hot-weak, 1.61."""

FAR_FROM_0 = 1e4
"""Distance of a mean from 0, in units of the scale, up to which only stored values are multiplied,
and centred after they are summed: there 8 of 16 digits are left.

Measured: chosen for accuracy, not for time."""

PRODUCT_ROWS = 512
"""Number of sparse rows whose products with all others are computed at a time.

Measured: no method is chosen, memory is bounded."""

VALUES_AT_ONCE = 1 << 15
"""Number of values mapped at a time, e.g. when rows are standardised while they are read.

Measured: no method is chosen, intermediate values stay in the cache."""
