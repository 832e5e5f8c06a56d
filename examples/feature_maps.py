"""
Feature maps
============

Data that no line separates, and feature maps that help. Two Gaussian bumps make XOR separable (the
third chapter of the course); for a ring and for spirals, scikit-learn's maps and a kernel do.
"""

# %%
# XOR with two bumps: in the new features a line is enough, and the perceptron stops by itself.
from typing import Any

import matplotlib.pyplot as plt
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from separatrix import BoundaryDisplay, KernelPerceptron, LinearClassifier, Perceptron
from separatrix.datasets import logic, ring, spirals
from separatrix.features import RadialBasis

X, y = logic("xor")
bumps = RadialBasis(centers=[[1.0, 1.0], [0.0, 0.0]], gamma=1.0).fit(X)
mapped = Perceptron(shuffle=False).fit(bumps.transform(X), y)
print(f"stopped by {mapped.stop_} after {mapped.n_iter_} passes")

# %%
# The same boundary in the plane of the rows, and other maps for other rows.
squares = PolynomialFeatures(2, include_bias=False)
waves = RBFSampler(n_components=100, random_state=0)
landmarks = Nystroem(gamma=2.0, n_components=100, random_state=0)
models: list[tuple[str, Any, tuple[Any, Any]]] = [
    ("XOR, bumps as features", Perceptron(shuffle=False), (bumps.transform(X), y)),
    ("XOR, the same boundary", make_pipeline(bumps, Perceptron(shuffle=False)), (X, y)),
    ("ring, squares as features", make_pipeline(squares, LinearClassifier()), ring(random_state=0)),
    ("ring, random waves", make_pipeline(waves, LinearClassifier()), ring(random_state=0)),
    (
        "spirals, landmarks",
        make_pipeline(landmarks, LinearClassifier(l2=1e-6)),
        spirals(random_state=0),
    ),
    (
        "spirals, kernel perceptron",
        KernelPerceptron(gamma=2.0, random_state=0),
        spirals(random_state=0),
    ),
]
figure, axes = plt.subplots(2, 3, figsize=(12, 7.2), layout="constrained")
for ax, (name, model, (rows, labels)) in zip(axes.flat, models, strict=True):
    score = model.fit(rows, labels).score(rows, labels)
    print(f"{name}: {score:.3f} of the rows right")
    BoundaryDisplay.from_estimator(model, rows, labels, ax=ax, name=name)
