"""Mean loss plus penalty as one function of the weights, and its derivatives."""

from .objective import Evaluation, Objective

__all__ = ["Evaluation", "Objective"]
