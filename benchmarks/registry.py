"""Workloads by name, each at three sizes: tiny for tests, small for a preview, full for results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

from .contest import Contest

SIZES = ("tiny", "small", "full")


@dataclass(frozen=True)
class Workload:
    """A contest at three sizes."""

    name: str
    make: Callable[..., Contest]
    sizes: Mapping[str, tuple[Any, ...]]
    goal: float | None = None  # times the best peer
    share: float | None = None  # of the machine's limit

    def build(self, size: str) -> Contest:
        return self.make(*self.sizes[size])


@dataclass(frozen=True)
class Series:
    """The same contest at increasing sizes along one axis, to measure the growth of times."""

    name: str
    axis: str
    make: Callable[..., Contest]
    sizes: Mapping[str, tuple[Any, ...]]

    def build(self, size: str) -> Iterator[tuple[int, Contest]]:
        values, *rest = self.sizes[size]
        return ((value, self.make(value, *rest)) for value in values)


WORKLOADS: dict[str, Workload | Series] = {}


def workload(
    name: str,
    *,
    tiny: tuple[Any, ...] = (),
    small: tuple[Any, ...] = (),
    full: tuple[Any, ...] = (),
    goal: float | None = None,
    share: float | None = None,
) -> Callable[[Callable[..., Contest]], Callable[..., Contest]]:
    """Register a function of the size's parameters; may be stacked for several data sets."""

    def register(make: Callable[..., Contest]) -> Callable[..., Contest]:
        sizes = {"tiny": tiny, "small": small, "full": full}
        WORKLOADS[name] = Workload(name, make, sizes, goal, share)
        return make

    return register


def series(
    name: str, axis: str, *, tiny: tuple[Any, ...], small: tuple[Any, ...], full: tuple[Any, ...]
) -> Callable[[Callable[..., Contest]], Callable[..., Contest]]:
    """Register a function of the value on the axis; a size is these values and what is fixed."""

    def register(make: Callable[..., Contest]) -> Callable[..., Contest]:
        sizes = {"tiny": tiny, "small": small, "full": full}
        WORKLOADS[name] = Series(name, axis, make, sizes)
        return make

    return register


def select(asked: list[str]) -> list[str]:
    """The names selected by names and patterns; all if none is given."""
    chosen = [name for name in WORKLOADS if any(fnmatch(name, each) for each in asked or ["*"])]
    for each in asked:
        if not any(fnmatch(name, each) for name in WORKLOADS):
            raise ValueError(f"no workload {each!r}; choose from {', '.join(WORKLOADS)}")
    return chosen
