"""
The dual and kernel perceptron on digits
========================================

Freund and Schapire's experiment (1999) on scikit-learn's digits: ten kernel perceptrons, one digit
against the rest, with the kernel ``(1 + x.z)^d``; the digit of the largest score is the answer.
Averaged and voted weights beat the last ones by far at d = 1.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from separatrix import KernelPerceptron

X, y = load_digits(return_X_y=True)
train, test, digits, truth = train_test_split(X / 16.0, y, test_size=0.4, random_state=0)
KEEPS, DEGREES = ("last", "average", "voted"), (1, 2, 3, 4)


def error(degree: int, keep: str) -> float:
    """Share of the test digits that ten perceptrons misclassify after one pass."""
    fits = [
        KernelPerceptron(
            "poly", gamma=1.0, degree=degree, max_iter=1, keep=keep, shuffle=False,
            fit_intercept=False, patience=None,
        ).fit(train, digits == digit)
        for digit in range(10)
    ]  # fmt: skip
    scores = np.column_stack([fit.decision_function(test) for fit in fits])
    return float(np.mean(scores.argmax(axis=1) != truth))


errors = {keep: [error(degree, keep) for degree in DEGREES] for keep in KEEPS}
for keep, found in errors.items():
    print(f"{keep:8}" + "".join(f"{each:8.4f}" for each in found))

# %%
figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
for (keep, found), marker in zip(errors.items(), "osD", strict=True):
    ax.plot(DEGREES, found, marker + "-", label=keep)
ax.set(xlabel="degree of the kernel", ylabel="share of wrong digits", xticks=DEGREES)
ax.legend(frameon=False)

# %%
# The dual keeps a strength per row: how often it was a mistake. The most stubborn eights and not
# eights of one perceptron:
eight = KernelPerceptron("poly", gamma=1.0, degree=2, shuffle=False).fit(train, digits == 8)
stubborn = np.argsort(eight.embedding_strengths_)[::-1][:8]
figure, axes = plt.subplots(1, 8, figsize=(9, 1.6), layout="constrained")
for ax, row in zip(axes, stubborn, strict=True):
    ax.imshow(train[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{digits[row]}: {eight.embedding_strengths_[row]:g}", fontsize=9)
    ax.set_axis_off()
