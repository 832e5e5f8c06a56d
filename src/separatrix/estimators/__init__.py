"""The scikit-learn face."""

from .cv import LinearClassifierCV
from .linear import LinearClassifier, Perceptron

__all__ = ["LinearClassifier", "LinearClassifierCV", "Perceptron"]
