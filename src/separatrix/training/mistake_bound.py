"""Compares a perceptron run with the theory: its mistakes and their bound, pass by pass.

Novikoff, On convergence proofs for perceptrons, 1962.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ..data import Block, Sum
from ..numeric.expected import Check, array, each, entries, real
from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array
from ..objective import Objective
from ..schedules import Constant, LearningRate, as_schedule
from ..separation import Separability
from ..separation.bounds import mistake_bound
from ..separation.rational import nearest, root_bounds
from ..separation.signed_rows import SignedRows
from ..solvers import State, Step
from ..training.loop import Info

PA_I = "passive_aggressive_1"
MARGIN_ERROR = 1e-6  # relative: allowed difference of margin and radius from the certificate's


@dataclass
class MistakeBoundCallback:
    """A callback that compares every pass with the bound for its update rule.

    Online, each mistake gains at least ``gamma`` along the best separator and adds at most R^2
    to ``|w|^2``, so there are at most (R / gamma)^2 mistakes. For more than two classes the update
    moves two weight vectors by (x, 1), which adds at most 2 R^2: at most 2 R^2 / gamma^2. For
    partitions of a cluster the bound is multiplied by the number of partitions
    (:mod:`separatrix.solvers.parameter_mixing`).

    For batch updates, the passes with a mistake are bounded, not the mistakes. For T of these,
    from the sum of all n signed rows, ``(n + T)^2 gamma^2 <= |w_0|^2 + T Z^2``, Z the longest sum
    of mistakes of any pass. The bound is the largest T for which this holds with the Z so far. From
    zeros n is 0.
    """

    margin: float  # a lower bound on gamma
    mistakes: float  # the bound on mistakes of one partition
    batch: bool
    start: Array
    step: float
    ahead: float  # number of margins gained by the start: one for every row (or pair) in its sum
    parts: int = 1
    before: Array = field(init=False)
    longest: float = 0.0
    so_far: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.before = self.start

    def __call__(self, step: Step, info: Info) -> None:
        """Record one pass."""
        mistakes = step.mistakes or 0.0
        happened = float(mistakes > 0.0) if self.batch else mistakes
        self.so_far.append(happened + (self.so_far[-1] if self.so_far else 0.0))
        if self.batch:
            moved = float(np.linalg.norm(step.weights - self.before)) / self.step
            self.before, self.longest = step.weights, max(self.longest, moved)
        self.most.append(self.bound())

    def bound(self) -> float:
        """Bound on the number of mistakes, or of passes with mistakes."""
        if not self.batch:
            return self.parts * self.mistakes
        up = 1.0 + (self.start.size + 8) * EPS  # allow for rounding of the norms
        first, longest = up * float(np.linalg.norm(self.start)), up * self.longest
        if not np.isfinite(first + longest):
            return np.inf
        # The larger root of gamma^2 (a + T)^2 = |w_0|^2 + T Z^2, all lengths in units of gamma.
        a, gamma = Fraction(self.ahead), Fraction(self.margin)
        half = (Fraction(longest) / gamma) ** 2 / 2 - a
        square = half**2 + (Fraction(first) / gamma) ** 2 - a**2
        root = root_bounds(square)[1] if square > 0 else 0.0
        return float(
            np.nextafter(nearest(half + Fraction(root)) if root < np.inf else root, np.inf)
        )

    def to_state(self) -> State:
        return {name: getattr(self, name) for name in ("before", "longest", "so_far", "most")}

    def expected_state(self) -> Check:
        """Checks for the result of ``to_state``."""
        W, numbers = array(*self.start.shape), each(real)
        return entries({"before": W, "longest": real, "so_far": numbers, "most": numbers})

    def restore(self, state: State) -> None:
        """Continue from the passes of another callback of the same run."""
        self.before, self.longest = state["before"], state["longest"]
        self.so_far, self.most = list(state["so_far"]), list(state["most"])

    def columns(self) -> dict[str, AnyArray]:
        """Columns added to the history: one entry per pass."""
        names = ("passes_with_mistakes", "pass_bound")
        if not self.batch:
            names = ("mistakes_so_far", "mistake_bound")
        return dict(zip(names, (np.array(self.so_far), np.array(self.most)), strict=True))


def mistake_bound_callback(
    theory: Any,
    objective: Objective,
    W: Array,
    *,
    update: str,
    learning_rate: LearningRate,
    l2: float,
) -> MistakeBoundCallback:
    """The callback for a run from W, if the assumptions of the theory hold."""
    if objective.source.has_offset:
        raise ValueError(
            "monitor bounds the mistakes of a run without an offset: set monitor=None, or leave "
            "out the offset"
        )
    if not isinstance(theory, Separability):
        raise TypeError(
            f"monitor must be None or what separatrix.separability(X, y) returns, got {theory!r}"
        )
    if theory.verdict != "separable":
        raise ValueError(
            f"monitor says that the data is {theory.verdict}: only on separable data are the "
            "mistakes bounded; set monitor=None"
        )
    if not theory.margin:
        raise ValueError(
            "monitor has no mistake bound: the margin is too small to be represented in floating "
            "point; set monitor=None, or scale the features first"
        )
    if not theory.signed.intercept:
        raise ValueError(
            "monitor is about planes through the origin; call separability with fit_intercept=True"
        )
    if l2:
        raise ValueError(f"monitor expects no penalty, got l2={l2!r}; set l2=0")
    if not objective.intercept:
        raise ValueError("monitor is for weights with a bias; set fit_intercept=True")
    step, batch = _constant_step(learning_rate), update == "batch"
    ahead = _ahead(batch, objective, W)
    if ahead and step != 1.0:
        raise ValueError(
            f"monitor bounds the batch perceptron from start='sum' at learning_rate=1, got "
            f"{step:g}; set learning_rate=1 or start='zeros'"
        )
    margin, mistakes = _proven_here(theory, objective)
    parts = objective.source.parts or 1
    return MistakeBoundCallback(margin, mistakes, batch, W, step, ahead, parts)


def passive_aggressive_bound(
    theory: Any, objective: Objective, W: Array, *, rule: str, C: float
) -> MistakeBoundCallback:
    """The callback for passive-aggressive learning from W, if the assumptions of the theory hold.

    With u the separator of margin 1, ``|u| = 1 / gamma``, no row has a loss at u. PA-I makes at
    most ``max(R^2, 1 / C) |u|^2`` mistakes and PA-II ``(R^2 + 1 / (2 C)) |u|^2`` (Crammer et al.,
    Online passive-aggressive algorithms, 2006; derived in docs/maths.md). For more than two classes
    a row moves two weight vectors, and R^2 counts twice. ``(R / gamma)^2`` is the bound of the
    perceptron.
    """
    found = mistake_bound_callback(theory, objective, W, update="online", learning_rate=1.0, l2=0.0)
    if np.isfinite(found.mistakes):
        of_rows, of_C = Fraction(found.mistakes), 1 / (Fraction(C) * Fraction(found.margin) ** 2)
        bound = max(of_rows, of_C) if rule == PA_I else of_rows + of_C / 2
        found.mistakes = float(np.nextafter(nearest(bound), np.inf))
    return found


def _constant_step(learning_rate: LearningRate) -> float:
    schedule = as_schedule(learning_rate)
    if not isinstance(schedule, Constant):
        raise ValueError(
            f"monitor expects a constant step, got learning_rate={learning_rate!r}; "
            "set learning_rate=1"
        )
    return float(schedule.step)


def _ahead(batch: bool, objective: Objective, W: Array) -> float:
    if not W.any():
        return 0.0
    if not batch:
        raise ValueError(
            "monitor bounds the online perceptron from zero weights; set start='zeros' and "
            "warm_start=False"
        )
    if not np.array_equal(W, objective.signed_row_sum()):
        raise ValueError(
            "monitor bounds the batch perceptron from start='sum' or 'zeros'; set one of them and "
            "warm_start=False"
        )
    rivals = len(objective.source.classes) - 1  # each row is in the sum once per rival
    return float(objective.source.n_rows * rivals)


@dataclass(frozen=True)
class OtherWeights(Sum[tuple[int]]):
    """Number of rows with a weight other than 1."""

    def of(self, block: Block) -> tuple[int]:
        return (int(np.count_nonzero(block.weights != 1.0)),)


def _proven_here(theory: Separability, objective: Objective) -> tuple[float, float]:
    """A margin and a bound on mistakes that hold for the rows of this fit.

    They need not be the certificate's rows, but its numbers must hold for them.
    """
    V = _weights(theory)
    if V.shape != objective.shape:
        raise ValueError(
            f"monitor is for weights of shape {V.shape}, and this data asks for "
            f"{objective.shape}: one row for two classes, else one per class, one column per "
            "feature and the bias; call separability on the data of this fit"
        )
    (weighed,) = objective.source.total(OtherWeights())
    if weighed:
        raise ValueError(
            "monitor counts rows of weight 1: drop sample_weight and class_weight, or set "
            "monitor=None"
        )
    rows = SignedRows(objective.source)
    margin, radius = theory.margin_on(rows), rows.radius
    promised, longest = float(theory.margin or 0.0), float(theory.radius)
    if margin < (1.0 - MARGIN_ERROR) * promised or radius > (1.0 + MARGIN_ERROR) * longest:
        raise ValueError(
            f"monitor is of other data: it promises a margin of {promised:.6g} and rows of length "
            f"{longest:.6g} at most, and here they are {margin:.6g} and {radius:.6g}; call "
            "separability on the data of this fit"
        )
    margin = min(margin, promised)
    return margin, max(float(theory.mistake_bound or 0.0), mistake_bound(rows, margin))


def _weights(theory: Separability) -> Array:
    coef = np.atleast_2d(np.asarray(theory.coef, dtype=np.float64))
    return np.column_stack([coef, np.asarray(theory.intercept, dtype=np.float64)])
