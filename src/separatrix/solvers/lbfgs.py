"""L-BFGS in variables in which the curvature is about 1."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ..loops import Interrupted
from ..numeric import checks
from ..numeric.dot import dot
from ..numeric.tolerances import OBJECTIVE_ROUNDING, SMALLEST_NORMAL
from ..numeric.types import Array
from ..objective import Evaluation, Objective
from ..objective.standardization import Standardization
from .base import Solver, State, Step
from .preconditioning import Factored

DECREASE, FLATTEN = 1e-4, 0.9  # the two Wolfe conditions
FLOAT32_ROUNDING = 1e-7  # of J, from sums in float32: smaller differences mean nothing
MOST_TRIALS = 40
REFRESH = 15  # steps after which a second derivative is out of date
# Rows of a sample: at least so many, and as many as cost no more than an evaluation of all. Each
# evaluation then brings J nearer by their number per feature: where they are dear, few will do.
SAMPLE_ROWS, SAMPLE_PER_FEATURE = 4096, 10
SAMPLE_SHARE, SAMPLE_COST = 1 / 32, 3.0
DEAR, FEWEST_PER_FEATURE = 200.0, 3
# Far from the minimum of large rows in float32, sums are rough: until so little of J remains that
# one step by exact sums will do, or none; or so little would at the pace of the step before.
LARGE = 1e7  # bytes: from there on reading is most of a step
ONE_STEP, NO_STEP, AFTER_ONE, MOST_ROUGH_STEPS = 1e-6, 3e-7, 3e-8, 50
# Products of BLAS while an evaluation reads one value: what a second derivative costs is told in
# evaluations. Up to AT_ONCE of them it is factored at once. Beyond, when steps without it prove
# so slow that PLACES decimal places take more of them than the factor costs; not before they have
# cost a share of that, for some steps are slow by chance.
PRODUCTS = 15.0
STEP = 1e6  # bytes that could be read while a step is prepared
CLASSES = 3  # whose scores cost as much as reading the rows
AT_ONCE = 4.0
PLACES, LOOK_BACK = 8.0, 6
SMALL_SAMPLE = 1 / 8  # of the rows: so few are minimised first
MOST_STEPS_ON_SAMPLE = 30
MOST_APART = 20_000_000  # values in the second derivatives of all classes, if each has its own


@dataclass(frozen=True, repr=False)
class LBFGS(Solver):
    """Limited-memory BFGS: gradients of the last few steps stand for the curvature.

    Two-loop recursion (Nocedal, 1980) and a line search to the strong Wolfe conditions, so
    that smooth losses that are not convex will do. Every evaluation reads the data once.

    It works in variables in which features are centred and of one scale; up to
    ``factored_features`` of them, and for a convex loss, in those of the second derivative on
    a sample of the rows, taken anew every few steps: at once where that costs a few evaluations,
    else if progress is slow without. At first all classes share the mean of theirs; taken anew,
    each has its own, for a row that bends for one class may not for another. In place of zeros it
    begins at the minimum of the sample. Many rows in float32 are summed in float32 far from the
    minimum, twice as fast; what comes of it counts as one step, and whatever is told of a step is
    exact.
    """

    memory: int = 10
    factored_features: int = 5000

    def check(self, objective: Objective) -> None:
        """Only losses without kinks."""
        if not checks.is_integer(self.memory) or self.memory < 1:
            raise ValueError(f"memory must be a whole number of 1 or more, got {self.memory!r}")
        if not objective.loss.smooth:
            raise ValueError(
                f"LBFGS needs a loss without kinks, and {objective.loss.name!r} has one; use "
                "DualAscent() for the hinge, GradientDescent(), or loss='squared_hinge'"
            )

    def _sample(self, objective: Objective) -> Objective | None:
        """Random rows that tell the second derivative, if it may be factored."""
        loss, source, d = objective.loss, objective.source, objective.source.n_features
        if not loss.has_curvature or not loss.convex or d > self.factored_features:
            return None
        share = min(SAMPLE_SHARE, SAMPLE_COST / d)
        most = max(FEWEST_PER_FEATURE * d, int(DEAR / d * source.n_rows))
        least = min(SAMPLE_PER_FEATURE * d, most)
        return objective.sample(max(SAMPLE_ROWS, least, int(share * source.n_rows)))

    def _price(self, objective: Objective) -> float:
        """How many evaluations cost as much as forming and factoring the second derivative."""
        sample, source = self._sample(objective), objective.source
        if sample is None:
            return np.inf
        k, d = objective.shape
        products = d * d * (d + sample.source.n_rows) * source.dtype.itemsize
        reading = STEP + source.n_rows * source.row_bytes * max(1.0, k / CLASSES)
        return products / (PRODUCTS * reading)

    def _coordinates(
        self, objective: Objective, anchor: Array, apart: bool = False
    ) -> Standardization | Factored:
        """Those of the second derivative at the anchor, if there is one."""
        standardization = objective.checked_standardization()
        if not len(anchor):
            return standardization
        sample = self._sample(objective)
        assert sample is not None
        which = range(len(anchor)) if apart else (None,)
        dtype = sample.source.dtype
        return Factored.of(
            standardization,
            *(sample.class_hessian(anchor, standardization, dtype, c) for c in which),
        )

    def _near(self, objective: Objective, W: Array) -> tuple[Array, Evaluation]:
        """In place of zeros the minimum of the sample, itself from a smaller one; and J there.

        Minima of m random rows and of all are about d / m of J apart: no nearer than that is the
        sample worth following.
        """
        if W.any():
            at = objective.value_and_gradient(W)
            if np.isfinite(at.value) and np.all(np.isfinite(at.gradient)):
                return W, at
            W = np.zeros_like(W)  # from so far away there is no way back
        sample = self._sample(objective)
        if sample is None or sample.source.n_rows > SMALL_SAMPLE * objective.source.n_rows:
            return W, objective.at_zeros()
        noise = W.shape[1] / sample.source.n_rows
        there = W
        for step in islice(self._walk(sample, W, None), MOST_STEPS_ON_SAMPLE):
            there, expected = step.weights, noise * (step.objective or 0.0)
            if step.predicted_decrease is not None and step.predicted_decrease <= expected:
                break
        at = objective.value_and_gradient(there)
        if at.value <= sample.at_zeros().value:  # as that of all rows
            return there, at
        return W, objective.at_zeros()  # few rows may be separable where all are not

    @property
    def monotone(self) -> bool:
        """Yes."""
        return True

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One step after another, each from a line search; far from the minimum by rough sums."""
        if state is None:
            for step in self._roughly(objective, W):
                state = step.state
                yield step
        yield from islice(self._walk(objective, W, state), 1, None)

    def _roughly(self, objective: Objective, W: Array) -> Iterator[Step]:
        """Where steps by rough sums lead to, as one step, with the exact J there.

        None if they save no time, or prove too rough to lower J.
        """
        large = objective.source.n_rows * objective.source.row_bytes >= LARGE
        rough = objective.in_float32() if large else None
        if rough is None:
            return
        values: list[float] = []
        before = 0.0
        walk = self._walk(rough, W, None)
        try:
            for reached in islice(walk, MOST_ROUGH_STEPS):
                J, lowest = reached.objective or 0.0, min(values, default=np.inf)
                values.append(J)
                remaining = reached.predicted_decrease or 0.0
                near = remaining <= ONE_STEP * J or remaining**2 <= AFTER_ONE * J * before
                if near or lowest <= J:
                    break
                before = remaining
            step = walk.send(objective)
        except Interrupted:
            if len(values) > 1:
                yield Step(reached.weights, reached.state)
            raise
        if (step.objective or 0.0) <= values[0] + FLOAT32_ROUNDING * abs(values[0]):
            yield step
            yield from walk

    def _walk(
        self, objective: Objective, W: Array, state: State | None
    ) -> Generator[Step, Objective | None, None]:
        """The same, with the place where it begins; after rough sums it is sent exact ones."""
        price = self._price(objective)
        if state is None:
            W, at = self._near(objective, W)
            moved = changed = np.empty((0, *W.shape))
            anchor, age, trail = W if price <= AT_ONCE else W[:0], 0, np.empty(0)
            apart = False
        else:
            at = Evaluation(state["value"], state["gradient"], state["mistakes"])
            W, moved, changed, anchor, age, trail, apart = (
                state[name]
                for name in ("weights", "moved", "changed", "anchor", "age", "trail", "apart")
            )
        coordinates = self._coordinates(objective, anchor, apart)
        each = len(W) if W.size * W.shape[1] <= MOST_APART else 1
        while True:
            state = {
                "weights": W, "moved": moved, "changed": changed, "anchor": anchor, "age": age,
                "trail": trail, "apart": apart, "value": at.value, "gradient": at.gradient,
                "mistakes": at.mistakes,
            }  # fmt: skip
            g, p, slope = downhill(coordinates, at, moved, changed)
            remaining = -0.5 * slope
            exact = yield Step(
                W, state, at.value, at.mistakes, predicted_decrease=remaining, gradient=at.gradient
            )
            least = max(REFRESH, each * price / 4) if len(anchor) else price / 8
            if age >= least and slow(trail, each * price if len(anchor) else price):
                del coordinates  # as large as the new ones
                anchor, age, apart = W, 0, len(anchor) > 0 and each > 1
                coordinates = self._coordinates(objective, W, apart)
                moved, changed = moved[:0], changed[:0]
                g, p, slope = downhill(coordinates, at, moved, changed)
            age += 1
            unsure = FLOAT32_ROUNDING if objective.float32_sums else OBJECTIVE_ROUNDING
            trials = MOST_TRIALS
            if exact is not None:
                objective, trials = exact, int(remaining > NO_STEP * at.value)
            direction = coordinates.to_weights(p)
            length, there, then = line_search(objective, W, at, direction, slope, unsure, trials)
            if exact is not None and length == 0.0:  # stay, but know J exactly
                at = objective.value_and_gradient(W)
                continue
            s, y = length * p, coordinates.gradient(then.gradient) - g
            sizes = dot(s, s), dot(y, y)
            least = max(1e-14 * np.sqrt(sizes[0]) * np.sqrt(sizes[1]), SMALLEST_NORMAL)
            if dot(s, y) > least and sizes[1] > SMALLEST_NORMAL:
                moved = np.concatenate([moved, s[None]])[-self.memory :]
                changed = np.concatenate([changed, y[None]])[-self.memory :]
            elif length == 0.0:  # rounding stands in the way: forget, and go down the gradient
                moved, changed = moved[:0], changed[:0]
            W, at = there, then
            trail = np.append(trail, -0.5 * slope)[-LOOK_BACK - 1 :]


