"""What needs no classifier: types, rows and their storage, threads, linear systems, checks."""
