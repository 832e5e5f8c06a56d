"""Saving models to files, and exporting them to other languages."""
