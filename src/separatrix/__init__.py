"""Linear classifiers trained by minimising a loss.

Two main estimators, :class:`Perceptron` and :class:`LinearClassifier`, are built from losses,
penalties, solvers and data sources, each of which can be used by itself.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, features, losses, schedules
    from .config import show_config
    from .data import ArraySource, Block, Source
    from .data.read import read
    from .estimators import (
        AROW,
        Decision,
        KernelPerceptron,
        LinearClassifier,
        LinearClassifierCV,
        PassiveAggressive,
        Perceptron,
        Winnow,
    )
    from .estimators.certified import CertifiedPredictions
    from .estimators.held_out import LeaveOneOutScores
    from .estimators.left_out import leave_one_out
    from .estimators.path import path
    from .estimators.path_result import Path
    from .inspection.certify import Certificate, certify
    from .inspection.certify.from_sklearn import from_sklearn
    from .inspection.diagnose import Diagnosis, Finding, diagnose
    from .inspection.displays import (
        BoundaryDisplay,
        CertificateDisplay,
        CoefficientDisplay,
        ConfidenceDisplay,
        DescentDisplay,
        ForestDisplay,
        HistoryDisplay,
        LossDisplay,
        MarginDisplay,
        PathDisplay,
        WeightSpaceDisplay,
        animate,
    )
    from .inspection.inference import Inference, LikelihoodRatio, inference
    from .inspection.report import Report
    from .losses import Loss, MarginLoss, get_loss
    from .models.export import export
    from .models.files import load, save
    from .objective import Objective
    from .penalties import L2, ConstrainedElasticNet, ElasticNet, GroupLasso
    from .schedules import Constant, InverseScaling, Pegasos, StepDecay
    from .separation import Separability, separability
    from .solvers import (
        LBFGS,
        BatchPerceptron,
        CoordinateAscent,
        CoordinateDescent,
        DualAscent,
        FisherScoring,
        GradientDescent,
        InteriorPoint,
        LeastSquares,
        LinearProgram,
        Newton,
        ProximalNewton,
        ProximalPoint,
        Rosenblatt,
        Solver,
        Step,
    )
    from .training.any_function import Descent, gradient_descent
    from .training.checkpoint import Checkpoint
    from .training.loop import Info
    from .training.minimize import Result, minimize
    from .training.stopping import Stop
    from .training.trace import Trace

    __version__: str

__all__ = [
    "AROW",
    "L2",
    "LBFGS",
    "ArraySource",
    "BatchPerceptron",
    "Block",
    "BoundaryDisplay",
    "Certificate",
    "CertificateDisplay",
    "CertifiedPredictions",
    "Checkpoint",
    "CoefficientDisplay",
    "ConfidenceDisplay",
    "Constant",
    "ConstrainedElasticNet",
    "CoordinateAscent",
    "CoordinateDescent",
    "Decision",
    "Descent",
    "DescentDisplay",
    "Diagnosis",
    "DualAscent",
    "ElasticNet",
    "Finding",
    "FisherScoring",
    "ForestDisplay",
    "GradientDescent",
    "GroupLasso",
    "HistoryDisplay",
    "Inference",
    "Info",
    "InteriorPoint",
    "InverseScaling",
    "KernelPerceptron",
    "LeastSquares",
    "LeaveOneOutScores",
    "LikelihoodRatio",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearProgram",
    "Loss",
    "LossDisplay",
    "MarginDisplay",
    "MarginLoss",
    "Newton",
    "Objective",
    "PassiveAggressive",
    "Path",
    "PathDisplay",
    "Pegasos",
    "Perceptron",
    "ProximalNewton",
    "ProximalPoint",
    "Report",
    "Result",
    "Rosenblatt",
    "Separability",
    "Solver",
    "Source",
    "Step",
    "StepDecay",
    "Stop",
    "Trace",
    "WeightSpaceDisplay",
    "Winnow",
    "animate",
    "certify",
    "datasets",
    "diagnose",
    "export",
    "features",
    "from_sklearn",
    "get_loss",
    "gradient_descent",
    "inference",
    "leave_one_out",
    "load",
    "losses",
    "minimize",
    "path",
    "read",
    "save",
    "schedules",
    "separability",
    "show_config",
]

_MODULES = ("datasets", "features", "losses", "schedules")
_WHERE = {
    name: module
    for module, names in {
        "config": "show_config",
        "data": "ArraySource Block Source",
        "data.read": "read",
        "estimators": (
            "AROW Decision KernelPerceptron LinearClassifier LinearClassifierCV "
            "PassiveAggressive Perceptron Winnow"
        ),
        "estimators.path": "path",
        "estimators.path_result": "Path",
        "estimators.certified": "CertifiedPredictions",
        "estimators.held_out": "LeaveOneOutScores",
        "estimators.left_out": "leave_one_out",
        "inspection.certify": "Certificate certify",
        "inspection.certify.from_sklearn": "from_sklearn",
        "inspection.diagnose": "Diagnosis Finding diagnose",
        "inspection.displays": (
            "BoundaryDisplay CertificateDisplay CoefficientDisplay ConfidenceDisplay "
            "DescentDisplay ForestDisplay HistoryDisplay LossDisplay MarginDisplay PathDisplay "
            "WeightSpaceDisplay animate"
        ),
        "inspection.inference": "Inference LikelihoodRatio inference",
        "inspection.report": "Report",
        "losses": "Loss MarginLoss get_loss",
        "models.export": "export",
        "models.files": "load save",
        "objective": "Objective",
        "penalties": "L2 ConstrainedElasticNet ElasticNet GroupLasso",
        "schedules": "Constant InverseScaling Pegasos StepDecay",
        "separation": "Separability separability",
        "solvers": (
            "LBFGS BatchPerceptron CoordinateAscent CoordinateDescent DualAscent "
            "FisherScoring GradientDescent InteriorPoint LeastSquares LinearProgram Newton "
            "ProximalNewton ProximalPoint Rosenblatt Solver Step"
        ),
        "training.any_function": "Descent gradient_descent",
        "training.checkpoint": "Checkpoint",
        "training.loop": "Info",
        "training.minimize": "Result minimize",
        "training.stopping": "Stop",
        "training.trace": "Trace",
    }.items()
    for name in names.split()
}
"""The module of each public name; imported on first use, so that ``separatrix --help`` is quick."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f".{name}", __name__)
        if name == "__version__":
            found = import_module("importlib.metadata").version("separatrix")
        elif name in _WHERE:
            found = getattr(import_module(f".{_WHERE[name]}", __name__), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "__version__"})
