"""How far the exact minimum can be, from the gradient: for logistic losses and softmax.

Problem: near the minimum, the gradient bounds the distance much better than a duality gap, which
also has the error of its dual point. Input: weights, their rows, and so the gradient g there with
its rounding. Output: bounds on the differences D of the weights and D_b of the centred biases.

Let ``q^2 = D'H D`` with H the second derivative of J at the weights. On the way to the minimum the
curvature of a row falls at most by ``exp(-t)`` where its scores have changed by t, because the
third derivative of these losses is at most the second times the change (for softmax, times the
range of the changes of a row's scores). No score changes by more than ``V q``, so ``-g'D >= q^2
(1 - exp(-V q)) / (V q)``. With ``-g'D <= rho q`` it follows that ``q <= -log(1 - rho V) / V``.

H is at least 2 in the weights, in units of the penalty, so ``|D| <= q / sqrt(2)``. For the biases
let ``a`` be the smallest eigenvalue of ``A = sum_i p_i Q_i``, with Q_i the second derivative by the
scores of row i, and ``T = sum_i p_i Q_i z_i'``. A square is above its tangents, so that for all D
the curvature ``D'H D`` is at least ``a^2 / (a + |T|^2 / 2)`` times ``|D_b|^2``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve, solve_triangular

from ..data import Block, Source, Sum
from ..losses import Loss
from ..numeric.lazy import cached_property
from ..numeric.tolerances import EPS, SMALLEST_NORMAL, VANISHING
from ..numeric.types import AnyArray, Array
from ..rows import host_rows_of
from .curvature_ball import lower_factor
from .weight_ball import OPERATIONS, row_lengths

AT_A_TIME = 1 << 15  # values of dense rows, which stay in the cache
ROUNDED = 1.0 + 1e-6  # for sums of bounds, which have far smaller errors
FEW = 16 * EPS  # relative error of a slope and of sums of a few terms
MOST_STEP = 0.5  # of ``rho V``: farther from the minimum, other bounds are better


class NearMinimum(NamedTuple):
    """How far the minimum can be from some weights."""

    distance: float  # bound on ``sqrt(D'H D)``
    bias: float  # bound on the change of each centred bias

    @property
    def radius(self) -> float:
        """Bound on the length of D in units of the penalty."""
        return self.distance * math.sqrt(0.5) * (1.0 + OPERATIONS * EPS)


@dataclass(frozen=True, eq=False)
class Point:
    """Weights, and scores of rows about a centre."""

    weights: Array  # (k, d)
    centre: Array  # (d,)
    reach: Array  # ``1 / sqrt(l2_j)``; 0 for a weight that is 0 here and at the minimum
    bias: Array  # of the centred rows, (k,)
    bias_rounding: Array

    @cached_property
    def scaled(self) -> Array:
        """The weights in units of the penalty."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.reach > 0.0, self.weights / self.reach, 0.0)

    @cached_property
    def length(self) -> Array:
        """Their length, for each column."""
        return np.sqrt(np.sum(self.scaled**2, axis=1))


def has_gradient_ball(loss: Loss) -> bool:
    """Whether the third derivative of the loss is at most its second."""
    column = loss.column_loss
    return loss.shifts and loss.log_likelihood if column is None else column.log_likelihood


class Part(NamedTuple):
    """Some rows about the centre, in units of the penalty."""

    values: Array  # scores without the bias, (n, k)
    lengths: Array  # bounds on the lengths of the rows, (n,)
    rounding: Array  # bounds on the rounding of the scores with the bias, (n, k)
    weighted: Callable[[Array], Array]  # sums of rows times each of some columns (n, c), (c, d)
    rows: Array | None  # of dense rows

    @classmethod
    def of(cls, at: Point, X: Any, room: Array) -> Part:
        """Of an array or a CSR matrix; dense rows are written to ``room``."""
        scaled, origin = at.scaled, at.centre * at.reach
        if sp.issparse(X):
            Z = sp.csr_array(X, dtype=np.float64)
            Z = sp.csr_array((Z.data * at.reach[Z.indices], Z.indices, Z.indptr), Z.shape)
            lengths = lengths_of(Z) + math.sqrt(float(origin @ origin))
            values = Z @ scaled.T - scaled @ origin

            def weighted(columns: Array) -> Array:
                found: Array = (Z.T @ columns).T - np.outer(columns.sum(axis=0), origin)
                return found

            return cls(values, *_rounded(at, values, lengths), weighted, None)
        D = room[: len(X)]
        np.subtract(X, at.centre, out=D)
        D *= at.reach
        values = D @ scaled.T
        return cls(values, *_rounded(at, values, row_lengths(D)), lambda columns: columns.T @ D, D)


