"""How a fitted classifier decides, if not by the largest score: a threshold, or costs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..losses import Loss
from ..losses.rivals import predicted_numbers
from ..numeric import checks
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints
from .sources import check_kind, labelled

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Decision:
    """How a classifier turns scores into classes: a threshold for two classes, costs for more.

    Made by ``set_decision`` and ``tune_threshold`` of a fitted classifier, which keeps it as
    ``decision_``; ``predict`` and ``score`` follow it, and model files contain it. Without one, the
    larger of two classes is predicted from a score of 0 on (a probability of one half), and of
    more classes the one with the largest score.

    Parameters
    ----------
    threshold : float or None
        For two classes: the larger class is predicted where its probability is at least this. For
        losses without probabilities it is a score of ``decision_function``.
    score : float or None
        For two classes: the same threshold as a score of ``decision_function``.
    costs : array (k, k) or None
        ``costs[i, j]`` is the cost of predicting ``classes_[j]`` for a row of ``classes_[i]``. With
        more than two classes, the class with the least expected cost is predicted, the first in a
        tie. With two, the costs for which the threshold was chosen.
    tuned_on : str or None
        If the threshold was chosen on labelled rows, a hash of their labels and weights: see
        ``was_tuned_on``. A report should use other rows.

    See Also
    --------
    LinearClassifier : has ``set_decision`` and ``tune_threshold``.
    Report : how well a classifier decides.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = LinearClassifier(l2=1e-3, standardize=True).fit(X, y)
    >>> int(clf.predict(X).sum()), int(clf.set_decision(threshold=0.9).predict(X).sum())
    (360, 325)
    >>> clf.decision_.threshold, round(clf.decision_.score, 4)
    (0.9, 2.1972)
    """

    threshold: float | None = None
    score: float | None = None
    costs: Array | None = None
    tuned_on: str | None = None

    def was_tuned_on(self, y: Any, sample_weight: Any = None) -> bool:
        """Whether the threshold was chosen on rows with these labels and weights."""
        return self.tuned_on == _digest(*labelled(None, y, sample_weight))


def _digest(labels: AnyArray, weights: Array) -> str:
    """A hash of labels and weights."""
    found = hashlib.blake2b(weights.astype("<f8").tobytes(), digest_size=16)
    classes, numbers = np.unique(labels, return_inverse=True)
    found.update(repr(classes.tolist()).encode("utf-8", "surrogatepass"))
    found.update(numbers.astype("<i8").tobytes())
    return found.hexdigest()


@dataclass(frozen=True)
class DecisionRule:
    """Class numbers by a decision; can be sent to workers."""

    decision: Decision
    loss: Loss | None  # the loss for the number of classes, for its probabilities

    def __call__(self, scores: Array) -> Ints:
        """Index of the predicted class, for scores (n, 1) of two classes or (n, k) of more."""
        if self.decision.score is not None:
            above: Ints = (scores[:, 0] >= self.decision.score).astype(np.intp)
            return above
        expected = getattr(self.loss, "probability")(scores) @ self.decision.costs  # noqa: B009
        least: Ints = expected.argmin(axis=1)
        return least


def given_decision(threshold: Any, costs: Any, classes: AnyArray, loss: Loss | None) -> Decision:
    """The decision for a threshold or for costs, after validation."""
    if (threshold is None) == (costs is None):
        raise ValueError("give either a threshold or costs")
    has_probability = hasattr(loss, "probability")
    if threshold is not None:
        if len(classes) > 2:
            raise ValueError(
                f"a threshold is for two classes, but there are {len(classes)}: give costs, for "
                "example {('a', 'b'): 5.0}, if predicting 'b' for a row of 'a' costs 5"
            )
        value = checks.number("threshold", threshold, least=-LARGEST)
        return Decision(value, _as_score(value, loss) if has_probability else value)
    table = cost_matrix(costs, classes)
    if not has_probability:
        remedy = (
            "use tune_threshold(X, y, costs=...), which needs none"
            if len(classes) == 2
            else "use loss='logistic'"
        )
        raise ValueError(
            f"costs are weighed by probabilities, which this loss does not define: {remedy}"
        )
    if len(classes) > 2:
        return Decision(costs=table)
    share = indifference(table)
    return Decision(share, _as_score(share, loss), table)


def indifference(costs: Array) -> float:
    """The probability of the larger of two classes at which both predictions cost the same."""
    false_positive, false_negative = float(costs[0, 1]), float(costs[1, 0])
    if not false_positive or not false_negative:
        raise ValueError(
            "a prediction that costs nothing is always best: expected costs above 0 for both kinds "
            f"of errors, got {false_positive:g} and {false_negative:g}"
        )
    return 1.0 / (1.0 + false_negative / false_positive)


def _as_score(threshold: float, loss: Any) -> float:
    """The score at which the probability of the larger class is the threshold."""
    if not 0.0 < threshold < 1.0:
        raise ValueError(f"threshold must be a probability above 0 and below 1, got {threshold:g}")
    if not hasattr(loss, "score_at"):
        raise ValueError(
            f"the loss {loss.name!r} defines a probability, but not its inverse: give it a method "
            "score_at(probability), or leave out the threshold"
        )
    return float(loss.score_at(threshold))


def cost_matrix(costs: Any, classes: AnyArray) -> Array:
    """Costs (k, k) from an array, or from a dict by (true, predicted) labels, where others cost 1.

    Correct predictions cost nothing, and errors may not cost less than nothing.
    """
    k, labels = len(classes), classes.tolist()
    if isinstance(costs, Mapping):
        table = 1.0 - np.eye(k)
        for pair, cost in costs.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(f"costs has the key {pair!r}; expected (true label, prediction)")
            unknown = [label for label in pair if label not in labels]
            if unknown:
                raise ValueError(
                    f"costs names {unknown[0]!r}, which is not among the classes {labels!r}"
                )
            table[labels.index(pair[0]), labels.index(pair[1])] = checks.number(
                f"the cost of {pair!r}", cost
            )
    else:
        table = np.array(costs, dtype=np.float64)
        if table.shape != (k, k):
            raise ValueError(
                f"costs has the shape {table.shape}; expected {(k, k)}: a row for each true class "
                "and a column for each prediction, in the order of classes_"
            )
    if not np.all(np.isfinite(table)) or table.min() < 0.0:
        raise ValueError("costs must be finite numbers, 0 or more")
    if np.any(np.diagonal(table) != 0.0):
        raise ValueError("the cost of a correct prediction must be 0: the diagonal of costs is not")
    if not table.any():
        raise ValueError("all costs are 0: expected at least one above 0")
    return table


def cheapest_score(
    scores: Array, positive: AnyArray, weights: Array, costs: Array, nearest: float = 0.0
) -> float:
    """The score of two classes from which predicting the larger one costs least on these rows.

    It lies halfway between two neighbouring scores, or 1 beyond the smallest or largest; in a tie
    it is the one closest to ``nearest``.
    """
    # Moving the threshold above a row saves a false positive, or costs a false negative.
    order = np.argsort(scores, kind="stable")
    step = np.where(positive, costs[1, 0], -costs[0, 1]) * weights
    cost = np.concatenate([[0.0], np.cumsum(step[order])])
    ordered = scores[order]
    below = np.concatenate([[ordered[0] - 2.0], ordered])
    above = np.concatenate([ordered, [ordered[-1] + 2.0]])
    middle = below / 2.0 + above / 2.0
    middle = np.where(middle > below, middle, above)  # the two may be neighbours
    between = below < above  # rows of equal scores cannot be separated
    rounding = 4.0 * EPS * np.abs(step).sum()
    candidates = middle[between & (cost <= cost[between].min() + rounding)]
    return float(candidates[np.argmin(np.abs(candidates - nearest))])


class Deciding:
    """The methods of a classifier with scores that set how it decides."""

    classes_: AnyArray
    decision_: Decision

    def set_decision(self, *, threshold: float | None = None, costs: Any = None) -> Self:
        """Let ``predict`` and ``score`` use a threshold, or costs of errors.

        A call without arguments restores the default, the largest score; so does ``fit``. Weights,
        scores and probabilities do not change.

        Parameters
        ----------
        threshold : float
            For two classes: predict the larger class where its probability is at least this. For
            losses without probabilities: where its score is at least this.
        costs : dict or array (k, k)
            Cost of each kind of error, by (true, predicted) labels, where errors that are left out
            cost 1; or for a row of the first class in ``classes_`` by column, and so on. The class
            with the least expected cost is predicted, by the probabilities: they must be those of
            the rows to predict, which ``class_weight`` changes.
        """
        self._check_decides()
        if threshold is None and costs is None:
            self.__dict__.pop("decision_", None)
        else:
            self.decision_ = given_decision(threshold, costs, self.classes_, self._likelihood())
        return self

    def tune_threshold(
        self, X: Any, y: Any = None, *, costs: Any, sample_weight: Any = None
    ) -> Self:
        """Set the threshold of two classes at which errors on these rows cost least.

        Use rows that the fit did not see, and others again to measure the result. No probabilities
        are needed. If several thresholds cost the same, the one closest to the one by the
        probabilities is used.

        Parameters
        ----------
        X, y
            Labelled rows; or a source as X alone.
        costs : dict or array (2, 2)
            As for ``set_decision``.
        sample_weight : array (n,), optional
            For a source, it replaces the weights of its rows.
        """
        self._check_decides()
        classes, loss = self.classes_, self._likelihood()
        if len(classes) > 2:
            raise ValueError(
                f"a threshold is for two classes, but there are {len(classes)}: use "
                "set_decision(costs=...)"
            )
        table = cost_matrix(costs, classes)
        share = indifference(table)
        labels, weights = labelled(X, y, sample_weight)
        check_kind(labels, classes)
        rows = weights > 0.0
        present = np.unique(labels[rows])
        if not np.array_equal(present, classes):
            raise ValueError(
                f"the rows to choose a threshold on have the labels {present.tolist()!r}; expected "
                f"both classes, {classes.tolist()!r}, and no other: use more rows"
            )
        scores = getattr(self, "decision_function")(X)[rows]  # noqa: B009
        nearest = loss.score_at(share) if loss and hasattr(loss, "score_at") else 0.0
        score = cheapest_score(scores, labels[rows] == classes[1], weights[rows], table, nearest)
        threshold = score
        if loss is not None and hasattr(loss, "probability"):
            threshold = float(loss.probability(np.array([score]))[0])
        self.decision_ = Decision(threshold, score, table, _digest(labels, weights))
        return self

    def _check_decides(self) -> None:
        """Check that one of the classes is predicted for each row."""
        check_is_fitted(self)
        if getattr(self, "multilabel_", False):
            raise ValueError(
                "a threshold or costs decide between classes, but this model predicts several "
                "labels per row: compare predict_proba with a threshold for each label"
            )

    def _likelihood(self) -> Loss | None:
        """The loss for this number of classes, which may define probabilities."""
        return None

    def _rule(self) -> Callable[[Array], Ints]:
        """Class numbers of scores (n, 1) of two classes, or (n, k) of more."""
        decision = self.__dict__.get("decision_")
        return predicted_numbers if decision is None else DecisionRule(decision, self._likelihood())
