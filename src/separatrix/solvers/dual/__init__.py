"""The dual of J: its ascent by three methods, and the lower bounds on J that come of it."""
