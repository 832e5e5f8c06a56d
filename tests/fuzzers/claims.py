"""Random fits, every finite claim of which is compared with an independent reference.

Estimators x solvers x losses x scales of the features (1e-300 to 1e300) x offsets x weights. J is
computed again from exact scores (fractions; exponentials in 50 decimal digits), minima are sought
by Newton's method in as many, and separability is decided by a linear program in whole numbers.
"""

from __future__ import annotations

import decimal
import warnings
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx

from .cases import Case, draw
from .exact import exact_objective, exact_scores
from .expected import expect
from .fit_claims import check_fit, margin
from .recession import runs_off


def check_linear(case: Case, rng: np.random.Generator) -> str:
    solvers = ["auto", sx.LBFGS(), sx.Newton(), sx.GradientDescent(),
               sx.GradientDescent(batch_size=1), sx.DualAscent(), sx.LeastSquares(),
               sx.GradientDescent(batch_size=3, learning_rate=5.0)]  # fmt: skip
    solver = solvers[int(rng.integers(len(solvers)))]
    start = str(rng.choice(["zeros", "zeros", "sum", "random"]))
    tol = [1e-6, 1e-6, 1e-3, 1e-9, 0.0, None][int(rng.integers(6))]
    clf = sx.LinearClassifier(
        case.loss, l2=case.l2, solver=solver, start=start, tol=tol, fit_intercept=case.intercept,
        max_iter=int(rng.choice([1, 5, 200])), random_state=0,
    )  # fmt: skip
    rows = sp.csr_array(case.X) if rng.random() < 0.3 else case.X
    try:
        clf.fit(rows, case.y, sample_weight=case.weight)
    except ValueError as error:
        expect(len(str(error)) > 30, f"a bare error: {error!r}")
        expect(not hasattr(clf, "coef_"), "half fitted")
        return f"refused: {str(error).split(':')[0][:50]}"
    return check_fit(clf, case)


def check_perceptron(case: Case, rng: np.random.Generator) -> str:
    keep = str(rng.choice(["auto", "last", "best", "average"]))
    clf = sx.Perceptron(
        200, shuffle=bool(rng.integers(2)), keep=keep, update=str(rng.choice(["online", "batch"])),
        fit_intercept=case.intercept, random_state=0,
    )  # fmt: skip
    try:
        clf.fit(case.X, case.y, sample_weight=case.weight)
    except ValueError as error:
        return f"refused: {str(error).split(':')[0][:50]}"
    scores = exact_scores(case, clf.coef_, clf.intercept_)
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    if clf.stop_ == "no mistakes" and clf.keep in ("auto", "last"):
        for s, y, c in zip(scores, case.y, weight, strict=True):
            expect(c == 0 or margin(s, y) > 0, "no mistakes, but a margin is not positive")
    predicted = clf.predict(case.X)
    for s, p, x in zip(scores, predicted, case.X.tolist(), strict=True):
        terms = zip(clf.coef_[0].tolist(), x, strict=True)
        size = sum(abs(Fraction(a) * Fraction(v)) for a, v in terms)
        tiny = abs(s[0]) < 2.0**-1022  # and underflows
        if (
            case.k == 2
            and not tiny
            and abs(s[0]) > (size + abs(Fraction(clf.intercept_[0]))) / 10**14
        ):
            expect((p == 1) == (s[0] > 0), "predict is not the sign of the score")
    return clf.stop_


def check_separability(case: Case, rng: np.random.Generator) -> str:
    keep = np.ones(len(case.y), bool) if case.weight is None else case.weight > 0
    found = sx.separability(case.X[keep], case.y[keep])
    reported = Case(**{**vars(case), "intercept": True, "l2": 0.0, "loss": "logistic"})
    if np.all((case.X != 0) == (case.base != 0)) and np.abs(case.X).max() < 1e300:
        off = runs_off(reported)
        expect(off == (found.verdict != "overlapping"), f"{found.verdict}, program says {off}")
    expect(found.verify(), f"{found.verdict}: verify() says no")
    return found.verdict


def check_cv(case: Case, rng: np.random.Generator) -> str:
    X, y = np.tile(case.X, (3, 1)), np.tile(case.y, 3)
    cv = "loo" if rng.random() < 0.3 and case.k == 2 and case.loss != "hinge" else 2
    clf = sx.LinearClassifierCV(case.loss, l2s=3, cv=cv, scoring="loss", max_iter=200)
    weight = None if case.weight is None or cv == "loo" else np.tile(case.weight, 3)
    try:
        clf.fit(X, y, sample_weight=weight)
    except ValueError as error:
        return f"refused: {str(error).split(':')[0][:50]}"
    scores = clf.cv_results_["mean_test_score"]
    expect(clf.l2_ in clf.l2_path_, "l2_ is not of the path")
    expect(not np.any(scores > 0), "a negative loss")
    whole = Case(case.base, X, y, case.k, weight, clf.l2_, True, case.loss)
    J = exact_objective(whole, clf.coef_, clf.intercept_)
    reported = decimal.Decimal(clf.objective_)
    expect(abs(reported - J) <= decimal.Decimal("1e-12") * J + decimal.Decimal("1e-300"),
           f"objective_ {clf.objective_!r}, is {J:.17e}")  # fmt: skip
    return clf.stop_


CHECKS = [check_linear] * 6 + [check_perceptron] * 2 + [check_separability, check_cv]


def one(seed: int) -> str:
    """One case; what it came to."""
    rng = np.random.default_rng(seed)
    case, check = draw(rng), CHECKS[int(rng.integers(len(CHECKS)))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", category=UserWarning, message=".*weight.*")
        warnings.filterwarnings("ignore", category=UserWarning, message=".*leave-one-out.*")
        warnings.filterwarnings("ignore", category=UserWarning, message="the best score is that.*")
        return f"{check.__name__[6:]}: {check(case, rng)}"
