"""The loss of a fit on held-out rows, pass by pass."""

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
    """A callback whose results become columns of the history."""

    def __call__(self, step: Step, info: Info) -> None:
        """Observe one pass."""

    def columns(self) -> dict[str, AnyArray]:
        """Columns to add to the history: one entry per pass."""


@dataclass
class ValidationLoss:
    """The weighted mean loss of held-out rows, without the penalty, after every pass.

    It is computed with the average if the solver keeps one, else with the last weights.
    """

    loss: Loss
    held_out: Source
    found: list[float] = field(default_factory=list)

    def __call__(self, step: Step, info: Info) -> None:
        """Read the held-out rows once; the clock is stopped meanwhile."""
        self.found.append(np.nan)  # stays if the read is interrupted
        W = step.weights if step.average is None else step.average
        losses, _ = self.held_out.total(Value(self.loss, W))
        self.found[-1] = losses / self.held_out.weight_sum

    def to_state(self) -> State:
        """The loss of every pass so far."""
        return {"found": self.found}

    def expected_state(self) -> Check:
        """Check for the result of ``to_state``."""
        return entries({"found": each(real)})

    def restore(self, state: State) -> None:
        """Continue from the passes of another callback of the same run."""
        self.found = list(state["found"])

    def columns(self) -> dict[str, AnyArray]:
        """One entry per pass."""
        return {"validation_loss": np.array(self.found)}
