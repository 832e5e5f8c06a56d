"""Sizes at which cross-validation changes its method."""

from __future__ import annotations

# Folds are fitted together, in one pass for all, while their second derivatives are small: up to
# this many features (times the square of the classes, if there are more than two), and this many
# values in total, or a sixteenth of those of the rows. Beyond, one fold after another.
# Measured: cross-validation, 17.2; cross-validation-small, 7.46.
TOGETHER_UNKNOWNS = 1500
TOGETHER_VALUES = 1 << 17
TOGETHER_SHARE = 1 / 16

# Second derivatives come from a sample of the rows: not if a standardised row is this many times as
# long (squared) as the average, because one outside of the sample might outweigh it. The longest
# normally distributed row is 3 times the mean, and longer only if there are few features.
# Measured: no speed, fits that converge.
LONG_ROW, LONG_ROW_FEATURES = 8.0, 10

# Number of values up to which leave-one-out least squares, and coordinates of wide rows, use all
# rows at once, without squaring their condition. Beyond, products of features or of rows are used,
# a few at a time.
# Measured: no speed, digits for memory.
SVD_VALUES = 5_000_000

# Leaving out one row at a time uses square matrices of the rows or the features, whichever are
# fewer: at most this many are in memory at once. It is refused if they take more bytes than this,
# from 8193 rows or features on, and folds of wide rows are then fitted to the rows themselves.
# Measured: no method is chosen, memory is bounded.
FACTORED_COPIES, FACTORED_BYTES = 8, 4 << 30

# Number of penalties (times different weights of rows) up to which the products of wide rows are
# inverted for each; for more they are factored once, by their eigenvectors, at this many times the
# cost.
# Measured: leave-one-out-text, 5.48.
FEW_PENALTIES = 8

# Folds are fitted to coordinates of the rows, n of each, if these are at most this share of the
# stored values: for dense rows with twice as many features as rows, for sparse rows that are few
# and long.
# Measured: cross-validation-few-rows-squared_hinge, 5.88; cross-validation-few-rows-hinge, 2.75;
# cross-validation-few-rows, 2.15; cross-validation-few-rows-squared, 1.15.
FEWER_VALUES = 1 / 2

# Number of weights whose scores are computed in one pass over the held-out rows.
# Measured: no method is chosen, memory is bounded.
WEIGHTS_AT_ONCE = 1 << 20
# Number of rows whose scores for many weights are in memory at a time.
# Measured: no method is chosen, memory is bounded.
ROWS_AT_ONCE = 2048
