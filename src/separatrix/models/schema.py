"""Whether a value conforms to the type hints of the code: a file may contain anything."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value conforms to a type hint, also inside containers."""
    if hint is Any:
        return True
    origin, args = get_origin(hint), get_args(hint)
    aliased = getattr(origin, "__value__", None)
    if aliased is not None:  # NDArray of NumPy 2.5 is an alias with a parameter
        return conforms(value, aliased[args])
    if origin in (Union, types.UnionType):
        return any(conforms(value, one) for one in args)
    if origin is Literal:
        return type(value) is str and value in args
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _has_dtype(value.dtype, get_args(args[1])[0])
    if origin is not None:
        return _container_conforms(value, origin, args)
    if hint is bool:
        return isinstance(value, (bool, np.bool_))
    if hint in (int, float):
        kinds = (int, np.integer) if hint is int else (int, float, np.integer, np.floating)
        return isinstance(value, kinds) and not isinstance(value, bool)
    return isinstance(value, hint)


def _has_dtype(dtype: np.dtype[Any], hint: Any) -> bool:
    """Row numbers may be integers of any width."""
    return hint is Any or (dtype.kind == "i" if hint is np.int64 else dtype == hint)


def _container_conforms(value: Any, origin: Any, args: tuple[Any, ...]) -> bool:
    if issubclass(origin, Mapping):
        entries = value.items() if isinstance(value, dict) else ()
        return isinstance(value, dict) and all(
            conforms(key, args[0]) and conforms(entry, args[1]) for key, entry in entries
        )
    if not isinstance(value, origin):
        return False
    if origin is tuple and args[-1] is not Ellipsis:
        return len(value) == len(args) and all(map(conforms, value, args))
    return all(conforms(entry, args[0]) for entry in value)
