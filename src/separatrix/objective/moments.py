"""Mean and deviation of the features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numeric.tolerances import VANISHING
from ..numeric.types import Array


class Moments(NamedTuple):
    """Weighted mean and standard deviation of every feature."""

    mean: Array
    deviation: Array

    @property
    def mean_square(self) -> float:
        """Weighted mean of |x|^2."""
        return float((self.mean**2 + self.deviation**2).sum())


def refuse_underflow(moments: Moments, sums: Array) -> None:
    """Raise if a varying feature looks constant: without a penalty even tiny features matter.

    ``sums`` are the class sums about a typical row: all are 0 for a constant feature.
    """
    mean, deviation = moments
    lost = (deviation == 0.0) & (np.abs(mean) < VANISHING) & np.any(sums != 0.0, axis=0)
    if lost.any():
        raise ValueError(
            f"feature {np.argmax(lost)} is too small: the squares of its values underflow, but "
            "without a penalty it still matters; scale the features, e.g. with "
            "sklearn.preprocessing.StandardScaler, or give a penalty such as l2=1e-4"
        )
