"""Rows in files, read block by block and never all in memory.

``readers`` has one reader per format, ``encoding`` turns columns into features and labels into
codes, and ``cache`` keeps decoded blocks on disk. The modules here combine them into a source.
"""
