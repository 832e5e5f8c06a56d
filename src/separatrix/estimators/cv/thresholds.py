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

# Values of all rows up to which least squares without each row, and coordinates of wide rows, come
# from the rows in one piece, without squaring their condition. Beyond, from products of features or
# of rows, a few at a time.
# Measured: no speed, digits for memory.
SVD_VALUES = 5_000_000

# Leaving out one row at a time works with square matrices of the rows or the features, whichever
# are fewer: so many of them at most are held at once. With more bytes than this, which is from 8193
# of these on, it is refused, and folds of wide rows are fitted to the rows as they are.
# Measured: no method is chosen, memory is bounded.
FACTORED_COPIES, FACTORED_BYTES = 8, 4 << 30

# Penalties (times different weights of rows) up to which the products of wide rows are inverted for
# each; for more of them factored once, by their eigenvectors, which cost so many times as much.
# Measured: leave-one-out-text, 5.48.
FEW_PENALTIES = 8

# Folds are fitted to coordinates of the rows, n of each, if these are no more than this share of
# the stored values: of dense rows with twice as many features as rows, of sparse ones that are few
# and long.
# Measured: cross-validation-few-rows-squared_hinge, 5.88; cross-validation-few-rows-hinge, 2.75;
# cross-validation-few-rows, 2.15; cross-validation-few-rows-squared, 1.15.
FEWER_VALUES = 1 / 2

# Weights whose scores are found in one read of the rows left out.
# Measured: no method is chosen, memory is bounded.
WEIGHTS_AT_ONCE = 1 << 20
# Rows whose scores by many weights are held at a time.
# Measured: no method is chosen, memory is bounded.
ROWS_AT_ONCE = 2048
