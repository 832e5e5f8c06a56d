"""Online rules whose step depends on the row: passive-aggressive I and II, AROW, Winnow.

Problem     Weights W = (w, b) that keep every row on its side, with a margin of 1 (Winnow: of 0).
Input       Rows, their labels and weights, one after another; a start.
Output      W after every pass, and the loss and the mistakes made in it.
Algorithm   With the loss l = max(0, 1 - m) of the margin m and z = (x, 1):
            ``passive_aggressive_1``  W += min(C, l / |z|^2) y z
            ``passive_aggressive_2``  W += l / (|z|^2 + 1 / (2 C)) y z
            ``arow``                  W += l / (z.Sz + r) y S z, then 1 / S += z^2 / r, S diagonal
            ``winnow``                w_j *= factor^(y x_j) on a mistake
            For k classes the true one gains and the best rival loses, as in ``Rosenblatt``; the
            squared lengths of both changes then count. A row of weight c is visited c times.
Paper       Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, JMLR 7 (2006); Crammer, Kulesza and
            Dredze, Machine Learning 91 (2013); Littlestone, Machine Learning 2 (1988).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .. import loops
from ..data import Block, Shuffle, Source, Sum, Visit
from ..numeric.expected import Check, array, at_least_0, entries, whole
from ..numeric.types import Array, Ints
from ..objective import Objective
from ..penalties import Penalty
from ..rows import host_rows_of
from .base import Solver, State, Step
from .online import LOG_ROWS
from .online_state import MOST_POWER

MOST_VISITS = 1e6
"""Largest weight of a row, which is visited as often: larger ones would take too long."""


@dataclass(frozen=True, repr=False)
class OnlineRule(Solver):
    """A rule that updates the weights after single rows, by a step that depends on the row.

    Parameters
    ----------
    rule : {"passive_aggressive_1", "passive_aggressive_2", "arow", "winnow"}
        The rule.
    parameter : float
        C of the passive-aggressive rules, r of AROW, the factor of Winnow.
    shuffle : bool
        Shuffle the rows in every pass, from one seed; otherwise keep the given order.
    average : bool
        Keep the mean of the weights after every visit.

    See Also
    --------
    PassiveAggressive, AROW, Winnow : the estimators that run it.
    Rosenblatt : the perceptron's rule.

    Examples
    --------
    >>> from separatrix import PassiveAggressive
    >>> PassiveAggressive(C=0.5).fit([[0.0], [1.0]], [0, 1]).trace_.solver
    OnlineRule(parameter=0.5)
    """

    name = "OnlineRule"

    rule: str = "passive_aggressive_1"
    parameter: float = 1.0
    shuffle: bool = True
    average: bool = False

    def check(self, objective: Objective) -> None:
        """Two classes or more, without a penalty, an offset and partitions; Winnow: two."""
        super().check(objective)
        source = objective.source
        number, (name, wanted) = loops.compiled(objective.loss), loops.loss_of_rule(self.rule)
        if number is None or number != wanted.get(objective.shape[0] == 1):
            raise ValueError(
                f"the rule {self.rule!r} looks at the {name} loss of "
                f"{'two classes' if len(wanted) == 1 else 'rows of one class each'}, got "
                f"{objective.loss.name!r}; use GradientDescent(batch_size=1) for other losses"
            )
        if not objective.penalty.absent:
            raise ValueError(
                f"the rule {self.rule!r} has no penalty; use GradientDescent(batch_size=1)"
            )
        if source.has_offset:
            raise ValueError(
                f"the rule {self.rule!r} takes no offset; use Perceptron, or LinearClassifier"
            )
        if source.parts is not None:
            raise ValueError(
                f"the rule {self.rule!r} visits rows one after another, and those of a cluster lie "
                "in parts: use Perceptron, which mixes the weights of parts, or fit to arrays"
            )
        if self.rule == "winnow":
            source.total(NonNegative())

    def is_deterministic_map(self, penalty: Penalty) -> bool:
        return not self.shuffle and self.rule != "arow"  # whose variances are not in the weights

    @property
    def chooses_step(self) -> bool:
        return False

    @property
    def by_row(self) -> bool:
        return True

    def _run(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None
    ) -> RuleRun:
        return RuleRun.start(objective, self, W, rng, state)

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        return self._run(objective, W, rng, state).passes()

    def updates(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """Yield one step per updated row; a step without ``rows`` ends a pass."""
        return self._run(objective, W, rng, state).passes(max_updates=1)

    def visits(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        return self._run(objective, W, rng, state).passes(max_updates=1, most_rows=1)

    def expected_state(self, objective: Objective) -> Check:
        return self.expected_stream_state(objective.shape)

    def expected_stream_state(self, shape: tuple[int, int]) -> Check:
        weights = array(*shape)
        needed: dict[str, Check] = dict.fromkeys(("passes", "rows_before"), whole())
        needed |= dict.fromkeys(("visited", "weight_before"), at_least_0)
        needed |= {"seed": whole(0, 2**63 - 1), "weights": weights}
        if self.average:
            needed["sum"] = weights
        if self.rule == "arow":
            needed["variances"] = weights
        return entries(needed, {"weight_power": whole(-MOST_POWER, MOST_POWER), "sum": weights})


NUMBERS = ("seed", "passes", "visited", "rows_before", "weight_before")


@dataclass
class RuleRun:
    """A run of a rule, pass by pass or update by update with the same bits."""

    objective: Objective
    solver: OnlineRule
    weights: loops.RuleWeights
    seed: int
    passes_made: int
    visited: float  # weight of all rows so far
    rows_before: int
    weight_before: float

    @classmethod
    def start(
        cls,
        objective: Objective,
        solver: OnlineRule,
        W: Array,
        rng: np.random.Generator,
        state: State | None,
    ) -> RuleRun:
        """At W, or where ``state`` left off."""
        if state is None:
            state = {
                "weights": W, "seed": int(rng.integers(2**62)), "passes": 0, "visited": 0.0,
                "rows_before": 0, "weight_before": 0.0, "sum": np.zeros(W.shape),
                "variances": np.ones(W.shape),
            }  # fmt: skip
        variances = state["variances"] if solver.rule == "arow" else None
        total = state["sum"] if solver.average else None
        work = loops.RuleWeights.start(state["weights"], variances, total)
        return cls(objective, solver, work, *(state[name] for name in NUMBERS))

    def passes(
        self, max_updates: int = loops.EVERY_UPDATE, most_rows: int | None = None
    ) -> Iterator[Step]:
        """One pass after another, in pieces with limited updates or visited rows."""
        stepwise, source = max_updates < loops.EVERY_UPDATE, self.objective.source
        while True:
            shuffle = Shuffle(self.seed, self.passes_made) if self.solver.shuffle else None
            loss_sum = mistakes = 0.0
            updates = 0
            rows: list[Ints] = []
            for visit in source.visits(shuffle):
                for piece, changed, seen in self._pieces(visit, max_updates, most_rows):
                    loss_sum += piece.loss_sum
                    mistakes += piece.mistakes
                    updates += piece.updates
                    if not stepwise:
                        rows.append(changed)
                    elif piece.updates or seen is not None:
                        # Between two passes there is nothing to go on from: no state.
                        yield Step(
                            self.weights.v.copy(), {}, rows=changed, updates=piece.updates,
                            ends_pass=False, visited=seen,
                        )  # fmt: skip
            self.weights.fold()
            self.passes_made += 1
            self.visited += visits_of(source)
            changed = np.concatenate(rows) if rows else np.empty(0, np.int64)
            yield self._step(loss_sum, mistakes, updates, None if stepwise else changed)

    def _pieces(
        self, visit: Visit, max_updates: int, most_rows: int | None
    ) -> Iterator[tuple[loops.PassResult, Ints, Ints | None]]:
        """The pieces of a visit: each with the updated rows, and the visited ones if asked for."""
        block, order = visit
        count = len(block.y) if order is None else len(order)
        weight = given_weights(block, self.objective.source)
        at_most = min(max_updates, LOG_ROWS)  # a long pass goes in pieces: a short log
        log = np.empty(min(count, at_most), dtype=np.int64)
        position = 0
        while position < count:
            if order is None and (position or most_rows is not None):
                order = np.arange(count)
            end = count if most_rows is None else position + most_rows
            some = None if order is None else order[position:end]
            piece = block.rows.visits.online_rule(
                block.y, self.solver.rule, self.solver.parameter, self.weights, weight=weight,
                order=some, intercept=self.learns_bias, max_updates=at_most, log=log,
            )  # fmt: skip
            seen = None
            if most_rows is not None and some is not None:
                seen = block.numbers(some[: piece.position])
            position += piece.position
            yield piece, block.numbers(log[: piece.updates]), seen

    @property
    def learns_bias(self) -> bool:
        """Winnow's bias is its threshold, which stays."""
        return self.objective.intercept and self.solver.rule != "winnow"

    def _step(self, loss_sum: float, mistakes: float, updates: int, rows: Ints | None) -> Step:
        """The end of a pass; J as measured during the pass."""
        work, power = self.weights, weight_power(self.objective.source)
        W = work.v.copy()
        state: State = {
            "weights": W, "seed": self.seed, "passes": self.passes_made, "visited": self.visited,
            "rows_before": self.rows_before, "weight_before": self.weight_before,
        }  # fmt: skip
        average = None
        if work.sum is not None:
            state["sum"] = work.sum.copy()
            average = work.sum / self.visited
        if work.variances is not None:
            state["variances"] = work.variances.copy()
        # The source counts in its own unit of weights.
        loss_sum, mistakes = (float(np.ldexp(each, power)) for each in (loss_sum, mistakes))
        value = self.objective.mean(loss_sum, W)
        return Step(W, state, value, mistakes, rows, updates, average=average)


