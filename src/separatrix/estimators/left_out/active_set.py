"""Minima without single rows for the hinge and its square, by systems of linear equations.

Problem: as in ``newton.py``, for ``max(0, 1 - m)^p`` with p = 1 or 2. Output: the minimum without
each row, the score of the row there, and a bound on its error, which is that of rounding.

Algorithm: at the minimum, rows are inside the margin (m < 1), outside (m > 1) or, for p = 1, on it
(m = 1, with a dual variable from 0 to their weight). These sets determine the minimum by linear
equations. For p = 1, with beta_j the dual variables of the rows on the margin, weights c_j, and
``C D`` the second derivative of the penalty:

    C D u - sum_on beta_j y_j z_j = sum_in c_j y_j z_j,     y_j z_j.u = 1 for the rows on it

For p = 2, ``(C D + sum_in 2 c_j z_j z_j') u = sum_in 2 c_j y_j z_j``. The weights of the problem of
all rows change linearly into those of the problem without a row. On this path the sets stay the
same until a row reaches the end of its set: there it moves. Up to rounding, few rows move.

The bound: an approximate inverse R of the system M with ``|I - R M| <= eta < 1`` bounds the
distance of the computed solution x from the exact one by ``|R r| / (1 - eta)``, with r the residual
of x, including its rounding (Krawczyk; Rump). If every row is strictly in its set for all solutions
within that distance, the exact solution meets the conditions of the minimum. Then it is the
minimum, and the bound holds. Otherwise there is no bound: for equal rows on the margin, for
example, and where the bias is free in an interval.

Cauwenberghs and Poggio, Incremental and decremental support vector machine learning, 2000. Rump,
Verification methods: rigorous results using floating-point arithmetic, 2010.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...numeric.tolerances import EPS
from ...numeric.types import AnyArray, Array, Ints
from .newton import NewtonResult
from .problem import HeldOutProblems

MOST_MOVES = 200  # of rows to other sets, on the way to the minimum without a row
NEAR = (
    1e-7,
    1e-5,
    1e-3,
)  # margins this close to 1 are on the margin at first: one guess after another
ROUNDING = 1e-12  # of a slack, relative to a margin of 1 or to the weight of a row
MOST_ETA = 0.1  # of ``|I - R M|``: above, the inverse is too inaccurate
OPERATIONS = 40  # roundings of a result besides one per added term, at most
INSIDE, ON, OUTSIDE = -1, 0, 1  # the side of the kink of its loss on which a row is


def minima(problem: HeldOutProblems) -> NewtonResult:
    """Minima without each row, for a problem of one column; the error is infinite if unproven."""
    n, _, m = len(problem.y), *problem.start.shape
    found = NewtonResult(
        np.repeat(problem.start[None], n, axis=0), np.zeros((n, 1)), np.full((n, 1), np.inf)
    )
    found.scores[:] = problem.Z @ problem.start.T + problem.offset
    whole = _System.of(problem)
    side = whole.sides_at(problem.start[0])
    if side is None:
        return found
    for row in range(n):
        end = _followed(whole, whole.without(row), side)
        if end is not None and end.proven:
            z = np.abs(problem.Z[row])
            score = float(problem.Z[row] @ end.u) + float(problem.offset[row, 0])
            size = float(z @ np.abs(end.u)) + abs(float(problem.offset[row, 0]))
            found.u[row, 0], found.scores[row] = end.u, score
            found.error[row] = float(z @ end.error) + EPS * (OPERATIONS + m) * size
    return found


def _followed(start: _System, end: _System, side: AnyArray) -> _Solution | None:
    """The minimum of ``end``, along the path of weights from ``start``, whose sets are given.

    On the path the sets stay the same until a row reaches the end of its set: it moves, and the
    path goes on. None if that happens too often, or if equations have no solution.
    """
    side, low = side.copy(), 0.0
    for _ in range(MOST_MOVES):
        before = start.towards(end, low).slacks(side)
        if before is None:
            return None
        high, mover, after = 1.0, 0, before
        for _ in range(MOST_MOVES):
            found = start.towards(end, high).slacks(side)
            if found is None:
                return None
            after = found
            failing = after.values < -ROUNDING
            if not failing.any():
                break
            # Slacks are nearly linear: the first to reach 0 between the two.
            room = np.maximum(before.values[failing], 0.0)
            reached = room / np.maximum(room - after.values[failing], ROUNDING)
            first = int(np.argmin(reached))
            at = low + (high - low) * float(reached[first])
            mover = int(np.flatnonzero(failing)[first])
            if at >= high or high - at <= ROUNDING:
                break
            high = at
        if high == 1.0 and not failing.any():
            return end.settled(side)
        row, to = after.rows[mover], after.to[mover]
        side[row], low = to, high
    return None


class _Slacks(NamedTuple):
    """Distances from the ends of the sets, for the minimum that these determine."""

    x: AnyArray
    """u, and the dual variables of the rows on the margin."""
    values: AnyArray
    """Negative for rows that contradict their set."""
    rows: Ints
    to: AnyArray
    """The set on the other side."""


@dataclass(frozen=True)
class _Solution:
    """Where the sets agree with the minimum that they determine."""

    side: AnyArray
    u: Array
    error: Array
    """Bounds on the errors of u, (m,)."""
    proven: bool


@dataclass(frozen=True)
class _System:
    """The equations, for some weights of the rows; a row of weight 0 is absent."""

    power: int
    Z: Array
    signed: Array
    """y_j z_j, (n, m)."""
    target: Array
    """1 less the margin that the offset gives, (n,)."""
    c: Array
    stiffness: Array
    """The second derivative of the penalty times the weights, (m,)."""
    present: AnyArray
    """Rows that have a weight, or had one at the start of the path."""
    problem: HeldOutProblems

    @classmethod
    def of(cls, problem: HeldOutProblems) -> _System:
        power = problem.loss.hinge_power
        assert power is not None
        target = 1.0 - problem.y * problem.offset[:, 0]
        signed = problem.y[:, None] * problem.Z
        stiffness = problem.c.sum() * problem.stiffness
        return cls(power, problem.Z, signed, target, problem.c, stiffness, problem.c > 0.0, problem)

    def without(self, row: int) -> _System:
        """The same without a row, times the factor that keeps the penalty's."""
        problem, c = self.problem, self.problem.c * (self.problem.c.sum() / self.problem.rest[row])
        factor = float(problem.factor[row])
        if factor != 1.0:
            c[problem.number == problem.number[row]] *= factor
        c[row] = 0.0
        D = problem.stiffness if problem.own_stiffness is None else problem.own_stiffness[row]
        return replace(self, c=c, stiffness=float(problem.c.sum()) * D, present=c > 0.0)

    def towards(self, end: _System, t: float) -> _System:
        """The system on the way to another one."""
        c = self.c + t * (end.c - self.c)
        return replace(self, c=c, stiffness=self.stiffness + t * (end.stiffness - self.stiffness))

    def sides_at(self, u: Array) -> AnyArray | None:
        """The sets of the minimum, from weights close to it; None if they are not found."""
        away = self.signed @ u - self.target
        for near in NEAR:
            side = np.where(away < 0.0, INSIDE, OUTSIDE)
            if self.power == 1:
                close = np.argsort(np.abs(away), kind="stable")[: len(u)]
                side[close[np.abs(away[close]) < near]] = ON
            solved = self.settled(side)
            if solved is not None and solved.proven:
                return solved.side
        return None

    def settled(self, side: AnyArray) -> _Solution | None:
        """Move rows until no set is contradicted; None if that does not end."""
        side = np.where(self.present, side, OUTSIDE)
        for _ in range(MOST_MOVES):
            found = self.slacks(side)
            if found is None:
                return None
            wrong = found.values < -ROUNDING
            if not wrong.any():
                return self._verified(side, found.x)
            rows, to = found.rows[wrong], found.to[wrong]
            if self.power == 1:  # one at a time: there is room for m rows on the margin
                worst = int(np.argmin(found.values[wrong]))
                rows, to = rows[worst], to[worst]
            side[rows] = to
        return None

    def slacks(self, side: AnyArray) -> _Slacks | None:
        """How far rows are from the ends of their sets; None if the equations are singular."""
        m, on = len(self.stiffness), np.flatnonzero(side == ON)
        M, right = self._equations(side, on)
        try:
            x: AnyArray = np.linalg.solve(M, right)
        except np.linalg.LinAlgError:
            return None
        off = np.flatnonzero((side != ON) & self.present)
        away = (self.signed[off] @ x[:m] - self.target[off]) * side[off]
        unit = np.maximum(self.problem.c[on], EPS)
        beta: AnyArray = x[m:]
        values: AnyArray = np.concatenate([away, beta / unit, (self.c[on] - beta) / unit])
        across = np.full(len(off), ON) if self.power == 1 else -side[off]
        to = np.concatenate([across, np.full(len(on), OUTSIDE), np.full(len(on), INSIDE)])
        return _Slacks(x, values, np.concatenate([off, on, on]), to)

    def _equations(self, side: AnyArray, on: AnyArray) -> tuple[Array, Array]:
        m, f = len(self.stiffness), len(on)
        inside = side == INSIDE
        M, right = np.zeros((m + f, m + f)), np.zeros(m + f)
        M[np.diag_indices(m)] = self.stiffness
        rows, c = self.signed[inside], self.power * self.c[inside]
        if self.power == 2:
            M[:m, :m] += (rows * c[:, None]).T @ rows
            right[:m] = (c * self.target[inside]) @ rows
        else:
            right[:m] = c @ rows
            M[:m, m:], M[m:, :m] = -self.signed[on].T, self.signed[on]
            right[m:] = self.target[on]
        return M, right

    def _verified(self, side: AnyArray, x: Array) -> _Solution | None:
        """Whether the exact solution of the equations is the minimum, and its distance."""
        m, n, on = len(self.stiffness), len(side), np.flatnonzero(side == ON)
        M, right = self._equations(side, on)
        try:
            R = np.linalg.inv(M)
        except np.linalg.LinAlgError:
            return None
        x = x + R @ (right - M @ x)
        inside, terms = side == INSIDE, EPS * (n + OPERATIONS)
        # Sizes of the terms of M and of the residual, which bound their rounding.
        A, sizes = np.abs(self.signed), np.abs(M)
        c = self.power * self.c[inside]
        own = np.zeros(len(x))
        if self.power == 2:
            sizes[:m, :m] += (A[inside] * c[:, None]).T @ A[inside]
            own[:m] = (c * np.abs(self.target[inside])) @ A[inside]
        else:
            own[:m] = c @ A[inside]
            own[m:] = np.abs(self.target[on]) + 1.0
        residual = np.abs(right - M @ x) + terms * (sizes @ np.abs(x) + own)
        eta_rows = np.abs(np.eye(len(x)) - R @ M).sum(axis=1)
        eta_rows += terms * (np.abs(R) @ sizes).sum(axis=1)
        eta = float(eta_rows.max())
        if not eta < MOST_ETA:
            return _Solution(side, x[:m], np.full(m, np.inf), proven=False)
        near = np.abs(R) @ residual
        error = near + eta_rows * near.max() / (1.0 - eta)
        away = self.signed @ x[:m] - self.target
        slack = A @ (error[:m] + terms * np.abs(x[:m])) + terms * np.abs(self.target)
        present = self.present & (side != ON)
        strict = np.where(inside, away, -away)[present] + slack[present] < 0.0
        beta, of = x[m:], error[m:]
        within = (beta - of > 0.0) & (beta + of < self.c[on])
        return _Solution(side, x[:m], error[:m], bool(strict.all() and within.all()))
