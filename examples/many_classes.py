"""
Many classes, jointly and one by one
====================================

Softmax and Crammer and Singer's hinge train all classes at once; one against the rest trains each
separately and compares scores that were not trained to be compared.
"""

# %%
# Three clouds in a row, the middle one small: no line separates it from both others, so one against
# the rest learns only that it is rare. Jointly it is easy.
import matplotlib.pyplot as plt
import numpy as np

from separatrix import BoundaryDisplay, LinearClassifier

rng = np.random.default_rng(0)
y = np.repeat([0, 1, 2], [200, 20, 200])
X = np.column_stack([2.5 * y, np.zeros(len(y))]) + rng.normal(scale=0.7, size=(len(y), 2))
models = {
    "softmax": LinearClassifier("logistic"),
    "Crammer and Singer": LinearClassifier("hinge"),
    "one against the rest": LinearClassifier("one_vs_rest_logistic"),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    few = y == 1
    small = model.score(X[few], y[few])
    print(f"{name}: {model.score(X, y):.3f} right, of the small class {small:.2f}")
    BoundaryDisplay.from_estimator(model, X, y, ax=ax, name=name)

# %%
# Between two classes the surface is where their scores agree: ``(w_k - w_j).x + b_k - b_j = 0``.
BoundaryDisplay.from_estimator(models["softmax"], X, y, pairs=True)
