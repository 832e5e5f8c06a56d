"""Data that no line separates, and the maps that mend it: a picture.

Two Gaussian bumps make XOR separable (the third chapter of the course); for a ring and for spirals,
scikit-learn's maps and a kernel do.

    python examples/feature_maps.py [picture]
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from separatrix import KernelPerceptron, LinearClassifier, Perceptron
from separatrix.datasets import logic, ring, spirals
from separatrix.features import RadialBasis


def draw(axes: Any, model: Any, X: Any, y: Any, title: str) -> None:
    """Rows, regions and boundary."""
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.25 * (high - low)
    sides = [np.linspace(a, b, 300) for a, b in zip(low - pad, high + pad, strict=True)]
    grid = np.meshgrid(*sides)
    scores = model.decision_function(np.column_stack([g.ravel() for g in grid]))
    scores = scores.reshape(grid[0].shape)
    axes.contourf(*grid, scores >= 0, levels=[-0.5, 0.5, 1.5], colors=["#dbe7f5", "#fbe3d2"])
    if np.ptp(scores) > 0:
        axes.contour(*grid, scores, levels=[0.0], colors="#333333", linewidths=1.5)
    for label, colour, marker in zip(model.classes_, ("#1f5fa8", "#c8551b"), "os", strict=True):
        at = y == label
        axes.scatter(*X[at].T, c=colour, marker=marker, s=36, edgecolors="white", label=str(label))
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=7, loc="upper left")


def main(picture: str = "feature-maps.png") -> None:
    figure, axes = plt.subplots(2, 3, figsize=(12, 7.2), layout="constrained")
    X, y = logic("xor")
    bumps = RadialBasis(centers=[[1.0, 1.0], [0.0, 0.0]], gamma=1.0).fit(X)
    mapped = Perceptron(shuffle=False).fit(bumps.transform(X), y)
    print(f"XOR through two bumps: stopped by {mapped.stop_} after {mapped.n_iter_} passes")
    draw(axes[0, 0], mapped, bumps.transform(X), y, f"XOR, two bumps as features: {mapped.stop_}")
    models: list[tuple[str, Any, tuple[Any, Any]]] = [
        ("XOR, the same boundary", make_pipeline(bumps, Perceptron(shuffle=False)), (X, y)),
        (
            "ring, squares as features",
            make_pipeline(PolynomialFeatures(2, include_bias=False), LinearClassifier()),
            ring(random_state=0),
        ),
        (
            "ring, random Fourier features",
            make_pipeline(RBFSampler(n_components=100, random_state=0), LinearClassifier()),
            ring(random_state=0),
        ),
        (
            "spirals, Nystroem",
            make_pipeline(Nystroem(gamma=2.0, n_components=100, random_state=0),
                          LinearClassifier(l2=1e-6)),
            spirals(random_state=0),
        ),
        ("spirals, kernel perceptron", KernelPerceptron(gamma=2.0, random_state=0),
         spirals(random_state=0)),
    ]  # fmt: skip
    for ax, (name, model, (rows, labels)) in zip(axes.ravel()[1:], models, strict=True):
        score = model.fit(rows, labels).score(rows, labels)
        print(f"{name}: {score:.3f} of the rows right")
        draw(ax, model, rows, np.asarray(labels), f"{name}: {score:.1%} right")
    figure.savefig(picture, dpi=100)
    print(f"The picture is {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
