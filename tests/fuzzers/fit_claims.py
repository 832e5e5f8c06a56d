"""What a fitted ``LinearClassifier`` says of itself, compared with exact references.

Every claim of docs/words.md is checked at ``coef_`` and ``intercept_``, in the units of the user.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .cases import Case
from .challengers import better
from .exact import exact_objective, exact_scores, to_decimal
from .expected import expect
from .recession import runs_off

CONVERGED = ("optimal", "closed form", "tol", "no mistakes")
OTHERS = ("no progress", "no minimum", "diverged", "cycle", "max_iter")
NEVER_ATTAINED = ("logistic", "one_vs_rest_logistic", "tanh_squared")  # on separable data
ACCURACY = Decimal("1e-12")  # of objective_
LEAST = 1e-14  # smaller tolerances count as that
TINY = Decimal("1e-300")
NEAR = Decimal("1e-9")  # relative: what rounding may cost where nothing exact is claimed
ROUNDING = Decimal("2e-15")  # of its mean: a feature that varies by no more is constant
SOLVED = Decimal("1e-6")  # relative: likewise after "closed form"
SETTLED = Decimal("0.05")  # relative: "tol" is no bound, but users expect no more than this


def check_fit(clf: Any, case: Case) -> str:
    """Raise ``Claim`` for what does not hold; else how the fit ended."""
    expect(np.all(np.isfinite(clf.coef_)) and np.all(np.isfinite(clf.intercept_)), "not finite")
    expect(clf.stop_ in (*CONVERGED, *OTHERS), f"an unknown word, {clf.stop_!r}")
    expect(clf.converged_ == (clf.stop_ in CONVERGED), f"converged_ is wrong after {clf.stop_!r}")
    expect(1 <= clf.n_iter_ <= clf.max_iter, f"{clf.n_iter_} of {clf.max_iter} passes")
    J = exact_objective(case, clf.coef_, clf.intercept_)
    if not np.isfinite(clf.objective_):
        expect(not clf.converged_, f"{clf.stop_} at {clf.objective_}")
        expect(Decimal("1e300") < J, f"objective_ is {clf.objective_}, J {J:.6e}")
        return str(clf.stop_)
    expect(abs(Decimal(clf.objective_) - J) <= ACCURACY * J + TINY,
           f"objective_ {clf.objective_!r}, J is {J:.17e} ({clf.stop_})")  # fmt: skip
    check_gap_is_given(clf, case)
    check_minimum_exists(clf, case)
    if case.loss == "perceptron":
        check_mistakes(clf, case)
    elif case.loss != "tanh_squared" and (clf.converged_ or clf.gap_ is not None):
        low = better(case, clf.coef_, clf.intercept_)
        check_minimum(clf, case, low)
        check_zeros(clf, case, low)
    return str(clf.stop_)


def check_gap_is_given(clf: Any, case: Case) -> None:
    """A gap is a number, and only where there can be a proof."""
    proven = clf.stop_ == "optimal"
    if clf.gap_ is None:
        expect(not proven, "optimal without a gap")
        return
    convex = case.loss not in ("tanh_squared", "perceptron")
    expect(clf.tol is not None and convex, f"a gap for tol={clf.tol} and {case.loss}")
    kink = case.loss in ("hinge", "one_vs_rest_hinge")
    expect(case.l1 + case.l2 > 0.0 or not kink, f"a gap of {clf.gap_} without a penalty")
    expect(clf.gap_ >= 0.0, f"gap {clf.gap_}")
    small = clf.gap_ <= max(clf.tol or 0.0, LEAST) * clf.objective_
    expect(small or not proven, f"optimal with the gap {clf.gap_} of {clf.objective_}")


def check_minimum_exists(clf: Any, case: Case) -> None:
    """Data that is separable by what is not penalised leaves such losses without a minimum."""
    off = case.loss in NEVER_ATTAINED and runs_off(case)
    expect(off or clf.stop_ != "no minimum", "no minimum, but there is one")
    expect(not (off and clf.converged_), f"{clf.stop_!r}, but there is no minimum")


def check_minimum(clf: Any, case: Case, low: Decimal) -> None:
    """No weights have a lower J than the fit allows for; ``low`` is the lowest known."""
    reported, by_itself = Decimal(clf.objective_), clf.solver_.chooses_step
    if by_itself:
        zero = exact_objective(case, 0 * clf.coef_, 0 * clf.intercept_)
        expect(reported <= zero * (1 + NEAR) or not clf.converged_, f"{clf.stop_}, above zeros")
    if clf.gap_ is not None and np.isfinite(clf.gap_):
        expect(reported - Decimal(clf.gap_) <= low + TINY,
               f"{clf.stop_}: {clf.objective_!r} - {clf.gap_!r} is above {low:.17e}")  # fmt: skip
    most = {"closed form": SOLVED, "tol": SETTLED}.get(clf.stop_)
    if most is not None and by_itself and not clf.solver_.by_row and not nearly_dependent(case):
        expect(reported <= low * (1 + most) + NEAR,
               f"{clf.stop_} at {clf.objective_!r}, {low:.6e} is possible")  # fmt: skip


def check_mistakes(clf: Any, case: Case) -> None:
    """Without mistakes every row that counts is strictly on its right side."""
    expect(clf.stop_ != "optimal", "the perceptron's loss has its minimum at zeros")
    if clf.stop_ == "no mistakes":
        scores = exact_scores(case, clf.coef_, clf.intercept_)
        for s, y, c in zip(scores, case.y.tolist(), case.row_weights.tolist(), strict=True):
            expect(c == 0 or margin(s, y) > 0, "no mistakes, but a margin is not positive")


def check_zeros(clf: Any, case: Case, low: Decimal) -> None:
    """Weights that are proven to be 0 can be fixed there and J gets as low as without that."""
    zero = clf.zero_
    expect(not np.any(zero & (clf.coef_ != 0.0)), "a proven zero is not 0")
    if not zero.any():
        return
    expect(case.l1 > 0.0, "proven zeros without l1")
    without = better(case, clf.coef_, clf.intercept_, zero)
    expect(without <= low * (1 + NEAR), f"zeros are proven, J {without:.17e}, else {low:.17e}")


def check_predictions(clf: Any, case: Case) -> None:
    """The predicted class has the largest score, where rounding leaves no doubt."""
    scores = exact_scores(case, clf.coef_, clf.intercept_)
    sizes = exact_scores(replace(case, X=np.abs(case.X)), np.abs(clf.coef_), np.abs(clf.intercept_))
    predicted = np.searchsorted(clf.classes_, clf.predict(case.X))
    for s, size, y in zip(scores, sizes, predicted.tolist(), strict=True):
        behind = -margin(s, y)
        expect(behind <= max(size) / 10**13 + Fraction(2) ** -1000,
               f"the class predicted is {to_decimal(behind):.3e} behind another")  # fmt: skip


def nearly_dependent(case: Case) -> bool:
    """Whether features are combinations of others up to rounding: huge weights could use that."""
    columns = np.column_stack([case.X, np.ones(len(case.X))])
    largest = np.abs(columns).max(axis=0)
    values = np.linalg.svd(columns / np.where(largest > 0, largest, 1.0), compute_uv=False)
    return bool(np.any((values > 0.0) & (values < 1e-12 * values[0])))


def check_scale(clf: Any, case: Case) -> None:
    """``scale_`` has the weighted deviations, and 1 where these are 0 or no more than rounding."""
    c = [Fraction(v) for v in case.row_weights.tolist()]
    for column, scale in zip(case.X.T.tolist(), clf.scale_.tolist(), strict=True):
        x = [Fraction(v) for v in column]
        mean = sum((a * v for a, v in zip(c, x, strict=True)), Fraction(0)) / sum(c)
        square = sum((a * (v - mean) ** 2 for a, v in zip(c, x, strict=True)), Fraction(0)) / sum(c)
        deviation = to_decimal(square).sqrt()
        if scale == 1.0 and deviation <= ROUNDING * abs(to_decimal(mean)):
            continue
        expect(abs(Decimal(scale) - deviation) <= NEAR * deviation,
               f"scale_ {scale!r}, the deviation is {deviation:.17e}")  # fmt: skip


def margin(scores: list[Fraction], y: int) -> Fraction:
    """By how much the class y is ahead of the best of the others."""
    if len(scores) == 1:
        return scores[0] if y == 1 else -scores[0]
    return scores[y] - max(s for c, s in enumerate(scores) if c != y)
