"""Ways to descend: generators of iterates."""

from .auto import choose
from .base import Solver, State, Step
from .dual_ascent import DualAscent
from .gradient_descent import GradientDescent
from .lbfgs import LBFGS
from .least_squares import LeastSquares
from .linear_program import LinearProgram
from .newton import Newton
from .perceptron import BatchPerceptron, Rosenblatt

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
