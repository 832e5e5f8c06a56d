"""A lower bound on the second derivative of J, in units of the penalty, despite all rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from ..numeric.tolerances import EPS, VANISHING
from ..numeric.types import Array
from .centred_rows import ROUNDED
from .curvature_ball import lower_factor
from .weight_ball import OPERATIONS


@dataclass(frozen=True, eq=False)
class CurvatureBound:
    """A lower bound on the second derivative at some weights.

    Triangular factors of it for each column, of (d, bias), or of all together for joint losses:
    of all weights, then of all biases.
    """

    factors: Array  # (k, m, m), or (1, k m, k m)
    bias_unit: float  # factor of the bias, so that it is about as large as a feature; 0 without

    @classmethod
    def of(
        cls,
        grams: Array,
        moments: Array,
        square: Array,
        unit: float,
        n_rows: int,
        shrink: float,
        longest: float,
    ) -> CurvatureBound | None:
        """From sums over rows; None if rounding leaves nothing of them."""
        factors = []
        for c, gram in enumerate(grams):
            d = len(gram)
            own = moments[[c]] if moments.ndim == 2 else moments.reshape(len(moments), d)
            own_square = np.atleast_2d(square[c]) if moments.ndim == 2 else square
            k = len(own_square) if unit > 0.0 else 0
            H = np.empty((d + k, d + k))
            H[:d, :d] = gram
            if k:
                H[d:, :d], H[:d, d:] = unit * own, unit * own.T
                # No curvature where all biases move together, which changes nothing.
                H[d:, d:] = unit**2 * (own_square + (len(own_square) > 1) * np.trace(own_square))
            penalty = np.full(d + k, 2.0)
            penalty[d:] = 0.0
            # Softmax: its terms are differences of others, whose traces are ``longest**2``.
            size = np.trace(H) + 4.0 * longest**2 * (moments.ndim > 2) + 2.0 * d
            rounding = (2 * n_rows + 32 * (d + k + OPERATIONS)) * EPS * size
            factors.append(lower_factor(H * shrink, penalty, rounding))
        if any(each is None for each in factors):
            return None
        return cls(np.array(factors), unit)

    def _stacked(self, g: Array) -> Array:
        """Gradients of all variables of each factor."""
        unit = [self.bias_unit] if self.bias_unit > 0.0 else []
        if len(self.factors) == len(g):
            return np.column_stack([g[:, :-1], *(each * g[:, -1] for each in unit)])
        return np.concatenate([g[:, :-1].ravel(), *(each * g[:, -1] for each in unit)])[None]

    def lengths(self, g: Array) -> Array:
        """Bounds on ``-g'D`` where ``D'H D`` is 1, one for each factor."""
        pairs = zip(self.factors, self._stacked(g), strict=True)
        solved = [solve_triangular(L, each, lower=True, check_finite=False) for L, each in pairs]
        lengths: Array = np.sqrt(np.sum(np.square(solved), axis=1)) * ROUNDED
        return lengths

    def after(self, change: float) -> CurvatureBound:
        """The same where the scores of no row have changed by more, or their range."""
        return CurvatureBound(self.factors * (math.exp(-0.5 * change) / ROUNDED), self.bias_unit)


def bias_unit_of(longest: float, n_features: int) -> float:
    """Factor of the bias with which it is about as large as a feature, also where those are 0."""
    unit = longest / math.sqrt(n_features)
    return unit if VANISHING < unit < 1.0 / VANISHING else 1.0
