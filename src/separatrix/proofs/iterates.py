"""Interfaces of solvers that proofs use: the steps of a run, and an ascent of the dual.

Solvers are in a higher layer, so proofs describe here what they need from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..data import InMemory
from ..numeric.standardization import Variables
from ..numeric.types import Array
from ..objective import Objective
from .dual_loss import DualLoss, DualSums


class Iterate(Protocol):
    """A step of a solver; None means unknown without another read of the data."""

    @property
    def weights(self) -> Array:
        """(k, d + 1), bias last."""

    @property
    def objective(self) -> float | None:
        """J at the weights."""

    @property
    def gradient(self) -> Array | None:
        """The gradient of J at the weights."""

    @property
    def lower_bound(self) -> float | None:
        """A lower bound on the minimum of J that the solver has proven."""

    @property
    def alpha(self) -> Callable[[], Array] | None:
        """The dual variables behind that bound."""

    @property
    def average(self) -> Array | None:
        """Mean of the weights so far."""

    @property
    def predicted_decrease(self) -> float | None:
        """Solver's estimate of how much J can still decrease."""

    @property
    def variables(self) -> Variables | None:
        """Variables in which J has curvature about 1."""

    @property
    def solved(self) -> bool:
        """Whether the weights come from a closed form."""

    @property
    def reads(self) -> int:
        """Number of reads of the data for the step."""


class DualPoint(Protocol):
    """Current point of an ascent of the dual."""

    @property
    def objective(self) -> float:
        """J at its weights, with the tangents of the other rows."""

    @property
    def bound(self) -> float:
        """Dual value at feasible alphas."""


class Ascent(Protocol):
    """Ascent of the dual over some rows."""

    @property
    def at(self) -> DualPoint:
        """Current point."""

    def alpha(self) -> Array:
        """Dual variables of its rows, (n, columns)."""

    def step(self) -> object:
        """Take one step."""


StartAscent = Callable[[Objective, DualLoss, Array, InMemory, DualSums], Ascent]
"""Create an ascent at given weights over given rows; the sums of all other rows are fixed."""
