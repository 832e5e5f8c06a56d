"""Vectors of the size of the weights, which live where the rows are.

With classes times features in the millions, copies between a device and the host would take longer
than the work. Solvers therefore compute with arrays of the space of their source: these have
operators and follow NumPy's functions (``__array_ufunc__`` and ``__array_function__``, as CuPy's
do). A space offers the rest: what is compiled or a call of LAPACK, and the ways in and out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from .. import loops
from ..numeric.types import AnyArray, Array


class VectorSpace(ABC):
    """Where vectors live, and the operations that NumPy's functions do not cover."""

    @abstractmethod
    def asarray(self, v: Any) -> Any:
        """A vector of the host or of this space as one of this space."""

    @abstractmethod
    def to_host(self, v: Any) -> AnyArray:
        """A vector of this space as an array in main memory."""

    @abstractmethod
    def kept(self, v: Array) -> Any:
        """An array of the host that never changes, as one of this space; its copy is kept."""

    @abstractmethod
    def two_loop(self, gradient: Any, pairs: Sequence[loops.CurvaturePair]) -> tuple[Any, float]:
        """The direction of L-BFGS and the slope along it: see :func:`loops.two_loop`."""

    @abstractmethod
    def solve_triangular(self, factors: Sequence[Any], right: Any, trans: int) -> Any:
        """Solve an upper triangular system for every row of the right-hand side, in float64.

        There is one factor for each row, or one for all; with ``trans`` it is transposed.
        """


class HostVectors(VectorSpace):
    """NumPy arrays in main memory."""

    def asarray(self, v: Array) -> Array:
        return v

    def to_host(self, v: AnyArray) -> AnyArray:
        return v

    def kept(self, v: Array) -> Array:
        return v

    def two_loop(
        self, gradient: Array, pairs: Sequence[loops.CurvaturePair]
    ) -> tuple[Array, float]:
        return loops.two_loop(gradient, pairs)

    def solve_triangular(self, factors: Sequence[AnyArray], right: Array, trans: int) -> Array:
        """By LAPACK, one class after another.

        For several right-hand sides BLAS starts its threads, which for small problems takes longer
        than the solution. SciPy's function checks its arguments for every class, which takes longer
        still.
        """
        right = right.astype(factors[0].dtype)
        (solve,) = scipy.linalg.get_lapack_funcs(("trtrs",), (factors[0], right))
        found = np.empty(right.shape)
        for c, each in enumerate(right):
            found[c], info = solve(factors[c if len(factors) > 1 else 0], each, trans=trans)
            if info:
                raise np.linalg.LinAlgError(f"class {c}: the triangular factor is singular")
        return found


HOST = HostVectors()


def space_of(v: Any, vectors: VectorSpace) -> VectorSpace:
    """Where an array lives that is in main memory or in ``vectors``."""
    return HOST if isinstance(v, np.ndarray) else vectors
