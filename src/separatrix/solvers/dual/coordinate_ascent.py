"""Dual coordinate ascent, row by row, for more features than a linear system can have.

Problem: ``max_alpha D(alpha)``, the dual of ``J(W) = sum_i p_i phi_i(W) + l2 |w|^2``. Input: rows,
l2 > 0. Output: weights, dual variables alpha, J and the bound D of a feasible alpha.
Algorithm: depending on the number of classes and the loss, ``binary_coordinate_ascent``,
``one_vs_rest_ascent`` or ``multiclass_coordinate_ascent`` (Crammer and Singer), which cite the
papers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...losses import Loss
from ...numeric.expected import Check
from ...numeric.types import Array
from ...objective import Objective
from ...proofs.binary_dual import has_dual
from ..base import State
from .binary_coordinate_ascent import PHASE, binary_iterates, binary_state
from .multiclass_coordinate_ascent import multiclass_iterates, multiclass_state
from .one_vs_rest_ascent import one_vs_rest_iterates, one_vs_rest_state
from .solver import HANDED_ON, DualIterate, DualSolver

__all__ = ["PHASE", "CoordinateAscent"]


@dataclass(frozen=True, repr=False)
class CoordinateAscent(DualSolver):
    """Maximises the dual row by row: for rows that share few features.

    For the hinge, squared hinge and logistic loss of two classes or one-vs-rest, and Crammer and
    Singer's hinge, with a penalty. It solves no linear system, however many rows and features
    there are, and each epoch costs about a read of the rows. A weak penalty, or features on
    different scales, take many epochs. It starts at alpha = 0, whatever the initial weights;
    along a path of penalties, at the alphas of the previous fit.

    It needs the rows in memory; :class:`DualAscent` also reads them block by block.

    See Also
    --------
    DualAscent : chooses between this and two other methods.

    Examples
    --------
    >>> from separatrix import CoordinateAscent, LinearClassifier
    >>> clf = LinearClassifier("hinge", l2=0.5, solver=CoordinateAscent(), random_state=0)
    >>> clf.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).converged_
    True
    """

    name = "CoordinateAscent"
    needs_visits = True

    def knows(self, loss: Loss) -> bool:
        return has_dual(loss.column_loss or loss)

    def iterates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None
    ) -> Iterator[tuple[DualIterate, State]]:
        """One iterate per round."""
        of_rounds = multiclass_iterates if objective.shape[0] > 1 else binary_iterates
        if objective.shape[0] > 1 and objective.loss.column_loss is not None:
            of_rounds = one_vs_rest_iterates
        alpha = None
        if state is not None and state["phase"] == HANDED_ON:
            rng, alpha, state = np.random.default_rng(state["seed"]), state["alpha"], None
        return of_rounds(objective, W, rng, state, alpha)

    def phases(self, objective: Objective) -> dict[str, Check]:
        of_rounds = multiclass_state if objective.shape[0] > 1 else binary_state
        if objective.shape[0] > 1 and objective.loss.column_loss is not None:
            of_rounds = one_vs_rest_state
        return {PHASE: of_rounds(objective, objective.source.length)}

    def handed_on(self, state: State) -> State | None:
        """The alphas, which are valid for every penalty."""
        if state["phase"] != PHASE:
            return None
        of_classes = [value for key, value in state.items() if key.endswith(" alpha")]
        alpha = np.column_stack(of_classes) if of_classes else state["alpha"]
        return {"phase": HANDED_ON, "alpha": alpha, "seed": state["seed"]}
