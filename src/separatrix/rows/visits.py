"""The interface of rows that can be visited one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from ..loops import HingePairs, MulticlassEpochResult, PassResult, RoundResult, ScreeningState
from ..losses import MarginLoss
from ..numeric.types import Array, Ints


class Visits(ABC):
    """Passes that update weights after every row; see the loops of the same names."""

    __slots__ = ()

    @abstractmethod
    def screening_state(self, k: int) -> ScreeningState | None:
        """Screening state of the perceptron for these rows, with k rows of weights."""

    @property
    @abstractmethod
    def online_pass(self) -> Callable[..., PassResult]:
        """Visits rows in an order and updates the weights after every batch.

        :func:`separatrix.loops.online_pass` of these rows, without a layer of its own: short passes
        would notice it.
        """

    @property
    @abstractmethod
    def online_rule(self) -> Callable[..., PassResult]:
        """Visits rows in an order and updates the weights by a rule; :func:`loops.online_rule`."""

    @abstractmethod
    def ascent_round(
        self, y: Array, loss: MarginLoss, alpha: Array, w: Array, active: Ints, **numbers: Any
    ) -> RoundResult:
        """Run epochs over the active rows until the gap is small enough."""

    @abstractmethod
    def multiclass_epoch(
        self, y: Ints, alpha: Array, lines: Array, order: Ints, **numbers: Any
    ) -> MulticlassEpochResult:
        """Visit rows in an order and maximise the dual over each row's alphas."""

    @abstractmethod
    def interior_points(self, y: Array, share: Array, at: HingePairs, **numbers: Any) -> int:
        """Take steps of an interior point method for the hinge, and return how many."""

    @abstractmethod
    def columns(self, features: Ints, means: Array) -> Any:
        """Some features, each stored as a row, for coordinate descent.

        Dense ones are centred copies in double precision; sparse ones are not centred.
        """


def not_in_memory(rows: object) -> TypeError:
    """The error for a storage that offers sums only."""
    return TypeError(
        f"{type(rows).__name__} offers sums over its rows, but no visits row by row: use a batch "
        "solver such as LBFGS() or Newton(), or pass a NumPy array or a SciPy sparse matrix"
    )
