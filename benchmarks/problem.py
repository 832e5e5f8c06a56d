"""A penalised fit to be solved: the one objective by which all contestants are measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Plane(NamedTuple):
    """What a linear classifier comes to: weights (k, d), biases (k,); k = 1 for two classes."""

    coef: Any
    intercept: Any
    passes: int | None = None  # or iterations, if the peer tells

    @classmethod
    def of(cls, model: Any) -> Plane:
        """Of an estimator that follows scikit-learn."""
        coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
        intercept = np.asarray(model.intercept_, dtype=np.float64).ravel()
        passes = getattr(model, "n_iter_", None)
        told = None if passes is None else int(np.max(passes))
        return cls(coef, np.broadcast_to(intercept, len(coef)), told)

    def scores(self, X: Any) -> Any:
        """(n, k), in float64 whatever the dtype of X."""
        blocks = [
            X[start : start + 65_536].astype(np.float64) @ self.coef.T
            for start in range(0, X.shape[0], 65_536)
        ]
        return np.concatenate(blocks) + self.intercept

    def predict(self, X: Any) -> Any:
        """Classes as numbers from 0."""
        scores = self.scores(X)
        return scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] >= 0.0).astype(int)


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise the mean of loss(y * (w.x + b)) + l2 * |w|^2; more classes: of the softmax."""

    X: Any
    y: Any
    loss: str
    l2: float
    intercept: bool = True

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def sparse(self) -> bool:
        return bool(sp.issparse(self.X))

    @cached_property
    def classes(self) -> Any:
        return np.unique(self.y)

    @property
    def binary(self) -> bool:
        return len(self.classes) == 2

    @property
    def C(self) -> float:  # noqa: N802  the peers' name for it
        """The same strength as a factor of the summed loss beside |w|^2 / 2."""
        return 1.0 / (2.0 * self.l2 * self.n)

    @cached_property
    def double(self) -> Any:
        """The rows in float64."""
        return self.X.astype(np.float64, copy=False)

    @cached_property
    def fortran(self) -> Any:
        """The rows in float64, column after column."""
        return self.X.tocsc() if self.sparse else np.asfortranarray(self.X, dtype=np.float64)

    def value(self, plane: Plane) -> float:
        """The objective in float64, computed in plain NumPy."""
        scores = plane.scores(self.X)
        if not self.binary:
            true = scores[np.arange(self.n), np.searchsorted(self.classes, self.y)]
            top = scores.max(axis=1)
            losses = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - true
        else:
            margins = np.where(self.y == self.classes[1], 1.0, -1.0) * scores[:, 0]
            if self.loss == "hinge":
                losses = np.maximum(0.0, 1.0 - margins)
            else:
                losses = np.logaddexp(0.0, -margins)
        return float(losses.mean() + self.l2 * np.sum(plane.coef**2))
