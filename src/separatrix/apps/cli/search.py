"""The fit itself, with a given or a searched penalty; and what remains after Ctrl-C."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import separatrix

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
        import numpy as np

        mean = np.mean(self.scores, axis=0)
        folds = f"{len(self.scores)} of {FOLDS} folds"
        return self.path[int(np.nanargmax(mean))], f"the best by the {folds} that were done"


def fitted(rows: Any, l2: float | None, settings: dict[str, Any], watch: Watch) -> Fitted:
    """Fit with this l2, or with None the best of a path, by cross-validation.

    Ctrl-C ends a fit after its last complete pass. It also ends a search, and the best l2 so far is
    then fitted to all rows.
    """
    search_cut = False
    if l2 is None:
        tried = Tried()
        try:
            return _done(_searched(rows, settings, watch, tried), False)
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


def folds_for(rows: Any) -> int:
    """Number of folds: no more than the rarest class has rows, so that each fold can have one."""
    if not hasattr(rows, "block"):
        return FOLDS
    import numpy as np

    labels, counts = np.unique(rows.y[rows.weights != 0.0], return_counts=True)
    rarest = int(counts.argmin())
    if len(labels) < len(rows.classes) or counts[rarest] < 2:
        number = int(labels[rarest] > 0) if len(rows.classes) == 2 else int(labels[rarest])
        raise ValueError(
            f"the class {rows.classes.tolist()[number]!r} has {counts[rarest]} training row, too "
            "few to search l2 by cross-validation, which needs 2 of each class: give --l2 a "
            "number, such as --l2 0.01, or add rows (fit holds out a share for measuring: --test 0 "
            "holds out none)"
        )
    return min(FOLDS, int(counts[rarest]))


def _searched(rows: Any, settings: dict[str, Any], watch: Watch, tried: Tried) -> Any:
    values = VALUES if hasattr(rows, "block") else VALUES_FROM_FILES
    folds = folds_for(rows)
    watch.stage("Searching l2", values * folds if settings["standardize"] else None)
    # The loss of held-out rows; accuracy for the perceptron loss, which is least at zero weights.
    scoring = None if settings["loss"] == "perceptron" else "loss"
    clf = separatrix.LinearClassifierCV(
        l2s=values, cv=folds, scoring=scoring, callbacks=[watch, tried], **settings
    )
    return clf.fit(rows)


def _done(clf: Any, search_cut: bool) -> Fitted:
    cut = "search" if search_cut else "fit" if clf.stop_ == "interrupted" else None
    return Fitted(clf.set_params(callbacks=[]), cut)
