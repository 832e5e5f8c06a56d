"""Rows that folds leave out: which, how well weights do on them, and what is chosen by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...data import ArraySource, Subset
from ...losses import Loss
from ...numeric.threads import ordered_sum
from ...numeric.types import AnyArray, Array, Ints
from .folds import Split
from .sums import ScoreSums

MOST_SPLITS = 100  # folds told one by one
FEW_VALUES = 4  # of l2, told one by one
ARRIVED = ("optimal", "tol", "closed form")


class Metadata(NamedTuple):
    """What a splitter and a scorer get beside X and y."""

    split: dict[str, Any]
    score: dict[str, Any]


def routed(owner: Any, sample_weight: Any, params: dict[str, Any]) -> Metadata:
    """Arguments of fit, to those that ask for them; without routing only groups."""
    from sklearn import get_config
    from sklearn.utils.metadata_routing import process_routing

    if get_config()["enable_metadata_routing"]:
        to = process_routing(owner, "fit", sample_weight=sample_weight, **params)
        score = to.scorer.score if "scorer" in to else {}
        metadata = Metadata(dict(to.splitter.split), dict(score))
    elif others := sorted(params.keys() - {"groups"}):
        raise TypeError(
            f"fit takes X, y, sample_weight and groups, not {', '.join(others)}: other arguments "
            "reach a splitter or a scorer only with "
            "sklearn.set_config(enable_metadata_routing=True)"
        )
    else:
        metadata = Metadata({} if params.get("groups") is None else params, {})
    if metadata.split and isinstance(owner.cv, str):
        raise ValueError(
            f"cv={owner.cv!r} leaves out one row at a time, whatever its group: use "
            "cv=LeaveOneGroupOut() of scikit-learn's to leave out groups"
        )
    return metadata


def splits(
    cv: Any, source: ArraySource, X: Any, y: AnyArray, params: dict[str, Any]
) -> Iterator[Split]:
    """The folds, one at a time."""
    weight, kind = source.weight, np.min_scalar_type(len(source.classes))
    number = source.y.astype(kind) if len(source.classes) > 2 else (source.y > 0.0).view(kind)
    counts = np.bincount(number, None if weight is None else weight != 0.0)
    for absent, test, times in _rows(cv, X, y, number, params):
        if weight is not None:
            absent &= weight != 0.0
        left_out = np.flatnonzero(absent)
        if np.array_equal(left_out, test):
            left_out = test  # one of them is enough to keep
        left = np.count_nonzero(counts - np.bincount(number[left_out], minlength=len(counts)))
        if left < len(source.classes) or not len(test):
            raise ValueError(
                f"a fold trains on {left} of {len(source.classes)} classes and tests on "
                f"{len(test)} rows; use fewer folds, or a splitter that keeps every class in "
                "every fold"
            )
        yield Split(left_out, test, times)


def _rows(
    cv: Any, X: Any, y: AnyArray, number: Ints, params: dict[str, Any]
) -> Iterator[tuple[AnyArray, Ints, Any]]:
    """Which rows a fold leaves out, those that it tests, and what else a split says."""
    from sklearn.model_selection import StratifiedKFold, check_cv  # a third of a second

    n, splitter = len(y), check_cv(cv, [0, 1], classifier=True)  # labels are known to be classes
    if type(splitter) is StratifiedKFold:  # cares for classes, not for their names
        X = y = number
        if not splitter.shuffle and not params and np.bincount(number).min() >= splitter.n_splits:
            fold = stratified(number, splitter.n_splits)
            for i in range(splitter.n_splits):
                yield fold == i, np.flatnonzero(fold == i), None
            return
    everyone = np.arange(n)
    for train, test in splitter.split(X, y, **params):
        train, test = everyone[train], everyone[test]  # numbers of rows, or masks
        absent = np.ones(n, dtype=bool)
        absent[train] = False
        once = len(train) + np.count_nonzero(absent) == n
        yield absent, test, None if once else np.bincount(train, minlength=n)


def stratified(number: Ints, n_splits: int) -> Ints:
    """The fold that tests each row, as scikit-learn's StratifiedKFold has it, but much faster.

    Classes, in the order in which they are met, are dealt out one after another: every fold gets
    its share, and neighbours stay together.
    """
    kind = np.min_scalar_type(n_splits)
    fold, dealt = np.empty(len(number), dtype=kind), np.arange(n_splits, dtype=kind)
    first = [np.argmax(number == label) for label in range(int(number.max()) + 1)]
    for label in np.argsort(first).tolist():
        rows = number == label
        share, left = divmod(np.count_nonzero(rows), n_splits)
        sizes = np.full(n_splits, share)
        sizes[dealt[:left]] += 1
        fold[rows] = np.repeat(np.sort(dealt), sizes)
        dealt = np.roll(dealt, -left)
    return fold


def mean_scores(
    scoring: Any, loss: Loss, source: ArraySource, tests: list[Ints], weights: Array
) -> Array:
    """Weighted accuracy of each fold's rows, or minus their weighted mean loss, by many weights.

    ``weights`` is (folds, m, k, d + 1), the result (folds, m): NaN if no row has a weight.
    """
    parts = [Subset(source, rows) for rows in tests]
    pieces = [(i, at) for i, part in enumerate(parts) for at in part.block_slices]

    def add(piece: tuple[int, slice]) -> tuple[Array]:
        fold, at = piece
        sums = np.zeros(weights.shape[:2])
        (sums[fold],) = ScoreSums(scoring, loss, weights[fold]).of(parts[fold].block(at))
        return (sums,)

    (total,) = ordered_sum(add, pieces, source.threads)
    mean: Array = np.full_like(total, np.nan)
    for fold, part in enumerate(parts):
        if part.weight_sum > 0.0:
            mean[fold] = total[fold] / part.weight_sum
    return mean


def scorer_scores(
    clf: Any, X: Any, y: AnyArray, test: Ints, weights: Iterable[Array], params: dict[str, Any]
) -> list[float]:
    """The same of one fold by a scorer of scikit-learn's, and what it asks for beside X and y."""
    from sklearn.metrics import check_scoring
    from sklearn.utils import _safe_indexing
    from sklearn.utils.validation import _check_method_params

    scorer = check_scoring(clf, clf.scoring)
    params = _check_method_params(X, params, indices=test)
    X_test = _safe_indexing(X.tocsr() if hasattr(X, "tocsr") else X, test)
    found: list[float] = []
    for W in weights:
        clf.coef_, clf.intercept_ = W[:, :-1], W[:, -1]
        found.append(float(scorer(clf, X_test, y[test], **params)))
    return found


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
