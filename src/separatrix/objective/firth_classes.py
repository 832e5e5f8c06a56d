"""The likelihood of more than two classes with Firth's penalty, in passes over blocks of rows.

Problem     maximise  l(u) + log|I(u)| / 2,  I = sum c_i V_i (x) z_i z_i',  V = diag(p) - p p'.
            The scores of the first class are 0, and p are the probabilities of the others: the
            determinant of I does not depend on which class that is.
Input       rows z_i, which are standardised, weights c_i that are numbers of rows, and u with a
            vector for each class but the first, one after another.
Output      as for two classes (``firth.py``).
Algorithm   With M_i the forms of ``I^-1`` in z_i, one for each pair of classes, the derivative of
            the penalty by the scores of a row is ``c V t / 2``, ``t_a = M_aa - 2 (M p)_a``: then
            ``V' = d V / d score_c`` has the entries ``delta_ab V_ac - V_ac p_b - p_a V_bc``.
Papers      Firth, Bias reduction of maximum likelihood estimates, Biometrika 80 (1993);
            Kosmidis and Firth, Multinomial logit bias reduction via the Poisson log-linear model,
            Biometrika 98 (2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data import Block, Sum
from ..numeric.standardization import Standardization
from ..numeric.types import Array, Ints
from .firth import BALANCED, MOST_SHIFTS, FirthLikelihood, standardized_parts

SHORTEST_SHIFT = 2.0**-40  # share of a step of the intercepts that is tried
FLAT = 1e-12  # relative change of the losses that may be rounding


@dataclass(frozen=True)
class FirthSoftmax(FirthLikelihood):
    """The penalised likelihood of rows of more than two classes in standardised variables."""

    @property
    def _others(self) -> int:
        """Classes but the first."""
        return len(self.source.classes) - 1

    @property
    def size(self) -> int:
        """Number of variables, of all classes but the first."""
        return self._others * self.width

    def contrasts(self, reference: int) -> Array:
        """What maps a variable of the classes to differences from the ``reference`` class."""
        each = np.vstack([np.zeros(self._others), np.eye(self._others)])
        found: Array = np.delete(each, reference, axis=0) - each[reference]
        return found

    def of_classes(self, score: Array) -> Array:
        """A gradient by the variables as one by those of all classes: they sum to 0."""
        whole = np.zeros((self._others + 1, self.source.n_features + 1))
        whole[1:, : self.width] = score.reshape(self._others, self.width)
        whole[0] = -whole[1:].sum(axis=0)
        return whole

    def variables(self, W: Array) -> Array:
        """The variables of weights (k, d + 1)."""
        every = self.standardization.from_weights(W)[:, : self.width]
        found: Array = (every[1:] - every[0]).ravel()
        return found

    def weights(self, u: Array) -> Array:
        """Weights of the features as given, (k, d + 1), which sum to 0 over the classes."""
        whole = np.zeros((self._others + 1, self.source.n_features + 1))
        whole[1:, : self.width] = u.reshape(self._others, self.width)
        W = self.standardization.to_weights(whole)
        found: Array = W - W.mean(axis=0)
        return found

    def balancing_shift(self, u: Array) -> Array:
        """What to add to the intercepts for mean probabilities that are the shares, (k,).

        The minimum of the losses along the intercepts, by Newton's method.
        """
        shift = np.zeros(self._others)
        at = self._shifted(u, shift)
        for _ in range(MOST_SHIFTS):
            if np.all(np.abs(at.first) <= BALANCED * np.diag(at.second)):
                break
            step, most, share = -np.linalg.solve(at.second, at.first), at.loss * (1.0 + FLAT), 1.0
            following = self._shifted(u, shift + step)
            while not following.loss <= most and share > SHORTEST_SHIFT:
                share *= 0.5
                following = self._shifted(u, shift + share * step)
            flat = not following.loss < at.loss * (
                1.0 - FLAT
            )  # of these losses only rounding is left
            if flat and not np.abs(following.first).max() < np.abs(at.first).max():
                break
            shift, at = shift + share * step, following
        found: Array = np.append(0.0, shift)
        found -= found.mean()
        return found

    def _shifted(self, u: Array, shift: Array) -> Shifted:
        found = self.source.total(ShiftedClasses(u, self.standardization, shift))
        return Shifted(*found)

    def _sums(self, u: Array) -> tuple[float, float, Array]:
        return self.source.total(ClassInformation(u, self.standardization, self._others))

    def _score(self, u: Array, inverse: Array) -> Array:
        sums = ClassScore(u, self.standardization, self._others, inverse)
        (score,) = self.source.total(sums)
        return score


class Shifted(NamedTuple):
    """The losses with shifted intercepts, and their derivatives by the shifts."""

    loss: float
    first: Array
    second: Array


class Shares(NamedTuple):
    """Probabilities of a few rows, (n, k), and what follows from them."""

    p: Array
    rest: Array
    """``1 - p``, without cancellation."""
    losses: Array
    wrong: Array
    """1 where another class has at least the score of the label."""
    given: Array
    """1 for the class of each row, (n, k)."""

    @classmethod
    def of(cls, scores: Array, y: Ints) -> Shares:
        """Of scores (n, k)."""
        k, rows = scores.shape[1], np.arange(len(scores))
        number = y.astype(np.intp)
        own = scores[rows, number]
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        apart = scores - own[:, None]  # of rivals
        apart[rows, number] = -np.inf
        top = np.maximum(apart.max(axis=1), 0.0)
        losses = top + np.log(np.exp(-top) + np.exp(apart - top[:, None]).sum(axis=1))
        wrong = (apart.max(axis=1) >= 0.0).astype(np.float64)
        return cls(p, p @ (1.0 - np.eye(k)), losses, wrong, np.eye(k)[number])

    def variance(self, a: int, b: int) -> Array:
        """The entries a, b of ``diag(p) - p p'``, (n,)."""
        return self.p[:, a] * (self.rest[:, a] if a == b else -self.p[:, b])


