"""Random options of the estimators that minimise a loss, on small data.

Losses x penalties x solvers x offsets up to 1e12 x weights of rows, classes and features x
standardised or not x dense or sparse x starts x tolerances; whatever is accepted is compared with
exact references (:mod:`.fit_claims`).
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx

from .cases import Case
from .expected import Claim, expect
from .fit_claims import check_fit, check_predictions, check_scale

LOSSES = (
    ["logistic"] * 5 + ["squared_hinge"] * 2 + ["squared", "hinge", "one_vs_rest_logistic"] * 2
    + ["one_vs_rest_hinge", "tanh_squared", "perceptron"]
)  # fmt: skip
KINKED = ("hinge", "one_vs_rest_hinge", "perceptron")
SOLVERS = [
    sx.LBFGS(), sx.LBFGS(memory=1), sx.Newton(), sx.LeastSquares(), sx.LeastSquares(direct_size=0),
    sx.DualAscent(), sx.CoordinateAscent(), sx.InteriorPoint(), sx.ProximalPoint(),
    sx.LinearProgram(), sx.ProximalNewton(), sx.CoordinateDescent(), sx.GradientDescent(),
    sx.GradientDescent(learning_rate=5.0), sx.GradientDescent(batch_size=1),
    sx.GradientDescent(batch_size=1, average=True),
    sx.GradientDescent(batch_size=1, shuffle=False, learning_rate=0.5),
    sx.GradientDescent(batch_size=3, learning_rate=0.1), sx.Rosenblatt(), sx.BatchPerceptron(),
]  # fmt: skip
TOLERANCES = (1e-6, 1e-6, 1e-6, 1e-3, 1e-9, 1e-12, 0.0, None)
MAX_ITERS = (1, 5, 50, 300, 300, 300, 300, 300)
L1S = (1e-6, 1e-4, 1e-2, 0.1, 1.0)
L2S = (0.0, 1e-300, 1e-300, 1e-12, 1e-8, 1e-4, 1e-4, 1e-2, 1.0, 1e4)
OFFSETS = (1.0, 1e4, 1e8, 1e12)

Options = dict[str, Any]


def one(seed: int) -> str:
    """One case; what it came to."""
    rng = np.random.default_rng(seed)
    check = CHECKS[int(rng.integers(len(CHECKS)))]
    k = 2 if rng.random() < 0.6 else int(rng.integers(3, 5))
    X, y = draw_labels(rng, draw_rows(rng), k)
    weight = draw_weights(rng, len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        return f"{check.__name__[6:]}: {check(rng, X, y, k, weight)}"


def draw_rows(rng: np.random.Generator) -> np.ndarray:
    """Features of several kinds, some scaled, some far from 0."""
    n, d = int(rng.integers(2, 25)), int(rng.integers(1, 5))
    X = rng.integers(-3, 4, (n, d)).astype(float)
    kind = rng.random()
    if kind < 0.3:
        X = rng.standard_normal((n, d))
    elif kind < 0.5:
        X *= rng.random((n, d)) < rng.choice([0.4, 0.4, 0.4, 0.0])
    if d > 1 and rng.random() < 0.15:
        X[:, 0] = X[:, 1] if rng.random() < 0.5 else 1.0
    if rng.random() < 0.3:
        X *= 2.0 ** rng.integers(-20, 20, d)
    if rng.random() < 0.5:
        some = rng.random(d) < 0.7
        X += some * rng.choice(OFFSETS) * rng.choice([-1.0, 1.0, 3.0], d)
    return X


def draw_labels(rng: np.random.Generator, X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of all k classes: at random, or by the size of a feature, so that they separate."""
    X = X[:12] if k > 2 else X
    X = X if len(X) >= k else np.concatenate([X] * k)
    y = rng.integers(0, k, len(X))
    if rng.random() < 0.5:
        j = int(rng.integers(X.shape[1]))
        y = np.digitize(X[:, j], np.quantile(X[:, j], np.arange(1, k) / k))
        if rng.random() < 0.5:  # ties at a threshold go both ways: quasi-separable
            tied = np.isin(X[:, j], np.quantile(X[:, j], np.arange(1, k) / k))
            y = np.where(tied & (rng.random(len(y)) < 0.5), np.maximum(y - 1, 0), y)
    missing = np.setdiff1d(np.arange(k), y)
    y[rng.permutation(len(y))[: len(missing)]] = missing
    return (X, y) if len(np.unique(y)) == k else draw_labels(rng, X, k)


