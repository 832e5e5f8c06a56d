"""Code that does not depend on classifiers: types, storage of rows, threads, linear systems,
checks."""
