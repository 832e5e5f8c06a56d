"""Weights with a low J, to be compared with what a fit claims: Newton's method in 50 digits.

Kinks are smoothed by eps: the hinge as ``(t + sqrt(t^2 + 4 eps^2)) / 2``, a length r
as ``sqrt(r^2 + eps^2)``. J is minimised for smaller and smaller eps, down to 1e-16. How good a
challenger is decides how much a check can find, and never whether a finding is right: J of the
challenger is computed again, exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import scipy.optimize

from .cases import Case
from .exact import exact_objective, length_blocks, to_decimal

EPSILONS = [Decimal(10) ** -power for power in range(17)]
MOST_STEPS = 12  # for each epsilon; those without a kink have one epsilon
MOST_HALVINGS = 20
NEAR = Decimal("1e-3")  # of eps: likewise, where there are kinks
REACH = 10  # times the size of the variables: the longest step
RIDGE = Decimal("1e-38")  # of the diagonal: flat directions leave the Hessian singular
ARRIVED = Decimal("1e-32")  # the decrease that a Newton step promises
FEEBLE = 1e-6  # a penalty that lets separating weights grow
LEAST = Decimal("1e-60")  # of the largest variable: a fraction with such an exponent is long
SEPARATED = (1.0, 10.0, 40.0, 200.0, 700.0)  # least margins of challengers that separate all rows

Weights = tuple[np.ndarray, np.ndarray]


def better(
    case: Case, coef: np.ndarray, intercept: np.ndarray, zero: np.ndarray | None = None
) -> Decimal:
    """The lowest J that is known: of the fit, of zeros and of the challengers.

    With ``zero`` (k, d) only weights that are 0 there count; those of the fit are.
    """
    points = [(coef, intercept), (0 * coef, 0 * intercept)]
    if zero is None:
        points += separators(case)
    if case.loss not in ("tanh_squared", "perceptron"):
        points.append(newton_minimum(case, coef, intercept, zero))
    return min(exact_objective(case, *point) for point in points)


def newton_minimum(
    case: Case, coef: np.ndarray, intercept: np.ndarray, zero: np.ndarray | None = None
) -> Weights:
    """Weights near the minimum of a convex J, as fractions; those in ``zero`` (k, d) stay 0."""
    problem = Smoothed(case)
    fixed = np.zeros(problem.shape, bool)
    if zero is not None:
        fixed[:, : zero.shape[1]] = zero
    free = np.flatnonzero(~fixed.ravel())
    epsilons = EPSILONS if problem.kinked else EPSILONS[-1:]
    first = (coef, intercept), (0 * coef, 0 * intercept)
    U = problem.variables(*min(first, key=lambda point: exact_objective(case, *point)))
    before = U
    for eps in epsilons:
        # The minimum is nearly linear in eps.
        U, before = U + (U - before) / 10, U
        for _ in range(MOST_STEPS if problem.kinked else 4 * MOST_STEPS):
            last, U = U, newton_step(problem, U, eps, free)
            if last is U:
                break
    return problem.weights(U)


def newton_step(problem: Smoothed, U: np.ndarray, eps: Decimal, free: np.ndarray) -> np.ndarray:
    """The next weights; the same object if these have arrived.

    A step is halved until the slope along it is no longer as steep there as it is here. For a
    convex J that needs no value of it.
    """
    gradient, hessian = problem.derivatives(U, eps)
    g, direction = gradient.ravel()[free], np.full(U.size, Decimal(0))
    direction[free] = solve(hessian[np.ix_(free, free)], g)
    direction = direction.reshape(U.shape)
    slope = (gradient * direction).sum()
    if slope <= (NEAR * eps if problem.kinked else ARRIVED):
        return U
    # Where all rows are right by far, the Hessian hardly exists, and a step has no bounds.
    length = min(Decimal(1), REACH * (1 + np.abs(U).max()) / np.abs(direction).max())
    for _ in range(MOST_HALVINGS):
        V = U - length * direction
        if -slope < (problem.derivatives(V, eps, order=1)[0] * direction).sum() * 2:
            return V
        length /= 2
    return U


def solve(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """A solution of ``H x = g``, H positive semidefinite, by elimination."""
    A, b, n = H.copy(), g.copy(), len(g)
    for j in range(n):
        A[j, j] += RIDGE * A[j, j]
    for j in range(n):
        if A[j, j] <= 0:
            continue
        for i in range(j + 1, n):
            factor = A[i, j] / A[j, j]
            if factor:
                A[i, j:] -= factor * A[j, j:]
                b[i] -= factor * b[j]
    x = np.full(n, Decimal(0))
    for j in reversed(range(n)):
        if A[j, j] > 0:
            x[j] = (b[j] - A[j, j + 1 :] @ x[j + 1 :]) / A[j, j]
    return x


class Smoothed:
    """J without kinks, in variables ``u = spread * w`` and the bias; all numbers are decimals."""

    def __init__(self, case: Case) -> None:
        self.case = case
        present = np.flatnonzero(case.row_weights > 0.0)
        X = case.X[present]
        size = np.ptp(X, axis=0) if case.intercept else np.abs(X).max(axis=0)
        self.spread = np.where(size > 0.0, size, np.abs(X).max(axis=0))
        self.spread[self.spread == 0.0] = 1.0
        spread = decimals(self.spread)
        self.Z = decimals(X) / spread
        if case.intercept:
            self.Z = np.column_stack([self.Z, decimals(np.ones(len(X)))])
        self.shape = case.columns, self.Z.shape[1]
        weight = decimals(case.row_weights[present])
        self.share = weight / weight.sum()
        self.signs, self.y = case.signs[present], case.y[present]
        unit = decimals(case.deviations) / spread
        self.squares = Decimal(case.l2) * decimals(case.feature_weights) * unit * unit
        at = np.arange(np.prod(self.shape)).reshape(self.shape)
        self.blocks = [
            (factor, np.array([at[c, j] for c, j in block]), np.array([unit[j] for _, j in block]))
            for factor, block in length_blocks(case)
        ]

    @property
    def kinked(self) -> bool:
        return bool(self.blocks) or self.case.binary_name == "hinge"

    def variables(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        U = decimals(coef) * decimals(self.spread)
        return np.column_stack([U, decimals(intercept)]) if self.case.intercept else U

    def weights(self, U: np.ndarray) -> Weights:
        """Fractions that have the same scores; entries of no account become 0."""
        least, d = LEAST * np.abs(U).max(), len(self.spread)
        exact = np.vectorize(Fraction, otypes=[object])(np.where(np.abs(U) > least, U, Decimal(0)))
        spread = np.array([Fraction(v) for v in self.spread.tolist()])
        nothing = np.full(len(U), Fraction(0))
        return exact[:, :d] / spread, exact[:, d] if self.case.intercept else nothing

    def derivatives(
        self, U: np.ndarray, eps: Decimal, order: int = 2
    ) -> tuple[np.ndarray, np.ndarray]:
        """The gradient, and the Hessian by the weights row after row, unless order is 1."""
        k, m = self.shape
        gradient = np.full((k, m), Decimal(0))
        hessian = np.full((k * m, k * m), Decimal(0))
        scores, terms = self.Z @ U.T, self._margins if self.case.binary_losses else self._rivals
        for i, z in enumerate(self.Z):
            slopes, curvatures = terms(scores[i], i, eps)
            gradient += self.share[i] * np.multiply.outer(slopes, z)
            if order > 1:
                outer = self.share[i] * np.multiply.outer(z, z)
                for a, b in zip(*np.nonzero(curvatures), strict=True):
                    hessian[a * m : a * m + m, b * m : b * m + m] += curvatures[a, b] * outer
        d = len(self.squares)
        gradient[:, :d] += 2 * self.squares * U[:, :d]
        for c in range(k):
            hessian[range(c * m, c * m + d), range(c * m, c * m + d)] += 2 * self.squares
        for factor, at, unit in self.blocks:
            v = unit * U.ravel()[at]
            length = (v @ v + eps * eps).sqrt()
            gradient.reshape(-1)[at] += factor * unit * v / length
            curved = np.diag(unit**2) - np.multiply.outer(unit * v, unit * v) / length**2
            hessian[np.ix_(at, at)] += factor * curved / length
        return gradient, hessian

    def _margins(self, s: np.ndarray, row: int, eps: Decimal) -> tuple[np.ndarray, np.ndarray]:
        signs, name = self.signs[row], self.case.binary_name
        terms = np.array([margin_terms(name, m, eps) for m in signs * s])
        return signs * terms[:, 0], np.diag(terms[:, 1])

    def _rivals(self, s: np.ndarray, row: int, eps: Decimal) -> tuple[np.ndarray, np.ndarray]:
        """Softmax, or Crammer and Singer's hinge as a softmax of temperature eps."""
        y, hinge = int(self.y[row]), self.case.loss == "hinge"
        temperature = eps if hinge else Decimal(1)
        entries = [v + (hinge and c != y) for c, v in enumerate(s)]
        top = max(entries)
        powers = np.array([((v - top) / temperature).exp() for v in entries])
        p = powers / powers.sum()
        slopes = p - np.array([Decimal(int(c == y)) for c in range(len(s))])
        return slopes, (np.diag(p) - np.multiply.outer(p, p)) / temperature