def _rounded(at: Point, values: Array, lengths: Array) -> tuple[Array, Array]:
    """Bounds on lengths, and on the rounding of scores."""
    lengths = lengths * ROUNDED
    terms = OPERATIONS + len(at.centre)
    size = np.multiply.outer(lengths, terms * EPS * ROUNDED * at.length)
    size += FEW * np.abs(values)
    size += at.bias_rounding + FEW * np.abs(at.bias) + terms * SMALLEST_NORMAL
    return lengths, size


def parts(at: Point, X: Any) -> Iterator[tuple[slice, Part]]:
    """A few dense rows at a time, so that they stay in the cache; all sparse ones."""
    n, d = X.shape
    step = max(1, n if sp.issparse(X) else AT_A_TIME // (d + 1))
    room = np.empty((0 if sp.issparse(X) else min(n, step), d))
    for start in range(0, max(n, 1), step):
        here = slice(start, start + step)
        yield here, Part.of(at, X[here] if step < n else X, room)


def scores(at: Point, X: Any) -> Iterator[tuple[slice, Array, Array]]:
    """Scores without the bias and lengths of a few rows at a time."""
    if sp.issparse(X):
        for here, part in parts(at, X):
            yield here, part.values, part.lengths
        return
    step, room = 0, np.empty((0, 0))
    for here in row_parts(X):
        if len(room) == 0:
            step = here.stop - here.start
            room = np.empty((min(step, len(X)), X.shape[1]))
        D = room[: min(step, len(X) - here.start)]
        np.subtract(X[here], at.centre, out=D)
        D *= at.reach
        yield here, D @ at.scaled.T, row_lengths(D) * ROUNDED


def rounding_of(at: Point) -> tuple[float, float]:
    """Bounds on the rounding of ``scores`` with the bias, for each length of a row and besides."""
    terms = OPERATIONS + len(at.centre)
    of_bias = float(np.max(at.bias_rounding + FEW * np.abs(at.bias))) + terms * SMALLEST_NORMAL
    return (terms * EPS + FEW) * ROUNDED * float(np.max(at.length)), of_bias


@dataclass(frozen=True)
class GradientSums(Sum[tuple[Any, ...]]):
    """Sums over rows for the gradient and the curvature, times the weights of rows.

    Slopes times rows (k, d); slopes (k,); bounds on the rounding of both, (k,) each; the sums of
    Q_i (k,) or (k, k), of Q_i times rows, (k, d) or (k, k, d), and of ``z_i' Q_i z_i`` for all
    pairs of weights, a list of matrices for columns of their own, or of one; a list of the longest
    rows and the largest rounding.
    """

    loss: Loss
    at: Point
    n_rows: int
    with_curvature: bool

    def of(self, block: Block) -> tuple[Any, ...]:
        rows, y, weight, offset = host_rows_of(block.X), block.y, block.weight, block.rows.offset
        if (present := block.present) is not None and weight is not None:
            rows, y, weight = rows.take(present), y[present], weight[present]
            offset = None if offset is None else offset[present]
        total: tuple[Any, ...] = ()
        for here, part in parts(self.at, rows.as_matrix()):
            extra = None if offset is None else offset[here]
            found = self._of(part, y[here], None if weight is None else weight[here, None], extra)
            total = tuple(map(operator.add, total, found)) if total else found
        return total

    def _of(
        self, part: Part, y: AnyArray, weight: Array | None, offset: Array | None
    ) -> tuple[Any, ...]:
        """The same for a few rows."""
        rounding, scores = part.rounding, part.values + self.at.bias
        if offset is not None:
            rounding = rounding + FEW * (np.abs(scores) + np.abs(offset))
            scores = scores + offset
        slopes = self.loss.gradient(y, scores)
        curvature = self._curvature(y, scores, slopes)
        # Sums of n terms lose n roundings; slopes change by at most as much as the scores.
        error = (2 * self.n_rows + OPERATIONS) * EPS * np.abs(slopes) + FEW
        error += rounding if rounding.shape[1] == 1 else rounding.max(axis=1, keepdims=True)
        grams = self._grams(part.rows, slopes, curvature, y, weight)
        if weight is not None:
            slopes, error = slopes * weight, error * weight
            curvature = curvature * weight.reshape(-1, *[1] * (curvature.ndim - 1))
        flat = curvature.reshape(len(y), -1)
        moments = part.weighted(flat).reshape(*curvature.shape[1:], -1)
        most = np.array([part.lengths.max(initial=0.0), rounding.max(initial=0.0)])
        return (
            part.weighted(slopes), slopes.sum(axis=0), part.lengths @ error, error.sum(axis=0),
            curvature.sum(axis=0), moments, grams, [most],
        )  # fmt: skip

    def _curvature(self, y: AnyArray, scores: Array, slopes: Array) -> Array:
        """Second derivatives by the scores: (n, k) of columns, (n, k, k) of softmax."""
        if (column := self.loss.column_loss) is not None:
            return column.curvature(self.loss.signs(y, scores) * scores)
        p = _probabilities(slopes, y)
        Q = p[:, :, None] * -p[:, None, :]
        np.einsum("icc->ic", Q)[:] += p
        return Q

    def _grams(
        self, Z: Array | None, slopes: Array, curvature: Array, y: AnyArray, weight: Array | None
    ) -> Array:
        if not self.with_curvature or Z is None:
            return np.zeros(())
        (n, d), k = Z.shape, slopes.shape[1]
        if curvature.ndim == 2:
            roots = np.sqrt(curvature if weight is None else curvature * weight)
            return np.array([_square(Z * roots[:, [c]]) for c in range(k)])
        p = _probabilities(slopes, y)
        W = p if weight is None else p * weight
        mixed = (p if weight is None else p * np.sqrt(weight))[:, :, None] * Z[:, None, :]
        found = -_square(mixed.reshape(n, k * d))
        roots = np.sqrt(np.maximum(W, 0.0))
        for c in range(k):
            here = slice(c * d, (c + 1) * d)
            found[here, here] += _square(Z * roots[:, [c]])
        return found[None]


def _square(scaled: Array) -> Array:
    found: Array = scaled.T @ scaled
    return found


def _probabilities(slopes: Array, y: AnyArray) -> Array:
    """Of softmax, whose slopes they are except for that of the true class."""
    p = slopes.copy()
    p[np.arange(len(y)), y] += 1.0
    return p


def sparse_lengths(X: Any, reach: Array) -> Array:
    """Lengths of the rows of a CSR matrix in units of the penalty."""
    return lengths_of(sp.csr_array((X.data * reach[X.indices], X.indices, X.indptr), X.shape))


def row_parts(X: AnyArray) -> Iterator[slice]:
    """A few dense rows at a time, so that they stay in the cache."""
    n, d = X.shape
    step = max(1, AT_A_TIME // (d + 1))
    return (slice(start, start + step) for start in range(0, max(n, 1), step))


def lengths_of(Z: Any) -> Array:
    """Lengths of rows of a CSR matrix; infinite if squares underflow or overflow."""
    largest = float(np.max(np.abs(Z.data), initial=0.0))
    if largest != 0.0 and not VANISHING < largest < 1.0 / VANISHING:
        return np.full(Z.shape[0], np.inf)
    squares = np.square(Z.data)
    sums = np.bincount(np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr)), squares, Z.shape[0])
    # Squares that underflow are far smaller than the largest one.
    lengths: Array = np.sqrt(sums) + VANISHING * Z.shape[1]
    return lengths


