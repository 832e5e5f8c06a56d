"""What a cross-validation comes to: its table of scores, the choice, fits that fell short."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...numeric.types import AnyArray, Array

MOST_SPLITS = 100  # folds told one by one
FEW_VALUES = 4  # of a penalty, told one by one
ARRIVED = ("optimal", "tol", "closed form")


def results(columns: dict[str, AnyArray], splits: Array) -> dict[str, AnyArray]:
    """Scores by penalty, which columns tell: mean and deviation over folds, and every fold's own.

    A fold without a score does not count.
    """
    if np.all(np.isnan(splits)):
        raise ValueError("no fold could be scored: every held-out row has weight 0")
    counted = np.sum(~np.isnan(splits), axis=0)
    # In units in which no square overflows; powers of two leave every bit as it is.
    largest = np.max(np.abs(splits), where=np.isfinite(splits), initial=0.0)
    unit = np.frexp(largest)[1]
    with np.errstate(invalid="ignore"):  # a score of minus infinity has no deviation
        deviation = np.ldexp(np.nanstd(np.ldexp(splits, -unit), axis=0), unit)
    table: dict[str, AnyArray] = {
        **columns,
        "mean_test_score": np.nanmean(splits, axis=0),
        "std_test_score": deviation,
        "standard_error": deviation / np.sqrt(np.maximum(counted - 1, 1)),
    }
    if len(splits) <= MOST_SPLITS:
        table |= {f"split{i}_test_score": row for i, row in enumerate(splits)}
    return table


def chosen(table: dict[str, AnyArray], rule: str) -> int:
    """The number of the penalty that the rule picks; a path goes from large to small.

    Of paths for several ratios of l1, the one with the best score.
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


@dataclass
class Unfinished:
    """Fits that ended before their minimum, and of how many."""

    name: str = "l2"
    """Of the values."""
    fits: int = 0
    values: list[float] = field(default_factory=list)
    ends: set[str] = field(default_factory=set)

    def note(self, value: float, stop: str) -> None:
        """One more fit, and how it ended."""
        self.fits += 1
        if stop not in ARRIVED:
            self.values.append(value)
            self.ends.add(stop)

    def text(self, max_iter: int) -> str:
        """How many, where, and what to do."""
        values = sorted(set(self.values), reverse=True)
        where = ", ".join(f"{value:.3g}" for value in values)
        if len(values) > FEW_VALUES:
            where = f"{values[0]:.3g} to {values[-1]:.3g} ({len(values)} values)"
        ends = ", ".join(sorted(self.ends)).replace("max_iter", f"max_iter={max_iter}")
        return (
            f"{len(self.values)} of {self.fits} fits in cross-validation ended ({ends}) before "
            "they were known to be as near to their minimum as tol asks, at "
            f"{self.name} = {where}: their scores may not be those of the minimum; raise max_iter "
            f"or tol, scale the features, or leave out these values of {self.name}"
        )
