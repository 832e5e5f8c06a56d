"""Whether J has a minimum, or decreases forever along a separating direction.

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

from ..data import Block, InMemory, Source
from ..data.labels import signs_of
from ..data.wrapped import BlockMap, MappedSource, SomeFeatures
from ..losses import Loss
from ..numeric.types import Array, Ints
from ..objective import Objective
from ..proofs.free_features import affordable, free_features, has_minimum
from ..proofs.units import GivenUnits
from ..separation import decide
from ..separation.budget import OutOfWork, limited_work

TIMES, LEAST_READS = 10, 50  # reads of the fit that the verdict may cost, and their minimum
MOST_WORK = 2e7  # of exact arithmetic, in units of about a microsecond
LAST_STEP = 1e-2  # in variables of one scale: converged weights move less
PASSES_TO_GROWTH, GROWTH = 20, 1.01  # of the norm, in the second half of this many passes or more
RUNS_OFF = 1e-3  # relative to the largest: coefficients of a direction that diverge with it


@dataclass(frozen=True)
class Runaway:
    """Why there is no minimum, or that this is undecided."""

    settled: bool
    verdict: str = ""  # ``"separable"`` or ``"quasi-separable"``
    features: tuple[int, ...] = ()  # features whose coefficients diverge, the fastest first
    intercept: bool = False  # whether a bias diverges

    def with_features(self, numbers: Ints) -> Runaway:
        """A copy with other feature indices."""
        return replace(self, features=tuple(numbers[list(self.features)].tolist()))


@dataclass(frozen=True)
class Existence:
    """Whether J has a minimum, as far as known."""

    runaway: Runaway | None = None
    """Why there is none, or that this is undecided; None if there is one."""
    resolved: bool = True  # whether floating point resolves J near the weights in every direction


def existence(
    units: GivenUnits,
    W: Array,
    at_rest: bool,
    moved: Array | None,
    norms: Array,
    reads: int,
) -> Existence:
    """Whether J has a minimum, if some or all features are unpenalised.

    If the run converged and the loss is convex, W itself usually proves that there is one.
    Otherwise it is decided by rows that are all classified correctly, or by the verdict on
    separability; after an interrupted run the verdict is computed only if the weights still grew.
    A loss that attains its infimum always has a minimum, but W need not be near it. Standardised
    rows are judged as given, before their values were rounded.
    """
    objective = units.objective.without_offset  # which changes no direction
    try:
        objective.standardization  # noqa: B018 (cached for later use)
    except ValueError:  # squares overflow: nothing can be concluded
        return Existence(None if objective.loss.attained else Runaway(settled=False))
    free, proven, convex = free_features(objective), None, objective.loss.convex
    if at_rest and convex and affordable(objective, reads):
        proven = has_minimum(units, W)
    if proven or objective.loss.attained:
        return Existence(resolved=proven is not False)
    alone = np.zeros_like(W)
    alone[:, [*free, -1]] = W[:, [*free, -1]]
    plain = units.without_offset
    if objective.value(alone)[1] == 0.0 and plain.mistakes(plain.weights(alone)) == 0.0:
        return Existence(_along(objective, alone, "separable"))
    grows = _grows(objective, moved, norms)
    if not at_rest and not grows:
        return Existence()
    found = _verdict(plain, free, max(TIMES * reads, LEAST_READS))
    if found is None and not convex and grows:
        found = Runaway(settled=False)  # it may diverge even so
    elif found is not None and not found.settled and not convex and not grows:
        found = None  # it converged to a local minimum
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
        if found.direction is not None:  # data that overlaps has none
            direction = np.zeros((len(found.direction), objective.shape[1]))
            direction[:, [*free, -1]] = found.direction
            return _along(objective, direction, found.verdict)
    return None


def _grows(objective: Objective, moved: Array | None, norms: Array) -> bool:
    """Whether the weights had not converged."""
    if moved is None:
        return True
    if len(norms) >= PASSES_TO_GROWTH and norms[-1] > GROWTH * norms[len(norms) // 2]:
        return True
    return bool(np.abs(objective.standardization.from_weights(moved)).max() > LAST_STEP)


def _sources(source: Source, loss: Loss) -> list[Source]:
    """The data; for sums over columns, once for each class or label."""
    two = len(source.classes) == 2 and not source.multilabel
    return [source] if loss.column_loss is None or two else column_sources(source)


def column_sources(source: Source) -> list[Source]:
    """The data with two classes, once for each class against the rest or for each label."""
    each = range(len(source.classes))
    if not isinstance(source, InMemory):
        return [OneAgainstTheRest(source, c) for c in each]
    return [source.with_labels(signs_of(source.y, c), np.array([0, 1])) for c in each]


class OneAgainstTheRest(MappedSource):
    """The rows of another source with two classes: those with one class or label, and others."""

    def __init__(self, source: Source, number: int) -> None:
        super().__init__(source, Relabelling(number))
        self.classes = np.array([0, 1])


@dataclass(frozen=True)
class Relabelling(BlockMap):
    """A block whose label is +1 for one class or label and -1 for all others."""

    number: int
    copies = False

    def __call__(self, block: Block) -> Block:
        return block._replace(y=signs_of(block.y, self.number))


def _along(objective: Objective, direction: Array, verdict: str) -> Runaway:
    sizes = np.abs(objective.standardization.from_weights(direction)).max(axis=0)
    order = np.argsort(-sizes[:-1], kind="stable")
    fast = tuple(int(j) for j in order if sizes[j] > RUNS_OFF * sizes.max())
    bias = bool(np.abs(direction[:, -1]).max() > RUNS_OFF * np.abs(direction).max())
    return Runaway(True, verdict, fast, bias)
