"""Pictures of data, losses and fits, after the conventions of scikit-learn's displays."""

from .boundary import BoundaryDisplay
from .history import HistoryDisplay
from .loss import LossDisplay
from .path import PathDisplay

__all__ = ["BoundaryDisplay", "HistoryDisplay", "LossDisplay", "PathDisplay"]
