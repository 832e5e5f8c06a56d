"""Pictures of data, losses and fits, after the conventions of scikit-learn's displays."""

from .boundary import BoundaryDisplay
from .certificate import CertificateDisplay
from .coefficient import CoefficientDisplay
from .history import HistoryDisplay
from .loss import LossDisplay
from .margin import MarginDisplay
from .path import PathDisplay

__all__ = [
    "BoundaryDisplay",
    "CertificateDisplay",
    "CoefficientDisplay",
    "HistoryDisplay",
    "LossDisplay",
    "MarginDisplay",
    "PathDisplay",
]