@dataclass(frozen=True, eq=False)
class GradientBall:
    """The gradient at some weights, and what it says about the minimum.

    Lengths are those of all columns together if the columns have one loss, else of each.
    """

    at: Point
    gradient: Array  # in units of the penalty, and by the biases: (k, d + 1)
    error: Array  # bounds on the rounding of the length of the gradient
    bias_error: Array
    per_bias: Array  # how far biases can move where ``D'H D`` is 1
    change: Array  # how far a score can move there, or the range of those of a row
    joint: bool
    longest: float  # row, in units of the penalty
    curvature: Curvature | None  # at these weights

    @classmethod
    def of(
        cls, loss: Loss, source: Source, at: Point, intercept: bool, with_curvature: bool
    ) -> GradientBall:
        """In one read of the rows."""
        with np.errstate(all="ignore"):
            sums = source.total(GradientSums(loss, at, source.n_rows, with_curvature))
            return cls._of(loss, source, at, intercept, sums)

    @classmethod
    def _of(
        cls, loss: Loss, source: Source, at: Point, intercept: bool, sums: tuple[Any, ...]
    ) -> GradientBall:
        joint = loss.column_loss is None
        slopes, biases, error, bias_error, square, moments, grams = (
            each / source.weight_sum for each in sums[:-1]
        )
        longest, rounding = np.max(sums[-1], axis=0).tolist()
        lost = (2 * source.n_rows + OPERATIONS) * EPS
        error = error * ROUNDED + 4 * FEW * at.length
        bias_error = bias_error * ROUNDED * intercept
        if joint:
            error, bias_error = _length(error), _length(bias_error)
            least = least_eigenvalue(square, lost)
        else:
            least = square
        moment = np.atleast_1d(np.sqrt(np.sum(moments**2, axis=None if joint else 1)))
        moment += lost * square.size * longest
        shrink = math.exp(-2.0 * rounding) / ROUNDED
        per_bias = np.zeros_like(least)
        if intercept:
            per_bias = 1.0 / np.sqrt(least**2 / (least + 0.5 * moment**2) * shrink)
        change = (longest * math.sqrt(0.5) + per_bias) * (math.sqrt(2.0) if joint else 1.0)
        known = None
        if grams.ndim and np.isfinite(grams).all():
            unit = intercept and longest / math.sqrt(len(at.reach))
            known = Curvature.of(grams, moments, square, unit, source.n_rows, shrink, longest)
        g = np.column_stack([slopes + 2.0 * at.scaled, biases * intercept])
        return cls(at, g, error, bias_error, per_bias, change * ROUNDED, joint, longest, known)

    def near(self, curvature: Curvature | None = None) -> NearMinimum | None:
        """How far the minimum can be; None if that is too far for these bounds.

        ``curvature``: a bound on the second derivative at these weights.
        """
        with np.errstate(all="ignore"):
            found = self._near(self._lengths(curvature))
        finite = np.isfinite(found.distance) and np.isfinite(found.bias)
        return found if finite else None

    def most_change(self, to: Point) -> float:
        """Bound on the change of the scores of a row, or of their range, on the way to weights."""
        weights = to.scaled - self.at.scaled
        biases = to.bias - self.at.bias
        lost = float(np.max(to.bias_rounding + self.at.bias_rounding))
        if self.joint:
            length = float(np.sqrt(np.sum(weights**2))) * self.longest
            return math.sqrt(2.0) * (length + float(np.sqrt(np.sum(biases**2)))) + 2.0 * lost
        lengths = np.sqrt(np.sum(weights**2, axis=1)) * self.longest
        return float(np.max(lengths + np.abs(biases))) + lost

    def _lengths(self, curvature: Curvature | None) -> Array:
        """Bounds on ``-g'D`` where ``D'H D`` is 1."""
        lost = self.error * math.sqrt(0.5) + self.bias_error * self.per_bias
        if curvature is not None:
            return curvature.lengths(self.gradient) + lost
        weights, biases = self.gradient[:, :-1], self.gradient[:, -1]
        if self.joint:
            by_weights, by_bias = _length(weights), _length(biases)
        else:
            by_weights, by_bias = np.sqrt(np.sum(weights**2, axis=1)), np.abs(biases)
        return by_weights * math.sqrt(0.5) + by_bias * self.per_bias + lost

    def _near(self, rho: Array) -> NearMinimum:
        step = most_distance(rho, self.change)
        # Biases of joint losses sum to 0: two differ by at most sqrt(2) times the length of all.
        bias = step * self.per_bias * (math.sqrt(0.5) if self.joint else 1.0) * ROUNDED
        return NearMinimum(float(_length(step)[0]) * ROUNDED, float(np.max(bias)))


