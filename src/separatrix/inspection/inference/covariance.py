"""The covariance of the estimated variables: from the model, from the rows, or from clusters.

With A the second derivative of the penalised sum of losses at its minimum, the estimate differs
from its limit by ``A^-1 g`` to first order, with g the sum of the gradients of the rows. So its
covariance is ``A^-1 cov(g) A^-1`` (Huber 1967; White 1982), where cov(g) is

- "model": the second derivative of the losses, which is right if the model is;
- "sandwich": the sum of g_i g_i' over the rows, for independent rows, whatever the model;
- "cluster": the same sum over clusters, for rows that depend on others of their cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...numeric.threads import one_blas_thread
from ...numeric.types import AnyArray, Array, Ints
from .fitted import FittedLikelihood
from .sums import ClusterGradients, GradientProducts

KINDS = ("model", "sandwich", "cluster")
WEIGHTS = ("frequency", "probability")  # what a weight of a row means


@dataclass(frozen=True)
class Covariance:
    """How the covariance is computed, after validation."""

    kind: str
    weights: str
    small_sample: bool
    clusters: Ints | None = None
    """The cluster of every row, numbered from 0."""

    @property
    def count(self) -> int:
        """Number of clusters."""
        return 0 if self.clusters is None else int(self.clusters.max()) + 1


@dataclass(frozen=True)
class Estimated:
    """The covariance of the reported coefficients, and what else follows from the sums."""

    variables: Array
    """Covariance of the reported coefficients in standardised variables, (m (d + 1),) squared.

    Empty if there are too many."""
    covariance: Array
    """The same in the units of the features as given."""
    step: Array
    """Newton step to the minimum from the weights of the fit, in the same units."""
    effective: float
    """Effective number of parameters, the trace of ``A^-1`` times the second derivative.

    NaN with a penalty on too many coefficients for that matrix."""
    scale: float
    """Estimated variance of the errors of the squared loss; 1 for a likelihood."""
    n: float
    """Number of rows: the sum of frequency weights, or rows of positive weight."""


def estimated(found: FittedLikelihood, asked: Covariance) -> Estimated:
    """The covariance matrix."""
    free, A = found.free, found.curvature
    at, n = np.ix_(free, free), number_of_rows(found, asked)
    with one_blas_thread(float(len(A)) ** 3):
        factor = cho_factor(A)
        losses = found.hessian[at]
        shrunk = cho_solve(factor, losses)
        effective = float(np.trace(shrunk))
        scale = scale_of(found, n - effective)
        if asked.kind == "model":
            middle = 2.0 * scale * losses if found.squared else losses
        else:
            middle = few_factor(found, asked, n) * _middle(found, asked)[at]
        inside = cho_solve(factor, cho_solve(factor, middle).T)
        step = cho_solve(factor, -found.gradient[free])
        whole = np.zeros((len(free), len(free)))
        whole[at] = 0.5 * (inside + inside.T)
        contrasts, units = found.contrasts, found.units
        variables = contrasts @ whole @ contrasts.T
        moved = np.zeros(len(free))
        moved[free] = step
        covariance = units @ variables @ units.T
    return Estimated(variables, covariance, units @ contrasts @ moved, effective, scale, n)


def number_of_rows(found: FittedLikelihood, asked: Covariance) -> float:
    """The sum of frequency weights, or rows of positive weight."""
    if asked.weights == "frequency":
        return float(found.n)
    return float((found.whole or found.source).n_rows)


def scale_of(found: FittedLikelihood, degrees: float) -> float:
    """Variance of the errors: the residual sum of squares over the degrees of freedom."""
    if not found.squared:
        return 1.0
    if not degrees > 0.0:
        raise ValueError(
            "there are no more rows than parameters, so the variance of the errors cannot be "
            "estimated: leave out features, or use a penalty (l2 > 0)"
        )
    return found.loss_sum / degrees


def _middle(found: FittedLikelihood, asked: Covariance) -> Array:
    """The covariance of the summed gradients, estimated from rows or clusters."""
    objective, source = found.objective, found.source
    if asked.kind == "sandwich":
        power = 1 if asked.weights == "frequency" else 2
        (middle,) = source.total(
            GradientProducts(
                objective.loss, found.weights, found.standardization, power, found.class_weight
            )
        )
        return middle
    clusters, count = asked.clusters, asked.count
    if clusters is None:
        raise TypeError("a cluster covariance needs clusters")
    (sums,) = source.total(
        ClusterGradients(objective.loss, found.weights, found.standardization, clusters, count)
    )
    flat = sums.reshape(count, -1)
    return flat.T @ flat


def few_factor(found: FittedLikelihood, asked: Covariance, n: float) -> float:
    """What a sandwich is multiplied by for few rows (HC1) or few clusters."""
    if not asked.small_sample:
        return 1.0
    over = _positive(n - float(np.count_nonzero(found.free)))
    if asked.kind == "sandwich":
        return n / over
    return (asked.count / (asked.count - 1.0)) * ((n - 1.0) / over)


def _positive(degrees: float) -> float:
    if not degrees > 0.0:
        raise ValueError(
            "small_sample=True divides by the rows minus the parameters, and there are no more "
            "rows than parameters"
        )
    return degrees


def _missing(labels: AnyArray) -> bool:
    """Whether any is NaN, NaT, None or missing in the sense of a library of frames."""
    if labels.dtype.kind in "mM":
        return bool(np.isnat(labels).any())
    if labels.dtype.kind != "O":
        return labels.dtype.kind == "f" and bool(np.isnan(labels).any())
    try:
        return any(label is None or bool(label != label) for label in labels)
    except TypeError:  # pandas.NA has no truth value
        return True


def checked(
    kind: Any, weights: Any, small_sample: Any, groups: Any, n: int, sample_weight: Any = None
) -> Covariance:
    """The arguments of ``inference`` that choose a covariance."""
    for name, value, allowed in (("covariance", kind, KINDS), ("weights", weights, WEIGHTS)):
        if not isinstance(value, str) or value not in allowed:
            raise ValueError(
                f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}"
            )
    if not isinstance(small_sample, (bool, np.bool_)):
        raise ValueError(f"small_sample must be True or False, got {small_sample!r}")
    if kind == "model" and weights == "probability":
        raise ValueError(
            "sampling weights are no counts of rows, so the covariance of the model is wrong for "
            "them; use covariance='sandwich'"
        )
    if kind == "model" and small_sample:
        raise ValueError("small_sample is for covariance='sandwich' and 'cluster'")
    if (groups is not None) != (kind == "cluster"):
        raise ValueError(
            "groups names the cluster of every row: pass it with covariance='cluster', and only "
            "then"
        )
    if groups is None:
        return Covariance(kind, weights, bool(small_sample))
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups has the shape {labels.shape}, expected {(n,)}: one for every row")
    present = np.ones(n, dtype=np.bool_)
    if sample_weight is not None:  # rows of weight 0 are in no cluster
        present = np.asarray(sample_weight) != 0.0
    labels = labels[present]
    if _missing(labels):
        raise ValueError("groups has missing values; give every row a cluster")
    try:
        _, numbers = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError("groups mixes types; name all clusters by numbers or by text") from error
    if numbers.max(initial=0) == 0:
        raise ValueError(
            "groups has a single cluster, and a covariance needs several: use "
            "covariance='sandwich' for independent rows"
        )
    clusters = np.zeros(n, dtype=np.int64)  # any number will do where the gradient is 0
    clusters[present] = numbers
    return Covariance(kind, weights, bool(small_sample), clusters)
