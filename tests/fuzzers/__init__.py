"""Generators of random cases for ``tests/fuzz.py``, one file for each kind."""
