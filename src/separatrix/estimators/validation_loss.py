"""How a fit does on rows that are held out, pass by pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..data import Source
from ..losses import Loss
from ..numeric.expected import Check, each, entries, real
from ..numeric.types import AnyArray
from ..objective.sums import Value
from ..solvers import State, Step
from ..training.loop import Info


class Watcher(Protocol):
    """A callback whose findings become columns of the history."""

    def __call__(self, step: Step, info: Info) -> None:
        """Take in one pass."""

    def columns(self) -> dict[str, AnyArray]:
        """What the history gains: one entry per pass."""


@dataclass
class ValidationLoss:
    """The weighted mean loss of rows that are held out, without the penalty, after every pass.

    It is that of the average, where a solver keeps one, else that of the last weights.
    """

    loss: Loss
    held_out: Source
    found: list[float] = field(default_factory=list)

    def __call__(self, step: Step, info: Info) -> None:
        """One read of the rows held out, and the clock stands still."""
        self.found.append(np.nan)  # to stay, if the read is interrupted
        W = step.weights if step.average is None else step.average
        losses, _ = self.held_out.total(Value(self.loss, W))
        self.found[-1] = losses / self.held_out.weight_sum

    def to_state(self) -> State:
        """Every pass so far."""
        return {"found": self.found}

    def expected_state(self) -> Check:
        """Checks what ``to_state`` gives."""
        return entries({"found": each(real)})

    def restore(self, state: State) -> None:
        """Go on from the passes of another callback of the same run."""
        self.found = list(state["found"])

    def columns(self) -> dict[str, AnyArray]:
        """One entry per pass."""
        return {"validation_loss": np.array(self.found)}
