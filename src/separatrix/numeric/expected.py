"""What data from a file has to be before anything goes on from it.

A check is a function of a name and a value. It raises a ValueError that says what was found and
what was expected. Checks of numbers and arrays make up those of lists and dictionaries: so the
expected shapes and ranges stand next to the state that they describe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .types import AnyArray

Check = Callable[[str, Any], None]
NUMBER_TYPE = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248])")
MOST_COUNT = 2**53  # passes, rows and the like: no run gets so far, and sums of two still fit
INT64 = -(2**63), 2**63 - 1


def number_type(text: Any) -> np.dtype[Any]:
    """The plain type of booleans or numbers that a text from a file names, such as ``"<f8"``.

    NumPy itself would also read structures and sub-arrays there: a few characters that ask for
    gigabytes for every entry.
    """
    if not isinstance(text, str) or not NUMBER_TYPE.fullmatch(text):
        raise ValueError(f"{_told(text)} is not a type of numbers, expected one such as '<f8'")
    return np.dtype(text)


def scalar(text: Any, number: float) -> Any:
    """A number of the type that a text from a file names; refused if it does not fit."""
    with np.errstate(over="raise"):
        return number_type(text).type(number)


def _told(value: Any) -> str:
    """A value in a few words, however large it is."""
    if isinstance(value, np.ndarray):
        return f"an array of type {value.dtype} and shape {value.shape}"
    if isinstance(value, (dict, list, tuple)):
        return f"a {type(value).__name__} of {len(value)} entries"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _refuse(name: str, value: Any, wanted: str) -> None:
    raise ValueError(f"{name} is {_told(value)}, expected {wanted}")


def anything(name: str, value: Any) -> None:
    """No check: for what only its owner knows."""


def nothing(name: str, value: Any) -> None:
    """None."""
    if value is not None:
        _refuse(name, value, "None")


def flag(name: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        _refuse(name, value, "True or False")


def word(*choices: str) -> Check:
    """A text, or one of some."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or (choices and value not in choices):
            _refuse(name, value, f"one of {choices}" if choices else "a text")

    return check


def whole(least: int = 0, most: int = MOST_COUNT) -> Check:
    """An integer within these bounds."""

    def check(name: str, value: Any) -> None:
        integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not integer or not least <= int(value) <= most:
            _refuse(name, value, f"an integer between {least} and {most}")

    return check


def real(name: str, value: Any) -> None:
    """A number of any size, also an infinite one or NaN."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if not INT64[0] <= int(value) <= INT64[1]:
            _refuse(name, value, "a number")
    elif not isinstance(value, (float, np.floating)):
        _refuse(name, value, "a number")


def at_least_0(name: str, value: Any) -> None:
    """A finite number that is not negative."""
    real(name, value)
    if not 0.0 <= float(value) < np.inf:
        _refuse(name, value, "a finite number of 0 or more")


def optional(check: Check) -> Check:
    """None, or a value that passes a check."""
    return lambda name, value: None if value is None else check(name, value)


def array(*shape: int | None, dtype: Any = np.float64) -> Check:
    """An array of this type and shape; None stands for any length."""
    wanted = f"an array of type {np.dtype(dtype)} and shape ({', '.join(map(_length, shape))})"

    def check(name: str, value: Any) -> None:
        fits = isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == len(shape)
        if not fits or any(n not in (None, m) for n, m in zip(shape, value.shape, strict=True)):
            _refuse(name, value, wanted)

    return check


def _length(n: int | None) -> str:
    return "any" if n is None else str(n)


def indices(below: int, *, increasing: bool = False, narrow: bool = False) -> Check:
    """An array (n,) of integers from 0 to below a bound.

    Each larger than the one before, if ``increasing``; of 32 bits or 64, if ``narrow``.
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
    """A list, of at most so many, whose entries all pass a check."""

    def check_all(name: str, value: Any) -> None:
        if not isinstance(value, (list, tuple)) or (most is not None and len(value) > most):
            _refuse(name, value, "a list" if most is None else f"a list of at most {most}")
        for number, entry in enumerate(value):
            check(f"{name}[{number}]", entry)

    return check_all


def row(*checks: Check) -> Check:
    """A list with one entry for each check."""

    def check_all(name: str, value: Any) -> None:
        if not isinstance(value, (list, tuple)) or len(value) != len(checks):
            _refuse(name, value, f"a list of {len(checks)}")
        for number, (check, entry) in enumerate(zip(checks, value, strict=True)):
            check(f"{name}[{number}]", entry)

    return check_all


def entries(needed: Mapping[str, Check], extra: Mapping[str, Check] | None = None) -> Check:
    """A dictionary with exactly the needed entries, and perhaps extra ones."""
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
                raise ValueError(f"{name} has an entry {_told(key)} that is not known")
            known(f"{name}.{key}", entry)

    return check


def make_up(lengths: AnyArray, total: int) -> bool:
    """Whether these integers are the lengths of parts of a whole of this length."""
    within = not len(lengths) or bool(lengths.min() >= 0 and lengths.max() <= total)
    return within and sum(lengths.tolist()) == total
