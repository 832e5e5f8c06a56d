"""Programs for people: what they do, anyone can do by the public names of the package."""
