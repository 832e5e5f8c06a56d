"""What proofs take from solvers: the steps of a run, and an ascent of the dual over some rows.

Solvers are a layer above, so they are described here by what a proof needs of them.
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
    """A step of a solver; what is None is not known without another read of the data."""

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
        """The mean of the weights so far."""

    @property
    def predicted_decrease(self) -> float | None:
        """The solver's estimate of how much lower J can get."""

    @property
    def variables(self) -> Variables | None:
        """Variables in which J curves by about 1."""

    @property
    def solved(self) -> bool:
        """Whether the weights come from a closed form."""

    @property
    def reads(self) -> int:
        """How often the data was read for the step."""


class DualPoint(Protocol):
    """Where an ascent of the dual stands."""

    @property
    def objective(self) -> float:
        """J at its weights, where the other rows count with their tangents."""

    @property
    def bound(self) -> float:
        """The dual at feasible alphas."""


class Ascent(Protocol):
    """An ascent of the dual over some rows."""

    @property
    def at(self) -> DualPoint:
        """Where it stands."""

    def alpha(self) -> Array:
        """The dual variables of its rows, (n, columns)."""

    def step(self) -> object:
        """One step on."""


StartAscent = Callable[[Objective, DualLoss, Array, InMemory, DualSums], Ascent]
"""Starts one at given weights, over given rows; the sums of all other rows are fixed."""
