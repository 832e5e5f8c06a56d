"""Early stopping: end a run when the loss on held-out rows no longer falls.

Prechelt, Early stopping - but when?, 1998.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

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
    """The loss of held-out rows after every pass, and the weights with which it was least.

    The loss is the weighted mean, without the penalty.
    """

    loss: Loss
    held_out: Source
    patience: int
    """The run ends after this many passes without a smaller loss."""
    given: Callable[[Step], Step]
    """Converts the weights of a step to those of the given features."""
    found: list[float] = field(default_factory=list)
    best: Array | None = None
    """Weights of the solver in the best pass."""

    def ends(self, step: Step) -> bool:
        """Read the held-out rows once; whether the last improvement is too long ago."""
        least = min(self.found, default=np.inf)
        self.found.append(np.inf)  # stays if the read is interrupted, or the loss overflows
        losses, _ = self.held_out.total(Value(self.loss, shown_weights(self.given(step))))
        value = losses / self.held_out.weight_sum
        self.found[-1] = np.inf if np.isnan(value) else value
        if self.best is None or value < least:
            self.best = shown_weights(step).copy()
        return len(self.found) - 1 - int(np.argmin(self.found)) >= self.patience

    def columns(self) -> dict[str, AnyArray]:
        """The column of the history: one entry per pass."""
        return {"validation_loss": np.array(self.found)}

    def to_state(self) -> State:
        """The losses so far and the best weights."""
        return {"found": self.found, "best": self.best}

    def expected_state(self, shape: tuple[int, ...]) -> Check:
        """Check for the result of ``to_state`` for weights of this shape."""
        return entries({"found": each(real), "best": optional(array(*shape))})

    def restore(self, state: State) -> None:
        """Continue from the passes of another run with the same settings."""
        self.found, self.best = list(state["found"]), state["best"]
