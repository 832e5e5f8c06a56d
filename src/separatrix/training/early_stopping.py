"""Early stopping: end a run when the loss on held-out rows no longer falls.

Prechelt, Early stopping - but when?, 1998.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data import Source
from ..losses import Loss
from ..numeric.expected import Check, array, each, entries, optional, real
from ..numeric.types import AnyArray, Array
from ..objective.sums import Value
from ..solvers import State, Step


def shown_weights(step: Step) -> Array:
    """The average if the solver keeps one, else the last weights."""
    return step.weights if step.average is None else step.average


@dataclass
class EarlyStopping:
    """The loss of held-out rows after every pass, and the model with which it was least.

    The loss is the weighted mean, without the penalty.
    """

    patience: int  # the run ends after this many passes without a smaller loss
    loss: Callable[[Step], float]  # the loss of the held-out rows after a step
    model: Callable[[Step], Any]
    """What is kept of a step: arrays and numbers that do not change later."""
    expected_model: Check  # checks what was kept, if it was read from a file
    found: list[float] = field(default_factory=list)
    best: Any = None  # the model after the best pass

    @classmethod
    def of_weights(
        cls,
        patience: int,
        loss: Loss,
        held_out: Source,
        given: Callable[[Step], Step],
        shape: tuple[int, ...],
    ) -> EarlyStopping:
        """For weights of this shape; ``given`` converts a step to those of the given features."""

        def mean(step: Step) -> float:
            losses, _ = held_out.total(Value(loss.unweighted, shown_weights(given(step))))
            return losses / held_out.weight_sum

        return cls(patience, mean, lambda step: shown_weights(step).copy(), array(*shape))

    def ends(self, step: Step) -> bool:
        """Read the held-out rows once; whether the last improvement is too long ago."""
        least = min(self.found, default=np.inf)
        self.found.append(np.inf)  # stays if the read is interrupted, or the loss overflows
        value = self.loss(step)
        self.found[-1] = np.inf if np.isnan(value) else value
        if self.best is None or value < least:
            self.best = self.model(step)
        return len(self.found) - 1 - int(np.argmin(self.found)) >= self.patience

    def columns(self) -> dict[str, AnyArray]:
        """The column of the history: one entry per pass."""
        return {"validation_loss": np.array(self.found)}

    def to_state(self) -> State:
        """The losses so far and the best model."""
        return {"found": self.found, "best": self.best}

    def expected_state(self) -> Check:
        """Check for the result of ``to_state``."""
        return entries({"found": each(real), "best": optional(self.expected_model)})

    def restore(self, state: State) -> None:
        """Continue from the passes of another run with the same settings."""
        self.found, self.best = list(state["found"]), state["best"]
