"""The objective without each row, in variables in which the features have about one scale.

Problem: the estimator minimises ``sum_j c_j loss_j(W) / sum_j c_j + penalty(W)``. Without row i the
sum and the weights behind it have one row less; "balanced" class weights and, with ``standardize``,
the deviations of the features are those of the other rows. Multiplied by its sum of weights C_i,
the objective without row i is ``sum_j f_ij c_j loss_j(u) + C_i u'D_i u / 2`` for j other than i.
Output: the rows and these numbers, in the variables ``u = scale * w`` and ``b + w.mean``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import ArraySource
from ...data.labels import class_numbers
from ...losses import Loss
from ...losses.one_vs_rest import signs
from ...numeric.types import AnyArray, Array, Ints
from ...objective.feature_scales import feature_moments
from ...rows import host_rows_of

LEAST_VARIANCE = 1e-6  # of the variance of a feature without a row: below, digits are lost
SMALLEST_SCALE = 1e-100  # of a feature: squares neither underflow nor, of its inverse, overflow
CHUNK = 1 << 22  # values of rows that are converted at a time


@dataclass(frozen=True)
class HeldOutProblems:
    """All n objectives that lack one row."""

    loss: Loss
    """Of one column of scores, or joint."""
    Z: Array
    """The rows, standardised, with a column of ones for the bias: (n, m)."""
    mean: Array
    scale: Array
    """(d,) both; the mean is 0 without a bias."""
    y: AnyArray
    c: Array
    """Weights of the rows, with class weights."""
    offset: Array
    """What is added to the scores, (n, k) or (n, 1)."""
    start: Array
    """The weights of the fit, (k, m)."""
    stiffness: Array
    """Second derivative of the penalty for all rows, (m,)."""
    own_stiffness: Array | None
    """The same without each row, (n, m); None if the same."""
    rest: Array
    """C_i, (n,)."""
    factor: Array
    """f_ij for the rows j of the class of i, (n,); 1 for all others."""
    number: Ints
    """The class of each row."""
    unsure: AnyArray
    """Rows without which a feature varies so little that rounding matters."""

    @property
    def intercept(self) -> bool:
        return bool(self.Z.shape[1] > len(self.scale))

    @property
    def same_problem(self) -> bool:
        """Whether leaving out a row changes neither the penalty's factors nor other weights."""
        return self.own_stiffness is None and bool(np.all(self.factor == 1.0))

    def columns(self) -> list[HeldOutProblems]:
        """One problem for each class against the rest if the loss is their sum, else this one."""
        column, k = self.loss.column_loss, len(self.start)
        if column is None or k == 1:
            return [self]
        y = signs(self.y, np.empty((len(self.y), k)))
        offset = np.broadcast_to(self.offset, (len(self.y), k))
        return [
            replace(self, loss=column, y=y[:, a], offset=offset[:, a : a + 1],
                    start=self.start[a : a + 1])
            for a in range(k)
        ]  # fmt: skip

    def weights(self, u: Array) -> Array:
        """Weights of the features as given, (..., k, d + 1), from standardised ones."""
        d = len(self.scale)
        w = u[..., :d] / self.scale
        b = u[..., d] - w @ self.mean if self.intercept else np.zeros(u.shape[:-1])
        return np.concatenate([w, b[..., None]], axis=-1)


