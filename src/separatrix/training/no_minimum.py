"""Whether J has a minimum, or runs off along a separating direction.

The logistic loss, softmax and the squared tanh fall for ever as margins grow. If a direction that
costs nothing (in the features without a penalty and the bias) gives no row a negative margin and
one a positive (these features separate or quasi-separate the data), J falls along it from any
weights: there is no minimum, and where a solver stops is an accident. That this is the only way not
to have one was shown by A. Albert and J. A. Anderson, On the existence of maximum likelihood
estimates in logistic regression models, Biometrika 71 (1984).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data import InMemory, Source
from ..data.labels_in_memory import LabelsInMemory
from ..data.wrapped import SomeFeatures
from ..losses import Loss
from ..numeric.types import Array, Ints
from ..objective import Objective
from ..proofs.free_features import free_features, has_minimum
from ..proofs.units import GivenUnits
from ..separation import decide
from ..separation.budget import OutOfWork, limited_work

TIMES, LEAST_READS = 10, 50  # the reads of the fit that the verdict may cost; so many in any case
MOST_WORK = 2e7  # of exact arithmetic, in units of about a microsecond
FEW_VARIABLES, MOST_VARIABLES = 2000, 4000  # of whose second derivative a proof is made
VARIABLES_A_READ = 4 * TIMES  # of the fit: the second derivative of so many costs as much as TIMES
LAST_STEP = 1e-2  # in variables of one scale: weights that have arrived move less
PASSES_TO_GROWTH, GROWTH = 20, 1.01  # of the norm, in the later half of so many passes or more
RUNS_OFF = 1e-3  # of the largest: coefficients of a direction that run off with it


@dataclass(frozen=True)
class Runaway:
    """Why there is no minimum, or that it was not settled."""

    settled: bool
    verdict: str = ""
    """``"separable"`` or ``"quasi-separable"``."""
    features: tuple[int, ...] = ()
    """Features whose coefficients run off, the fastest first."""
    intercept: bool = False
    """Whether a bias does."""

    def with_features(self, numbers: Ints) -> Runaway:
        """The same with other numbers for the features."""
        return replace(self, features=tuple(numbers[list(self.features)].tolist()))


@dataclass(frozen=True)
class Existence:
    """What is known of a minimum of J."""

    runaway: Runaway | None = None
    """Why there is none, or that it was not settled; None if there is one."""
    resolved: bool = True
    """Whether floating point resolves J near the weights in every direction."""


def existence(
    units: GivenUnits,
    W: Array,
    at_rest: bool,
    moved: Array | None,
    norms: Array,
    reads: int,
) -> Existence:
    """Whether J has a minimum, where some features, or all, have no penalty.

    If the run came to rest and the loss is convex, W itself proves that there is one, as a rule.
    Otherwise rows that are all right settle it, or the verdict on separability does; but after a
    run that was cut short the verdict is asked for only if the weights still grew. A loss that
    attains its infimum always has a minimum; but W need not be near it. Rows that were standardised
    are judged as given, before their values were rounded.
    """
    objective = units.objective
    try:
        objective.standardization  # noqa: B018 (to be remembered)
    except ValueError:  # squares overflow: nothing can be told
        return Existence(None if objective.loss.attained else Runaway(settled=False))
    free, proven, convex = free_features(objective), None, objective.loss.convex
    most = min(max(FEW_VARIABLES, VARIABLES_A_READ * reads), MOST_VARIABLES)
    if at_rest and convex and len(W) * (len(free) + 1) <= most:
        proven = has_minimum(objective, W, units.rounds_rows)
    if proven or objective.loss.attained:
        return Existence(resolved=proven is not False)
    alone = np.zeros_like(W)
    alone[:, [*free, -1]] = W[:, [*free, -1]]
    if objective.value(alone)[1] == 0.0 and units.mistakes(units.weights(alone)) == 0.0:
        return Existence(_along(objective, alone, "separable"))
    grows = _grows(objective, moved, norms)
    if not at_rest and not grows:
        return Existence()
    found = _verdict(units, free, max(TIMES * reads, LEAST_READS))
    if found is None and not convex and grows:
        found = Runaway(settled=False)  # it may run off all the same
    elif found is not None and not found.settled and not convex and not grows:
        found = None  # it rests, at a minimum of its surroundings
    return Existence(found, resolved=proven is not False)


def _verdict(units: GivenUnits, free: Ints, most_reads: int) -> Runaway | None:
    objective = units.objective
    same = units.given is not None and units.given.n_features == objective.source.n_features
    rows = units.given if units.given is not None and same else objective.source
    for source in _sources(rows, objective.loss):
        some = source if len(free) == source.n_features else SomeFeatures(source, free)
        try:
            with limited_work(MOST_WORK):
                found = decide(some, intercept=objective.intercept, most_reads=most_reads)
        except OutOfWork:
            found = None
        if found is None:
            return Runaway(settled=False)
        if found.direction is not None:  # which data that overlaps has not
            direction = np.zeros((len(found.direction), objective.shape[1]))
            direction[:, [*free, -1]] = found.direction
            return _along(objective, direction, found.verdict)
    return None


def _grows(objective: Objective, moved: Array | None, norms: Array) -> bool:
    """Whether the weights had not come to rest."""
    if moved is None:
        return True
    if len(norms) >= PASSES_TO_GROWTH and norms[-1] > GROWTH * norms[len(norms) // 2]:
        return True
    return bool(np.abs(objective.standardization.from_weights(moved)).max() > LAST_STEP)


def _sources(source: Source, loss: Loss) -> list[Source]:
    """The data; where every class has a loss of its own, once for each class."""
    if loss.column_loss is None or len(source.classes) == 2:
        return [source]
    if not isinstance(source, InMemory):
        source = LabelsInMemory.of(source)
    two = np.array([0, 1])
    each = range(len(source.classes))
    return [source.with_labels(np.where(source.y == c, 1.0, -1.0), two) for c in each]


def _along(objective: Objective, direction: Array, verdict: str) -> Runaway:
    sizes = np.abs(objective.standardization.from_weights(direction)).max(axis=0)
    order = np.argsort(-sizes[:-1], kind="stable")
    fast = tuple(int(j) for j in order if sizes[j] > RUNS_OFF * sizes.max())
    bias = bool(np.abs(direction[:, -1]).max() > RUNS_OFF * np.abs(direction).max())
    return Runaway(True, verdict, fast, bias)
