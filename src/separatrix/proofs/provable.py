"""Whether the distance of a fit from its minimum can be bounded."""

from __future__ import annotations

from ..data import InMemory
from ..objective import Objective
from ..penalties import is_l2
from . import free_features
from .binary_dual import has_dual


def provable(objective: Objective) -> bool:
    """Whether bounds exist: the conjugate of the loss is known.

    For a loss with a kink its dual must be known; a proof then stores a number for every row (for
    one-vs-rest only if the rows are in memory). The loss must also define ``steepness``, without
    which rounding could not be bounded.
    """
    loss, rows = objective.loss, isinstance(objective.source, InMemory)
    own = loss.column_loss
    coupled = own is None and not loss.log_likelihood  # with unknown tangents
    columns = own is not None and has_dual(own) and rows
    known = loss.has_conjugate and not coupled if loss.smooth else has_dual(loss) or columns
    # For a loss with a kink the proof maximises a dual that assumes l2 * |w|^2.
    if not known or not loss.has_steepness or not (loss.smooth or is_l2(objective.penalty)):
        return False
    return objective.penalty.coercive or free_features.is_bounded(loss)
