"""Where cross-validation goes another way by size."""

from __future__ import annotations

# Folds are fitted together, in one read for all, while their second derivatives are small: up to
# so many features (times the square of the classes, if there are more than two), and so many values
# in all, or a sixteenth of those of the rows. Beyond, fold after fold.
# Measured: cross-validation, 17.2; cross-validation-small, 7.46.
TOGETHER_UNKNOWNS = 1500
TOGETHER_VALUES = 1 << 17
TOGETHER_SHARE = 1 / 16

# Second derivatives come from a sample of the rows: not where a standardised row is so many times
# as long (squared) as they are on average, for one outside of the sample might outweigh it. Of
# normal rows the longest is 3 times the mean, and more only where there are few features.
# Measured: no speed, fits that arrive.
LONG_ROW, LONG_ROW_FEATURES = 8.0, 10

# Least squares without each row: values of all rows up to which they are factored in one piece,
# without squaring their condition. Beyond, from X'X, a few rows at a time.
# Measured: no speed, digits for memory.
SVD_VALUES = 5_000_000

# Weights whose scores are found in one read of the rows left out.
# Measured: no method is chosen, memory is bounded.
WEIGHTS_AT_ONCE = 1 << 20
# Rows whose scores by many weights are held at a time.
# Measured: no method is chosen, memory is bounded.
ROWS_AT_ONCE = 2048
