"""Sizes that choose how a loop goes through its rows. Others are in ``cpp/``: docs/compiled.md."""

from __future__ import annotations

# Whether the perceptron screens rows: the three copies of the weights that it needs may take one in
# so many bytes of the rows, and so many bytes for every row. It trades memory for reads;
# measured: clean-pass-64 2.77 x, clean-pass-4-classes 0.86 x, overlapping data 1.0 x.
SCREENING_SHARE, SCREENING_ROW_BYTES = 20, 8

TWO_THREADS = 50_000
"""Weights from which on a second thread takes half of the two-loop recursion.

Measured, five pairs, two Xeon cores: 30,000 weights, 1.10; 50,000, 1.56; 100,000, 1.68."""
