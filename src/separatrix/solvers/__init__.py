"""Ways to descend: generators of iterates."""

from .base import Solver, State, Step
from .batch import BatchPerceptron
from .choose import choose
from .descent import GradientDescent
from .direct import LeastSquares
from .dual import DualAscent
from .lbfgs import LBFGS
from .newton import Newton
from .online import Rosenblatt
from .program import LinearProgram

__all__ = [
    "LBFGS",
    "BatchPerceptron",
    "DualAscent",
    "GradientDescent",
    "LeastSquares",
    "LinearProgram",
    "Newton",
    "Rosenblatt",
    "Solver",
    "State",
    "Step",
    "choose",
]
