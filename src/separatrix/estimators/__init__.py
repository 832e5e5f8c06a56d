"""The estimators, with the interface of scikit-learn."""

from .arow import AROW
from .cv.estimator import LinearClassifierCV
from .decision import Decision
from .kernel import KernelPerceptron
from .linear import LinearClassifier
from .passive_aggressive import PassiveAggressive
from .path import path
from .path_result import Path
from .perceptron import Perceptron
from .winnow import Winnow

__all__ = [
    "AROW",
    "Decision",
    "KernelPerceptron",
    "LinearClassifier",
    "LinearClassifierCV",
    "PassiveAggressive",
    "Path",
    "Perceptron",
    "Winnow",
    "path",
]
