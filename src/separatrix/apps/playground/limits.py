"""What one request may ask for: the page is for small data, and the server for one person."""

from __future__ import annotations

MOST_POINTS = 2000
MOST_CLASSES = 4
MOST_STEPS = 20_000
MOST_SECONDS = 5.0
MOST_BODY_BYTES = 1 << 18
MOST_ANSWER_BYTES = 2_000_000
STEPS_AT_ONCE = 1500
"""In one answer: the page asks for more while the first are looked at."""
LANDSCAPE = 60
"""Points to a side of the grid of weight space."""
