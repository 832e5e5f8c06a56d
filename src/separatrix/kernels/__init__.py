"""Mercer kernels: inner products in a space of features that is never written down.

============ =====================================
name         K(x, z)
============ =====================================
``linear``   x.z
``poly``     (gamma x.z + coef0)^degree
``rbf``      exp(-gamma |x - z|^2)
``laplacian`` exp(-gamma sum_j |x_j - z_j|)
``sigmoid``  tanh(gamma x.z + coef0)
============ =====================================

The sigmoid is not an inner product for most of its parameters, and the theorems about the
perceptron do not hold for it. The other two choices are ``"precomputed"``, where the rows are rows
of the kernel matrix, and any callable ``f(A, B) -> (len(A), len(B))``.

A kernel is computed in two steps: ``pairwise``, which compares rows with rows and is left to BLAS,
and ``apply_elementwise``, a function of each entry. So a cache that prefetches rows
(:class:`KernelCache`) pays for their powers only if the rows are used. The Gaussian kernel of dense
rows has a compiled loop that does both at once.

>>> import numpy as np
>>> X = np.array([[0.0, 1.0], [2.0, 1.0]])
>>> kernel = get_kernel("poly", X, gamma=1.0, degree=2, coef0=1.0)
>>> kernel.between(X, kernel.prepare(X))
array([[ 4.,  4.],
       [ 4., 36.]])
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from ..numeric import checks
from ..numeric.types import Array
from .cache import KernelCache
from .functions import (
    Custom,
    Gaussian,
    Kernel,
    KernelFunction,
    Laplacian,
    Linear,
    Matrix,
    Polynomial,
    Precomputed,
    Reference,
    Sigmoid,
    products,
    squares,
)

__all__ = [
    "NAMES",
    "Custom",
    "Gaussian",
    "Kernel",
    "KernelCache",
    "KernelFunction",
    "Laplacian",
    "Linear",
    "Matrix",
    "Polynomial",
    "Precomputed",
    "Reference",
    "Sigmoid",
    "get_kernel",
    "products",
    "resolve_gamma",
    "squares",
]

NAMES = ("rbf", "poly", "linear", "sigmoid", "laplacian", "precomputed")
AT_ONCE = 1 << 16  # entries


def get_kernel(
    kernel: str | KernelFunction,
    rows: Matrix,
    *,
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 1.0,
    weight: Array | None = None,
) -> Kernel:
    """Return a kernel by name, or wrap a callable; gamma is resolved on the training rows."""
    if callable(kernel):
        return Custom(kernel)
    if kernel not in NAMES:
        raise ValueError(
            f"kernel must be one of {', '.join(map(repr, NAMES))} or a callable "
            f"f(A, B) -> array (len(A), len(B)), got {kernel!r}"
        )
    if kernel == "precomputed":
        return Precomputed()
    if kernel == "linear":
        return Linear()
    number = resolve_gamma(gamma, rows, weight)
    if kernel == "poly":
        return Polynomial(number, degree, coef0)
    if kernel == "sigmoid":
        return Sigmoid(number, coef0)
    return Gaussian(number) if kernel == "rbf" else Laplacian(number)


def resolve_gamma(gamma: str | float, rows: Matrix, weight: Array | None = None) -> float:
    """Resolve gamma for these rows, by the rules of scikit-learn's SVC.

    "scale": 1 / (features * variance of all entries), 1 if that is 0; "auto": 1 / features. The
    entries count by the weights of their rows.
    """
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / int(rows.shape[1])
    if isinstance(gamma, str) and gamma == "scale":
        with np.errstate(over="ignore", invalid="ignore"):
            variance = _variance(rows, weight)
        found = 1.0 / (int(rows.shape[1]) * variance) if variance > 0.0 else 1.0
        if not (np.isfinite(variance) and 0.0 < found < np.inf):
            raise ValueError(
                "gamma='scale' is 1 / (features * variance of all entries), and that overflows "
                "floating point: scale the features (e.g. with sklearn's StandardScaler), or pass "
                "a number"
            )
        return found
    if not (checks.is_number(gamma) and 0.0 < float(gamma) < np.inf):
        raise ValueError(f"gamma must be 'scale', 'auto' or a finite number above 0, got {gamma!r}")
    return float(gamma)


def _variance(rows: Matrix, weight: Array | None) -> float:
    """Variance of all entries; dense rows in blocks, because NumPy's ``var`` would copy them."""
    if weight is not None and np.ptp(weight) > 0.0:
        return _weighted_variance(rows, weight / weight.max())
    if sp.issparse(rows):
        return float(rows.multiply(rows).mean() - rows.mean() ** 2)
    mean, size = rows.mean(dtype=np.float64), max(1, AT_ONCE // rows.shape[1])
    blocks = (rows[start : start + size] for start in range(0, len(rows), size))
    return float(sum(np.square(block - mean).sum() for block in blocks) / rows.size)


def _weighted_variance(rows: Matrix, weight: Array) -> float:
    """The same with weights of the rows, as if a row of weight 2 was there twice."""
    total, d = float(weight.sum()), rows.shape[1]
    if sp.issparse(rows):
        mean = float(np.sum(weight @ rows)) / (total * d)
        squared = float(np.sum(weight @ rows.multiply(rows)))
        return float(squared / (total * d) - mean**2)
    size = max(1, AT_ONCE // d)
    parts = [slice(start, start + size) for start in range(0, len(rows), size)]
    mean = math.fsum(np.sum(weight[at] @ rows[at]) for at in parts) / (total * d)
    squares = (np.sum(weight[at] @ np.square(rows[at] - mean)) for at in parts)
    return float(math.fsum(squares) / (total * d))