@dataclass(frozen=True, eq=False)
class Curvature:
    """A lower bound on the second derivative of J, in units of the penalty.

    Triangular factors of it for each column, of (d, bias), or of all together for joint losses:
    of all weights, then of all biases.
    """

    factors: Array  # (k, m, m), or (1, k m, k m)
    bias_unit: float  # factor of the bias, so that it is about as large as a feature; 0 without

    @classmethod
    def of(
        cls, grams: Array, moments: Array, square: Array, unit: float, n_rows: int, shrink: float,
        longest: float,
    ) -> Curvature | None:
        """From sums over rows; None if rounding leaves nothing of them."""
        factors = []
        for c, gram in enumerate(grams):
            d = len(gram)
            own = moments[[c]] if moments.ndim == 2 else moments.reshape(len(moments), d)
            own_square = np.atleast_2d(square[c]) if moments.ndim == 2 else square
            k = len(own_square) if unit > 0.0 else 0
            H = np.empty((d + k, d + k))
            H[:d, :d] = gram
            if k:
                H[d:, :d], H[:d, d:] = unit * own, unit * own.T
                # No curvature where all biases move together, which changes nothing.
                H[d:, d:] = unit**2 * (own_square + (len(own_square) > 1) * np.trace(own_square))
            penalty = np.full(d + k, 2.0)
            penalty[d:] = 0.0
            # Softmax: its terms are differences of others, whose traces are ``longest**2``.
            size = np.trace(H) + 4.0 * longest**2 * (moments.ndim > 2) + 2.0 * d
            rounding = (2 * n_rows + 32 * (d + k + OPERATIONS)) * EPS * size
            factors.append(lower_factor(H * shrink, penalty, rounding))
        if any(each is None for each in factors):
            return None
        return cls(np.array(factors), unit)

    def _stacked(self, g: Array) -> Array:
        """Gradients of all variables of each factor."""
        unit = [self.bias_unit] if self.bias_unit > 0.0 else []
        if len(self.factors) == len(g):
            return np.column_stack([g[:, :-1], *(each * g[:, -1] for each in unit)])
        return np.concatenate([g[:, :-1].ravel(), *(each * g[:, -1] for each in unit)])[None]

    def lengths(self, g: Array) -> Array:
        """Bounds on ``-g'D`` where ``D'H D`` is 1, one for each factor."""
        pairs = zip(self.factors, self._stacked(g), strict=True)
        solved = [solve_triangular(L, each, lower=True, check_finite=False) for L, each in pairs]
        return np.sqrt(np.sum(np.square(solved), axis=1)) * ROUNDED

    def step(self, g: Array) -> Array:
        """Newton's step, (k, d + 1)."""
        pairs = zip(self.factors, self._stacked(g), strict=True)
        found = np.array([-cho_solve((L, True), each, check_finite=False) for L, each in pairs])
        k, d = len(g), g.shape[1] - 1
        weights = found[:, :d] if len(found) == k else found[0, : k * d].reshape(k, d)
        biases = found[:, d:] if len(found) == k else found[0, k * d :].reshape(k, -1)
        biases = biases * self.bias_unit if self.bias_unit > 0.0 else np.zeros((k, 1))
        return np.column_stack([weights, biases])

    def after(self, change: float) -> Curvature:
        """The same where the scores of no row have changed by more, or their range."""
        return Curvature(self.factors * (math.exp(-0.5 * change) / ROUNDED), self.bias_unit)


