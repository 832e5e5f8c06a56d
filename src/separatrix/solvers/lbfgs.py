"""L-BFGS in variables in which the curvature is about 1.

Problem     min J(W), the weighted mean loss plus the penalty, with a continuous gradient.
Input       J and its gradient; for a convex loss that has one, the Hessian, mostly of a sample.
Output      W after every step, J and its gradient there, and the decrease that a step predicts.
Algorithm   u <- u + t p with p = -B g, B the two-loop recursion over the last pairs
            s = u' - u, y = g' - g, and t by a line search to the strong Wolfe conditions; u are
            the weights, preconditioned (``preconditioning``).
Paper       Nocedal, Mathematics of Computation 35 (1980); Liu and Nocedal, Mathematical
            Programming 45 (1989).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np

from ..loops import CurvaturePair, Interrupted
from ..numeric import checks
from ..numeric.expected import Check, array, each, entries, flag, real, whole
from ..numeric.tolerances import SMALLEST_NORMAL
from ..numeric.types import Array
from ..objective import Objective
from .base import Solver, State, Step
from .lbfgs_run import FLOAT32_ROUNDING, LBFGSIterate, LBFGSRun, mean_pace
from .thresholds import FLOAT32_BYTES

# Far from the minimum sums are in float32: until so little of J remains that one step by exact sums
# will do, or none; or so little would at the pace of the step before. Slow steps, by fewer decimal
# places each, go on to the rounding of these sums.
ONE_STEP, AFTER_ONE, MOST_FLOAT32_STEPS, SLOW = 1e-6, 3e-8, 200, 0.5


@dataclass(frozen=True, repr=False)
class LBFGS(Solver):
    """Limited-memory BFGS: the gradients of the last few steps approximate the curvature.

    Two-loop recursion (Nocedal, 1980) and a line search to the strong Wolfe conditions, so
    that smooth losses that are not convex will do. Every evaluation reads the data once.

    The variables are centred and scaled; for a convex loss with at most ``factored_features``
    features they are preconditioned with the second derivative on a sample of the rows, updated
    every few steps: from the start if that costs a few evaluations, else only if progress is slow
    without it; on all rows if it is slow even so. All classes share the mean of their second
    derivatives. If the loss is a sum of columns, one per class or label, each has its own when they
    are updated, or at once if that is cheap, as a row with curvature for one class may have none
    for another; and each keeps the curvature of its own steps, so that all take about as many steps
    together as the slowest alone. Instead of zeros it starts at the minimum of the sample. Large
    float32 data is summed in float32 far from the minimum, twice as fast; these steps are reported
    as one step, whose values are exact.

    Parameters
    ----------
    memory : int
        Number of past steps that approximate the curvature.
    factored_features : int
        Maximum number of features for which a second derivative is factored.

    See Also
    --------
    Newton : uses second derivatives; fewer but more expensive steps.
    LinearClassifier : ``solver=LBFGS()``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LBFGS, LinearClassifier
    >>> clf = LinearClassifier(l2=1e-3, solver=LBFGS()).fit(*load_iris(return_X_y=True))
    >>> clf.stop_, round(clf.objective_, 5)
    ('optimal', 0.12234)
    """

    name = "LBFGS"
    draws = False

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

    @property
    def monotone(self) -> bool:
        return True

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One step after another, each from a line search; far from the minimum in float32."""
        if state is not None:
            run = LBFGSRun.of(
                self, objective, LBFGSIterate.from_state(state, objective.source.vectors)
            )
        else:
            after_float32 = yield from self._float32_phase(objective, W)
            run = after_float32 or LBFGSRun.start(self, objective, W)
        while True:
            run.advance()
            yield run.step()

    def expected_state(self, objective: Objective) -> Check:
        """An iterate, with the pairs of at most ``memory`` steps."""
        W, most = array(*objective.shape), self.memory
        known = entries({
            "weights": W, "value": real, "gradient": W, "mistakes": real,
            "hessian_at": array(None, objective.shape[1]), "age": whole(),
            "recent_decrements": array(None), "renewed": flag, "of_all": flag,
            "s": each(W, most), "y": each(W, most), "sy": each(real, most), "yy": each(real, most),
        })  # fmt: skip

        def check(name: str, state: State) -> None:
            known(name, state)
            if len({len(state[each]) for each in CurvaturePair._fields}) != 1:
                raise ValueError(f"{name} has pairs of different lengths")
            for product in ("sy", "yy"):
                if not all(value > SMALLEST_NORMAL for value in state[product]):
                    raise ValueError(f"{name}.{product} must be positive")
            if len(state["hessian_at"]) not in (0, objective.shape[0]):
                raise ValueError(f"{name}.hessian_at is of another number of classes")

        return check

    def _float32_phase(
        self, objective: Objective, W: Array
    ) -> Generator[Step, None, LBFGSRun | None]:
        """Steps with float32 sums, reported as one step with the exact J, and the continuing run.

        None if they save no time, or are too inaccurate to lower J.
        """
        large = objective.source.n_rows * objective.source.row_bytes >= FLOAT32_BYTES
        float32 = objective.in_float32() if large else None
        if float32 is None:
            return None
        run = LBFGSRun.start(self, float32, W)
        first, lowest, before = run.iterate.at.value, np.inf, 0.0
        reached: LBFGSIterate | None = None
        try:
            for count in range(MOST_FLOAT32_STEPS):
                if count:
                    run.advance()
                    reached = run.iterate
                J, left = run.iterate.at.value, run.predicted_decrease
                slow = mean_pace(run.iterate.recent_decrements) < SLOW
                near = left <= (FLOAT32_ROUNDING if slow else ONE_STEP) * J
                near |= left**2 <= AFTER_ONE * J * before and not slow
                if near or lowest <= J:
                    break
                lowest, before = J, left
            run.leave_float32(objective)
        except Interrupted:
            if reached is not None:
                state = reached.to_state(run.vectors)
                yield Step(state["weights"], state)
            raise
        if not run.iterate.at.value <= first + FLOAT32_ROUNDING * abs(first):
            return None
        yield run.step()._replace(reads=count + 1)
        return run
