"""Proofs of separability that a recording shows, within a budget of work."""

from __future__ import annotations

from typing import Any

from ...separation import Separability, separability
from ...separation.budget import OutOfWork, limited_work

MOST_WORK = 2_000_000
"""In units of :func:`.limited_work`: a few seconds. Points in the plane take a hundredth of it."""
UNDECIDED = "undecided within the budget of work"


def proven(X: Any, y: Any = None, *, fit_intercept: bool) -> Separability | None:
    """The verdict with its margin, or None if it takes more work than a recording may."""
    try:
        with limited_work(MOST_WORK):
            found = separability(X, y, fit_intercept=fit_intercept)
            _ = found.mistake_bound  # computed when first asked for
    except OutOfWork:
        return None
    return found
