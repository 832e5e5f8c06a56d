"""Lower bounds on the second derivative of J near some weights, by some of the features.

Problem: how far can weights be from a minimum, if J is almost as small there? Input: weights W, and
the features whose weights may differ from those of the minimum. Output: the least second derivative
of the mean loss while no score is more than ``within`` from that at W, and how far the scores of
the rows can be if the difference of the weights is known in its norm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Block, Sum
from ..losses import Loss
from ..numeric.standardization import Standardization
from ..numeric.tolerances import EPS
from ..numeric.types import Array, Ints
from ..objective.hessians import assemble_hessian
from ..rows import Rows
from .curvature_ball import has_least_curvature, least_curvature

OPERATIONS = 40  # roundings of a score, besides one for every feature


def has_least_hessian(loss: Loss) -> bool:
    """Whether bounds on scores give bounds on the second derivative of the loss."""
    column = loss.column_loss
    return loss.log_likelihood if column is None else has_least_curvature(column)


@dataclass(frozen=True)
class LeastHessian(Sum[tuple[Array]]):
    """The least second derivative of the sum of losses, in standardised variables.

    By some features and the bias. For a loss with a column per class, one matrix per class:
    (k, m, m); else one: (1, k m, k m). Softmax: if the scores of a row change by amounts that are
    at most r apart, no probability falls below ``exp(-r)`` of itself, and so no second derivative.
    """

    loss: Loss
    W: Array
    features: Ints
    standardization: Standardization
    """The standardisation of these features."""
    within: float

    def of(self, block: Block) -> tuple[Array]:
        """In two reads of these features."""
        rows, loss, k = some_features(block, self.features), self.loss, len(self.W)
        present = block.weights > 0.0
        scores = scores_of(block, rows, self.W[:, np.append(self.features, -1)])
        scores = np.where(present[:, None], scores, 0.0)

        def products(curvature: Array) -> Array:
            return rows.gram(
                np.where(present, block.weights * curvature, 0.0), self.standardization
            )

        if (column := loss.column_loss) is not None:
            margins = loss.signs(block.y, scores) * scores
            least = loss.column_weights(block.y) * least_curvature(
                column, margins, np.full_like(margins, self.within)
            )
            return (np.stack([products(least[:, c]) for c in range(k)]),)
        entries, share = loss.curvature_entries(block.y, scores), np.exp(-self.within)

        def curvature(a: int, b: int) -> Array | None:
            entry = entries(a, b)
            return None if entry is None else share * entry

        m = len(self.features) + 1
        return (assemble_hessian(k, m, curvature, products, loss.shifts)[None],)


@dataclass(frozen=True)
class FarthestScores(Sum[tuple[list[Array], list[float]]]):
    """By class, the largest length of a factor times a row; and the largest rounding of a score.

    As lists with one entry for each block.
    """

    factors: tuple[Array, ...]
    """By class, (r, m): rows are weights of the features, and of the bias."""
    W: Array
    features: Ints
    sizes: Array
    """Of these features, (m - 1,)."""

    def of(self, block: Block) -> tuple[list[Array], list[float]]:
        """In a read of these features for every class."""
        present = block.weights > 0.0
        rows, lengths = some_features(block, self.features), np.zeros(len(self.factors))
        unit = np.append(1.0 / np.where(self.sizes > 0.0, self.sizes, 1.0), 1.0)
        # |x|.|w| is at most the sum of |x_j| / size_j times the largest |w_j| size_j.
        terms = (OPERATIONS + len(self.features)) * EPS
        rounding = terms * rows.absolute().scores(unit[None])[:, 0]
        for c, factor in enumerate(self.factors):
            far = rows.scores(factor)
            far = np.sqrt(np.einsum("ij,ij->i", far, far))
            size = np.hypot.reduce(np.max(np.abs(factor) / unit, axis=1))
            lengths[c] = np.max((far + rounding * size)[present], initial=0.0)
        largest = np.max(np.abs(self.W[:, np.append(self.features, -1)]) / unit)
        sizes = rounding * largest
        if (offset := block.rows.offset) is not None:
            sizes = sizes + terms * np.max(np.abs(offset), axis=1)
        return [lengths], [float(np.max(sizes[present], initial=0.0))]


def some_features(block: Block, features: Ints) -> Rows:
    """The rows of a block with these features alone, without an offset."""
    rows = block.rows.without_offset
    return rows if len(features) == rows.shape[1] else rows.take_features(features)


def scores_of(block: Block, rows: Rows, W: Array) -> Array:
    """Scores of the rows of a block, from those with the features that have weights."""
    offset = block.rows.offset
    scores = rows.scores(W)
    return scores if offset is None else scores + offset
