"""Record of a fit, and how to replay it step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data import ArraySource, InMemory, Source
from ..data.arrays import as_arrays
from ..data.feature_map import FeatureMap
from ..data.indicator import indicator_source, is_indicator, label_names
from ..data.labels import class_numbers, refuse_label_source
from ..data.offset import offset_arrays
from ..data.validation import ClassWeight, array_source, check_rows
from ..losses import Loss
from ..numeric.expected import Check, array, entries, indices, make_up, optional, whole
from ..numeric.types import AnyArray, Array, Ints
from ..objective import Objective
from ..penalties import Penalty, is_l2
from ..solvers import Solver, State, Step
from ..solvers.base import locked
from .recording import Recording
from .recording.columns import MOST_ROWS, MOST_STEPS, columns_of
from .recording.linear import Recipe, linear_recording

MOST_BYTES = 8 << 20  # of the rows that were updated: a million rows
COUNTED_AT_ONCE = 1 << 16  # rows


def _count(counts: AnyArray, rows: Ints) -> None:
    """Add one for each of these distinct rows, in parts to save memory."""
    for start in range(0, len(rows), COUNTED_AT_ONCE):
        counts[rows[start : start + COUNTED_AT_ONCE]] += 1


def _copy(counts: AnyArray | None) -> AnyArray | None:
    return None if counts is None else counts.copy()


@dataclass
class Trace:
    """Settings of a run, and which rows were updated when.

    The settings (solver, loss, penalty, start, seed, number of passes) are enough to replay the
    run with the same bits. The updated rows are kept up to 8 MB; beyond that, ``rows`` is None and
    only the counts are kept.

    See Also
    --------
    Step : element of ``replay``.
    animate : makes an animation of it.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> trace = Perceptron(shuffle=False).fit(X, y).trace_
    >>> trace.n_iter, [rows.tolist() for rows in trace.rows[:2]]
    (9, [[0, 3], [0, 1, 3]])
    >>> [step.weights[0].tolist() for step in trace.replay(X, y)][-1]
    [3.0, 2.0, -4.0]
    """

    solver: Solver
    """The solver."""
    loss: Loss
    """The loss."""
    penalty: Penalty
    """The penalty."""
    fit_intercept: bool
    """Whether there is a bias."""
    class_weight: ClassWeight
    """As passed to the estimator."""
    classes: AnyArray
    """The class labels, in order; or the labels that vary, if rows have several each."""
    start: Array
    """Initial weights, (k, d + 1), bias last."""
    seed: int
    """Seed of all random numbers."""
    n_rows: int
    """Number of rows."""
    weight_sum: float
    """Sum of the sample weights."""
    state: State | None = None
    """Solver state from which the run continued, if it did not begin at ``start``."""
    n_iter: int = 0
    """Number of passes made."""
    rows: list[Ints] | None = field(default_factory=list)
    """Updated rows of every pass, in order; None if there were too many to keep."""
    updates_per_pass: list[int] = field(default_factory=list)
    """Number of updated rows in each pass."""
    features: FeatureMap | None = None
    """Map to other features, if the run used any (``start`` then refers to those); ``replay``
    returns weights of the features as given."""
    parts: int | None = None
    """Number of partitions trained in parallel; such a run cannot be replayed."""
    stop: str | None = None
    """Why the fit ended."""
    own_objective: bool = False
    """Whether the objective was not a loss on labelled rows plus a penalty: such a run cannot be
    replayed."""
    _counts: AnyArray | None = None
    """Result of ``strengths`` once there are too many rows to keep."""
    _bytes: int = 0

    def __post_init__(self) -> None:
        self.start, self.state = locked(self.start), locked(self.state)

    def record(self, step: Step) -> None:
        """Record one pass."""
        self.n_iter += 1
        self.updates_per_pass.append(step.updates)
        if step.rows is None:
            self.rows = None
            return
        self._bytes += step.rows.nbytes
        if self._bytes > MOST_BYTES:
            self._counts, self.rows = self.strengths, None
        if self.rows is not None:
            self.rows.append(locked(step.rows) if step.rows.flags.writeable else step.rows)
            return
        if self._counts is None:
            self._counts = np.zeros(self.n_rows, dtype=np.int32)
        _count(self._counts, step.rows)

    def to_state(self) -> State:
        """The state, as arrays and numbers."""
        kept = self.rows
        return {
            "n_iter": self.n_iter, "updates_per_pass": np.array(self.updates_per_pass, np.int64),
            "rows": np.concatenate(kept) if kept else None, "counts": _copy(self._counts),
            "lengths": None if kept is None else np.array([len(rows) for rows in kept], np.int64),
            "bytes": self._bytes,
        }  # fmt: skip

    def expected_state(self) -> Check:
        """Checks for ``to_state``: a number of updates for every pass, and row indices below n."""
        known = entries({
            "n_iter": whole(), "updates_per_pass": array(None, dtype=np.int64),
            "rows": optional(indices(self.n_rows, narrow=True)), "bytes": whole(),
            "counts": optional(array(self.n_rows, dtype=np.int32)),
            "lengths": optional(array(None, dtype=np.int64)),
        })  # fmt: skip

        def check(name: str, state: State) -> None:
            known(name, state)
            passes, rows, lengths = state["n_iter"], state["rows"], state["lengths"]
            array(passes, dtype=np.int64)(f"{name}.updates_per_pass", state["updates_per_pass"])
            total = 0 if rows is None else len(rows)
            if lengths is None and rows is not None:
                raise ValueError(f"{name} has updated rows, and does not say of which passes")
            if lengths is not None and (len(lengths) != passes or not make_up(lengths, total)):
                raise ValueError(f"{name}.lengths are not those of {passes} passes over its rows")

        return check

    def restore(self, state: State) -> None:
        """Restore the state of the trace of another run with the same settings."""
        self.n_iter, self._bytes = state["n_iter"], state["bytes"]
        self.updates_per_pass = state["updates_per_pass"].tolist()
        self._counts = _copy(state["counts"])
        self.rows, lengths = None, state["lengths"]
        if lengths is not None:
            whole = np.empty(0, np.int64) if state["rows"] is None else locked(state["rows"])
            ends = np.cumsum(lengths)
            self.rows = [whole[end - n : end] for n, end in zip(lengths, ends, strict=True)]

    @property
    def strengths(self) -> AnyArray | None:
        """How often each row changed the weights, if the solver reports it."""
        if not self.rows:
            return self._counts
        total: AnyArray = np.zeros(self.n_rows, dtype=np.int32)
        for rows in self.rows:
            _count(total, rows)
        return total

    @property
    def n_updates(self) -> int:
        """Total number of row updates; for batch solvers, iterations."""
        return sum(self.updates_per_pass)

    def replay(
        self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
    ) -> Iterator[Step]:
        """Repeat the run on the same data and yield every intermediate weight vector.

        Online solvers yield one step per update, with the updated row in ``step.rows``, and one at
        the end of every pass; batch solvers one per iteration. The last has the exact weights
        of the fit.
        """
        return self.replayed(self._objective(X, y, sample_weight, offset)[1])

    def recording(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, max_steps: int = MOST_STEPS
    ) -> Recording:
        """Record the fit step by step: see :class:`Recording`.

        Repeats the run on the same data, at most 2,000 rows: X and y, or a source in memory. One
        step visits one row; steps after ``max_steps`` are left out.
        """
        # The numbers and sentences assume weight decay by l2.
        if not is_l2(self.penalty):
            raise ValueError(
                "a recording supports the penalty l2 only, and this fit had an l1 or "
                "penalty_weights, or another penalty; see replay, which gives every step"
            )
        given, objective = self._objective(X, y, sample_weight, None)
        refuse_label_source(given, "a recording")
        if given.has_offset:
            raise ValueError("a recording draws no offset: use replay, which gives every step")
        if self.n_rows > MOST_ROWS:
            raise ValueError(
                f"the fit had {self.n_rows:,} rows, and a recording is of {MOST_ROWS:,} at most; "
                "fit to fewer rows, or see replay"
            )
        rng = np.random.default_rng(self.seed)
        steps = self.solver.visits(objective, self.start, rng, self.state)
        columns = columns_of(
            objective, self.start, steps, self.n_iter, max_steps, self.features
        )  # fmt: skip
        return linear_recording(
            Recipe(self.solver, self.start, self.seed, self.features, self.stop),
            objective,
            given,
            columns,
        )

    def _objective(
        self, X: Any, y: Any, sample_weight: Any, offset: Any
    ) -> tuple[ArraySource, Objective]:
        """The rows as given, and the objective."""
        if self.own_objective:
            raise ValueError(
                "a fit with soft_labels or bias_reduction cannot be replayed, because its "
                "objective is not that of labelled rows; history_ has the objective of every "
                "pass, and callbacks see the weights"
            )
        if self.parts is not None and self.solver.by_row:
            raise ValueError(
                f"the fit went row by row over {self.parts} parts at once, and their weights were "
                "mixed after every pass: there is no one order of updates to replay; fit to arrays "
                "for one, or take a batch solver"
            )
        source = self._source(X, y, sample_weight)
        source = source if offset is None else offset_arrays(source, offset)
        d = self.start.shape[1] - 1 if self.features is None else self.features.n_features
        if (len(source.y), source.n_features) != (self.n_rows, d):
            raise ValueError(
                f"X has {len(source.y)} rows and {source.n_features} features, but the fit had "
                f"{self.n_rows} and {d}; replay needs the data of the fit"
            )
        if source.weight_sum != self.weight_sum:
            raise ValueError(
                f"the weights of the rows sum to {source.weight_sum:g}, but in the fit to "
                f"{self.weight_sum:g}; pass the same sample_weight to replay"
            )
        seen: Source = source if self.features is None else self.features.source(source)
        objective = Objective(self.loss, self.penalty, seen, self.fit_intercept)
        if self.state is not None:  # it may come from a file
            self.solver.expected_state(objective)("the state that the run went on from", self.state)
        return source, objective

    def _source(self, X: Any, y: Any, sample_weight: Any) -> ArraySource:
        """The rows as given, with their labels."""
        if isinstance(X, InMemory):
            if X.labels is not None:
                return as_arrays(X)
            y = X.classes[class_numbers(X.y, len(X.classes))]
            rows, sample_weight = as_arrays(X).X, X.weight
        else:
            rows = check_rows(X)
        if not is_indicator(y):
            return array_source(
                rows, y, classes=self.classes, sample_weight=sample_weight,
                class_weight=self.class_weight,
            )  # fmt: skip
        # Of a chunk of partial_fit all labels vary; so they do in a fit in which none is constant.
        every = self.loss.several_labels and np.array_equal(label_names(y), self.classes)
        source = indicator_source(rows, y, sample_weight, all_vary=every)
        if not np.array_equal(source.classes.ravel(), self.classes):
            raise ValueError(
                "y has other labels than the fit, or other labels vary; replay needs the data of "
                "the fit"
            )
        return source

    def replayed(self, objective: Objective) -> Iterator[Step]:
        """The steps of ``replay``, on the objective of the fit."""
        if not self.n_iter:
            return
        ended = 0
        rng = np.random.default_rng(self.seed)
        for step in self.solver.updates(objective, self.start, rng, self.state):
            yield original_step(step, self.features).read_only()
            ended += step.ends_pass
            if ended == self.n_iter:
                return


def original_step(step: Step, features: FeatureMap | None) -> Step:
    """A step for callbacks, with weights of the features as given.

    The solver's ``state`` is unchanged; its variables are dropped, and so is the gradient of
    standardised features.
    """
    if features is None:
        return step
    average = None if step.average is None else features.to_weights(step.average)
    weights, gradient = features.to_weights(step.weights), step.gradient
    if gradient is not None:
        gradient = None if features.standardization else features.to_weights(gradient)
    return step._replace(weights=weights, average=average, gradient=gradient, variables=None)
