"""Facts about a fit and its data, computed on first access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import ArraySource, InMemory
from ...estimators import KernelPerceptron, LinearClassifier, LinearClassifierCV
from ...estimators.decision import Deciding
from ...losses import Loss
from ...losses.rivals import predicted_numbers
from ...numeric.lazy import cached_property
from ...numeric.types import AnyArray, Array, Ints
from ...objective import Objective
from ...objective.moments import Moments
from ...rows import CsrRows, HostRowsLike, rows_of
from ...separation import Separability, separability
from ...solvers import Rosenblatt, Solver
from ...solvers.rescaling import only_rescales
from .. import remedy_lines
from .comparison import SEED, HeldOut

MOST_ROWS, LEAST_ROWS = 2000, 200  # of a sample
SAMPLE_VALUES = 400_000  # products of a value and a weight in one pass over a sample
OF_EACH_CLASS = 10  # minimum number of rows of a class in a sample, if available


@dataclass(frozen=True)
class FittedModel:
    """A fitted classifier, the rows that it saw, and derived facts."""

    estimator: Any  # the given estimator: the classifier or a pipeline that ends in it
    clf: Any
    X: Any  # X as the classifier got it: after the other steps of a pipeline
    rows: HostRowsLike  # X in its storage: an array or CSR
    labels: AnyArray
    source: InMemory
    objective: Objective
    weight: Array | None = None
    """Weights of the rows, all above 0, without class weights; None for 1 each."""

    # ---- the estimator -------------------------------------------------------------------

    @property
    def piped(self) -> bool:
        return remedy_lines.is_piped(self.estimator)

    @property
    def minimises(self) -> bool:
        """Whether the classifier minimises a loss; else it is a perceptron."""
        return isinstance(self.clf, (LinearClassifier, LinearClassifierCV))

    @property
    def kernel(self) -> bool:
        """Whether the features are only accessed through a kernel."""
        return isinstance(self.clf, KernelPerceptron)

    @property
    def loss(self) -> Loss:
        """The loss, joint for more than two classes."""
        return self.objective.loss

    @property
    def l2(self) -> float:
        return self.objective.penalty.l2

    @property
    def solver(self) -> Solver | None:
        """The solver; None for a kernel perceptron."""
        return None if self.kernel else self.clf.trace_.solver

    @property
    def streams(self) -> bool:
        """Whether ``partial_fit`` was used, where every call is one pass."""
        return bool(getattr(getattr(self.clf, "_stream", None), "streams", False))

    @property
    def gap(self) -> float | None:
        """Proven bound on the distance of the objective from its minimum, if there is one."""
        gap = getattr(self.clf, "gap_", None)
        return None if gap is None else float(gap)

    def setting(self, **parameters: Any) -> remedy_lines.Line:
        """The line that sets parameters of the classifier and fits again."""
        if "l2" in parameters and self.clf.get_params(deep=False).get("penalty") is not None:
            parameters["penalty__l2"] = parameters.pop("l2")  # both are an error
        return remedy_lines.setting(self.estimator, **parameters)

    def replacing(self, classifier: str) -> str:
        """The line that replaces the classifier by another one."""
        return remedy_lines.replacing(self.estimator, classifier)

    def scaling(self) -> remedy_lines.Line:
        """The line that scales the features, directly before the classifier."""
        return remedy_lines.scaling(self.estimator, self.sparse)

    # ---- the rows ------------------------------------------------------------------------

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def sparse(self) -> bool:
        return self.source.storage == "csr"

    @cached_property
    def moments(self) -> Moments:
        """Mean and deviation of every feature; computed on the sample if their squares overflow."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return self.objective.moments
        except ValueError:
            x = rows_of(self.sample_rows).to_dense()
            size = np.abs(x).max(axis=0)
            x = x / np.where(size > 0.0, size, 1.0)
            return Moments(size * x.mean(axis=0), size * x.std(axis=0))

    @cached_property
    def shares(self) -> Array:
        """Share of the rows of each class, by weight."""
        weight = np.ones(self.n) if self.weight is None else self.weight
        sums = [float(weight[self.labels == c].sum()) for c in self.clf.classes_]
        return np.array(sums) / float(weight.sum())

    @cached_property
    def sample(self) -> Ints:
        """Some rows, always the same, with a few of every class; all rows if they are few."""
        width = rows_of(self.rows).row_values
        values = max(width, 1.0) * self.objective.shape[0]
        most = int(np.clip(SAMPLE_VALUES / values, LEAST_ROWS, MOST_ROWS))
        if self.n <= most:
            return np.arange(self.n)
        order = np.random.default_rng(SEED).permutation(self.n)
        few = [order[self.labels[order] == c][:OF_EACH_CLASS] for c in self.clf.classes_]
        return np.unique(np.concatenate([order[:most], *few]))

    @property
    def sampled(self) -> bool:
        """Whether the sample has fewer rows than the data."""
        return len(self.sample) < self.n

    @cached_property
    def sample_rows(self) -> HostRowsLike:
        taken: HostRowsLike = rows_of(self.rows).take(self.sample).X
        return taken

    @cached_property
    def sample_source(self) -> InMemory:
        """The sample as data to fit."""
        return self.source.take(self.sample)

    @cached_property
    def standardised_sample(self) -> InMemory:
        """The sample with features of deviation 1; dense features are also centred."""
        (mean, deviation), rows = self.moments, self.sample_rows
        scale = np.where(deviation > 0.0, deviation, 1.0)
        if isinstance(rows, CsrRows):
            rows = rows._replace(data=rows.data / scale[rows.indices])
        else:
            rows = np.ascontiguousarray((rows - mean) / scale)
        sample = self.sample_source
        return ArraySource(rows, sample.y, sample.classes, sample.weight)

    @cached_property
    def held_out(self) -> HeldOut:
        """Fits to parts of the sample."""
        return HeldOut(self.objective, self.sample_source)

    @cached_property
    def _names(self) -> AnyArray | None:
        """Names of all features, cached: a model of a table creates them for each call."""
        if not hasattr(self.clf, "feature_names_in_"):
            return None
        names: AnyArray = getattr(self.clf, "coef_names_", self.clf.feature_names_in_)
        return names

    def name(self, feature: int) -> str:
        if self._names is None:
            return f"feature {feature}"
        return repr(str(self._names[feature]))

    def columns_of(self, features: Ints) -> list[str] | None:
        """The columns of a table that have these features and no others; None if there are none."""
        encoding = getattr(getattr(self.clf, "_reading", None), "encoding", None)
        if encoding is None or encoding.n_features != self.source.n_features:
            return None
        wanted, found, first = set(features.tolist()), [], 0
        for column in encoding.columns:
            own = set(range(first, first + column.n_features))
            first += column.n_features
            if own <= wanted:
                found.append(column.name)
                wanted -= own
        return None if wanted else found

    # ---- performance ----------------------------------------------------------------

    @cached_property
    def scores(self) -> Array:
        """Scores of all rows, (n, 1) or (n, k)."""
        scores: Array = self.clf.decision_function(self.X)
        return scores.reshape(self.n, -1)

    @cached_property
    def mistakes(self) -> AnyArray:
        """Rows whose class does not strictly win, (n,) Booleans."""
        return self.loss.mistakes(self.source.y, self.scores)

    @cached_property
    def recalls(self) -> Array:
        """Share of each class that is predicted correctly; NaN for a class without rows."""
        classes = self.clf.classes_
        decide = self.clf._rule() if isinstance(self.clf, Deciding) else predicted_numbers
        right = classes[decide(self.scores)] == self.labels
        weight = np.ones(self.n) if self.weight is None else self.weight
        return np.array(
            [np.average(right[self.labels == c], weights=weight[self.labels == c])
             if np.any(self.labels == c) else np.nan for c in classes]
        )  # fmt: skip

    @property
    def accuracy(self) -> float:
        """Share of all rows that is predicted correctly."""
        return float(np.nansum(self.recalls * self.shares))

    @cached_property
    def separable(self) -> bool | None:
        """Whether some weights classify every row strictly correctly; None if not decided.

        A fit without mistakes proves it, and some rows may disprove it for all; only in other cases
        all rows are examined.
        """
        if not self.mistakes.any():
            return True
        if self.kernel:
            return None
        if self.sampled and self._of_sample.verdict != "separable":
            return False
        return self._of_all.verdict == "separable"

    @cached_property
    def verdict(self) -> str | None:
        """The verdict of ``separability``; None if not decided."""
        if self.separable or self.kernel:
            return "separable" if self.separable else None
        if self.sampled and self._of_sample.verdict == "overlapping" and self._sample_has_full_rank:
            return "overlapping"
        return self._of_all.verdict

    @property
    def non_separability_evidence(self) -> tuple[str, int]:
        """The verdict on the examined rows, and their number, if not separable."""
        if self._of_sample.verdict != "separable":
            return self._of_sample.verdict, len(self.sample)
        return self._of_all.verdict, self.n

    @cached_property
    def _of_sample(self) -> Separability:
        return self._separability(self.sample_rows, self.labels[self.sample])

    @cached_property
    def _of_all(self) -> Separability:
        if not self.sampled:
            return self._of_sample
        return self._separability(self.rows, self.labels)

    def _separability(self, rows: HostRowsLike, labels: AnyArray) -> Separability:
        X = rows_of(rows).as_matrix()
        return separability(X, labels, fit_intercept=self.objective.intercept)

    @property
    def _sample_has_full_rank(self) -> bool:
        """Whether only weights 0 are 0 on the whole sample; else others could separate the rest."""
        rows = self.sample_rows
        n, d = rows_of(rows).shape
        if d >= n:
            return False
        x = np.ones((n, d + self.objective.intercept))
        x[:, :d] = rows_of(rows).to_dense()
        size = np.abs(x).max(axis=0)
        return bool(size.min() > 0.0 and np.linalg.matrix_rank(x / size) == x.shape[1])

    @property
    def mistake_bound(self) -> float | None:
        """Bound on the mistakes of this run; None if the theorem does not apply, or for many rows.

        The theorem holds for the online rule with a constant step, from zeros, on rows of weight 1.
        """
        if self.kernel or self.sampled or not self.separable:
            return None
        solver, trace = self.solver, self.clf.trace_
        if not isinstance(solver, Rosenblatt) or trace.parts is not None:
            return None
        if trace.class_weight is not None or trace.weight_sum != trace.n_rows:
            return None
        if not only_rescales(self.objective, solver.learning_rate, trace.start):
            return None
        bound = self._of_all.mistake_bound
        return None if bound is None else float(bound)

    @cached_property
    def unfinished(self) -> float | None:
        """Lower (smooth losses) or upper (proven gaps) bound on the share of J that is left to
        gain.

        A function whose slope changes by at most L per unit length decreases by at least ``|g|^2 /
        2L`` along its gradient g.
        """
        if not self.minimises or not 0.0 < self.clf.objective_ < np.inf:
            return None
        if self.gap is not None:
            return self.gap / float(self.clf.objective_)
        if self.loss.max_curvature is None or not self.loss.smooth:
            return None
        at = self.objective.value_and_gradient(self.clf._minimum())
        g = self.objective.standardization.gradient(at.gradient)
        # In these variables every feature has curvature at most 1, so all together d + 1.
        return float(np.vdot(g, g)) / (2.0 * self.objective.shape[1] * float(self.clf.objective_))

    def facts(self) -> dict[str, Any]:
        """How the fit ended."""
        clf = self.clf
        return {
            "stop": clf.stop_, "passes": int(clf.n_iter_), "gap": self.gap,
            "objective": float(clf.objective_) if self.minimises else None,
            "accuracy": self.accuracy, "balanced_accuracy": float(np.nanmean(self.recalls)),
            "rows": self.n, "features": int(self.source.n_features),
            "rows_in_sample": len(self.sample),
        }  # fmt: skip
