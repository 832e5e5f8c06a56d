"""What one request may ask for: the page is for small data, and the server for one person."""

from __future__ import annotations

MOST_POINTS = 2000
MOST_CLASSES = 4
MOST_STEPS = 20_000
MOST_SECONDS = 5.0
"""Of fitting; a longer fit ends where it is, and is shown up to there."""
MOST_CPU_SECONDS = 30
"""Of a whole request, which fails beyond."""
MOST_WALL_SECONDS = 120.0
"""The same by the clock, for a process that hangs without computing."""
WORKERS = 2
"""Processes that compute answers."""
MOST_WAITING = 64
"""Requests that are answered or wait for it; others are refused."""
MOST_BODY_BYTES = 1 << 18
MOST_READ_SECONDS = 10.0
"""From the first byte of a request to its last."""
MOST_ANSWER_BYTES = 2_000_000
STEPS_AT_ONCE = 1500
"""In one answer: the page asks for more while the first are looked at."""
LANDSCAPE = 60
"""Points to a side of the grid of weight space."""
