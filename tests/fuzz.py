"""Random fits, of which every finite claim is compared with a reference that shares nothing.

    python tests/fuzz.py --seconds 600 --seed 0

Estimators x solvers x losses x scales of the features (1e-300 to 1e300) x offsets x weights. J is
computed again from exact scores (fractions; exponentials in 50 decimal digits), minima are sought
by Newton's method or Powell's in long doubles, and separability is asked of a linear program on
the whole numbers behind the rows. A case that fails prints the seed that makes it again.
"""

from __future__ import annotations

import argparse
import collections
import decimal
import signal
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.optimize
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx

LONG = np.longdouble
LOSSES = ("logistic", "squared", "hinge", "squared_hinge")
PATIENCE = 60  # seconds that no case takes
decimal.getcontext().prec = 50
decimal.getcontext().Emax = 10**9
decimal.getcontext().Emin = -(10**9)


class Claim(Exception):
    """A claim that does not hold."""


@dataclass
class Case:
    """Small whole numbers, and the rows that are made of them by scaling and shifting."""

    base: np.ndarray
    X: np.ndarray
    y: np.ndarray
    k: int
    weight: np.ndarray | None
    l2: float
    intercept: bool
    loss: str


def draw(rng: np.random.Generator) -> Case:
    """A case; a third are of an ordinary scale, a third far off, a third mixed."""
    n, d = int(rng.integers(2, 16)), int(rng.integers(1, 4))
    k = 2 if rng.random() < 0.7 else 3
    n = max(n, k + 1)
    base = rng.integers(-4, 5, (n, d)).astype(float)
    y = rng.integers(0, k, n)
    y[:k] = np.arange(k)
    if rng.random() < 0.3:  # easier to separate
        y = np.digitize(base[:, 0], np.quantile(base[:, 0], np.arange(1, k) / k))
        y[:k] = np.arange(k)
    kind, power = int(rng.integers(3)), np.zeros(d)
    if kind == 1:
        power = np.full(d, rng.integers(-996, 997) if rng.random() < 0.3 else rng.integers(-60, 60))
    elif kind == 2:
        power = rng.integers(-40, 40, d) if rng.random() < 0.7 else rng.integers(-900, 900, d)
    offset = np.zeros(d)
    if rng.random() < 0.3:
        offset = rng.choice([1.0, 2.0**10, 2.0**20, 2.0**30, 2.0**40]) * rng.integers(-3, 4, d)
    intercept = bool(rng.random() < 0.8)
    weight = None
    if rng.random() < 0.4:
        weight = rng.choice([1.0, 2.0, 0.5, 7.0, 0.0], n) * 2.0 ** rng.choice([0, -1060, 900, 3])
        weight[:k] = weight.max() or 1.0
    l2 = float(rng.choice([0.0, 1e-300, 1e-12, 1e-8, 1e-4, 1e-2, 1.0, 1e4]))
    X = (base + offset) * 2.0**power
    return Case(base + offset, X, y, k, weight, l2, intercept, str(rng.choice(LOSSES)))


# ---- references --------------------------------------------------------------------------


def exact_scores(case: Case, coef: np.ndarray, intercept: np.ndarray) -> list[list[Fraction]]:
    W = [[Fraction(v) for v in row] for row in coef.tolist()]
    b = [Fraction(v) for v in intercept.tolist()]
    return [
        [
            sum((Fraction(v) * u for v, u in zip(x, w, strict=True)), c)
            for w, c in zip(W, b, strict=True)
        ]
        for x in case.X.tolist()
    ]


def to_decimal(value: Fraction) -> decimal.Decimal:
    return decimal.Decimal(value.numerator) / decimal.Decimal(value.denominator)


def softplus(gaps: list[Fraction]) -> decimal.Decimal:
    """log(1 + sum of e^gap)."""
    top = max(0, *gaps)
    total = sum((to_decimal(g - top).exp() for g in [Fraction(0), *gaps]), decimal.Decimal(0))
    if top == 0:  # a sum that is nearly 1: the series of the logarithm
        rest = sum((to_decimal(g).exp() for g in gaps), decimal.Decimal(0))
        if rest < decimal.Decimal("1e-20"):
            return rest - rest * rest / 2
    return to_decimal(Fraction(top)) + total.ln()


def loss_of(name: str, scores: list[Fraction], y: int) -> decimal.Decimal:
    if len(scores) == 1:
        margin = scores[0] if y == 1 else -scores[0]
        if name == "logistic":
            return softplus([-margin])
        short = 1 - margin if name == "squared" else max(Fraction(0), 1 - margin)
        return to_decimal(short if name == "hinge" else short * short)
    rivals = [s - scores[y] for c, s in enumerate(scores) if c != y]
    if name == "logistic":
        return softplus(rivals)
    if name == "hinge":
        return to_decimal(max(Fraction(0), 1 + max(rivals)))
    columns = [1 - s if c == y else 1 + s for c, s in enumerate(scores)]
    if name == "squared_hinge":
        columns = [max(Fraction(0), c) for c in columns]
    return to_decimal(sum(c * c for c in columns))


