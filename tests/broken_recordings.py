"""Recordings with one thing wrong somewhere, for those who check them."""

from __future__ import annotations

import json

import numpy as np

VALUES = (None, -1, 0.5, "x", True, [], {}, [[1.0]], 3)


def broken_recordings(good, count):
    """Copies of a recording, as plain data, each with a value replaced or a key left out."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        bad = json.loads(json.dumps(good))
        holder = bad
        while True:  # walk down to somewhere, and break it
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            key = keys[rng.integers(len(keys))]
            inner = holder[key]
            if not isinstance(inner, (dict, list)) or not len(inner) or rng.random() < 0.2:
                break
            holder = inner
        if isinstance(holder, dict) and rng.random() < 0.3:
            del holder[key]
        else:
            holder[key] = VALUES[rng.integers(len(VALUES))]
        yield bad