def draw_weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    if rng.random() < 0.6:
        return None
    weight = rng.choice([1.0, 2.0, 0.5, 7.0, 0.0, 1e-3], n)
    weight[int(rng.integers(n))] = 1.0
    return weight * rng.choice([1.0, 1.0, 1e-8, 1e8])


def draw_common(rng: np.random.Generator, k: int) -> Options:
    """What all the estimators have."""
    class_weight: Any = None
    if rng.random() < 0.3:
        share = rng.choice([0.25, 1.0, 3.0, 100.0], k)
        class_weight = "balanced" if rng.random() < 0.4 else dict(enumerate(share.tolist()))
    return {
        "loss": str(rng.choice(LOSSES)), "standardize": bool(rng.random() < 0.35),
        "fit_intercept": bool(rng.random() < 0.75), "class_weight": class_weight,
        "tol": TOLERANCES[int(rng.integers(len(TOLERANCES)))],
        "max_iter": int(rng.choice(MAX_ITERS)), "random_state": 0,
    }  # fmt: skip


def draw_penalty(rng: np.random.Generator, d: int, loss: str) -> Options:
    """Squares alone for losses with a kink; often nothing at all."""
    l2 = float(rng.choice(L2S)) if rng.random() < 0.75 else 0.0
    if loss in KINKED or (l2 == 0.0 and rng.random() < 0.7):
        return {"l1": 0.0, "l2": l2, "penalty_weights": None, "groups": None}
    l1 = float(rng.choice(L1S)) if rng.random() < 0.4 else 0.0
    factors = rng.choice([0.0, 0.0, 1.0, 1.0, 0.5, 1e-3, 20.0], d) if rng.random() < 0.4 else None
    groups: Any = None
    if l1 and rng.random() < 0.3:
        groups = "classes"
        if rng.random() < 0.6:
            groups = np.unique(rng.integers(0, d, d), return_inverse=True)[1]
            factors = None if factors is None else factors[groups]
    return {"l1": l1, "l2": l2, "penalty_weights": factors, "groups": groups}


def draw_start(rng: np.random.Generator, k: int, d: int, intercept: bool) -> Any:
    kind = str(rng.choice(["zeros", "zeros", "zeros", "sum", "random", "array"]))
    if kind != "array":
        return kind
    start = rng.standard_normal((k, d + 1)) if k > 2 else rng.standard_normal(d + 1)
    start[..., -1] *= intercept
    return start * rng.choice([1e-6, 1.0, 100.0])


def accepted(make: Callable[[Any], Any], solvers: list[Any]) -> tuple[Any, str]:
    """What is made with the first of some solvers that takes it, or the last refusal.

    A refusal is a ValueError that is raised on purpose and says what to do.
    """
    text = ""
    for solver in solvers:
        try:
            return make(solver), ""
        except ValueError as error:
            text, place = str(error), error.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            expect(place is not None, "no traceback")
            line = linecache.getline(place.tb_frame.f_code.co_filename, place.tb_lineno)
            expect(line.strip().startswith("raise") and len(text) > 30, f"no refusal: {error!r}")
    return None, text


def draw_solvers(rng: np.random.Generator) -> list[Any]:
    """All of them in some order; those that go row by row, which arrive slowly, seldom first."""
    order: list[Any] = [SOLVERS[i] for i in rng.permutation(len(SOLVERS))]
    if rng.random() < 0.7:
        order.sort(key=lambda solver: bool(solver.by_row or not solver.chooses_step))
    return ["auto", *order] if rng.random() < 0.25 else [*order, "auto"]


def row_weights(y: np.ndarray, k: int, weight: np.ndarray | None, class_weight: Any) -> np.ndarray:
    """Those of the rows times those of their classes."""
    c = np.ones(len(y)) if weight is None else weight
    if class_weight is None:
        return c
    if isinstance(class_weight, str):
        total = np.array([c[y == label].sum() for label in range(k)])
        return c / np.where(total > 0.0, total, 1.0)[y]
    return c * np.array([class_weight[label] for label in range(k)])[y]


