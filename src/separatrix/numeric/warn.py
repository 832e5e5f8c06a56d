"""Warnings that point to the user's line."""

from __future__ import annotations

import sys
import warnings

PACKAGE = __name__.partition(".")[0]


def warn(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the line outside of the package that led here, however deep the call is."""
    frame, depth, level = sys._getframe(1), 2, 2
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
            level = depth + 1
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, category, stacklevel=level)
