"""From the columns of a table to features, and from labels to codes."""
