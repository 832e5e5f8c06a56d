"""The fit itself, with a given or a searched penalty; and what remains after Ctrl-C."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import separatrix

from .metrics import METRICS, scoring_of
from .output import counted, say
from .progress import Watch

FOLDS = 5  # of the cross-validation, as in scikit-learn
VALUES, STRENGTHS, VALUES_FROM_FILES = 20, 100, 8
"""Number of penalties tried, of l2 and of l1; fewer if rows are read again in each step."""


class Fitted(NamedTuple):
    """A model, and what Ctrl-C interrupted: ``"search"`` (of its l2), its ``"fit"``, or nothing."""

    model: Any
    interrupted: str | None


@dataclass
class Tried:
    """A callback that records the intermediate results of a search."""

    paths: list[list[float]] = field(default_factory=list)
    """The values of l2, or the strengths of each l1 ratio, as far as the search came."""
    fits: list[float] = field(default_factory=list)  # the value of every finished fit
    scores: list[list[list[float]]] = field(default_factory=list)
    """For each path, the scores of every finished fold."""

    def __call__(self, step: Any, info: Any) -> None:
        """Nothing is recorded of the passes of a fit."""

    def searching(self, values: list[float]) -> None:
        """The search along a path begins."""
        self.paths.append(values)
        self.scores.append([])

    def searched(self, value: float) -> None:
        """Record a finished fit."""
        self.fits.append(value)

    def scored(self, scores: list[float]) -> None:
        """Record a finished fold."""
        self.scores[-1].append(scores)

    def best(self) -> tuple[int, float, str]:
        """The number of the path and the value to keep, and the reason."""
        if not any(self.scores):
            last = (self.fits or self.paths[0][:1])[-1]
            return 0, last, "the last that was tried (no fold was done)"
        import numpy as np

        means = [np.mean(each, axis=0) for each in self.scores if each]
        which = int(np.argmax([np.nanmax(mean) for mean in means]))
        folds = f"{len(self.scores[which])} of {FOLDS} folds"
        at = int(np.nanargmax(means[which]))
        return which, self.paths[which][at], f"the best by the {folds} that were done"


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
            if not tried.paths:
                message = "the search had not begun, so there is no model to save"
                raise KeyboardInterrupt(message) from error
            which, value, why = tried.best()
            settings, l2 = _at(settings, which, value)
            search_cut, l1 = True, f"l1 = {settings['l1']:.3g}, " if "l1" in settings else ""
            say(
                f"Interrupted after {counted(len(tried.fits), 'fit')} of the search: {l1}"
                f"l2 = {l2:.3g}, {why}, is fitted to all rows. Press Ctrl-C again to end that too."
            )
    watch.stage("Fitting")
    clf = separatrix.LinearClassifier(l2=l2, callbacks=[watch], **settings)
    try:
        return _done(clf.fit(rows), search_cut)
    except KeyboardInterrupt as error:
        message = "no pass had ended, so there is no model to save"
        raise KeyboardInterrupt(message) from error


class TooFewRows(ValueError):
    """A class has too few training rows for cross-validation."""


def folds_for(rows: Any, folds: int = FOLDS) -> int:
    """Number of folds: no more than the rarest class has rows, so that each fold can have one."""
    if not hasattr(rows, "block") or rows.multilabel:
        return folds
    import numpy as np

    labels, counts = np.unique(rows.y[rows.weights != 0.0], return_counts=True)
    rarest = int(counts.argmin())
    if len(labels) < len(rows.classes) or counts[rarest] < 2:
        number = int(labels[rarest] > 0) if len(rows.classes) == 2 else int(labels[rarest])
        raise TooFewRows(
            f"the class {rows.classes.tolist()[number]!r} has {counts[rarest]} training row, too "
            "few to search l2 by cross-validation, which needs 2 of each class: give --l2 a "
            "number, such as --l2 0.01, or add rows (fit holds out a share for measuring: --test 0 "
            "holds out none)"
        )
    return min(folds, int(counts[rarest]))


def _splitter(rows: Any, folds: int) -> Any:
    """Folds as ``LinearClassifierCV`` takes them; shuffled for labels, which do not stratify."""
    if not hasattr(rows, "block") or not rows.multilabel:
        return folds
    from sklearn.model_selection import KFold

    return KFold(folds, shuffle=True, random_state=0)


def _ratios(settings: dict[str, Any]) -> list[float]:
    """The l1 ratios of a search; none for a search of l2."""
    found = settings.get("l1_ratio", [])
    return found if isinstance(found, list) else [found]


def _at(settings: dict[str, Any], which: int, value: float) -> tuple[dict[str, Any], float]:
    """The settings of a fit at a value of a path of the search, and its l2."""
    if "l1_ratio" not in settings:
        return settings, value
    ratio = _ratios(settings)[which]
    rest = {name: given for name, given in settings.items() if name != "l1_ratio"}
    return rest | {"l1": ratio * value}, (1.0 - ratio) * value / 2.0


def _searched(
    rows: Any, settings: dict[str, Any], watch: Watch, tried: Tried, metric: str | None
) -> Any:
    sparse, in_memory = "l1_ratio" in settings, hasattr(rows, "block")
    values = (STRENGTHS if sparse else VALUES) if in_memory else VALUES_FROM_FILES
    one_by_one = sparse or settings["standardize"]
    folds = folds_for(rows)
    fits = values * folds * max(1, len(_ratios(settings)))
    watch.stage(f"Searching {'l1' if sparse else 'l2'}", fits if one_by_one else None)
    clf = separatrix.LinearClassifierCV(
        l2s=values, strengths=values, cv=_splitter(rows, folds), callbacks=[watch, tried],
        **settings,
    )  # fmt: skip
    scoring = scoring_of(metric, settings["loss"], rows.classes, clf)
    if not in_memory and scoring not in (None, "loss"):
        raise ValueError(
            f"--metric {metric} works in memory, and these rows take more than 1 GB: use --metric "
            "loss or accuracy, or give --l2 a number"
        )
    clf.set_params(scoring=scoring).fit(rows)
    clf.set_params(cv=folds)  # a model file contains no splitter
    return clf if metric is None else clf.set_params(scoring=METRICS[metric])


def _done(clf: Any, search_cut: bool) -> Fitted:
    cut = "search" if search_cut else "fit" if clf.stop_ == "interrupted" else None
    return Fitted(clf.set_params(callbacks=[]), cut)
