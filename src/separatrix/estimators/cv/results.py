"""Results of a cross-validation: its table of scores, the choice, fits that did not converge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...numeric import checks
from ...numeric.types import AnyArray, Array

MOST_SPLITS = 100  # folds listed individually
FEW_VALUES = 4  # of a penalty, listed individually
NO_GAIN, CLEAR_GAIN = 0.01, 1.0  # of the standard error: differences of scores
ARRIVED = ("optimal", "tol", "closed form")
ASKED_FOR = ("validation", "seconds")  # ends by the parameter ``stop``


def results(
    columns: dict[str, AnyArray], splits: Array, weight: Array | None = None
) -> dict[str, AnyArray]:
    """Table of scores by penalty: mean and deviation over folds, and the scores of every fold.

    Folds count equally unless they have weights. A fold without a score is ignored.
    """
    if np.all(np.isnan(splits)):
        raise ValueError("no fold could be scored: every held-out row has weight 0")
    scored = ~np.isnan(splits)
    # Computed in units in which no square overflows; powers of two change no bits.
    weight = (
        np.ones(len(splits)) if weight is None else np.ldexp(weight, -np.frexp(weight.max())[1])
    )
    counts = np.where(scored, weight[:, None], 0.0)
    total = counts.sum(axis=0)
    folds = total**2 / np.sum(counts**2, axis=0)  # Kish's effective number of folds
    largest = np.max(np.abs(splits), where=np.isfinite(splits), initial=0.0)
    unit = np.frexp(largest)[1]
    scores = np.where(scored, np.ldexp(splits, -unit), 0.0)
    with np.errstate(invalid="ignore"):  # a score of minus infinity has no deviation
        mean = np.sum(counts * scores, axis=0) / total
        deviation = np.sqrt(np.sum(counts * (scores - mean) ** 2, axis=0) / total)
    table: dict[str, AnyArray] = {
        **columns,
        "mean_test_score": np.ldexp(mean, unit),
        "std_test_score": np.ldexp(deviation, unit),
        "standard_error": np.ldexp(deviation, unit) / np.sqrt(np.maximum(folds - 1.0, 1.0)),
    }
    if len(splits) <= MOST_SPLITS:
        table |= {f"split{i}_test_score": row for i, row in enumerate(splits)}
    return table


def chosen(table: dict[str, AnyArray], rule: str) -> int:
    """The index of the penalty that the rule chooses; a path goes from large to small.

    For paths of several l1 ratios, the rule is applied to the one with the best score.
    """
    mean = table["mean_test_score"]
    best = int(np.argmax(mean))
    if rule == "best":
        return best
    enough = mean[best] - table["standard_error"][best]
    within = mean >= enough
    if "l1_ratio" in table:
        within &= table["l1_ratio"] == table["l1_ratio"][best]
    return int(np.argmax(within))


def text_of_end(table: dict[str, AnyArray], name: str, own_grid: bool) -> str:
    """A warning if a value beyond the end of the path may have a better score; else empty.

    Values that were given are a choice: the warning needs three or more of them, as one of two is
    the best, and a clear gain. The largest strength of a grid of our own leaves only the bias, and
    needs no larger one.
    """
    mean, values = table["mean_test_score"], table[name]
    path = np.arange(len(values))
    if "l1_ratio" in table:
        path = np.flatnonzero(table["l1_ratio"] == table["l1_ratio"][int(np.argmax(mean))])
    if len(path) < (2 if own_grid else 3):
        return ""
    matters = NO_GAIN if own_grid else CLEAR_GAIN
    for end, word in ((path[-1], "smaller"), (path[0], "larger")):
        gain = mean[end] - np.delete(mean, end).max()
        if gain > matters * table["standard_error"][end]:
            return _at_the_end(name, float(values[end]), word, own_grid)
    return ""


def _at_the_end(name: str, value: float, word: str, own_grid: bool) -> str:
    text = f"the best score is that of {name} = {value:.3g}, the {word[:-1]}st "
    if not own_grid:
        return (
            f"{text}of the given values, so an even {word} one may be better: give {word} values "
            "too, or their number for a grid that is made for these rows"
        )
    if word == "smaller":
        return (
            f"{text}of the grid, so an even smaller one may be better: scale the features "
            "(standardize=True), or give smaller values, "
            f"{'l2s' if name == 'l2' else 'strengths'}=np.geomspace(largest, smallest, number)"
        )
    if name != "l2":
        return ""
    return (
        f"{text}of the grid, where the penalty outweighs the data: a model that hardly uses the "
        "features does best on held-out rows, so they say little about the classes, or are too "
        "many for these rows"
    )


@dataclass
class Unfinished:
    """Fits that ended before their minimum."""

    name: str = "l2"  # the attribute of the values
    fits: int = 0
    values: list[float] = field(default_factory=list)
    ends: set[str] = field(default_factory=set)

    def note(self, value: float, stop: str) -> None:
        """Record one more fit, and how it ended."""
        self.fits += 1
        if stop not in (*ARRIVED, *ASKED_FOR):
            self.values.append(value)
            self.ends.add(stop)

    def text(self, max_iter: int) -> str:
        """The number of fits, where on the path they are, and a remedy."""
        values = sorted(set(self.values), reverse=True)
        where = ", ".join(f"{value:.3g}" for value in values)
        if len(values) > FEW_VALUES:
            where = f"{values[0]:.3g} to {values[-1]:.3g} ({len(values)} values)"
        ends = ", ".join(sorted(self.ends)).replace("max_iter", f"max_iter={max_iter}")
        return (
            f"{len(self.values)} of {self.fits} fits in cross-validation ended ({ends}) before "
            "they were known to be within tol of their minimum, at "
            f"{self.name} = {where}: their scores may not be those of the minimum; raise max_iter "
            f"or tol, scale the features, or leave out these values of {self.name}"
        )


def doubts(clf: Any, unfinished: Unfinished) -> Iterator[tuple[str, type[Warning]]]:
    """The warnings after a search: a best score at the end of the path, fits that did not end."""
    own_grid = checks.is_integer(clf.l2s if clf.l1_ratio is None else clf.strengths)
    if text := text_of_end(clf.cv_results_, unfinished.name, own_grid):
        yield text, UserWarning
    if unfinished.values:
        yield unfinished.text(clf.max_iter), ConvergenceWarning
