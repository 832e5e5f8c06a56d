"""The penalties that a cross-validation tries, one path after another."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from ...losses import Loss
from ...numeric.types import AnyArray, Array
from ...objective import Objective
from ...penalties import L2, Penalty, SparsityInducing
from ..penalty_parameters import penalty_of
from ..strengths import at_strength, checked_ratio, checked_strengths, grid, null_model
from .l2_path import l2_path


class Candidates(NamedTuple):
    """Penalties from the strongest to the weakest, so that each fit starts close to its minimum."""

    name: str  # the attribute in which the penalties differ: "l2" or "strength"
    values: Array
    penalties: tuple[Penalty, ...]
    l1_ratio: float | None = None

    def columns(self) -> dict[str, AnyArray]:
        """The columns that describe the penalties in a table of scores."""
        if self.l1_ratio is None:
            return {"l2": self.values}
        each = [cast(SparsityInducing, penalty) for penalty in self.penalties]
        return {
            "l1_ratio": np.full(len(each), self.l1_ratio),
            "strength": self.values,
            "l1": np.array([penalty.l1 for penalty in each]),
            "l2": np.array([penalty.l2 for penalty in each]),
        }


def tried_penalty(
    loss: Loss, l1_ratio: Any, strengths: Any, weights: Any, groups: Any, cv: Any
) -> Penalty:
    """One penalty of the path, after validation of the parameters."""
    if l1_ratio is None:
        if weights is not None or groups is not None:
            raise ValueError(
                f"{'groups' if weights is None else 'penalty_weights'} is for sparse paths, but "
                "l1_ratio=None is a path in l2: set l1_ratio, e.g. 1.0 for the lasso"
            )
        return L2(1.0)
    checked_strengths(strengths)
    if isinstance(cv, str):
        raise ValueError(
            f"cv={cv!r} leaves out one row at a time along a path in l2; with l1_ratio use cv=5 "
            "or cv=10, or set l1_ratio=None"
        )
    return penalty_of(loss, checked_ratios(l1_ratio)[0], 0.0, weights, groups)


def in_l2(l2s: Any, objective: Objective) -> list[Candidates]:
    """The path in l2."""
    values = l2_path(l2s, objective)
    return [Candidates("l2", values, tuple(map(L2, values.tolist())))]


def checked_ratios(l1_ratio: Any) -> list[float]:
    """One or several ratios, without duplicates."""
    several = isinstance(l1_ratio, (list, tuple, np.ndarray))
    if several and (not len(l1_ratio) or np.ndim(l1_ratio) != 1):
        raise ValueError(f"l1_ratio must be None, a number or a list of numbers, got {l1_ratio!r}")
    ratios = [checked_ratio(ratio) for ratio in (l1_ratio if several else [l1_ratio])]
    return list(dict.fromkeys(ratios))


def in_strength(ratios: list[float], strengths: Any, objective: Objective) -> list[Candidates]:
    """A path of strengths for every ratio, from the one that leaves only the bias on all rows."""
    wanted, penalty = checked_strengths(strengths), cast(SparsityInducing, objective.penalty)
    null = null_model(objective, 1.0) if isinstance(wanted, int) else None
    found = []
    for ratio in ratios:
        if null is None or not isinstance(wanted, int):
            values = cast(Array, wanted)
        else:
            values = grid(objective, null._replace(largest=null.largest / ratio), wanted, None)
        each = tuple(at_strength(penalty, ratio, s) for s in values.tolist())
        found.append(Candidates("strength", values, each, ratio))
    return found


def described(paths: list[Candidates]) -> dict[str, Any]:
    """The candidates, as plain data."""
    if paths[0].l1_ratio is None:
        return {"l2s": paths[0].values.tolist()}
    ratios, values = zip(*((each.l1_ratio, each.values.tolist()) for each in paths), strict=True)
    return {"l1_ratio": list(ratios), "strengths": list(values)}