def exact_objective(case: Case, coef: np.ndarray, intercept: np.ndarray) -> decimal.Decimal:
    """J, to some 40 digits."""
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    total = decimal.Decimal(0)
    for scores, y, c in zip(
        exact_scores(case, coef, intercept), case.y, weight.tolist(), strict=True
    ):
        if c:
            total += to_decimal(Fraction(c)) * loss_of(case.loss, scores, int(y))
    mean = total / to_decimal(sum(map(Fraction, weight.tolist()), Fraction(0)))
    square = sum((Fraction(w) ** 2 for w in coef.ravel().tolist()), Fraction(0))
    return mean + to_decimal(Fraction(case.l2) * square)


def long_value(case: Case, Z: np.ndarray, cost: np.ndarray, W: np.ndarray) -> LONG:
    """J in long doubles, in variables of columns Z with their own penalties."""
    c = np.ones(len(case.y), LONG) if case.weight is None else (case.weight / case.weight.max())
    c = np.asarray(c, LONG) / np.sum(c, dtype=LONG)
    s = Z @ W.T
    rows = np.arange(len(case.y))
    if case.k == 2:
        signs = np.where(case.y == 1, 1, -1)[:, None]
    elif case.loss in ("logistic", "hinge"):
        rivals = s - s[rows, case.y][:, None]
        if case.loss == "hinge":
            rivals = rivals + 1
            rivals[rows, case.y] = 0
            return c @ rivals.max(axis=1) + np.sum(cost * W**2)
        top = rivals.max(axis=1)
        return c @ (top + np.log(np.exp(rivals - top[:, None]).sum(axis=1))) + np.sum(cost * W**2)
    else:
        signs = np.where(case.y[:, None] == np.arange(case.k), 1, -1)
    m = signs * s
    if case.loss == "logistic":
        values = np.logaddexp(LONG(0), -m)
    else:
        short = 1 - m if case.loss == "squared" else np.maximum(0, 1 - m)
        values = short if case.loss == "hinge" else short**2
    return c @ values.sum(axis=1) + np.sum(cost * W**2)


def better(case: Case, coef: np.ndarray, intercept: np.ndarray) -> decimal.Decimal:
    """The lowest J that Powell's method finds, from the fit and from zeros, evaluated exactly.

    In columns that are centred and of one scale, as far as exact powers of two allow.
    """
    scale = np.array([2.0 ** np.ceil(np.log2(max(np.ptp(x), np.abs(x).max() * 1e-300, 5e-324)))
                      for x in case.X.T])  # fmt: skip
    middle = case.X.mean(axis=0) if case.intercept else np.zeros(len(scale))
    Z = np.column_stack([(case.X - middle) / scale, np.ones(len(case.X))]).astype(LONG)
    with np.errstate(over="ignore"):
        cost = np.append(
            np.minimum(LONG(case.l2) / LONG(1) / scale.astype(LONG) ** 2, LONG(1e300)), 0
        )
    start = np.column_stack([coef * scale, intercept + coef @ middle])
    if not case.intercept:
        Z, cost, start = Z[:, :-1], cost[:-1], start[:, :-1]
    found = exact_objective(case, coef, intercept)
    for first in (start, np.zeros_like(start)):
        if not np.all(np.isfinite(first)):
            continue
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = scipy.optimize.minimize(
                lambda u: float(long_value(case, Z, cost, u.reshape(start.shape).astype(LONG))),
                first.ravel(), method="Powell",
                options={"maxiter": 60, "xtol": 1e-9, "ftol": 1e-14},
            )  # fmt: skip
            W = result.x.reshape(start.shape)
            w = W[:, : len(scale)] / scale
            b = W[:, -1] - w @ middle if case.intercept else np.zeros(len(W))
        if np.all(np.isfinite(w)) and np.all(np.isfinite(b)):
            found = min(found, exact_objective(case, w, b))
    return found


def runs_off(case: Case) -> bool:
    """Whether some weights give no row of whole numbers a negative margin, and one a positive."""
    present = np.ones(len(case.y), bool) if case.weight is None else case.weight > 0
    around = case.base - case.base[0] if case.intercept else case.base
    x = np.column_stack([around, np.ones(len(case.y))])[present]
    x, y = (x if case.intercept else x[:, :-1]), case.y[present]
    if case.k == 2:
        Z = np.where(y == 1, 1, -1)[:, None] * x
    else:
        Z = np.array([
            np.concatenate([x[i] * ((c == y[i]) - (c == r) * 1.0) for c in range(case.k)])
            for i in range(len(y)) for r in range(case.k) if r != y[i]
        ])  # fmt: skip
    size = np.abs(Z).max()
    bounded = scipy.optimize.linprog(
        -Z.sum(axis=0) / size, A_ub=-Z / size, b_ub=np.zeros(len(Z)), bounds=(-1, 1), method="highs"
    )
    return bool(-bounded.fun > 1e-7)


