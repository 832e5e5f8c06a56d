"""Base class of dual solvers: their requirements and steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...data import InMemory
from ...losses import Loss
from ...losses.base import REGISTRY
from ...numeric.expected import Check, anything, array, entries, real, whole, word
from ...numeric.types import Array
from ...objective import Objective
from ...proofs.binary_dual import has_dual
from ..base import Solver, State, Step, lowest

HANDED_ON = "handed on"  # phase name of a state with the alphas of a run with another penalty
MOST_UNREPORTED = 30  # iterates in a row that are not reported


class DualIterate(NamedTuple):
    """Weights, and values computed there."""

    weights: Array
    objective: float
    mistakes: float
    lower_bound: float
    reported: bool = True  # whether this ends a phase, even without progress
    alpha: Callable[[], Array] | None = None  # dual variables, valid until the next step


@dataclass(frozen=True, repr=False)
class DualSolver(Solver):
    """Maximises the dual of J while J decreases; at the minimum both are equal."""

    monotone = True
    needs_rows_in_memory: ClassVar[bool] = True
    words: ClassVar[tuple[str, ...]] = ()  # state entries that are strings

    def check(self, objective: Objective) -> None:
        """Requires a penalty, a loss with a known dual, and rows in memory or visits if needed."""
        super().check(objective)
        loss, name = objective.loss, type(self).__name__
        if not self.knows(loss):
            remedy = "LBFGS() or Newton()" if loss.smooth else "GradientDescent(batch_size=1)"
            if loss.column_loss is not None and has_dual(loss.column_loss):
                remedy = "DualAscent()"
            many = f" for {objective.shape[0]} classes" if objective.shape[0] > 1 else ""
            raise ValueError(
                f"{name} knows the dual of 'hinge', and for two classes of 'squared_hinge' "
                f"and 'logistic', not of {named(loss)}{many}; use {remedy}"
            )
        if not objective.penalty.l2 > 0.0:
            raise ValueError(
                f"{name} needs l2 > 0: without a penalty the dual has no quadratic to climb; "
                "give a small one such as l2=1e-8, or use LinearProgram() for the hinge, else "
                "GradientDescent(batch_size=1)"
            )
        if self.needs_rows_in_memory and not isinstance(objective.source, InMemory):
            remedy = "DualAscent()" if has_dual(loss) else "solver='auto'"
            raise ValueError(
                f"{name} visits the rows in any order and needs them in memory; use {remedy}, "
                "which reads them block by block, or load the rows and pass arrays"
            )

    def knows(self, loss: Loss) -> bool:
        """Whether the dual of this loss is supported."""
        return has_dual(loss)

    def accepts(self, objective: Objective) -> bool:
        try:
            self.check(objective)
        except (TypeError, ValueError):
            return False
        return True

    def after(self, state: State) -> Solver:
        """A copy whose reason includes the memory kept for rows that are not in memory."""
        kept = kept_text(state)
        return replace(self, reason=(self.reason + kept).removeprefix(", ")) if kept else self

    @abstractmethod
    def phases(self, objective: Objective) -> dict[str, Check]:
        """Checks for the states of its methods, by name, without the common entries."""

    def expected_state(self, objective: Objective) -> Check:
        """Checks for the best weights so far, and the state of one method."""
        W = array(*objective.shape)
        known = {"weights": W, **dict.fromkeys(("objective", "mistakes", "lower_bound"), real)}
        known |= {"phase": word(), **dict.fromkeys(self.words, word())}
        others = {"kept_bytes": whole()}
        phases = self.phases(objective)

        def check(name: str, state: Any) -> None:
            if not isinstance(state, dict) or state.get("phase") not in (*phases, HANDED_ON):
                raise ValueError(f"{name} is of none of the methods {', '.join(phases)}")
            if state["phase"] == HANDED_ON:
                handed_on(objective)(name, state)
                return
            own = {key: value for key, value in state.items() if key not in (*known, *others)}
            entries(known, {**others, **dict.fromkeys(own, anything)})(name, state)
            phases[state["phase"]](name, own)

        return check

    @abstractmethod
    def iterates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None
    ) -> Iterator[tuple[DualIterate, State]]:
        """Yield iterates, each with the state to continue from."""

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One step after another; the reported weights are those with the lowest J so far.

        The start is the first of them, or zeros if J is lower there. Iterates are reported if they
        lower J or raise the bound, or end a phase.
        """
        if state is not None and state.get("phase") != HANDED_ON:
            best, J, mistakes = state["weights"], state["objective"], state["mistakes"]
            bound = state["lower_bound"]
        else:
            (best, J, mistakes, start), bound = lowest(objective, W), 0.0
            W = W if np.isfinite(start) else best
        unreported = 0
        for at, new in self.iterates(objective, W, rng, state):
            unreported += 1
            better = at.objective < J or at.lower_bound > bound
            reported = at.reported or better or unreported >= MOST_UNREPORTED
            if at.objective < J:
                best, J, mistakes = at.weights, at.objective, at.mistakes
            # Near the minimum, rounding may put the bound above J.
            bound = min(max(bound, at.lower_bound), J)
            if reported:
                known = {
                    "weights": best, "objective": J, "mistakes": mistakes, "lower_bound": bound,
                }  # fmt: skip
                yield Step(best, new | known, J, mistakes, lower_bound=bound, alpha=at.alpha)
                unreported = 0


def handed_on(objective: Objective) -> Check:
    """Alphas of all rows, from ``CoordinateAscent.handed_on``."""
    n, k = objective.source.length, objective.shape[0]
    alpha = array(n) if k == 1 else array(n, k)
    return entries({"phase": word(HANDED_ON), "alpha": alpha, "seed": whole(0, 2**63 - 1)})


def kept_text(state: State) -> str:
    """Text for a reason: memory kept for rows that are not in memory."""
    size = state.get("kept_bytes", 0)
    return f", keeping {size / 1e6:.3g} MB in memory of rows that are not" if size else ""


def named(loss: Loss) -> str:
    """Name of a loss for messages; its repr if the name belongs to another loss."""
    own = loss.for_classes(2)
    return repr(own.name if REGISTRY.get(own.name) is type(own) else own)
