"""The scikit-learn face."""

from .linear import LinearClassifier, Perceptron

__all__ = ["LinearClassifier", "Perceptron"]