def weight_power(source: Source) -> int:
    """The weights of a source are the given ones times two to this power."""
    return int(getattr(source, "weight_power", 0))


def visits_of(source: Source) -> float:
    """The sum of the given weights: the number of visits of a pass."""
    return float(np.ldexp(source.weight_sum, -weight_power(source)))


def given_weights(block: Block, source: Source) -> Array | None:
    """The weights of the rows as given, which count visits."""
    if block.weight is None:
        return None
    weight: Array = np.ldexp(np.asarray(block.weight), -weight_power(source))
    largest = float(weight.max(initial=0.0))
    if largest > MOST_VISITS:
        raise ValueError(
            f"a row has the weight {largest:g}, and a row of weight c is visited c times in "
            f"succession: expected weights of at most {MOST_VISITS:g}; divide sample_weight and "
            "class_weight by a common number"
        )
    return weight


@dataclass(frozen=True)
class NonNegative(Sum[tuple[()]]):
    """An empty sum that raises an error for values below 0."""

    def of(self, block: Block) -> tuple[()]:
        values = host_rows_of(block.X).values
        if values.size and float(values.min()) < 0.0:
            raise ValueError(
                f"Negative values in data passed to Winnow, such as {float(values.min()):g}: it "
                "needs features of at least 0, because its weights are multiplied and stay above "
                "0; encode categories as 0 and 1 (e.g. with sklearn's OneHotEncoder), give a "
                "feature and its opposite two columns, or use Perceptron"
            )
        return ()
