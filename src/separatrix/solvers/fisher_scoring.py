"""Fisher scoring with a memory, for the logistic likelihood with Firth's penalty.

Problem     maximise the penalised log-likelihood of ``objective/firth.py``, which is smooth and has
            a maximum at finite weights wherever the rows have full rank.
Input       its value, its gradient U and the expected information I.
Output      weights after every step, and the length of U there, ``sqrt(U' I^-1 U)``.
Algorithm   The step is ``I^-1 U``, corrected by the changes of U in up to ten earlier steps, as in
            L-BFGS with I^-1 in place of a multiple of the identity; then it is halved until the
            likelihood increases. Some variables may be held fixed.
Papers      Firth, Bias reduction of maximum likelihood estimates, Biometrika 80 (1993);
            Nocedal, Updating quasi-Newton matrices with limited storage, Mathematics of Computation
            35 (1980).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..numeric.dot import dot
from ..numeric.expected import Check, array, entries
from ..numeric.types import Array
from ..objective import Objective
from ..objective.firth import FirthLikelihood, FirthPoint
from ..objective.firth_objective import FirthObjective
from .base import Solver, State, Step

MEMORY = 10  # steps whose effect on the gradient is remembered
HALVINGS = 40  # of a step, before none is found
ENOUGH = 1e-4  # share of the first-order increase that a step must reach
ROUNDING = 1e-11  # of the likelihood: smaller changes may be rounding
CURVED = 1e-10  # least cosine of a step and the change of the gradient that is remembered


@dataclass(frozen=True, repr=False)
class FisherScoring(Solver):
    """Maximises the logistic likelihood with Firth's penalty.

    It is the solver of ``LinearClassifier(bias_reduction="firth")``, and of nothing else.

    See Also
    --------
    LinearClassifier : ``bias_reduction="firth"``.

    Examples
    --------
    >>> from separatrix import LinearClassifier
    >>> X, y = [[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]], [0, 0, 0, 1, 1, 1]
    >>> clf = LinearClassifier(bias_reduction="firth", tol=1e-10).fit(X, y)
    >>> clf.stop_, clf.coef_.round(6)
    ('stationary', array([[3.89182]]))
    """

    name = "FisherScoring"
    draws = False

    @property
    def monotone(self) -> bool:
        """Yes: no step lowers the penalised likelihood."""
        return True

    def check(self, objective: Objective) -> None:
        """Only Firth's objective."""
        _likelihood(objective)

    def expected_state(self, objective: Objective) -> Check:
        """The variables, and the remembered steps."""
        p = _likelihood(objective).size
        return entries({"variables": array(p), "moves": array(None, p), "changes": array(None, p)})

    def steps(
        self, objective: Objective, W: Array, rng: np.random.Generator, state: State | None = None
    ) -> Iterator[Step]:
        """One step after another; each yields weights at which the gradient is known."""
        likelihood = _likelihood(objective)
        total = objective.source.weight_sum
        u = likelihood.variables(W) if state is None else state["variables"]
        for step in scoring_steps(likelihood, u, None, state):
            yield Step(
                likelihood.weights(step.at.u), step.state(), step.at.value / total,
                step.at.mistakes, gradient_length=step.length,
            )  # fmt: skip


def _likelihood(objective: Objective) -> FirthLikelihood:
    # Any other objective would be replaced by this one without a word.
    if not isinstance(objective, FirthObjective):
        raise TypeError(
            "FisherScoring maximises the likelihood with Firth's penalty and no other objective: "
            "use it with LinearClassifier(bias_reduction='firth')"
        )
    return objective.likelihood


class SingularInformationError(ValueError):
    """The expected information has no inverse where the steps begin."""


@dataclass
class ScoringStep:
    """A point of Fisher scoring, its gradient, and what is remembered of the steps before."""

    at: FirthPoint
    score: Array
    length: float
    """Length of the gradient in standard errors: how far the maximum is, to first order."""
    moves: Array
    changes: Array

    def state(self) -> State:
        """What the run goes on from."""
        return {"variables": self.at.u, "moves": self.moves, "changes": self.changes}


def scoring_steps(
    likelihood: FirthLikelihood, u: Array, basis: Array | None = None, state: State | None = None
) -> Iterator[ScoringStep]:
    """Steps from u, without end, in the span of an orthonormal basis, (p, q), or everywhere."""
    p = likelihood.size
    moves, changes = np.empty((0, p)), np.empty((0, p))
    if state is not None:
        moves, changes = state["moves"], state["changes"]
    at = likelihood.at(u)
    if state is None and _inside(u, basis).any():  # far away the information is nearly singular
        zero = likelihood.at(u - _whole(_inside(u, basis), basis))
        at = zero if at is None or (zero is not None and zero.value < at.value) else at
    if at is None:
        raise SingularInformationError(
            "the expected information of these rows is singular: features are combinations of "
            "others; leave them out, or use l2 > 0"
        )
    score, seen = likelihood.score(at), state is not None
    while True:
        information = _inside(_inside(at.information, basis).T, basis)
        factor, g = cho_factor(information), _inside(score, basis)
        length = float(np.sqrt(max(dot(g, cho_solve(factor, g)), 0.0)))
        step = ScoringStep(at, score, length, moves, changes)
        if not seen:
            yield step
        seen = False
        direction = _direction(factor, g, _inside(moves, basis), _inside(changes, basis))
        found = _search(likelihood, step, _whole(direction, basis))
        if found is None and len(moves):  # what is remembered may mislead
            moves, changes = moves[:0], changes[:0]
            found = _search(likelihood, step, _whole(cho_solve(factor, g), basis))
        if found is None:
            continue  # rounding allows no more: the same weights again
        then = likelihood.score(found)
        move, change = found.u - at.u, score - then
        along, bent = _inside(move, basis), _inside(change, basis)
        if dot(along, bent) > CURVED * np.linalg.norm(along) * np.linalg.norm(bent):
            moves = np.vstack([moves, move])[-MEMORY:]
            changes = np.vstack([changes, change])[-MEMORY:]
        at, score = found, then


def _inside(x: Array, basis: Array | None) -> Array:
    """Coordinates in the span of the basis, of a vector or of rows."""
    return x if basis is None else np.asarray(x @ basis)


def _whole(x: Array, basis: Array | None) -> Array:
    """The vector with these coordinates."""
    return x if basis is None else np.asarray(basis @ x)


def _direction(factor: tuple[Array, bool], g: Array, moves: Array, changes: Array) -> Array:
    """The two-loop recursion, with the inverse of the information in its middle."""
    q, shares = g.copy(), []
    for s, t in zip(moves[::-1], changes[::-1], strict=True):
        shares.append(dot(s, q) / dot(s, t))
        q -= shares[-1] * t
    r: Array = cho_solve(factor, q)
    for s, t, share in zip(moves, changes, reversed(shares), strict=True):
        r += s * (share - dot(t, r) / dot(s, t))
    return r


def _search(likelihood: FirthLikelihood, step: ScoringStep, move: Array) -> FirthPoint | None:
    """The point along the move at which the likelihood is larger; None if there is none."""
    slope, value = dot(move, step.score), step.at.value
    if not slope > 0.0:
        return None
    room, length = ROUNDING * (abs(value) + likelihood.size), 1.0
    for _ in range(HALVINGS):
        u = step.at.u + length * move
        if np.array_equal(u, step.at.u):
            return None
        found = likelihood.at(u)
        if found is not None and found.value <= value - ENOUGH * length * slope + room:
            return found
        length *= 0.5
    return None
