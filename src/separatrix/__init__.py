"""Linear classifiers trained by minimising a loss.

Two main estimators, :class:`Perceptron` and :class:`LinearClassifier`, are built from losses,
penalties, solvers and data sources, each of which can be used by itself.
"""

from importlib.metadata import version as _version

from . import datasets, features, losses, schedules
from .config import show_config
from .data import ArraySource, Block, Source
from .data.read import read
from .estimators import (
    Decision,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Path,
    Perceptron,
    path,
)
from .inspection.certify import Certificate, certify
from .inspection.certify.from_sklearn import from_sklearn
from .inspection.diagnose import Diagnosis, Finding, diagnose
from .inspection.displays import (
    BoundaryDisplay,
    CertificateDisplay,
    CoefficientDisplay,
    DescentDisplay,
    HistoryDisplay,
    LossDisplay,
    MarginDisplay,
    PathDisplay,
    WeightSpaceDisplay,
    animate,
)
from .inspection.report import Report
from .losses import Loss, MarginLoss, get_loss
from .models.export import export
from .models.files import load, save
from .objective import Objective
from .penalties import L2, ElasticNet, GroupLasso
from .schedules import Constant, InverseScaling, Pegasos, StepDecay
from .separation import Separability, separability
from .solvers import (
    LBFGS,
    BatchPerceptron,
    CoordinateAscent,
    CoordinateDescent,
    DualAscent,
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

__version__ = _version("separatrix")

__all__ = [
    "L2",
    "LBFGS",
    "ArraySource",
    "BatchPerceptron",
    "Block",
    "BoundaryDisplay",
    "Certificate",
    "CertificateDisplay",
    "Checkpoint",
    "CoefficientDisplay",
    "Constant",
    "CoordinateAscent",
    "CoordinateDescent",
    "Decision",
    "Descent",
    "DescentDisplay",
    "Diagnosis",
    "DualAscent",
    "ElasticNet",
    "Finding",
    "GradientDescent",
    "GroupLasso",
    "HistoryDisplay",
    "Info",
    "InteriorPoint",
    "InverseScaling",
    "KernelPerceptron",
    "LeastSquares",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearProgram",
    "Loss",
    "LossDisplay",
    "MarginDisplay",
    "MarginLoss",
    "Newton",
    "Objective",
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
    "animate",
    "certify",
    "datasets",
    "diagnose",
    "export",
    "features",
    "from_sklearn",
    "get_loss",
    "gradient_descent",
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
