"""A penalised fit: the objective by which all contestants are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

PHI: dict[str, Callable[[Any], Any]] = {
    "hinge": lambda margins: np.maximum(0.0, 1.0 - margins),
    "squared_hinge": lambda margins: np.maximum(0.0, 1.0 - margins) ** 2,
    "logistic": lambda margins: np.logaddexp(0.0, -margins),
    "squared": lambda margins: (1.0 - margins) ** 2,
}
REST = ", one against the rest"


class Plane(NamedTuple):
    """A linear classifier: weights (k, d), biases (k,); k = 1 for two classes."""

    coef: Any
    intercept: Any
    passes: int | None = None  # or iterations, if the peer reports them

    @classmethod
    def of(cls, model: Any) -> Plane:
        """Create from an estimator that follows scikit-learn."""
        coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
        intercept = np.asarray(model.intercept_, dtype=np.float64).ravel()
        passes = getattr(model, "n_iter_", None)
        most = None if passes is None else int(np.max(passes))
        return cls(coef, np.broadcast_to(intercept, len(coef)), most)

    @classmethod
    def of_each(cls, several: Any) -> Plane:
        """Create from scikit-learn's one-against-the-rest over such estimators."""
        parts = [cls.of(model) for model in several.estimators_]
        coef = np.concatenate([part.coef for part in parts])
        return cls(coef, np.concatenate([part.intercept for part in parts]))

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
    """Minimise the mean of loss(y * (w.x + b)) + l1 * |w|_1 + l2 * |w|^2.

    For more classes the loss of all scores of a row: softmax for "logistic", Crammer and Singer's
    for "hinge"; otherwise, and with ``rest``, the sum over the classes, each against the rest.
    """

    X: Any
    y: Any
    loss: str
    l2: float
    intercept: bool = True
    rest: bool = False
    l1: float = 0.0

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
    def form(self) -> str:
        """The usual name of the loss."""
        if self.binary:
            return self.loss.replace("_", " ")
        joint = {"logistic": "softmax", "hinge": "Crammer and Singer"}
        if self.loss in joint and not self.rest:
            return joint[self.loss]
        return self.loss.replace("_", " ") + REST

    @property
    def C(self) -> float:  # noqa: N802  the peers' name for it
        """The same strength as a factor of the summed loss with |w|^2 / 2, or |w|_1."""
        return 1.0 / ((self.l1 or 2.0 * self.l2) * self.n)

    @cached_property
    def double(self) -> Any:
        """The rows in float64."""
        return self.X.astype(np.float64, copy=False)

    @cached_property
    def fortran(self) -> Any:
        """The rows in float64, stored by columns."""
        return self.X.tocsc() if self.sparse else np.asfortranarray(self.X, dtype=np.float64)

    @cached_property
    def signs(self) -> Any:
        """-1 or +1 for two classes."""
        return np.where(self.y == self.classes[1], 1.0, -1.0)

    def value(self, plane: Plane) -> float:
        """The objective in float64, computed in plain NumPy."""
        penalty = self.l2 * np.sum(plane.coef**2) + self.l1 * np.sum(np.abs(plane.coef))
        return float(self._losses(plane.scores(self.X)).mean() + penalty)

    def _losses(self, scores: Any) -> Any:
        if self.binary:
            return PHI[self.loss](self.signs * scores[:, 0])
        true = self.y[:, None] == self.classes
        if self.form == "softmax":
            top = scores.max(axis=1)
            return np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - scores[true]
        if self.form == "Crammer and Singer":
            return (scores + ~true).max(axis=1) - scores[true]
        return PHI[self.loss](np.where(true, 1.0, -1.0) * scores).sum(axis=1)
