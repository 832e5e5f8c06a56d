"""The second derivative with respect to a working set of features, reused while it is useful.

Problem     Newton's steps for sparse weights need the Hessian of J by a working set of features, a
            read of the rows and products of every two of these: most of the work of a step.
Input       an objective, weights, and the features of the working set.
Output      the Hessian of J's smooth part by their standardised variables and the biases.
Algorithm   That of the mean loss is kept apart from the penalty's, so that it serves for another
            strength of it, too, and for fewer features: steps with an old one (chords) still lead
            to the minimum, and the share of the gain that each leaves shows if it is too old.
Paper       Kelley, Iterative methods for linear and nonlinear equations (1995), section 5.4.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numeric.standardization import Standardization
from ..numeric.threads import one_blas_thread
from ..numeric.types import Array, Ints
from ..objective import Objective
from ..objective.sums import WorkingHessian


class LossHessian(NamedTuple):
    """Second derivative of the mean loss, by the variables of some features and the biases."""

    features: Ints  # in increasing order
    scale: Array  # of the variables, the biases' last
    hessian: Array  # (1 or k, m, m), class by class

    @classmethod
    def at(cls, objective: Objective, W: Array, features: Ints) -> LossHessian:
        """In one read of the data."""
        own = own_variables(objective, features)
        asked = WorkingHessian(objective.loss, W, features, own)
        with one_blas_thread(objective.source.n_rows * float(len(features)) ** 2):
            (hessian,) = objective.source.total(asked)
        hessian /= objective.source.weight_sum
        return cls(features, own.scale, hessian)

    def has(self, features: Ints) -> bool:
        """Whether all of these are among its own."""
        return bool(np.isin(features, self.features, assume_unique=True).all())

    def by(self, features: Ints, scale: Array) -> Array:
        """By some of its features, and in variables of another scale."""
        places = np.append(np.searchsorted(self.features, features), len(self.features))
        classes = self.hessian.shape[1] // len(self.scale)
        every = (np.arange(classes)[:, None] * len(self.scale) + places).ravel()
        factor = np.tile(self.scale[places] / scale, classes)
        taken: Array = np.ascontiguousarray(self.hessian[:, every[:, None], every])
        taken *= factor[:, None] * factor
        return taken


def own_variables(objective: Objective, features: Ints) -> Standardization:
    """The variables of some features and the biases."""
    whole, some = objective.standardization, np.append(features, -1)
    return Standardization(whole.mean[features], whole.scale[some])


def model_hessian(objective: Objective, held: LossHessian, features: Ints) -> Array:
    """Second derivative of J's smooth part by these features and biases: (1 or k, m, m)."""
    scale = own_variables(objective, features).scale
    hessian, k, m = held.by(features, scale), objective.shape[0], len(scale)
    diagonal = objective.penalty.diagonal(objective.shape)[:, np.append(features, -1)]
    np.einsum("bii->bi", hessian)[:] += (diagonal / scale**2).reshape(len(hessian), -1)
    biases = slice(m - 1, None, m)
    if not objective.intercept:  # without curvature they stay
        hessian[:, biases] = 0.0
        hessian[:, :, biases] = 0.0
    elif k > 1 and getattr(objective.loss, "shifts", False):
        hessian[:, biases, biases] += 1.0 / k  # they can be shifted together at no cost
    return hessian