def _scores(z: Array, u: Array, offset: Array, others: int) -> Array:
    scores = np.zeros((len(z), others + 1))
    scores[:, 1:] = z @ u.reshape(others, -1).T
    return scores + offset


@dataclass(frozen=True)
class ClassInformation(Sum[tuple[float, float, Array]]):
    """Losses, mistakes and the expected information, (q, q)."""

    u: Array
    standardization: Standardization
    others: int

    def of(self, block: Block) -> tuple[float, float, Array]:
        """In one read of the rows."""
        m, p = self.others, len(self.u) // self.others
        loss, mistakes, information = 0.0, 0.0, np.zeros((m, p, m, p))
        for z, offset, y, weight in standardized_parts(block, self.standardization, p):
            shares = Shares.of(_scores(z, self.u, offset, m), y)
            loss += float(weight @ shares.losses)
            mistakes += float(weight @ shares.wrong)
            for a in range(m):
                for b in range(a, m):
                    scaled = z * (weight * shares.variance(a + 1, b + 1))[:, None]
                    information[a, :, b] += scaled.T @ z
        for a in range(m):
            information[a, :, a] = 0.5 * (information[a, :, a] + information[a, :, a].T)
            for b in range(a):
                information[a, :, b] = information[b, :, a].T
        return loss, mistakes, information.reshape(m * p, m * p)


@dataclass(frozen=True)
class ClassScore(Sum[tuple[Array]]):
    """The gradient of the penalised log-likelihood, (q,)."""

    u: Array
    standardization: Standardization
    others: int
    inverse: Array
    """R^-1 with I = R'R at u."""

    def of(self, block: Block) -> tuple[Array]:
        """In one read of the rows."""
        m, q = self.others, len(self.u)
        p = q // m
        score = np.zeros((m, p))
        roots = self.inverse.reshape(m, p, q)
        for z, offset, y, weight in standardized_parts(block, self.standardization, p, m * q):
            shares = Shares.of(_scores(z, self.u, offset, m), y)
            in_metric = np.stack([z @ root for root in roots], axis=1)
            forms = np.einsum("naq,nbq->nab", in_metric, in_metric)
            t = np.einsum("naa->na", forms) - 2.0 * np.einsum("nab,nb->na", forms, shares.p[:, 1:])
            slopes = np.empty_like(t)
            for c in range(m):
                each = (shares.variance(a + 1, c + 1) * t[:, a] for a in range(m))
                slopes[:, c] = 0.5 * np.sum(list(each), axis=0)
            right = np.where(shares.given > 0.0, shares.rest, -shares.p)[:, 1:]
            score += (weight[:, None] * (right + slopes)).T @ z
        return (score.ravel(),)


@dataclass(frozen=True)
class ShiftedClasses(Sum[tuple[float, Array, Array]]):
    """Losses, and their derivatives by numbers that are added to the scores of the classes."""

    u: Array
    standardization: Standardization
    shift: Array

    def of(self, block: Block) -> tuple[float, Array, Array]:
        """In one read of the rows."""
        m = len(self.shift)
        loss, first, second = 0.0, np.zeros(m), np.zeros((m, m))
        added = np.append(0.0, self.shift)
        p = len(self.u) // m
        for z, offset, y, weight in standardized_parts(block, self.standardization, p):
            shares = Shares.of(_scores(z, self.u, offset, m) + added, y)
            loss += float(weight @ shares.losses)
            right = np.where(shares.given > 0.0, shares.rest, -shares.p)[:, 1:]
            first -= weight @ right
            for a in range(m):
                for b in range(m):
                    second[a, b] += float(weight @ shares.variance(a + 1, b + 1))
        return loss, first, second