def downhill(
    coordinates: Standardization | Factored, at: Evaluation, moved: Array, changed: Array
) -> tuple[Array, Array, float]:
    """The gradient, the direction that the recent steps suggest, and the slope along it."""
    g = coordinates.gradient(at.gradient)
    p = -two_loop(g, moved, changed)
    return g, p, dot(g, p)


def slow(trail: Array, price: float) -> bool:
    """Whether so many steps would not get far, at the pace of those that left this trail."""
    if len(trail) <= LOOK_BACK or not price < np.inf or not trail.min() > 0.0:
        return False
    places = float(np.log10(trail[0] / trail[-1])) / LOOK_BACK
    return price * places < PLACES


def two_loop(g: Array, moved: Array, changed: Array) -> Array:
    """The inverse curvature that the recent steps suggest, times g."""
    q = g.copy()
    alphas = []
    for s, y in zip(moved[::-1], changed[::-1], strict=True):
        alphas.append(dot(s, q) / dot(s, y))
        q -= alphas[-1] * y
    if len(moved):
        q *= dot(moved[-1], changed[-1]) / dot(changed[-1], changed[-1])
    for s, y, alpha in zip(moved, changed, reversed(alphas), strict=True):
        q += (alpha - dot(y, q) / dot(s, y)) * s
    return q


