"""Checks of hyper-parameters, called by ``fit``; errors say what was given and what is expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .tolerances import LARGEST_FLOAT
from .types import Array


def is_number(value: Any) -> bool:
    """Whether a value is a single Python or NumPy number; True and False are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    """Whether a value is of an integer type; True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def number(
    name: str, value: Any, *, least: float = 0.0, most: float = LARGEST_FLOAT, strict: bool = False
) -> float:
    """Check for a finite number, not below (or strictly above) a bound, and not above another."""
    return _number(name, value, least, most, strict, False)


def optional_number(
    name: str, value: Any, *, most: float = LARGEST_FLOAT, strict: bool = False
) -> float | None:
    """A number of at least 0; None switches off what the number limits."""
    return None if value is None else _number(name, value, 0.0, most, strict, True)


def _number(
    name: str, value: Any, least: float, most: float, strict: bool, optional: bool
) -> float:
    known = type(value) in (float, int) or is_number(value)
    # As a Python float: compared with a float32, the largest float would overflow.
    x = value if not known or isinstance(value, int) else float(value)
    if known and (least < x if strict else least <= x) and x <= most:
        return float(x) + 0.0  # -0.0 is 0
    bound = f"{'above' if strict else 'of at least'} {least:g}"
    bound += f" and at most {most:g}" if most < LARGEST_FLOAT else ""
    wanted = f"a finite number {bound}" + (", or None to switch it off" if optional else "")
    raise (ValueError if known else TypeError)(f"{name} must be {wanted}, got {value!r}")


def whole(name: str, value: Any, *, least: int = 1) -> int:
    """Check for a whole number, not below a bound; 3.0 is one."""
    return _whole(name, value, least, False)


def optional_whole(name: str, value: Any) -> int | None:
    """A whole number of at least 1; None switches off what the number limits."""
    return None if value is None else _whole(name, value, 1, True)


def _whole(name: str, value: Any, least: int, optional: bool) -> int:
    result = _number(name, value, least, LARGEST_FLOAT, False, optional)
    if result != int(result):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(result)


def integer(name: str, value: Any, *, least: int = 1, why: str = "") -> int:
    """Check for an integer type, not below a bound; ``why`` explains the bound."""
    if is_integer(value) and value >= least:
        return int(value)
    wanted = f"{name} must be a whole number of at least {least}" + (f" ({why})" if why else "")
    raise (ValueError if is_integer(value) else TypeError)(f"{wanted}, got {value!r}")


def flag(name: str, value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def flags(**given: Any) -> None:
    """Check parameters that must be True or False."""
    for name, value in given.items():
        if value is not True and value is not False:
            flag(name, value)


def switch(name: str, value: Any) -> bool:
    """Check for True, False, or a verbosity level as in other libraries, where 0 is False."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise (ValueError if isinstance(value, int) else TypeError)(
            f"{name} must be True or False, or a whole number of at least 0, got {value!r}"
        )
    return bool(value > 0)


def choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Check for one of a few strings."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def callables(name: str, value: Any) -> tuple[Any, ...]:
    """Check for a sequence of callables."""
    sequence = isinstance(value, (tuple, list, Sequence))  # the most common types first
    if callable(value) or not sequence or not all(map(callable, value)):
        raise TypeError(
            f"{name} must be a sequence of callables such as ({name[:-1]},), got {value!r}"
        )
    return tuple(value)


def seed(random_state: Any) -> int:
    """Draw a seed from an int, a Generator, a RandomState or None."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**62))
    if is_integer(random_state):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state!r}")
        return int(random_state)
    if random_state is None or random_state is np.random:
        return int(np.random.randint(2**31 - 1))  # noqa: NPY002 (the global generator)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        f"random_state must be an int, a numpy Generator or RandomState, or None, "
        f"got {random_state!r}"
    )


def is_left_to_chance(random_state: Any) -> bool:
    """Whether any seed may be used."""
    return random_state is None or random_state is np.random


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
