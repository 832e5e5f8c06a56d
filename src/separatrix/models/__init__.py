"""Models that travel: kept in files, and written down for others to run."""
