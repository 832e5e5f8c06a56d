"""What is minimised: the weighted mean loss plus the penalty, summed over a source's blocks.

    J(W) = sum_i c_i * loss_i / sum_i c_i  +  penalty(W),    as a rule  l2 * sum_c |w_c|^2

The scaling is stated here and nowhere else. Weights have one shape everywhere: (k, d + 1),
bias last, k = 1 for two classes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from .. import loops
from ..data import Source
from ..data.arrays import with_offset_column
from ..data.labels import signs_of
from ..losses import Loss
from ..numeric.lazy import cached_property
from ..numeric.standardization import Standardization
from ..numeric.threads import one_blas_thread
from ..numeric.types import AnyArray, Array
from ..penalties import Penalty
from ..rows.thresholds import GRAM_ROWS
from . import sums
from .facts import DataFacts
from .known import Known
from .moments import refuse_underflow

SAMPLE_ROWS = 4096  # of the sample for an eigenvalue, which need not be exact


class Evaluation(NamedTuple):
    """J and its gradient at some weights, and the weighted mistakes there."""

    value: float
    gradient: Array
    mistakes: float


@dataclass(frozen=True)
class Objective(DataFacts):
    """A loss, a penalty and data: the function of the weights that solvers descend.

    See Also
    --------
    minimize : descends it.
    LinearClassifier : the same as an estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import L2, ArraySource, Objective, get_loss
    >>> source = ArraySource(np.eye(2), np.array([-1.0, 1.0]), np.array([0, 1]))
    >>> objective = Objective(get_loss("logistic"), L2(0.1), source)
    >>> value, gradient, *_ = objective.value_and_gradient(np.zeros((1, 3)))
    >>> round(value, 6), gradient.tolist()
    (0.693147, [[0.25, -0.25, 0.0]])
    """

    loss: Loss
    """What a wrong answer costs."""
    penalty: Penalty
    """What large weights cost."""
    source: Source
    """The rows."""
    intercept: bool = True
    """Whether there is a bias."""
    float32_sums: bool = False
    """Sums of dense float32 rows in float32: right to about six digits, and twice as fast."""
    _known: Known = field(default_factory=Known, init=False, repr=False, compare=False)

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Shape of the weights: one row for two classes, else one per class or label."""
        k = len(self.source.classes)
        two = k == 2 and not self.source.multilabel
        return 1 if two else k, self.source.n_features + 1

    @property
    def zeros(self) -> Array:
        """Weights of 0; with an offset the biases take back its mean, which may be far from 0."""
        W = np.zeros(self.shape)
        if self.intercept and self.source.has_offset:
            W[:, -1] = -self.offset_sums.total / self.source.weight_sum
        return W

    def allowed(self, W: Array) -> Array:
        """The nearest weights that constraints allow, with biases that keep the mean scores."""
        V = self.penalty.feasible(W)
        if V is not W and self.intercept:
            V[:, -1] -= (V - W)[:, :-1] @ self.standardization.mean
        return V

    def with_penalty(self, penalty: Penalty) -> Objective:
        """The same with another penalty; cached facts about the data are shared."""
        return self._sharing(replace(self, penalty=penalty))

    def column(self, number: int) -> Objective:
        """One term of the sum of a loss with a column per class: a class against the rest, or a
        label."""
        loss = self.loss.column_loss
        if loss is None or self.shape[0] == 1:
            raise TypeError(f"{self.loss!r} is not a sum over classes, each against the rest")
        y = signs_of(self.in_memory.y, number)
        source = self.in_memory.with_labels(y, np.array([False, True]))
        if self.loss.weighs_columns:
            each = self.loss.column_weights(self.in_memory.y)
            source = source.with_weight(source.weights * np.asarray(each)[:, number])
        own = replace(self, loss=loss, source=with_offset_column(source, number))
        own._known.row_norm2 = self._known.row_norm2
        if not self.loss.weighs_columns:
            own._known.moments = self._known.moments
        return own

    def on_rows(self, source: Source) -> Objective:
        """The same on some rows of the data, with the moments of all rows."""
        other = replace(self, source=source)
        other._known.moments = self.moments
        return other

    @property
    def without_offset(self) -> Objective:
        """The same without the offset of the rows, with the same facts about their features."""
        if not self.source.has_offset:
            return self
        other = replace(self, source=self.source.without_offset)
        other._known.moments, other._known.feature_sizes = (
            self._known.moments, self._known.feature_sizes,
        )  # fmt: skip
        return other

    def in_float32(self) -> Objective | None:
        """The same with sums in float32; None if that saves no time."""
        floats = self.source.storage == "dense" and self.source.dtype == np.float32
        fast = loops.compiled(self.loss) is not None and not self.source.has_offset
        if self.float32_sums or not floats or not fast:
            return None
        self.moments  # noqa: B018 (cached for both)
        return self._sharing(replace(self, float32_sums=True))

    def _sharing(self, other: Objective) -> Objective:
        """Share the cached facts about the data with another objective."""
        object.__setattr__(other, "_known", self._known)
        return other

    def sample(self, size: int) -> Objective:
        """The same on at most ``size`` random rows in memory; this one if it has no more."""
        if size >= self.source.n_rows:
            return self
        if size not in self._known.samples:
            self._known.samples = {size: self.source.sample(size)}
        return replace(self, source=self._known.samples[size])

    def mean(self, loss_sum: float, W: Array) -> float:
        """J at W, given the weighted sum of the losses."""
        return loss_sum / self.source.weight_sum + self.penalty.value(W)

    def value(self, W: Array) -> tuple[float, float]:
        """J at W, and the weighted mistakes there."""
        last = self._known.last_read
        if last.weights is not None and last.is_at(W, float32_sums=False):
            loss_sum, mistakes, _ = last.found
        else:
            loss_sum, mistakes = self.source.total(sums.Value(self.loss, W))
        return self.mean(loss_sum, W), mistakes

    def value_and_gradient(self, W: Array) -> Evaluation:
        """J, its gradient and the weighted mistakes at W, in one read of the data.

        If the penalty has a non-smooth part, the gradient does not include it.
        """
        last = self._known.last_read
        if not last.is_at(W, self.float32_sums):
            asked = sums.ValueGradient(self.loss, W, self.float32_sums)
            found = self.source.total(asked)
            if self.penalty.smooth:
                return self._evaluation(found[0], found[2], W, found[1])
            last.weights, last.float32_sums, last.found = W.copy(), self.float32_sums, found
        loss_sum, mistakes, gradient = last.found
        return self._evaluation(loss_sum, gradient.copy(), W, mistakes)

    @cached_property
    def value_at_zeros(self) -> float:
        """J at weights of 0, where all rows have the same loss: without an offset, no read.

        Infinite if constraints do not allow them.
        """
        k = self.shape[0]
        own = self.source.has_offset or self.loss.weighs_columns or self.penalty.constrains
        if own:
            return self.value(np.zeros(self.shape))[0]
        label: AnyArray = np.ones(1) if k == 1 else np.zeros(1, dtype=np.int64)
        if self.source.multilabel:
            label = np.ones((1, k))
        return float(self.loss.value(label, np.zeros((1, k)))[0])

    def at_zeros(self) -> Evaluation:
        """J, its gradient and the mistakes at weights of 0, without reading rows for margins.

        All rows of a class have the same derivatives there, unless there is an offset.
        """
        W, margin, total = np.zeros(self.shape), np.zeros(1), self.source.weight_sum
        loss = self.loss.column_loss
        if self.source.has_offset:
            return self.value_and_gradient(W)
        if loss is None and self.loss.log_likelihood:  # all classes are as probable
            gradient = self.row_sum / len(W) - self.class_sums
            return self._evaluation(total * np.log(len(W)), gradient, W, total)
        if loss is None or self.loss.weighs_columns:
            return self.value_and_gradient(W)
        sums = self.class_sums
        against = sums[1:] - sums[:1] if len(W) == 1 else 2.0 * sums - self.row_sum
        loss_sum = len(W) * total * float(loss.phi(margin)[0])
        return self._evaluation(loss_sum, float(loss.slope(margin)[0]) * against, W, total)

    def _evaluation(
        self, loss_sum: float, gradient: Array, W: Array, mistakes: float
    ) -> Evaluation:
        return Evaluation(self.mean(loss_sum, W), self._scaled(gradient, W), mistakes)

    def _scaled(self, gradient: Array, W: Array) -> Array:
        """Turn a sum over rows into the derivative of J: the mean plus the penalty's gradient."""
        gradient /= self.source.weight_sum
        gradient += self.penalty.gradient(W)
        if not self.intercept:
            gradient[:, -1] = 0.0
        return gradient

    def hessian(self, W: Array, standardization: Standardization) -> tuple[Evaluation, Array]:
        """As ``value_and_gradient``, and the second derivative in all standardised variables.

        There are k(d + 1) variables. If the loss depends only on differences of scores, shifting
        all biases together does not change J; that direction gets an artificial curvature, so that
        the matrix is not singular.
        """
        with self._one_blas_thread():
            loss_sum, mistakes, gradient, hessian = self.source.total(
                sums.Hessian(self.loss, W, standardization)
            )
        hessian /= self.source.weight_sum
        self.add_penalty(hessian, standardization)
        self.regularise_biases(hessian)
        return self._evaluation(loss_sum, gradient, W, mistakes), hessian

    def add_penalty(self, hessian: Array, standardization: Standardization) -> None:
        """Add the penalty's second derivative in standardised variables, of one class or of all."""
        d = len(standardization.scale)
        penalty = self.penalty.diagonal((len(hessian) // d, d)) / standardization.scale**2
        np.einsum("ii->i", hessian)[:] += penalty.ravel()

    def regularise_biases(self, hessian: Array) -> None:
        """Add curvature where J has none: unused biases, or all biases shifted together."""
        d = self.shape[1]
        k = len(hessian) // d
        biases = slice(d - 1, None, d)
        if not self.intercept:
            hessian[biases] = hessian[:, biases] = 0.0
            hessian[biases, biases] = np.eye(k)
        elif k > 1 and getattr(self.loss, "shifts", False):
            hessian[biases, biases] += 1.0 / k

    def class_hessian(
        self,
        W: Array,
        standardization: Standardization,
        dtype: DTypeLike = np.float64,
        of: int | None = None,
    ) -> Array:
        """Second derivative in one class's variables, or the mean over classes: (d + 1, d + 1)."""
        asked = sums.ClassHessian(self.loss, W, standardization, dtype, of)
        with self._one_blas_thread():
            (hessian,) = self.source.total(asked)
        hessian /= self.source.weight_sum
        self.add_penalty(hessian, standardization)
        self.regularise_biases(hessian)
        return hessian

    def bias_curvature(self, W: Array) -> Array:
        """Second derivative of J by the biases, (k, k)."""
        with one_blas_thread(self.source.n_rows * len(W) ** 2):
            (curvature,) = self.source.total(sums.BiasCurvature(self.loss, W))
        return curvature / self.source.weight_sum

    def _one_blas_thread(self) -> AbstractContextManager[object]:
        """Threads work on blocks; threads of BLAS would change bits."""
        rows = min(self.source.n_rows, GRAM_ROWS)
        return one_blas_thread(rows * self.shape[1] ** 2)

    def hessian_product(self, W: Array, V: Array) -> Array:
        """The second derivative at W times V, both (k, d + 1)."""
        V = V.copy()
        if not self.intercept:
            V[:, -1] = 0.0
        (product,) = self.source.total(sums.HessianProduct(self.loss, W, V))
        return self._scaled(product, V)  # a quadratic penalty: its Hessian times V is its gradient

    def signed_row_sum(self) -> Array:
        """Weighted sum of y * (x, 1): the start of the batch perceptron.

        For k classes, k - 1 times the rows of a class less all others.
        """
        (total,) = self.source.total(sums.SignedRowSum(self.shape[0]))
        if not self.intercept:
            total[:, -1] = 0.0
        return total

    def mistakes_of(self, candidates: Array) -> Array:
        """Weighted mistakes of several weights (m, k, d + 1) in one read of the data."""
        (mistakes,) = self.source.total(sums.Mistakes(self.loss, candidates))
        return mistakes

    def largest_eigenvalue(self) -> float:
        """Largest eigenvalue of the mean of (x, 1)(x, 1)', on a sample of the rows."""
        source, d = self.sample(SAMPLE_ROWS).source, self.source.n_features
        raw = Standardization(np.zeros(d), np.append(np.ones(d), float(self.intercept) or np.inf))
        with self._one_blas_thread():
            (product,) = source.total(sums.Gram(raw))
            return float(np.linalg.eigvalsh(product / source.weight_sum)[-1])

    @cached_property
    def standardization(self) -> Standardization:
        """The change to variables in which features are centred and have one scale."""
        mean, deviation = self.moments
        curvature = self.loss.max_curvature or 1.0
        if not self.intercept:
            deviation = np.hypot(deviation, mean)
            mean = np.zeros_like(mean)
        with np.errstate(over="ignore"):  # a feature that large is not scaled
            square = curvature * deviation**2 + 2.0 * self.penalty.l2
        square = self.penalty.common_squares(square)
        # A constant feature without penalty: J does not depend on it, so any scale works.
        scale = np.sqrt(np.where(square > 0.0, square, 1.0))
        return Standardization(mean, np.append(scale, np.sqrt(curvature)))

    def checked_standardization(self) -> Standardization:
        """``standardization``; ValueError if it would lose a feature that matters."""
        if not self.penalty.coercive:
            refuse_underflow(self.moments, np.vstack([self._sums.sums, self._sums.total]))
        return self.standardization