def line_search(
    objective: Objective,
    W: Array,
    at: Evaluation,
    direction: Array,
    slope: float,
    unsure: float = OBJECTIVE_ROUNDING,
    trials: int = MOST_TRIALS,
) -> tuple[float, Array, Evaluation]:
    """A length along the direction that meets the strong Wolfe conditions.

    Lengthen until a bracket is found, then halve or interpolate inside it. Near the minimum
    rounding hides the decrease of J long before the gradient has vanished: there a slope that
    does not overshoot will do (Hager and Zhang, 2005). Where none is found, the length is 0 and
    the weights stay. Differences of J up to a share that is unsure mean nothing.
    """
    low, high = 0.0, np.inf
    best = (0.0, W, at)
    low_value, low_slope = at.value, slope
    length = 1.0
    unsure *= abs(at.value)
    for _ in range(trials):
        there = W + length * direction
        then = objective.value_and_gradient(there)
        steep = dot(then.gradient, direction)
        falls = then.value <= at.value + DECREASE * length * slope or (
            then.value <= at.value + unsure and steep <= (2.0 * DECREASE - 1.0) * slope
        )
        if not np.isfinite(then.value) or not falls or then.value > low_value + unsure:
            high = length
        elif abs(steep) <= -FLATTEN * slope:
            return length, there, then
        else:
            best = (length, there, then)
            if steep > 0.0:
                high, low, low_value, low_slope = low, length, then.value, steep
            else:
                low, low_value, low_slope = length, then.value, steep
        length = _next_length(low, low_value, low_slope, high, length, then.value)
        if not length > 0.0 or length in (low, high):
            break
    return best


def _next_length(
    low: float, low_value: float, low_slope: float, high: float, tried: float, value: float
) -> float:
    """Beyond a step that was too short; inside the bracket after one that was too long."""
    if np.isinf(high):
        return 2.0 * tried
    width = high - low
    # Minimum of the parabola through low (value and slope) and the last trial, kept inside.
    gap = tried - low
    bend = value - low_value - low_slope * gap if tried != low and np.isfinite(value) else 0.0
    share = -low_slope * gap * gap / (2.0 * bend) / width if bend > 0.0 else 0.5
    return low + width * min(max(share, 0.1), 0.9)
