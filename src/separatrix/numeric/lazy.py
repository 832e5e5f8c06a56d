"""Attributes computed on first access, then cached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 (a decorator, as property is)
    """As in the standard library, but without the lock that Python 3.11 has for a whole class.

    A fork while another thread holds that lock leaves the child waiting forever. Without it two
    threads may compute the same value at once, and one of them is kept.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.name = compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        # Found there from now on: an instance's own attributes take precedence over this
        # descriptor.
        known: dict[str, Any] = instance.__dict__
        value: T = known.setdefault(self.name, self.compute(instance))
        return value
