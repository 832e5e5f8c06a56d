"""Which coefficients of a logistic fit without penalty are infinite."""

from __future__ import annotations

import numpy as np

from ..typing import AnyArray, Array, Ints
from . import exact
from .proof import Weights, spanning
from .rows import SignedRows
from .scales import rescaled
from .search import Found, Search

SMALL = 1e-9


def infinite_coefficients(
    rows: SignedRows, verdict: str, direction: Array | None, boundary: Ints | AnyArray | None
) -> list[str]:
    """One word per feature, and the last for the intercept if there is one.

    The fit runs away along the weak separators. A row strictly inside the right side pulls no
    more, so what keeps a coefficient finite are the rows on the boundary: exactly the weights
    that these rows span. Of the others the sign is asked of a linear program.
    """
    rows, powers = rescaled(rows)
    identified = exact.axes_spanned(spanning(rows, rows.all()))
    if verdict == "overlapping":
        return ["finite" if known else "not identified" for known in identified]
    pinned = exact.axes_spanned(spanning(rows, np.asarray(boundary, np.int64))) if (
        boundary is not None and len(boundary)) else np.zeros(len(identified), bool)  # fmt: skip
    assert direction is not None
    powers = np.append(powers, 0)[: rows.width]
    with np.errstate(over="ignore", under="ignore"):  # whatever is lost is asked for again
        direction = np.ldexp(rows.own(direction), powers)
    search = Search(rows)
    words = []
    for j, known in enumerate(identified):
        if not known:
            words.append("not identified")
        elif pinned[j]:
            words.append("finite")
        else:
            words.append(_sign(search, rows, direction, j))
    return words


def _sign(search: Search, rows: SignedRows, direction: Array, j: int) -> str:
    """The sign of one weight over all weak separators."""
    possible = [sign for sign in (1.0, -1.0) if _reaches(search, rows, direction, j, sign)]
    if len(possible) != 1:
        return "infinite, sign not determined"
    return "+inf" if possible[0] > 0.0 else "-inf"


def _reaches(search: Search, rows: SignedRows, direction: Array, j: int, sign: float) -> bool:
    """Whether the weight has this sign in some weak separator."""
    terms = direction[0] * rows.largest
    size = float(np.abs(terms).max())
    if size < np.inf and sign * terms[j] > SMALL * size:
        return True
    objective = np.zeros(rows.dimension)
    objective[j] = sign
    right = np.zeros(rows.dimension, object)
    right[j] = int(-sign) << 1074

    def prove(weights: Array, _: Array) -> Weights | None:
        return search.solved(weights, right)

    found = search.improve(objective, prove)
    if found is None:  # floating point cannot tell
        return not isinstance(search.exactly_improved(right), Weights)
    return isinstance(found, Found)
