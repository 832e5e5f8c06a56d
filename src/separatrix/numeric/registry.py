"""Objects as plain data: a name in a registry and parameters in JSON, and back.

Losses, penalties, schedules and solvers are one kind each. A subclass that sets ``name`` registers
itself, and can then be converted to plain data and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

KINDS: dict[str, type[Registered]] = {}


class Registered:
    """Base of classes whose subclasses are known by name.

    The root of a kind sets ``_kind``, the word for it, and ``_registry``, which maps names to
    classes.
    """

    name: ClassVar[str] = ""
    _kind: ClassVar[str]
    _registry: ClassVar[dict[str, type[Any]]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_kind" in cls.__dict__:
            KINDS[cls._kind] = cls
        if not isinstance(cls.__dict__.get("name"), str) or not cls.name:
            return
        known = cls._registry.get(cls.name)
        # The same class again (a notebook cell, @dataclass(slots=True)) replaces itself.
        same = known is not None and known.__qualname__ == cls.__qualname__
        if known is not None and not (same and known.__module__ == cls.__module__):
            raise ValueError(
                f"a {cls._kind} named {cls.name!r} exists already ({known.__module__}."
                f"{known.__qualname__}); give {cls.__qualname__} another name"
            )
        cls._registry[cls.name] = cls

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters as plain data for ``json.dumps`` and ``from_dict``."""
        cls = type(self)
        if self._registry.get(self.name) is not cls:
            raise TypeError(
                f"{cls.__qualname__} has no name in the registry to be read by; "
                f"set a `name` of its own in the class, as every {self._kind} of separatrix does"
            )
        values = {key: as_plain(f"{cls.__name__}.{key}", getattr(self, key)) for key in _keys(cls)}
        return {self._kind: self.name, **values}


AnyRegistered = TypeVar("AnyRegistered", bound=Registered)


def from_dict(root: type[AnyRegistered], data: Mapping[str, Any]) -> AnyRegistered:
    """Create the object of one kind that ``to_dict`` described."""
    kind, registry = root._kind, root._registry
    if not isinstance(data, Mapping) or not isinstance(data.get(kind), str):
        raise ValueError(
            f"a {kind} as plain data must be a dictionary with its name, such as "
            f"{{{kind!r}: {next(iter(registry), '')!r}}}, and its parameters; got {data!r}"
        )
    name = data[kind]
    if name not in registry:
        raise ValueError(f"unknown {kind} {name!r}; known are {', '.join(registry)}")
    cls = registry[name]
    given, known = [key for key in data if key != kind], _keys(cls)
    for key in given:
        if key not in known:
            raise ValueError(
                f"the {kind} {name!r} has no parameter {key!r}; known are "
                f"{', '.join(known) or 'none'}"
            )
    read: AnyRegistered = cls(**{key: _read(data[key]) for key in given})
    return read


def _keys(cls: type[Any]) -> list[str]:
    """Parameters of a class: the fields that its constructor takes and that equality compares."""
    if is_dataclass(cls):
        return [field.name for field in fields(cls) if field.init and field.compare]
    if cls.__init__ is not object.__init__:
        raise TypeError(
            f"{cls.__qualname__} has unknown parameters; make it a dataclass, whose fields are"
        )
    return []


def as_plain(where: str, value: Any) -> Any:
    """Convert a parameter to JSON; if that is impossible, the error names a remedy."""
    if isinstance(value, Registered):
        return value.to_dict()
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, tuple):
        return [as_plain(where, entry) for entry in value]
    remedy = "use a number, a string or an object of a registered class"
    if callable(value):
        remedy = (
            "use a number, a schedule such as InverseScaling(), or a dataclass derived from "
            "separatrix.schedules.Schedule that sets a `name`"
        )
    raise TypeError(f"{where}={value!r} cannot be converted to plain data; {remedy}")


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_read, value))
    if not isinstance(value, Mapping):
        return value
    for kind, root in KINDS.items():
        if kind in value:
            return from_dict(root, value)
    raise ValueError(f"{value!r} is not one of the kinds of plain data: {', '.join(KINDS)}")
