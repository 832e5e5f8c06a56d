"""Limits of one request: the page is for small data, and the server for one user."""

from __future__ import annotations

MOST_POINTS = 2000  # as many as a recording holds
MOST_CLASSES = 4  # with colours that are easy to distinguish
MOST_STEPS = 20_000  # of one run, as in a recording
MOST_SECONDS = 5.0  # seconds of fitting; a longer fit is stopped and shown up to there
MOST_CPU_SECONDS = 30  # seconds for a whole request, which fails beyond
MOST_WALL_SECONDS = 120.0  # the same by the clock, for a process that hangs without computing
WORKERS = 2  # number of processes that compute answers
MOST_WAITING = 64  # maximum number of running and waiting requests; others are refused
MOST_BODY_BYTES = 1 << 18  # of a request: all points take less
MOST_READ_SECONDS = 10.0  # seconds from the first byte of a request to its last
MOST_ANSWER_BYTES = 2_000_000  # about what a recording of MOST_STEPS takes
STEPS_AT_ONCE = 1500  # steps in one answer: the page requests more while the first are shown
LANDSCAPE = 60  # points per side of the grid of weight space
