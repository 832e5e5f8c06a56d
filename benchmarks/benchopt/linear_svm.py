"""separatrix as a solver of benchopt's benchmark of linear support vector machines.

Copy this file to the folder ``solvers`` of that benchmark. It minimises
C sum(max(0, 1 - m)) + |w|^2 / 2. The published files of that benchmark are for benchopt 1.3, in
which a result is the weights themselves.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from benchopt import BaseSolver
from sklearn.exceptions import ConvergenceWarning

from separatrix import LinearClassifier
from separatrix.numeric.types import Array


class Solver(BaseSolver):  # type: ignore[misc]
    """One fit for each point of the curve, stopped after as many iterations."""

    name = "separatrix"
    requirements = ("pip::separatrix",)
    sampling_strategy = "iteration"

    def set_objective(self, X: Any, y: Any, C: float) -> None:
        """Take the data; J of separatrix is the objective of the benchmark over C n."""
        self.X, self.y = X, y
        self.clf = LinearClassifier(
            "hinge", l2=1 / (2 * C * X.shape[0]), tol=1e-14, fit_intercept=False, random_state=0
        )

    def run(self, n_iter: int) -> None:
        """At most this many iterations; without one the weights are 0."""
        self.beta = np.zeros(self.X.shape[1])
        if n_iter == 0:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.clf.set_params(max_iter=n_iter).fit(self.X, self.y)
        self.beta = self.clf.coef_.ravel()

    def get_result(self) -> Array:
        """The weights."""
        return self.beta
