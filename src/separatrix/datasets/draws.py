"""What random datasets are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numeric import checks
from ..numeric.types import Array, Ints


def alternating(n: int) -> Ints:
    return np.arange(n, dtype=np.int64) % 2


def unit(vector: Array) -> Array:
    direction: Array = vector / np.linalg.norm(vector)
    return direction


def polar(radius: Array, turn: Array) -> Array:
    """Points of the plane; the angle is in full circles."""
    angle = 2.0 * np.pi * turn
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def shuffled(rng: np.random.Generator, X: Array, y: Ints) -> tuple[Array, Ints]:
    order = rng.permutation(len(y))
    return X[order], y[order]


def generator(random_state: Any) -> np.random.Generator:
    """A Generator from an int, a Generator (itself), a RandomState or None."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if not checks.is_integer(random_state) or random_state < 0:
        raise ValueError(
            f"random_state must be an int of at least 0, a numpy Generator or RandomState, or "
            f"None, got {random_state!r}"
        )
    return np.random.default_rng(int(random_state))
