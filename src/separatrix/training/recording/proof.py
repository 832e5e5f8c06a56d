"""Proofs of separability for recordings, within a limited amount of work."""

from __future__ import annotations

from typing import Any

from ...separation import Separability, separability
from ...separation.budget import OutOfWork, limited_work

MOST_WORK = 2_000_000
"""In units of :func:`.limited_work`: a few seconds. Points in the plane need a hundredth of it."""
UNDECIDED = "undecided within the budget of work"


def proven(X: Any, y: Any = None, *, fit_intercept: bool) -> Separability | None:
    """The verdict with its margin, or None if it takes more work than allowed."""
    try:
        with limited_work(MOST_WORK):
            found = separability(X, y, fit_intercept=fit_intercept)
            _ = found.mistake_bound  # computed on first access
    except OutOfWork:
        return None
    return found
