"""Rows that stay in files: read piece by piece, decoded once, never all in memory."""
