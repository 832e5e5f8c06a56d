"""Quick fits on a sample: the loss on held-out rows for other penalties or scales."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...data import ArraySource, InMemory
from ...estimators.cv.l2_path import outweighing_l2
from ...losses import Logistic
from ...numeric.lazy import cached_property
from ...numeric.types import Array, Ints
from ...objective import Objective
from ...penalties import L2
from ...solvers import choose
from ...training.interrupt import passed_on
from ...training.minimize import minimize
from ...training.stopping import Stop

SEED = 0  # of the folds: the same report for the same data
LARGEST_L2 = 1e300  # largest penalty that is tried
FOLDS = 3  # few: only clear differences are reported
QUICK = Stop(max_iter=100, tol=1e-4, prove=False)
ROUGH = Stop(max_iter=30, tol=1e-3, prove=False)  # for losses that are not smooth
CLEARLY = 0.1  # share of the loss that a better fit must save
WORTH = 0.05  # and as a share of the loss of a model without features
ERRORS = 2.0  # and in standard errors


@dataclass(frozen=True)
class Gain:
    """Comparison of two fits on rows that neither has seen."""

    own: float  # mean loss
    other: float
    error: float  # standard error of the difference
    nothing: float  # mean loss of the best model without features

    @property
    def share(self) -> float:
        """Share of the loss that the other fit saves."""
        return (self.own - self.other) / self.own if self.own > 0.0 else 0.0

    @property
    def clear(self) -> bool:
        """Whether the gain is large and significant."""
        least = max(CLEARLY * self.own, WORTH * self.nothing, ERRORS * self.error)
        return self.own - self.other > least


class HeldOut:
    """Losses of sampled rows by fits to the other folds of the sample."""

    def __init__(self, objective: Objective, sample: InMemory) -> None:
        self.objective = replace(objective, source=sample)
        self.source, self.y = sample, sample.y
        self._losses: dict[float, Array] = {}

    @cached_property
    def possible(self) -> bool:
        """Whether every class has rows for all folds, and the loss has a useful minimum."""
        counts = np.unique(self.y, return_counts=True)[1]
        enough = len(counts) == len(self.source.classes) and counts.min() >= 2 * FOLDS
        loss = self.objective.loss
        return bool(enough) and loss.convex and not loss.homogeneous  # whose minimum is at zero

    @property
    def _stop(self) -> Stop:
        return QUICK if self.objective.loss.smooth else ROUGH

    @cached_property
    def folds(self) -> Ints:
        """The fold of each sampled row; classes are spread evenly."""
        order = np.random.default_rng(SEED).permutation(len(self.y))
        order = order[np.argsort(self.y[order], kind="stable")]
        folds = np.empty(len(self.y), dtype=np.int64)
        folds[order] = np.arange(len(self.y)) % FOLDS
        return folds

    def grid(self, deviation: Array) -> Array:
        """A few penalties, from where they outweigh the data, down over seven decades."""
        largest = outweighing_l2(self.objective.loss, deviation)
        largest = min(largest, LARGEST_L2) or 1.0
        return largest * np.logspace(0.0, -7.0, 6)

    def losses(self, l2s: Array) -> list[Array]:
        """Loss of each sampled row at each penalty, from large to small with warm starts."""
        fresh = sorted({float(l2) for l2 in l2s} - self._losses.keys(), reverse=True)
        for l2, losses in zip(fresh, self._along(self.source, fresh), strict=True):
            self._losses[l2] = losses
        return [self._losses[float(l2)] for l2 in l2s]

    def losses_on(self, other: InMemory) -> Array:
        """Loss of each sampled row at the same penalty, by fits to other features of the sample."""
        return self._along(other, [self.objective.penalty.l2])[0]

    def worth(self, loss: float) -> bool:
        """Whether this much loss is worth saving."""
        return loss > WORTH * self.nothing

    def gain(self, own: Array, other: Array) -> Gain:
        """Compare two fits by weighted means over the rows."""
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is no significant gain
            difference = own - other
            error = float(np.std(difference)) / np.sqrt(len(difference))
        mean, mean_of_other = (
            float(np.average(e, weights=self.source.weight)) for e in (own, other)
        )
        return Gain(mean, mean_of_other, float(error), self.nothing)

    @cached_property
    def nothing(self) -> float:
        """Loss of the best model without features."""
        blank = np.zeros((len(self.y), 1))
        source = ArraySource(blank, self.y, self.source.classes, self.source.weight)
        objective = replace(self.objective, source=source, penalty=L2(1.0))
        W = fitted(objective, self._stop)
        return objective.value(W)[0]

    def _along(self, sample: InMemory, l2s: list[float]) -> list[Array]:
        losses = [np.empty(len(self.y)) for _ in l2s]
        for fold in range(FOLDS):
            out = self.folds == fold
            others = sample.with_weight(np.where(out, 0.0, sample.weights))
            W = np.zeros(self.objective.shape)
            for l2, found in zip(l2s, losses, strict=True):
                penalty = self.objective.penalty.with_l2(l2)
                here = replace(self.objective, source=others, penalty=penalty)
                with np.errstate(all="ignore"):  # a quick fit that overflows counts as no better
                    W = fitted(here, self._stop, W)
                found[out] = here.loss.value(self.y, others.scores(W))[out]
        return losses


def fitted(objective: Objective, stop: Stop, start: Array | None = None) -> Array:
    """Approximate weights at the minimum; Ctrl-C ends the diagnosis, not a single fit."""
    with passed_on():
        return minimize(objective, choose(objective), stop=stop, start=start).weights


def logistic_mistakes(objective: Objective, sample: InMemory) -> float:
    """Share of sampled rows that a quick logistic fit to them misclassifies."""
    loss = Logistic().for_classes(len(sample.classes))
    W = fitted(replace(objective, loss=loss, source=sample, penalty=L2(1e-4)), QUICK)
    return float(loss.mistakes(sample.y, sample.scores(W)).mean())
