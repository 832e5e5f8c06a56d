"""The estimators, with the interface of scikit-learn."""

from .cv.estimator import LinearClassifierCV
from .decision import Decision
from .kernel import KernelPerceptron
from .linear import LinearClassifier
from .path import path
from .path_result import Path
from .perceptron import Perceptron

__all__ = [
    "Decision",
    "KernelPerceptron",
    "LinearClassifier",
    "LinearClassifierCV",
    "Path",
    "Perceptron",
    "path",
]
