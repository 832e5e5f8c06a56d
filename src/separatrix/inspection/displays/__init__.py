"""Plots of data, losses and fits, following the conventions of scikit-learn's displays."""

from .animation import animate
from .boundary import BoundaryDisplay
from .certificate import CertificateDisplay
from .coefficient import CoefficientDisplay
from .confidence import ConfidenceDisplay
from .descent import DescentDisplay
from .forest import ForestDisplay
from .history import HistoryDisplay
from .loss import LossDisplay
from .margin import MarginDisplay
from .path import PathDisplay
from .weight_space import WeightSpaceDisplay

__all__ = [
    "BoundaryDisplay",
    "CertificateDisplay",
    "CoefficientDisplay",
    "ConfidenceDisplay",
    "DescentDisplay",
    "ForestDisplay",
    "HistoryDisplay",
    "LossDisplay",
    "MarginDisplay",
    "PathDisplay",
    "WeightSpaceDisplay",
    "animate",
]
