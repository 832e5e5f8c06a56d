"""
The loss zoo
============

Every loss is a function of the margin ``m = y * (w.x + b)``: positive if a row is correct. They
differ in how they treat very wrong rows, and very correct ones.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from separatrix import BoundaryDisplay, LinearClassifier, LossDisplay

LossDisplay.from_losses()

# %%
# The same rows, fitted with each. Very correct rows influence the squared loss; the flat tail of
# ``tanh_squared`` ignores very wrong ones.
X, y = load_iris(return_X_y=True)
X, y = X[50:, 2:], y[50:]
figure, axes = plt.subplots(2, 3, figsize=(10, 6.4), layout="constrained")
names = ("squared", "logistic", "hinge", "squared_hinge", "tanh_squared")
for ax, name in zip(axes.flat, names, strict=False):
    clf = LinearClassifier(name, l2=1e-3).fit(X, y)
    print(f"{name:14} {clf.stop_:10} {clf.score(X, y):.2f}")
    BoundaryDisplay.from_estimator(clf, X, y, ax=ax, name=name)
axes.flat[-1].set_axis_off()
