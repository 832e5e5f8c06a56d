"""What is asked of the likelihood, and the step towards the answer.

With f the sum of the losses, f* its minimum, and rows a of coefficients in the free variables:

- an end of an interval: the largest or smallest ``a.theta`` with ``f(theta) <= f* + rise``. There
  the gradient of f is a multiple of a;
- a restricted fit: the minimum of f where ``A theta = 0``.

Given a second derivative H, the step solves these equations for the quadratic model of f. For an
end that is the method of D. J. Venzon and S. H. Moolgavkar, A method for computing
profile-likelihood-based confidence intervals, Applied Statistics 37 (1988).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ....numeric.types import AnyArray, Array, Ints
from .likelihood import Losses


class Move(NamedTuple):
    """A step of every question, and how far it is from its answer."""

    change: Array
    """(m, p)."""
    decrement: Array
    """Squared Newton decrement of f where the coefficients are as they are: (m,)."""
    miss: Array
    """How far f, or a coefficient that should be 0, is from where it should be: (m,)."""


@dataclass(frozen=True)
class Questions:
    """m questions about c coefficients each."""

    A: Array
    """(m, c, p)."""
    unit: float
    """Scale of f: ``rise`` for ends."""
    side: Array | None = None
    """1.0 for upper ends, -1.0 for lower ones, (m,); None: restricted fits."""

    def some(self, at: Ints | AnyArray) -> Questions:
        """Some of the questions."""
        return replace(self, A=self.A[at], side=None if self.side is None else self.side[at])

    def step(self, losses: Losses, theta: Array, inverse: Array, least: float) -> Move:
        """The step by the inverse of one H for all, (p, p), or of one for each, (m, p, p)."""
        A, g = self.A, losses.gradient
        newton = g @ inverse if inverse.ndim == 2 else (inverse @ g[:, :, None])[:, :, 0]
        V = A @ inverse  # (m, c, p)
        M = V @ A.transpose(0, 2, 1)
        along = (A @ newton[:, :, None])[:, :, 0]
        square = np.einsum("mp,mp->m", g, newton)
        kept = _solved(M, along)
        decrement = np.maximum(square - np.einsum("mc,mc->m", along, kept), 0.0)
        if self.side is None:
            off = (A @ theta[:, :, None])[:, :, 0]
            rest = _solved(M, off)
            multiplier, miss = kept - rest, np.abs(np.einsum("mc,mc->m", off, rest))
        else:
            room = 2.0 * (least + self.unit - losses.value) + square
            multiplier = (self.side * np.sqrt(np.maximum(room, 0.0) / M[:, 0, 0]))[:, None]
            miss = np.abs(losses.value - least - self.unit)
        return Move(np.einsum("mcp,mc->mp", V, multiplier) - newton, decrement, miss)


def _solved(M: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(M, right[:, :, None])[:, :, 0])
