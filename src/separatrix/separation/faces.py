"""The verdict on sparse rows by Newton's method: weak separators one face at a time.

Rows that cancel with positive weights have margin 0 for every weak separator, because the sum of
their weighted margins is 0 and none is negative. So weak separators are among the directions
``V u`` that are orthogonal to these rows. They are few, and so the question for them is small.
Algorithm (facial reduction, Borwein and Wolkowicz 1981): Newton's method finds rows that cancel;
elimination finds V; the method is repeated on the rows ``z V`` that are not 0. Either u separates
them, and V u is a weak separator; or more rows cancel, and V gets smaller, until nothing is left:
then all rows overlap.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..numeric.tolerances import EPS
from ..numeric.types import Array, Ints
from .linear_program import unit
from .newton import least_squared_hinge, significant
from .null_space import EXACT_SUM, margins, null_space
from .rational import Fractions
from .search import SeparabilitySearch
from .settled import Proven
from .signed_rows import dense

DIGITS = 24  # bits of the entries of u: then V u is exact, and short


class Face(NamedTuple):
    """An exact weak separator."""

    weights: Fractions
    strict: Ints  # the rows with margins > 0; all others have margin 0
    least: float  # lower bound on these margins


class FaceSearch(SeparabilitySearch):
    """A search on sparse rows whose columns are independent."""

    def step(self) -> Proven | Face | None:
        """The verdict, or a weak separator; None if this method does not decide the question."""
        with np.errstate(all="ignore"):
            return self._step()

    def _step(self) -> Proven | Face | None:
        W = self.wide.direction()
        if W is not None:
            return self._separable(W)
        face = self._weak() if self.wide.slopes is not None else None
        weights = self.wide.few() if face is None else None
        if weights is None:
            return face
        witness = self._witness(weights)
        if witness is None:
            return None
        objective, _ = self.rows.total()
        interior = self._by_newton(objective, partial(self._interior, among=None))
        return None if interior is None else self._overlapping(witness, interior)

    def _coordinates(self, at: Ints, total: Array | None = None) -> slice | Ints:
        D = self.rows.dimension
        if len(at) == (D + 1 if total is None else D):
            return slice(None)
        face = null_space(self.working.Z[at])
        if total is not None:
            margin = margins(sp.csr_array(total[None]), face.vectors)
            if margin is None or margin.nnz:
                return slice(None)
        return np.delete(np.arange(D), face.dependent)

    def _weak(self) -> Face | None:
        """A weak separator with margins > 0 on all rows that it does not leave at 0."""
        rows, working, wide = self.rows, self.working, self.wide
        ids = rows.all()
        Z = rows.gather(ids)
        while wide.slopes is not None:
            V = null_space(working.Z[significant(wide.slopes)]).vectors
            A = margins(Z, V) if V.shape[1] else None
            if A is None:
                return None
            outside = np.flatnonzero(np.diff(A.indptr))
            A = A[outside] if V.shape[1] > working.step // 4 else dense(A[outside])
            scaled, norms = unit(A)
            u, slopes = least_squared_hinge(scaled, np.zeros(V.shape[1]), working.products)
            u = np.round(np.ldexp(u / np.abs(u).max(initial=1e-300), DIGITS))
            w, found = V @ u, A @ u
            error = 2.0 * (len(u) + 2) * EPS * (abs(A) @ np.abs(u))
            if np.all(found > error) and np.all(abs(V) @ np.abs(u) < EXACT_SUM):
                whole = w.astype(np.int64).astype(object)
                return Face(Fractions(whole, 1), ids[outside], float((found - error).min()))
            more = significant(slopes)
            if not len(more) or not wide.join(ids[outside[more]], slopes[more] / norms[more]):
                return None
        return None
