"""Programs for end users, built on the public names of the package."""