def problem_of(clf: Any, X: np.ndarray, y: np.ndarray, k: int, weight: Any, penalty: Any) -> Case:
    """What the fitted estimator minimised; classes whose rows have no weight are left out."""
    c = row_weights(y, k, weight, clf.class_weight)
    p = penalty["penalty_weights"]
    here = np.isin(y, clf.classes_)
    expect(not np.any(c[~here]), f"rows with a weight, but classes_ are {clf.classes_}")
    X, y, c = X[here], np.searchsorted(clf.classes_, y[here]), c[here]
    return Case(
        X, X, y, len(clf.classes_), c, penalty["l2"], clf.fit_intercept, clf.loss, penalty["l1"],
        None if p is None else np.asarray(p, float), penalty["groups"], clf.scale_,
    )  # fmt: skip


def checked(clf: Any, case: Case) -> str:
    """Compare all claims; a claim that does not hold is reported with the options."""
    try:
        ended = check_fit(clf, case)
        check_predictions(clf, case)
        if clf.scale_ is not None:
            check_scale(clf, case)
    except Claim as claim:
        n, d = case.X.shape
        raise Claim(f"{claim} [{n} x {d}, {case.k} classes, {clf!r}]") from None
    return ended


def check_linear(
    rng: np.random.Generator, X: np.ndarray, y: np.ndarray, k: int, weight: np.ndarray | None
) -> str:
    common, d = draw_common(rng, k), X.shape[1]
    penalty = draw_penalty(rng, d, common["loss"])
    start = draw_start(rng, k, d, common["fit_intercept"])
    given = {**common, **penalty, "start": start}
    rows = sp.csr_array(X) if rng.random() < 0.3 else X

    def make(solver: Any) -> Any:
        return sx.LinearClassifier(**given, solver=solver).fit(rows, y, sample_weight=weight)

    clf, refusal = accepted(make, draw_solvers(rng))
    if clf is None:
        return f"refused: {refusal.split(':')[0][:50]}"
    return checked(clf, problem_of(clf, X, y, k, weight, penalty))


def check_path(
    rng: np.random.Generator, X: np.ndarray, y: np.ndarray, k: int, weight: np.ndarray | None
) -> str:
    common = draw_common(rng, k)
    if common["loss"] in KINKED:
        common["loss"] = "logistic"
    penalty = draw_penalty(rng, X.shape[1], common["loss"])
    given = {**common, "strengths": 3, "l1_ratio": float(rng.choice([1.0, 0.5]))}
    given |= {name: penalty[name] for name in ("penalty_weights", "groups")}
    rows = sp.csr_array(X) if rng.random() < 0.3 else X

    def make(solver: Any) -> Any:
        return sx.path(rows, y, **given, solver=solver, sample_weight=weight)

    found, refusal = accepted(make, draw_solvers(rng))
    if found is None:
        return f"refused: {refusal.split(':')[0][:50]}"
    fits = [found.at(strength) for strength in found.strengths.tolist()]
    fit = fits[int(rng.integers(len(fits)))]
    return checked(fit, problem_of(fit, X, y, k, weight, vars(fit)))


def check_cv(
    rng: np.random.Generator, X: np.ndarray, y: np.ndarray, k: int, weight: np.ndarray | None
) -> str:
    X, y = np.tile(X, (2, 1)), np.tile(y, 2)
    weight = None if weight is None else np.tile(weight, 2)
    common = draw_common(rng, k)
    penalty = draw_penalty(rng, X.shape[1], common["loss"])
    given = {**common, "cv": 2, "l2s": 3, "max_iter": min(common["max_iter"], 50)}
    if penalty["l1"]:
        given |= {"l1_ratio": 0.5, "strengths": 3}
        given |= {name: penalty[name] for name in ("penalty_weights", "groups")}
    else:
        penalty = {"l1": 0.0, "penalty_weights": None, "groups": None}
    rows = sp.csr_array(X) if rng.random() < 0.3 else X

    def make(solver: Any) -> Any:
        return sx.LinearClassifierCV(**given, solver=solver, scoring=None).fit(
            rows, y, sample_weight=weight
        )

    clf, refusal = accepted(make, draw_solvers(rng))
    if clf is None:
        return f"refused: {refusal.split(':')[0][:50]}"
    penalty |= {"l1": clf.l1_ if penalty["l1"] else 0.0, "l2": clf.l2_}
    return checked(clf, problem_of(clf, X, y, k, weight, penalty))


CHECKS = [check_linear] * 8 + [check_path, check_cv]