def margin_terms(name: str, m: Decimal, eps: Decimal) -> tuple[Decimal, Decimal]:
    """Slope and curvature of a loss of margins; only the hinge needs to be smoothed."""
    short = 1 - m
    if name == "squared" or (name == "squared_hinge" and short > 0):
        return -2 * short, Decimal(2)
    if name == "squared_hinge":
        return Decimal(0), Decimal(0)
    if name == "hinge":
        root = (short * short + 4 * eps * eps).sqrt()
        return -(1 + short / root) / 2, 2 * eps * eps / root**3
    small = (-abs(m)).exp()
    p = (small if m > 0 else Decimal(1)) / (1 + small)
    return -p, p * (1 - p)


def decimals(values: np.ndarray) -> np.ndarray:
    """Floats or fractions as decimals."""
    convert = np.vectorize(lambda v: to_decimal(Fraction(v)), otypes=[object])
    return convert(values) if values.size else values.astype(object)


def separators(case: Case) -> Iterator[Weights]:
    """Weights that have all rows on their right side, if a linear program finds some.

    They are where Newton's method takes too long to arrive: with hardly a penalty, far away.
    """
    if case.loss != "logistic" or case.l1 + case.l2 > FEEBLE:
        return
    problem = Smoothed(case)
    Z = problem.Z.astype(float)
    if case.k == 2:
        rows = problem.signs * Z
    else:
        other = [(i, c) for i, y in enumerate(problem.y) for c in range(case.k) if c != y]
        eye = np.eye(case.k)
        rows = np.array([np.kron(eye[problem.y[i]] - eye[c], Z[i]) for i, c in other])
    n, m = rows.shape
    found = scipy.optimize.linprog(
        np.append(np.zeros(m), -1.0), A_ub=np.column_stack([-rows, np.ones(n)]), b_ub=np.zeros(n),
        bounds=[(-1, 1)] * m + [(0, 1)], method="highs",
    )  # fmt: skip
    if found.status == 0 and found.x[-1] > 1e-9:
        for margin in SEPARATED:
            U = decimals(margin / found.x[-1] * found.x[:-1]).reshape(problem.shape)
            yield problem.weights(U)