def most_distance(rho: Array, change: Array) -> Array:
    """Bounds on ``sqrt(D'H D)``, infinite far from the minimum."""
    x = rho * change * ROUNDED
    far = -np.log1p(-np.minimum(x, MOST_STEP)) / change * ROUNDED
    return np.where(rho == 0.0, 0.0, np.where(x < MOST_STEP, far, np.inf))


def near_minimum(rho: float, change: float, per_bias: float, joint: bool) -> NearMinimum | None:
    """The same for all columns together, and the biases."""
    if not rho * change * ROUNDED < MOST_STEP:
        return None
    distance = -math.log1p(-rho * change * ROUNDED) / change * ROUNDED if rho > 0.0 else 0.0
    bias = distance * per_bias * (math.sqrt(0.5) if joint else 1.0) * ROUNDED
    return NearMinimum(distance, bias) if distance < np.inf and bias < np.inf else None


def _length(values: Array) -> Array:
    """Of all values together, (1,)."""
    return np.sqrt(np.sum(values**2)).reshape(1)


def least_eigenvalue(A: Array, lost: float) -> Array:
    """The smallest eigenvalue of ``sum p Q`` for biases that sum to 0, (1,)."""
    if not np.isfinite(A).all():
        return np.array([np.nan])
    centred = A - A.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    found = np.linalg.eigvalsh(centred)[1] - (lost + A.size * FEW) * (np.trace(A) + 1.0)
    return np.array([max(float(found), 0.0)])