# ---- claims ------------------------------------------------------------------------------


def expect(condition: bool, text: str) -> None:
    if not condition:
        raise Claim(text)


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
    expect(np.all(np.isfinite(clf.coef_)) and np.all(np.isfinite(clf.intercept_)), "weights")
    J = exact_objective(case, clf.coef_, clf.intercept_)
    told = clf.objective_
    if not np.isfinite(told):
        expect(not clf.converged_, f"{clf.stop_} at {told}")
        expect(decimal.Decimal("1e300") < J, f"told {told}, is {J:.6e}")
        return clf.stop_
    exact = decimal.Decimal(told)
    expect(abs(exact - J) <= decimal.Decimal("1e-12") * J + decimal.Decimal("1e-300"),
           f"objective_ {told!r}, is {J:.17e}")  # fmt: skip
    zero = exact_objective(case, 0 * clf.coef_, 0 * clf.intercept_)
    if clf.converged_:
        expect(
            zero * (1 + decimal.Decimal("1e-9")) >= J, f"{clf.stop_} at {told}, zeros {zero:.6e}"
        )
    far = not case.intercept and np.abs(case.base).max() > 1e6  # too near a tie for a program
    if (
        case.l2 == 0.0
        and case.loss == "logistic"
        and not far
        and np.ptp(case.X, axis=0).min() > 1e-150
    ):
        off = runs_off(case)
        expect(not (off and clf.converged_), f"{clf.stop_}, but it runs off")
        expect(off or clf.stop_ != "no minimum", "a minimum exists")
    if clf.gap_ is not None:
        expect(clf.gap_ >= 0.0, f"gap {clf.gap_}")
        if clf.stop_ == "optimal":
            expect(clf.gap_ <= max(tol or 0.0, 1e-14) * told, f"gap {clf.gap_} of {told}")
        low = better(case, clf.coef_, clf.intercept_)
        slack = decimal.Decimal("1e-300")
        expect(exact - decimal.Decimal(clf.gap_) <= low + slack,
               f"{clf.stop_}: {told!r} - {clf.gap_!r} is above {low:.17e}")  # fmt: skip
    elif clf.stop_ == "tol" and not clf.solver_.by_row and clf.solver_.chooses_step:
        low = better(case, clf.coef_, clf.intercept_)
        expect(exact <= low * decimal.Decimal("1.05") + decimal.Decimal("1e-9"),
               f"tol at {told!r}, {low:.6e} is possible")  # fmt: skip
    return clf.stop_


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
            own = (s[0] if y == 1 else -s[0]) if case.k == 2 else s[y] - max(
                v for j, v in enumerate(s) if j != y)  # fmt: skip
            expect(c == 0 or own > 0, "no mistakes, but a margin is not positive")
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
    told = Case(**{**vars(case), "intercept": True})
    if np.all((case.X != 0) == (case.base != 0)) and np.abs(case.X).max() < 1e300:
        off = runs_off(told)
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
    told = decimal.Decimal(clf.objective_)
    expect(abs(told - J) <= decimal.Decimal("1e-12") * J + decimal.Decimal("1e-300"),
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
        return f"{check.__name__[6:]}: {check(case, rng)}"


def too_long(*_: object) -> None:
    raise Claim(f"took more than {PATIENCE} s")


def main() -> int:
    """Cases until the time is over; 1 if a claim failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--only", action="store_true", help="that case alone, with its traceback")
    given = parser.parse_args()
    if given.only:
        print(one(given.seed))
        return 0
    signal.signal(signal.SIGALRM, too_long)
    counts: collections.Counter[str] = collections.Counter()
    failed: dict[str, list[int]] = collections.defaultdict(list)
    began, seed = time.monotonic(), given.seed
    while time.monotonic() - began < given.seconds:
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        try:
            counts[one(seed)] += 1
        except KeyboardInterrupt:
            break
        except BaseException as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} {str(error)[:150]} ({place.name}:{place.lineno})"
            failed[type(error).__name__].append(seed)
            print(f"seed {seed}: {what}", flush=True)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        seed += 1
    for what, count in sorted(counts.items()):
        print(f"{count:7d}  {what}")
    print(f"{sum(counts.values())} held, {sum(map(len, failed.values()))} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
