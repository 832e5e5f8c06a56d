"""
What the step size does
=======================

Gradient descent on ``x^2`` from -1: a small step converges, a step of 1 oscillates between -1 and 1
forever, a larger one diverges. On a curve with two valleys the start decides which one is found.
"""

# %%
import matplotlib.pyplot as plt

from separatrix import DescentDisplay, GradientDescent, LinearClassifier, WeightSpaceDisplay
from separatrix.datasets import overlapping


def square(x: float) -> float:
    """Has one minimum, at 0."""
    return x * x


figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for ax, step in zip(axes, (0.1, 1.0, 1.1), strict=True):
    DescentDisplay.from_function(
        square, lambda x: 2 * x, -1.0, learning_rate=step, ax=ax, name=f"step {step}"
    )

# %%
# Two valleys: a local minimum on the right, the global one on the left.


def two_valleys(x: float) -> float:
    """Has two minima; the left one is lower."""
    return x**4 - 2 * x**2 + 0.5 * x


figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, start in zip(axes, (-1.5, 1.5), strict=True):
    DescentDisplay.from_function(
        two_valleys, lambda x: 4 * x**3 - 4 * x + 0.5, start, learning_rate=0.05, ax=ax,
        name=f"from {start}", limits=(-1.7, 1.7),
    )  # fmt: skip

# %%
# The same in weight space: the path of a fit on the contours of its objective.
X, y = overlapping(100, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, step in zip(axes, (0.2, 3.0), strict=True):
    way = GradientDescent(learning_rate=step)
    clf = LinearClassifier("logistic", l2=0.01, solver=way, tol=1e-3, max_iter=2000).fit(X, y)
    print(f"step {step}: {clf.stop_} after {clf.n_iter_} steps")
    WeightSpaceDisplay.from_estimator(clf, X, y, ax=ax, name=f"step {step}")
