"""Checks that data from a file must pass before it is used.

A check is a function of a name and a value. It raises a ValueError that says what was found and
what was expected. Checks of numbers and arrays are combined to checks of lists and dictionaries: so
the expected shapes and ranges stand next to the state that they describe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .types import AnyArray

Check = Callable[[str, Any], None]
NUMBER_TYPE = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248])")
MOST_COUNT = 2**53  # passes, rows and similar: no run reaches it, and a sum of two still fits
INT64 = -(2**63), 2**63 - 1  # its smallest and largest numbers


def number_type(text: Any) -> np.dtype[Any]:
    """The type of Booleans or numbers that a string from a file names, such as ``"<f8"``.

    NumPy itself would also accept structures and sub-arrays: a few characters that request
    gigabytes for every entry.
    """
    if not isinstance(text, str) or not NUMBER_TYPE.fullmatch(text):
        raise ValueError(f"{_described(text)} is not a type of numbers, expected one such as '<f8'")
    return np.dtype(text)


def scalar(text: Any, number: float) -> Any:
    """A number of the type that a string from a file names; refused if it does not fit."""
    with np.errstate(over="raise"):
        return number_type(text).type(number)


def _described(value: Any) -> str:
    """Describe a value in a few words, however large it is."""
    if isinstance(value, np.ndarray):
        return f"an array of type {value.dtype} and shape {value.shape}"
    if isinstance(value, (dict, list, tuple)):
        return f"a {type(value).__name__} of {len(value)} entries"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _refuse(name: str, value: Any, wanted: str) -> None:
    raise ValueError(f"{name} is {_described(value)}, expected {wanted}")


def anything(name: str, value: Any) -> None:
    """No check: for values that their owner checks."""


def nothing(name: str, value: Any) -> None:
    if value is not None:
        _refuse(name, value, "None")


def flag(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        _refuse(name, value, "True or False")


def word(*choices: str) -> Check:
    """Check for a string, or for one of the choices."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or (choices and value not in choices):
            _refuse(name, value, f"one of {choices}" if choices else "a text")

    return check


def whole(least: int = 0, most: int = MOST_COUNT) -> Check:
    """Check for an integer within these bounds."""

    def check(name: str, value: Any) -> None:
        integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not integer or not least <= int(value) <= most:
            _refuse(name, value, f"an integer between {least} and {most}")

    return check


def real(name: str, value: Any) -> None:
    """Check for a number of any size, including infinity and NaN."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if not INT64[0] <= int(value) <= INT64[1]:
            _refuse(name, value, "a number")
    elif not isinstance(value, (float, np.floating)):
        _refuse(name, value, "a number")


def at_least_0(name: str, value: Any) -> None:
    """Check for a finite number that is not negative."""
    real(name, value)
    if not 0.0 <= float(value) < np.inf:
        _refuse(name, value, "a finite number of 0 or more")


def positive(name: str, value: Any) -> None:
    """Check for a finite number above 0."""
    real(name, value)
    if not 0.0 < float(value) < np.inf:
        _refuse(name, value, "a finite number above 0")


def optional(check: Check) -> Check:
    """Check for None, or for a value that passes a check."""
    return lambda name, value: None if value is None else check(name, value)


def array(*shape: int | None, dtype: Any = np.float64, finite: bool = False) -> Check:
    """Check for an array of this type and shape; None stands for any length.

    With ``finite``, neither infinity nor NaN is allowed.
    """

    def check(name: str, value: Any) -> None:
        fits = isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == len(shape)
        if not fits or any(n not in (None, m) for n, m in zip(shape, value.shape, strict=True)):
            lengths = ", ".join(map(_length, shape))
            _refuse(name, value, f"an array of type {np.dtype(dtype)} and shape ({lengths})")
        if finite and not np.all(np.isfinite(value)):
            raise ValueError(f"{name} has entries that are not finite numbers")

    return check


def _length(n: int | None) -> str:
    return "any" if n is None else str(n)


def indices(below: int, *, increasing: bool = False, narrow: bool = False) -> Check:
    """Check for an array (n,) of integers from 0 to below a bound.

    With ``increasing``, strictly increasing; with ``narrow``, of 32 or 64 bits.
    """

    def check(name: str, value: Any) -> None:
        is_narrow = narrow and isinstance(value, np.ndarray) and value.dtype == np.int32
        array(None, dtype=np.int32 if is_narrow else np.int64)(name, value)
        if len(value) and not (value.min() >= 0 and value.max() < below):
            raise ValueError(f"{name} has entries that are not from 0 to {below - 1}")
        if increasing and np.any(np.diff(value) <= 0):
            raise ValueError(f"{name} does not increase")

    return check


def each(check: Check, most: int | None = None) -> Check:
    """Check for a list, of at most ``most`` entries, that all pass a check."""

    def check_all(name: str, value: Any) -> None:
        if not isinstance(value, (list, tuple)) or (most is not None and len(value) > most):
            _refuse(name, value, "a list" if most is None else f"a list of at most {most}")
        for number, entry in enumerate(value):
            check(f"{name}[{number}]", entry)

    return check_all


def row(*checks: Check) -> Check:
    """Check for a list with one entry for each check."""

    def check_all(name: str, value: Any) -> None:
        if not isinstance(value, (list, tuple)) or len(value) != len(checks):
            _refuse(name, value, f"a list of {len(checks)}")
        for number, (check, entry) in enumerate(zip(checks, value, strict=True)):
            check(f"{name}[{number}]", entry)

    return check_all


def entries(needed: Mapping[str, Check], extra: Mapping[str, Check] | None = None) -> Check:
    """Check for a dictionary with exactly the needed entries, and optional extra ones."""
    extra = extra or {}

    def check(name: str, value: Any) -> None:
        if not isinstance(value, dict):
            _refuse(name, value, "a dictionary")
        for key in needed:
            if key not in value:
                raise ValueError(f"{name} has no entry {key!r}")
        for key, entry in value.items():
            known = needed.get(key) or extra.get(key)
            if known is None:
                raise ValueError(f"{name} has an entry {_described(key)} that is not known")
            known(f"{name}.{key}", entry)

    return check


def make_up(lengths: AnyArray, total: int) -> bool:
    """Whether these integers are lengths of parts that add up to this total."""
    within = not len(lengths) or bool(lengths.min() >= 0 and lengths.max() <= total)
    return within and sum(lengths.tolist()) == total
