"""Checks of hyper-parameters, made when ``fit`` is called: what was wrong, what is expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .types import Array

LARGEST = float(np.finfo(float).max)


def number(
    name: str, value: Any, *, least: float = 0.0, strict: bool = False, optional: bool = False
) -> float | None:
    """A finite number, not below (or strictly above) a bound."""
    if value is None and optional:
        return None
    known = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if known and (least < value if strict else least <= value) and value <= LARGEST:
        return float(value)
    bound = f"{'above' if strict else 'of at least'} {least:g}"
    wanted = f"a finite number {bound}" + (", or None to switch it off" if optional else "")
    raise (ValueError if known else TypeError)(f"{name} must be {wanted}, got {value!r}")


def whole(name: str, value: Any, *, least: int = 1, optional: bool = False) -> int | None:
    """A whole number, not below a bound."""
    result = number(name, value, least=least, optional=optional)
    if result is None:
        return None
    if result != int(result):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(result)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def switch(name: str, value: Any) -> bool:
    """True or False, or a number as other libraries count how much is to be said: 0 is False."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise (ValueError if isinstance(value, int) else TypeError)(
            f"{name} must be True or False, or a whole number of at least 0, got {value!r}"
        )
    return bool(value > 0)


def choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def callables(name: str, value: Any) -> tuple[Any, ...]:
    """A sequence of callables."""
    if callable(value) or not isinstance(value, Sequence) or not all(map(callable, value)):
        raise TypeError(
            f"{name} must be a sequence of callables such as ({name[:-1]},), got {value!r}"
        )
    return tuple(value)


def seed(random_state: Any) -> int:
    """One number from an int, a Generator, a RandomState or None."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**62))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state!r}")
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise ValueError(
            f"random_state must be an int, a numpy Generator or RandomState, or None, "
            f"got {random_state!r}"
        ) from None


def start_array(start: Any, shape: tuple[int, int], intercept: bool) -> Array:
    """Weights (k, d + 1) or, for k = 1, (d + 1,), bias last."""
    W = np.array(start, dtype=np.float64)
    if W.shape != shape and (shape[0] != 1 or W.shape != shape[1:]):
        flat = f" or ({shape[1]},)" if shape[0] == 1 else ""
        raise ValueError(
            f"start has shape {W.shape}, expected {shape}{flat}: one weight for each of "
            f"{shape[1] - 1} features, and the bias last"
        )
    if not np.all(np.isfinite(W)):
        raise ValueError("start contains NaN or infinity; every weight must be finite")
    W = W.reshape(shape)
    if not intercept and W[:, -1].any():
        raise ValueError("start has a bias, but fit_intercept=False; set the last weight to 0")
    return W
