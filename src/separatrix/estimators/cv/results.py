"""Results of a cross-validation: its table of scores, the choice, fits that did not converge."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...numeric.types import AnyArray, Array

MOST_SPLITS = 100  # folds listed individually
FEW_VALUES = 4  # of a penalty, listed individually
ARRIVED = ("optimal", "tol", "closed form")


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


def text_of_end(table: dict[str, AnyArray], name: str) -> str:
    """A warning if only the smallest value of a grid has the best score; else empty.

    The largest needs none: it outweighs the data, and a larger one would hardly differ from it.
    """
    mean, values = table["mean_test_score"], table[name]
    best = np.flatnonzero(mean == mean.max())
    path = values
    if "l1_ratio" in table:
        path = values[table["l1_ratio"] == table["l1_ratio"][best[0]]]
    if len(path) < 2 or np.any(values[best] != path[-1]):
        return ""
    return (
        f"the best score is that of {name} = {path[-1]:.3g}, the smallest of the grid, so an even "
        "smaller one may be better: scale the features (standardize=True), or give smaller values, "
        f"{'l2s' if name == 'l2' else 'strengths'}=np.geomspace(largest, smallest, number)"
    )


@dataclass
class Unfinished:
    """Fits that ended before their minimum."""

    name: str = "l2"
    """The attribute of the values."""
    fits: int = 0
    values: list[float] = field(default_factory=list)
    ends: set[str] = field(default_factory=set)

    def note(self, value: float, stop: str) -> None:
        """Record one more fit, and how it ended."""
        self.fits += 1
        if stop not in ARRIVED:
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
