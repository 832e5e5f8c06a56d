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
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from separatrix import BoundaryDisplay, KernelPerceptron, LinearClassifier, Perceptron
from separatrix.datasets import logic, ring, spirals
from separatrix.features import RadialBasis


def main(picture: str = "feature-maps.png") -> None:
    figure, axes = plt.subplots(2, 3, figsize=(12, 7.2), layout="constrained")
    X, y = logic("xor")
    bumps = RadialBasis(centers=[[1.0, 1.0], [0.0, 0.0]], gamma=1.0).fit(X)
    mapped = Perceptron(shuffle=False).fit(bumps.transform(X), y)
    print(f"XOR through two bumps: stopped by {mapped.stop_} after {mapped.n_iter_} passes")
    BoundaryDisplay.from_estimator(
        mapped, bumps.transform(X), y, ax=axes[0, 0], name="XOR, bumps as features"
    )
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
        BoundaryDisplay.from_estimator(model, rows, labels, ax=ax, name=name)
    figure.savefig(picture, dpi=100)
    print(f"The picture is {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
