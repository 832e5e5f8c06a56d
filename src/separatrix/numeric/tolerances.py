"""Limits of floating point that several packages share.

A tolerance relative to a quantity (a share of J, of a margin, of a length) stands where it is used,
under a name that says which quantity.
"""

from __future__ import annotations

import numpy as np

LARGEST_WHOLE = 2.0**53  # all smaller whole numbers are exact in float64
EPS = float(np.finfo(float).eps)
"""Distance from 1 to the next float: twice the relative error of one rounding."""

LARGEST_FLOAT = float(np.finfo(float).max)
SMALLEST_NORMAL = float(np.finfo(float).tiny)  # smaller floats have fewer digits
SMALLEST_FLOAT = 5e-324
VANISHING = 1e-140  # the square of a smaller number says nothing any more

SAFE_DIVISOR = 1e-300
"""Replaces 0 below a fraction whose numerator is 0 too: the quotient stays finite."""

OBJECTIVE_ROUNDING = 2e-15
"""Relative to J: values that differ by less may differ only by the rounding of their sums."""
