"""How rows read from tables are stored."""

from __future__ import annotations

FEATURES_PER_VALUE = 4
"""Rows are sparse if they have at least so many features for each value that is not 0.

Measured: to come."""
