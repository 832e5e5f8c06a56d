"""Rows in files, read block by block: decoded once, never all in memory."""
