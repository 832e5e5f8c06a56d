"""The classifier to plot, alone or at the end of a pipeline."""

from __future__ import annotations

from typing import Any


def last_step(estimator: Any) -> Any:
    """The estimator itself, or the last step of its pipeline."""
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def rows_before(estimator: Any, X: Any) -> Any:
    """The rows as the last step sees them."""
    if hasattr(estimator, "steps") and len(estimator.steps) > 1:
        return estimator[:-1].transform(X)
    return X


def name_of(estimator: Any, name: str | None) -> str:
    """The given name, or the name of its class."""
    return type(estimator).__name__ if name is None else name
