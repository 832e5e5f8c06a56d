"""Registered contestants: a table of adapters, and whether each peer can be imported.

An adapter is a generator of contestants for a piece of work; it yields nothing if the peer does not
support the work. Copies in the layout of the peer are made before timing starts. A peer that cannot
be imported is left out, and ``why_missing`` gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ..contest import OURS, Contestant
from ..problem import Problem

Minimiser = Callable[[Problem], Iterator[Contestant]]
Passer = Callable[[Any, Any, int], Iterator[Contestant]]
MINIMISERS: dict[str, Minimiser] = {}
LASSOS: dict[str, Minimiser] = {}
PASSERS: dict[str, Passer] = {}
MODULES: dict[str, str] = {}
FEW, MANY = 10, 2_000  # rows to compile on; iterations, which the tolerance should end
GRID = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
ROUGH_GRID = (1e-1, 1e-2, *GRID[:5])  # for peers whose tolerance refers to single rows


def minimiser(peer: str, module: str) -> Callable[[Minimiser], Minimiser]:
    """Register an adapter that solves a :class:`Problem`."""

    def register(adapter: Minimiser) -> Minimiser:
        MINIMISERS[peer], MODULES[peer] = adapter, module
        return adapter

    return register


def lasso(peer: str, module: str) -> Callable[[Minimiser], Minimiser]:
    """Register an adapter that solves a :class:`Problem` with l1 and without l2."""

    def register(adapter: Minimiser) -> Minimiser:
        LASSOS[peer], MODULES[peer] = adapter, module
        return adapter

    return register


def passer(peer: str, module: str) -> Callable[[Passer], Passer]:
    """Register an adapter that makes some shuffled passes of a perceptron over X, y."""

    def register(adapter: Passer) -> Passer:
        PASSERS[peer], MODULES[peer] = adapter, module
        return adapter

    return register


@cache
def why_missing(peer: str) -> str | None:
    """The error when the peer was imported; None if it can be imported."""
    try:
        import_module(MODULES[peer])
    except Exception as error:  # a broken install may raise anything
        return str(error)
    return None


def present(peer: str, only: tuple[str, ...]) -> bool:
    """Whether a peer takes part; unselected peers are not imported."""
    return (not only or peer in (*only, OURS)) and why_missing(peer) is None


def _ours_first(peer: str) -> bool:
    return peer != OURS


def minimisers(problem: Problem, *only: str) -> list[Contestant]:
    """All contestants (or the named peers and separatrix) that can solve the problem."""
    adapters = LASSOS if problem.l1 else MINIMISERS
    return [
        contestant
        for peer in sorted(adapters, key=_ours_first)
        if present(peer, only)
        for contestant in adapters[peer](problem)
    ]


def passers(X: Any, y: Any, passes: int, *only: str) -> list[Contestant]:
    """All contestants (or the named peers and separatrix) that can make passes over these rows."""
    return [
        contestant
        for peer in sorted(PASSERS, key=_ours_first)
        if present(peer, only)
        for contestant in PASSERS[peer](X, y, passes)
    ]


def precisions(problem: Problem) -> dict[str, Any]:
    """The rows as they are and, if that is float32, in float64: some solvers need it."""
    wide = {} if problem.X.dtype == np.float64 else {" float64": problem.double}
    return {"": problem.X, **wide}