def held_out_problems(
    clf: Any, loss: Loss, source: ArraySource, l2_per_feature: Array, W: Array
) -> HeldOutProblems:
    """The problems without each row of the source, whose weights include class weights.

    ``l2_per_feature`` has the factors of ``w_j^2``, of scaled weights with ``standardize``.
    """
    X, c = _dense(source), np.asarray(source.weights, dtype=np.float64)
    c = c / c.max()
    k, intercept = len(W), bool(clf.fit_intercept)
    centre, scale = _centred(X, c, intercept)
    if not np.all((scale > SMALLEST_SCALE) & (scale < 1.0 / SMALLEST_SCALE)):
        raise ValueError(
            "the features are too large or too small for held-out scores, with deviations of "
            f"{scale.min():.2g} to {scale.max():.2g}: scale them before the fit"
        )
    number = class_numbers(source.y, len(source.classes))
    totals = np.bincount(number, c, len(source.classes))
    balanced = isinstance(clf.class_weight, str)
    own = totals[number]
    factor = own / (own - c) if balanced else np.ones(len(c))
    rest = np.full(len(c), c.sum()) if balanced else c.sum() - c
    stiffness, own_stiffness, unsure = _stiffness(
        clf.scale_, source, X, c, number, factor, l2_per_feature
    )
    m = len(scale) + intercept
    padded = np.zeros(m)
    padded[: len(scale)] = stiffness / scale**2
    if own_stiffness is not None:
        own_stiffness = np.column_stack(
            [own_stiffness / scale**2, np.zeros((len(c), m - len(scale)))]
        )
    X -= centre
    X /= scale
    start = np.column_stack([W[:, :-1] * scale, (W[:, -1] + W[:, :-1] @ centre)])[:, :m]
    Z = np.column_stack([X, np.ones(len(c))]) if intercept else X
    offset = source.stored.offset
    offset = np.zeros((len(c), 1)) if offset is None else np.reshape(offset, (len(c), -1))
    return HeldOutProblems(
        loss, Z, centre, scale, source.y, c, offset, start.reshape(k, m), padded,
        own_stiffness, rest, factor, number, unsure,
    )  # fmt: skip


def _dense(source: ArraySource) -> Array:
    """The rows as a new array of float64."""
    rows = host_rows_of(source.without_offset.X)
    n, d = rows.shape
    X, step = np.empty((n, d)), max(1, CHUNK // max(1, d))
    for start in range(0, n, step):
        at = np.arange(start, min(start + step, n))
        X[at] = rows.take(at).to_dense()
    return X


def _centred(X: Array, c: Array, centre: bool) -> tuple[Array, Array]:
    """A mean to subtract, 0 without a bias, and the size of what is left, 1 if nothing is."""
    mean, total = np.zeros(X.shape[1]), c.sum()
    size = np.abs(X).max(axis=0)
    unit = np.where(size > 0.0, size, 1.0)
    if centre:
        mean = (c / total) @ (X / unit) * unit
        mean = mean + (c / total) @ ((X - mean) / unit) * unit
    size = np.abs(X - mean).max(axis=0)
    unit = np.where(size > 0.0, size, 1.0)
    scale = unit * np.sqrt((c / total) @ ((X - mean) / unit) ** 2)
    return mean, np.where(scale > 0.0, scale, 1.0)


def _stiffness(
    deviation: Array | None,
    source: ArraySource,
    X: Array,
    c: Array,
    number: Ints,
    factor: Array,
    l2_per_feature: Array,
) -> tuple[Array, Array | None, AnyArray]:
    """Second derivatives of the penalty by the weights as given, of all rows and without each."""
    unsure = np.zeros(len(c), dtype=bool)
    if deviation is None:
        return 2.0 * l2_per_feature, None, unsure
    mean, size = _centred(X, c, centre=True)
    z = (X - mean) / size
    varies = feature_moments(source).deviation > 0.0
    by_class = [np.zeros((int(number.max()) + 1, X.shape[1])) for _ in range(2)]
    for a in range(len(by_class[0])):
        of = number == a
        by_class[0][a], by_class[1][a] = c[of] @ z[of], c[of] @ z[of] ** 2
    first, second = (
        total.sum(axis=0) + (factor - 1.0)[:, None] * total[number] - (factor * c)[:, None] * moment
        for total, moment in zip(by_class, (z, z * z), strict=True)
    )
    counts = np.bincount(number, c)
    left = c.sum() + (factor - 1.0) * counts[number] - factor * c
    variance = second / left[:, None] - (first / left[:, None]) ** 2
    unsure = np.any(varies & (variance < LEAST_VARIANCE), axis=1)
    square = np.where(varies, size**2 * np.maximum(variance, LEAST_VARIANCE), deviation**2)
    return 2.0 * l2_per_feature * deviation**2, 2.0 * l2_per_feature * square, unsure
