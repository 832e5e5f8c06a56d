"""Ways to descend: generators of iterates."""

from collections.abc import Mapping
from typing import Any

from ..numeric import registry
from .auto import choose
from .base import REGISTRY, Solver, State, Step
from .coordinate_descent import CoordinateDescent
from .dual.coordinate_ascent import CoordinateAscent
from .dual.interior_point import InteriorPoint
from .dual.proximal_point import ProximalPoint
from .dual_ascent import DualAscent
from .fisher_scoring import FisherScoring
from .gradient_descent import GradientDescent
from .lbfgs import LBFGS
from .least_squares import LeastSquares
from .linear_program import LinearProgram
from .newton import Newton
from .online_rules import OnlineRule
from .perceptron import BatchPerceptron, Rosenblatt
from .proximal_newton import ProximalNewton

__all__ = [
    "LBFGS",
    "REGISTRY",
    "BatchPerceptron",
    "CoordinateAscent",
    "CoordinateDescent",
    "DualAscent",
    "FisherScoring",
    "GradientDescent",
    "InteriorPoint",
    "LeastSquares",
    "LinearProgram",
    "Newton",
    "OnlineRule",
    "ProximalNewton",
    "ProximalPoint",
    "Rosenblatt",
    "Solver",
    "State",
    "Step",
    "choose",
    "from_dict",
]


def from_dict(data: Mapping[str, Any]) -> Solver:
    """The solver that ``to_dict`` wrote down as plain data.

    >>> LBFGS(memory=5).to_dict()
    {'solver': 'LBFGS', 'memory': 5, 'factored_features': 5000}
    >>> from_dict({"solver": "LBFGS", "memory": 5})
    LBFGS(memory=5)
    """
    return registry.from_dict(Solver, data)  # type: ignore[type-abstract]
