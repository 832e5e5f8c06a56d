"""Contour lines of values on a grid, as short line segments for the page."""

from __future__ import annotations

from typing import Any

import numpy as np

UNITS = 1000  # resolution of the segments: integers are short and precise enough


def contour(values: Any, level: float) -> list[list[int]]:
    """Segments [x1, y1, x2, y2] in thousandths of the box, for values (rows upwards, columns).

    Every cell is cut into two triangles; linear interpolation gives each at most one segment.
    """
    rows, columns = values.shape
    up, across = np.mgrid[0:rows, 0:columns]
    places = np.stack([across * (UNITS / (columns - 1)), up * (UNITS / (rows - 1))], axis=-1)
    corners = (slice(None, -1), slice(1, None))
    low, right, top, far = ((a, b) for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)))
    pieces = []
    for triangle in ((low, right, far), (low, far, top)):
        v = np.stack([values[corners[a], corners[b]].ravel() for a, b in triangle]) - level
        p = np.stack([places[corners[a], corners[b]].reshape(-1, 2) for a, b in triangle])
        above = v >= 0.0
        crossed = np.isfinite(v).all(axis=0) & (above.any(axis=0) != above.all(axis=0))
        pieces.append(_cut(v[:, crossed], p[:, crossed]))
    found: list[list[int]] = np.rint(np.concatenate(pieces)).astype(int).tolist()
    return found


def _cut(v: Any, p: Any) -> Any:
    """Where the level crosses the two sides of the corner that is alone on its side of it."""
    above = v >= 0.0
    alone = np.argmax(above == (above.sum(axis=0) == 1), axis=0)
    each = np.arange(v.shape[1])
    ends = []
    for turn in (1, 2):
        other = (alone + turn) % 3
        share = v[alone, each] / (v[alone, each] - v[other, each])
        ends.append(p[alone, each] + share[:, None] * (p[other, each] - p[alone, each]))
    return np.concatenate(ends, axis=1)
