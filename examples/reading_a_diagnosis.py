"""
Reading a diagnosis
===================

A fit is slow. ``diagnose`` names the cause, the features that show it, and a remedy.
"""

# %%
# Equally good features that span many powers of ten, and plain gradient descent: no single step
# size suits them all.
import warnings

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning

from separatrix import GradientDescent, HistoryDisplay, LinearClassifier, diagnose
from separatrix.datasets import badly_scaled

X, y = badly_scaled(random_state=0)
clf = LinearClassifier("logistic", solver=GradientDescent(), max_iter=200)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    clf.fit(X, y)
print(diagnose(clf, X, y))

# %%
# With the remedy: the same solver on features of one scale.
mended = LinearClassifier("logistic", solver=GradientDescent(), max_iter=200, standardize=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    mended.fit(X, y)
print(f"objective {clf.objective_:.4f} before, {mended.objective_:.4f} after")
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for ax, fit, name in zip(axes, (clf, mended), ("as given", "standardised"), strict=True):
    HistoryDisplay.from_estimator(fit, ax=ax, columns=("objective",), name=name)
