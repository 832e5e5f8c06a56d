"""Ways to descend: generators of iterates."""

from .auto import choose
from .base import Solver, State, Step
from .dual.coordinate_ascent import CoordinateAscent
from .dual.interior_point import InteriorPoint
from .dual.proximal_point import ProximalPoint
from .dual_ascent import DualAscent
from .gradient_descent import GradientDescent
from .lbfgs import LBFGS
from .least_squares import LeastSquares
from .linear_program import LinearProgram
from .newton import Newton
from .online import Rosenblatt
from .perceptron import BatchPerceptron

__all__ = [
    "LBFGS",
    "BatchPerceptron",
    "CoordinateAscent",
    "DualAscent",
    "GradientDescent",
    "InteriorPoint",
    "LeastSquares",
    "LinearProgram",
    "Newton",
    "ProximalPoint",
    "Rosenblatt",
    "Solver",
    "State",
    "Step",
    "choose",
]
