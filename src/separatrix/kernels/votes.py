"""The voted perceptron: every weight vector votes, weighted by the number of rows it survived.

Input: the updates of a run in the dual, in order. Output: votes for each class at any points, from
kernel rows between the points and the updated rows. Y. Freund and R. E. Schapire, Large margin
classification using the perceptron algorithm, Machine Learning 37 (1999).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..loops.kernel import KernelPerceptronPass
from ..numeric.types import Array, Ints
from .update_rules import UpdateRule


class Update(NamedTuple):
    """One mistake: when (visits of rows are counted from 1), which row, and what it changed."""

    visit: int
    row: int
    size: float
    changes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Votes:
    """Every weight vector of a run, each with the number of rows that it survived."""

    columns: int
    updates: tuple[Update, ...]
    survived: tuple[int, ...]

    @classmethod
    def of(cls, columns: int, updates: list[Update], visits: int) -> Votes:
        """A vector lives from the visit that created it to the one before the next update."""
        ends = [update.visit for update in updates[1:]] + [visits + 1]
        survived = [end - update.visit for update, end in zip(updates, ends, strict=True)]
        return cls(columns, tuple(updates), tuple(survived))

    def count(self, kernel: Array, place: dict[int, int]) -> Array:
        """Votes (columns, m) at m points, from kernel rows: row i is ``kernel[place[i]]``, (m,).

        Two classes: the sum of the signs, where score 0 counts for the larger; more: votes for
        each.
        """
        m = kernel.shape[1]
        scores, votes = np.zeros((self.columns, m)), np.zeros((self.columns, m))
        everyone = np.arange(m)
        for update, survived in zip(self.updates, self.survived, strict=True):
            row = kernel[place[update.row]]
            for column, sign in update.changes:
                add(scores[column], sign * update.size, row)
            if self.columns == 1:
                np.add(votes, survived, out=votes, where=scores >= 0.0)
            else:
                votes[scores.argmax(axis=0), everyone] += survived
        return 2.0 * votes - sum(self.survived) if self.columns == 1 else votes


def updates_of(run: KernelPerceptronPass, rule: UpdateRule, log: Ints) -> list[Update]:
    """The updates of a pass, from its log of positions, rows and rivals."""
    return [
        Update(run.visits + position + 1, row, float(size), rule.changes(row, rival))
        for (position, row, rival), size in zip(log.tolist(), run.sizes(log), strict=True)
    ]


def add(total: Array, factor: float, row: Array) -> None:
    """Compute ``total += factor * row``; without a product for the usual factors 1 and -1."""
    if factor == 1.0:
        total += row
    elif factor == -1.0:
        total -= row
    else:
        total += factor * row
