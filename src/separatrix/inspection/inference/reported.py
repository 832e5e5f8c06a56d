"""Which coefficients are reported, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...numeric.types import Ints
from .fitted import FittedLikelihood
from .ratio import feature_numbers

INTERCEPT = "(intercept)"  # its name in the table


@dataclass(frozen=True)
class Reported:
    """The coefficients of all features or of some, the intercept last; class after class."""

    at: Ints
    """Their numbers among the coefficients of all features."""
    names: tuple[str, ...]
    classes: tuple[Any, ...]
    """The class of each; empty for two classes."""
    reference: Any
    """The class that the others are compared with; for two classes the smaller one."""
    features: Ints
    """Numbers of the features, without the intercept."""

    @classmethod
    def of(cls, found: FittedLikelihood, features: Any) -> Reported:
        """``features`` are names or numbers, or None for all."""
        own = [
            *map(str, found.clf.coef_names_),
            *([INTERCEPT] if found.objective.intercept else []),
        ]
        which = np.arange(len(own)) if features is None else feature_numbers(features, own)
        labels = found.clf.classes_.tolist()
        each = [c for c in range(len(labels)) if c != found.reference] if len(labels) > 2 else []
        blocks = np.arange(max(len(each), 1))
        return cls(
            (blocks[:, None] * len(own) + which).ravel(),
            tuple(own[j] for j in which) * len(blocks),
            tuple(labels[c] for c in each for _ in which),
            labels[max(found.reference, 0)],
            which[which < found.source.n_features],
        )
