"""Every penalty on the weights. The bias is never penalised."""

from .base import Penalty
from .l2 import L2

__all__ = ["L2", "Penalty"]
