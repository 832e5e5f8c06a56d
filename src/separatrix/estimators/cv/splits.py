"""Training and test rows of each fold, from a splitter and its metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...data import ArraySource, InMemory, Source, Subset
from ...data.in_memory import InBlocks
from ...numeric.types import AnyArray, Array, Ints


class Metadata(NamedTuple):
    """Arguments for a splitter and a scorer in addition to X and y."""

    split: dict[str, Any]
    score: dict[str, Any]


def routed(owner: Any, sample_weight: Any, params: dict[str, Any]) -> Metadata:
    """Route arguments of fit to those that request them; without routing only groups."""
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
            f"cv={owner.cv!r} leaves out one row at a time and ignores groups: use "
            "scikit-learn's cv=LeaveOneGroupOut() to leave out groups"
        )
    return metadata


def metadata_router(owner: Any, scoring: Any) -> Any:
    """Routing of other arguments than X and y: to the splitter, and to a scorer."""
    from sklearn.metrics import get_scorer
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

    router = MetadataRouter(owner=owner).add_self_request(owner)
    to = MethodMapping().add(caller="fit", callee="split")
    router.add(splitter=owner.cv, method_mapping=to)
    if scoring not in (None, "loss"):
        to = MethodMapping().add(caller="fit", callee="score")
        router.add(scorer=get_scorer(scoring), method_mapping=to)
    return router


class Given(NamedTuple):
    """Rows, and what assigns them to folds; in memory also the input of splitters and scorers."""

    source: Source
    cv: Any
    metadata: Metadata
    X: Any = None
    y: Any = None
    scored: InBlocks | None = None
    """For scorers: the rows of a source, or with an offset, with all features and without class
    weights."""


class FoldSplit(NamedTuple):
    """The training rows and the test rows of a fold."""

    left_out: Ints  # rows that are not in the training set
    test: Ints
    times: Ints | None = None  # how often each row is in the training set, if not exactly once

    def training(self, source: ArraySource) -> ArraySource:
        """The training rows: the others have weight 0."""
        weight = source.weights.copy()
        if self.times is None:
            weight[self.left_out] = 0.0
        else:
            weight *= self.times
        return source.with_weight(weight)

    def tested(self, source: ArraySource) -> InMemory:
        """The test rows: numbered, or if they are on a device the others have weight 0."""
        if source.visitable:
            return Subset(source, self.test)
        weight = np.zeros(source.length)
        weight[self.test] = source.weights[self.test]
        return source.with_weight(weight)


def splits(given: Given, source: ArraySource) -> Iterator[FoldSplit]:
    """Yield the folds of the given rows, which may be in other coordinates."""
    weight, kind = source.weight, np.min_scalar_type(len(source.classes))
    if source.multilabel:
        number, check = np.empty(0, kind), _label_check(source)
    else:
        number = source.y.astype(kind) if len(source.classes) > 2 else (source.y > 0.0).view(kind)
        check = _class_check(source, number)
    for absent, test, times in _rows(given, number):
        if weight is not None:
            absent &= weight != 0.0
        left_out = np.flatnonzero(absent)
        if np.array_equal(left_out, test):
            left_out = test  # keep only one of them
        check(left_out, test)
        yield FoldSplit(left_out, test, times)


Check = Callable[[Ints, Ints], None]  # refuses the rows that a fold leaves out and tests


def _class_check(source: ArraySource, number: Ints) -> Check:
    counts = np.bincount(number, None if source.weight is None else source.weight != 0.0)

    def check(left_out: Ints, test: Ints) -> None:
        left = np.count_nonzero(counts - np.bincount(number[left_out], minlength=len(counts)))
        if left < len(source.classes) or not len(test):
            raise ValueError(
                f"a fold trains on {left} of {len(source.classes)} classes and tests on "
                f"{len(test)} rows; use fewer folds, or a splitter that keeps every class in "
                "every fold"
            )

    return check


def _label_check(source: ArraySource) -> Check:
    present = (source.weights != 0.0).astype(np.float64)
    total, counts = present.sum(), present @ (source.y > 0)

    def check(left_out: Ints, test: Ints) -> None:
        there = present[left_out]
        check_labels_vary(
            source.classes, counts - there @ (source.y[left_out] > 0), total - there.sum(),
            len(test),
        )  # fmt: skip

    return check


def check_labels_vary(labels: AnyArray, counts: Array, total: float, tests: int) -> None:
    """Refuse a fold that tests no rows, or of whose training rows all or none have a label.

    ``counts`` are the numbers of training rows with each label, of ``total``.
    """
    fixed = (counts == 0.0) | (counts == total)
    if fixed.any():
        raise ValueError(
            f"the label {labels.ravel()[fixed].tolist()[0]!r} does not vary among the training "
            "rows of a fold; folds are not stratified by labels: use fewer folds, a splitter that "
            "shuffles, such as KFold(5, shuffle=True), or leave out rare labels"
        )
    if not tests:
        raise ValueError("a fold tests on 0 rows; use fewer folds")


def _rows(given: Given, number: Ints) -> Iterator[tuple[AnyArray, Ints, Any]]:
    """The rows that a fold leaves out, its test rows, and other results of a split."""
    from sklearn.model_selection import StratifiedKFold, check_cv  # takes a third of a second

    X, y, params = given.X, given.y, given.metadata.split
    n = len(y)
    # The labels are classes, or a matrix, whose folds are not stratified.
    splitter = check_cv(given.cv, [0, 1] if y.ndim == 1 else y, classifier=True)
    if type(splitter) is StratifiedKFold:  # depends on classes, not on their names
        X = y = number
        if not splitter.shuffle and not params and np.bincount(number).min() >= splitter.n_splits:
            fold = stratified(number, splitter.n_splits)
            for i in range(splitter.n_splits):
                yield fold == i, np.flatnonzero(fold == i), None
            return
    everyone = np.arange(n)
    for train, test in splitter.split(X, y, **params):
        train, test = everyone[train], everyone[test]  # row numbers, or masks
        absent = np.ones(n, dtype=bool)
        absent[train] = False
        once = len(train) + np.count_nonzero(absent) == n
        yield absent, test, None if once else np.bincount(train, minlength=n)


def stratified(number: Ints, n_splits: int) -> Ints:
    """The fold that tests each row, as in scikit-learn's StratifiedKFold, but much faster.

    Classes, in the order of their first row, are assigned to folds one after another: every fold
    gets its share, and neighbours stay together.
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
