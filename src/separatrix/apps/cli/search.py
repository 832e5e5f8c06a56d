"""The fit itself, with a given or a searched penalty; and what remains after Ctrl-C."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import separatrix

from .metrics import METRICS, scoring_of
from .output import counted, say
from .progress import Watch

FOLDS = 5  # of the cross-validation, as in scikit-learn
VALUES, VALUES_FROM_FILES = 20, 8
"""Number of penalties tried; fewer if rows are read again in each step."""


class Fitted(NamedTuple):
    """A model, and what Ctrl-C interrupted: ``"search"`` (of its l2), its ``"fit"``, or nothing."""

    model: Any
    interrupted: str | None


@dataclass
class Tried:
    """A callback that records the intermediate results of a search."""

    path: list[float] = field(default_factory=list)
    fits: list[float] = field(default_factory=list)
    """The l2 of every finished fit."""
    scores: list[list[float]] = field(default_factory=list)
    """The scores of every finished fold, along the path."""

    def __call__(self, step: Any, info: Any) -> None:
        """Nothing is recorded of the passes of a fit."""

    def searching(self, l2s: list[float]) -> None:
        """The search begins."""
        self.path = l2s

    def searched(self, l2: float) -> None:
        """Record a finished fit."""
        self.fits.append(l2)

    def scored(self, scores: list[float]) -> None:
        """Record a finished fold."""
        self.scores.append(scores)

    def best(self) -> tuple[float, str]:
        """The l2 to keep, and the reason."""
        if not self.scores:
            return (self.fits or self.path[:1])[-1], "the last that was tried (no fold was done)"
        mean = np.mean(self.scores, axis=0)
        folds = f"{len(self.scores)} of {FOLDS} folds"
        return self.path[int(np.nanargmax(mean))], f"the best by the {folds} that were done"


def fitted(
    rows: Any,
    l2: float | None,
    settings: dict[str, Any],
    watch: Watch,
    metric: str | None = None,
) -> Fitted:
    """Fit with this l2, or with None the best of a path, by cross-validation with this metric.

    Ctrl-C ends a fit after its last complete pass. It also ends a search, and the best l2 so far is
    then fitted to all rows.
    """
    search_cut = False
    if l2 is None:
        tried = Tried()
        try:
            return _done(_searched(rows, settings, watch, tried, metric), False)
        except KeyboardInterrupt as error:
            if not tried.path:
                message = "the search had not begun, so there is no model to save"
                raise KeyboardInterrupt(message) from error
            l2, why = tried.best()
            search_cut = True
            say(
                f"Interrupted after {counted(len(tried.fits), 'fit')} of the search: "
                f"l2 = {l2:.3g}, {why}, is fitted to all rows. Press Ctrl-C again to end that too."
            )
    watch.stage("Fitting")
    clf = separatrix.LinearClassifier(l2=l2, callbacks=[watch], **settings)
    try:
        return _done(clf.fit(rows), search_cut)
    except KeyboardInterrupt as error:
        message = "no pass had ended, so there is no model to save"
        raise KeyboardInterrupt(message) from error


def _searched(
    rows: Any, settings: dict[str, Any], watch: Watch, tried: Tried, metric: str | None
) -> Any:
    values = VALUES if hasattr(rows, "block") else VALUES_FROM_FILES
    watch.stage("Searching l2", values * FOLDS if settings["standardize"] else None)
    clf = separatrix.LinearClassifierCV(l2s=values, cv=FOLDS, callbacks=[watch, tried], **settings)
    scoring = scoring_of(metric, settings["loss"], rows.classes, clf)
    if not hasattr(rows, "block") and scoring not in (None, "loss"):
        raise ValueError(
            f"--metric {metric} works in memory, and these rows take more than 1 GB: use --metric "
            "loss or accuracy, or give --l2 a number"
        )
    clf.set_params(scoring=scoring).fit(rows)
    return clf if metric is None else clf.set_params(scoring=METRICS[metric])


def _done(clf: Any, search_cut: bool) -> Fitted:
    cut = "search" if search_cut else "fit" if clf.stop_ == "interrupted" else None
    return Fitted(clf.set_params(callbacks=[]), cut)
