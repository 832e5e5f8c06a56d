"""Freund and Schapire's experiment on scikit-learn's digits: last, averaged and voted weights.

    python examples/kernel_digits.py

Ten kernel perceptrons, one digit against the rest, with the kernel (1 + x.z)^d; the digit of the
largest score is the answer. Averaged and voted weights beat the last ones by far at d = 1.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from separatrix import KernelPerceptron


def main() -> None:
    X, y = load_digits(return_X_y=True)
    train, test, digits, truth = train_test_split(X / 16.0, y, test_size=0.4, random_state=0)
    print("degree  passes  " + "".join(f"{keep:>9}" for keep in ("last", "average", "voted")))
    for degree in (1, 2, 3, 4):
        for passes in (1, 3):
            errors = []
            for keep in ("last", "average", "voted"):
                fits = [
                    KernelPerceptron(
                        "poly", gamma=1.0, degree=degree, max_iter=passes, keep=keep,
                        shuffle=False, fit_intercept=False, patience=None,
                    ).fit(train, digits == digit)
                    for digit in range(10)
                ]  # fmt: skip
                scores = np.column_stack([fit.decision_function(test) for fit in fits])
                errors.append(np.mean(scores.argmax(axis=1) != truth))
            print(f"{degree:>6}  {passes:>6}  " + "".join(f"{error:9.4f}" for error in errors))


if __name__ == "__main__":
    main()
