"""What a cross-validation comes to: its table of scores, the l2 chosen, fits that fell short."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...numeric.types import AnyArray, Array

MOST_SPLITS = 100  # folds told one by one
FEW_VALUES = 4  # of l2, told one by one
ARRIVED = ("optimal", "tol", "closed form")


def results(l2s: Array, splits: Array) -> dict[str, AnyArray]:
    """Scores by l2: mean and deviation over the folds that have one, and every fold's own."""
    if np.all(np.isnan(splits)):
        raise ValueError("no fold could be scored: every held-out row has weight 0")
    counted = np.sum(~np.isnan(splits), axis=0)
    # In units in which no square overflows; powers of two leave every bit as it is.
    largest = np.max(np.abs(splits), where=np.isfinite(splits), initial=0.0)
    unit = np.frexp(largest)[1]
    with np.errstate(invalid="ignore"):  # a score of minus infinity has no deviation
        deviation = np.ldexp(np.nanstd(np.ldexp(splits, -unit), axis=0), unit)
    table: dict[str, AnyArray] = {
        "l2": l2s,
        "mean_test_score": np.nanmean(splits, axis=0),
        "std_test_score": deviation,
        "standard_error": deviation / np.sqrt(np.maximum(counted - 1, 1)),
    }
    if len(splits) <= MOST_SPLITS:
        table |= {f"split{i}_test_score": row for i, row in enumerate(splits)}
    return table


def chosen(table: dict[str, AnyArray], rule: str) -> int:
    """The number of the l2 that the rule picks; the path goes from large to small."""
    mean = table["mean_test_score"]
    best = int(np.argmax(mean))
    if rule == "best":
        return best
    enough = mean[best] - table["standard_error"][best]
    return int(np.argmax(mean >= enough))


@dataclass
class Unfinished:
    """Fits that ended before their minimum, and of how many."""

    fits: int = 0
    l2s: list[float] = field(default_factory=list)
    ends: set[str] = field(default_factory=set)

    def note(self, l2: float, stop: str) -> None:
        """One more fit, and how it ended."""
        self.fits += 1
        if stop not in ARRIVED:
            self.l2s.append(l2)
            self.ends.add(stop)

    def text(self, max_iter: int) -> str:
        """How many, where, and what to do."""
        values = sorted(set(self.l2s), reverse=True)
        where = ", ".join(f"{l2:.3g}" for l2 in values)
        if len(values) > FEW_VALUES:
            where = f"{values[0]:.3g} to {values[-1]:.3g} ({len(values)} values)"
        ends = ", ".join(sorted(self.ends)).replace("max_iter", f"max_iter={max_iter}")
        return (
            f"{len(self.l2s)} of {self.fits} fits in cross-validation ended ({ends}) before they "
            f"were known to be as near to their minimum as tol asks, at l2 = {where}: their scores "
            "may not be those of the minimum; raise max_iter or tol, scale the features, or leave "
            "out these values of l2"
        )
