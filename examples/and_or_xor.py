"""
AND, OR and XOR
===============

The perceptron on the three classic tables. Two can be separated by a line, and it stops by itself;
the third cannot, and it proves that it would go on forever.
"""

# %%
# Each table has four rows. The rings are mistakes.
import matplotlib.pyplot as plt

from separatrix import BoundaryDisplay, Perceptron, separability
from separatrix.datasets import logic

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, name in zip(axes, ("and", "or", "xor"), strict=True):
    X, y = logic(name)
    clf = Perceptron(shuffle=False).fit(X, y)
    print(f"{name}: {clf.coef_[0]} {clf.intercept_[0]:g}, {clf.n_iter_} passes: {clf.stop_}")
    BoundaryDisplay.from_estimator(clf, X, y, ax=ax, name=name.upper())

# %%
# AND, update by update: the weights, then the bias. What comes twice is the end of a pass.
X, y = logic("and")
for step in Perceptron(shuffle=False).fit(X, y).trace_.replay(X, y):
    print(step.weights[0])

# %%
# Why XOR cannot be separated: a positive sum of its signed rows is zero, so no line has all of them
# on its right side. The verdict can be checked by hand.
print(separability(*logic("xor")))
