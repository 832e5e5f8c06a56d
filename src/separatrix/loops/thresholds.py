"""Sizes at which loops switch methods. More are in ``cpp/``: see docs/compiled.md."""

from __future__ import annotations

# The perceptron screens rows if the three copies of the weights take at most 1 / SCREENING_SHARE
# of the bytes of the rows plus SCREENING_ROW_BYTES per row. It trades memory for reads.
# Measured: clean-pass-64 2.77 x, clean-pass-4-classes 0.86 x, overlapping data 1.0 x.
SCREENING_SHARE, SCREENING_ROW_BYTES = 20, 8
