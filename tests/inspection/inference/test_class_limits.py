"""Quasi-separable rows of more than two classes: infinite coefficients, and the limiting model."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from inspection.inference.cases import EXACT, close, table, with_ones
from inspection.inference.profile_oracle import LONG, losses, solved
from scipy.optimize import linprog, minimize
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning

from separatrix import LinearClassifier, inference, read

NOTED = (
    "ignore:(the rows are quasi-separable|there are .* parameters per row|there are .* clusters)"
)
pytestmark = pytest.mark.filterwarnings(NOTED)
PROFILE = {"intervals": "profile"}
RIDGE = LONG(1e-15)  # so small that finite coefficients are off by less than 1e-11


def fit(X, y=None, weight=None, **options):
    fitted = {name: options.pop(name) for name in ("offset",) if name in options}
    with pytest.warns(ConvergenceWarning, match="no minimum"):
        return LinearClassifier(**EXACT | options).fit(X, y, sample_weight=weight, **fitted)


def with_rare(seed, k=3, n=150, labels=(1,)):
    """Two features, and rare categories: all rows of one have the same label."""
    X, y = table(seed, n=n, d=2, k=k)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    members = np.random.default_rng(seed).permutation(n)
    rare = np.zeros((n, len(labels)))
    for number, label in enumerate(labels):
        own = members[6 * number : 6 * number + 6]
        rare[own, number], y[own] = 1.0, label
    return np.column_stack([X, rare]), y, rare.any(axis=1)


def signed_pairs(Z, y, k):
    """Kesler's pairs with the first class left out."""
    found = []
    for z, own in zip(Z, y, strict=True):
        for rival in set(range(k)) - {own}:
            e = np.eye(k)[own] - np.eye(k)[rival]
            found.append(np.kron(e[1:], z))
    return np.array(found)


def reached(Z, y, k):
    """For every coefficient which signs weak separators give it: (smallest, largest)."""
    pairs, ends = signed_pairs(Z, y, k), []
    for j in range(pairs.shape[1]):
        c = np.eye(pairs.shape[1])[j]
        some = [linprog(s * c, -pairs, np.zeros(len(pairs)), bounds=(-1, 1)) for s in (1, -1)]
        ends.append((round(some[0].fun, 7), round(-some[1].fun, 7)))
    return np.array(ends)


def ridge_limit(Z, y, k, fixed=None):
    """Long double: the minimum with a penalty that is next to nothing."""
    Z, Y = Z.astype(LONG), (np.asarray(y)[:, None] == np.arange(k)).astype(LONG)
    free = np.arange((k - 1) * Z.shape[1])
    theta = np.zeros(len(free), LONG)
    if fixed is not None:
        theta[fixed[0]], free = fixed[1], np.delete(free, fixed[0])
    ones, ridge = np.ones(len(Z), LONG), LONG(1e-2)
    while True:
        for _ in range(100):
            value, gradient, hessian = losses(theta, Z, Y, ones, 2)
            slope = gradient[free] + ridge * theta[free]
            step = solved(hessian[np.ix_(free, free)] + ridge * np.eye(len(free)), -slope)
            size = max(abs(step).max(), LONG(1))
            theta[free] += step / size
            if abs(step).max() < 1e-13:
                break
        if ridge <= RIDGE:
            return theta, float(value)
        ridge = max(ridge / 10, RIDGE)


def ends_at(end, Z, y, k, number, floor, side):
    """Whether the infimum with this coefficient fixed passes the quantile at this value."""

    def excess(value):
        return ridge_limit(Z, y, k, (number, LONG(value)))[1] - floor - 0.5 * chi2.ppf(0.95, 1)

    off = 1e-6 * max(1.0, abs(end)) * side
    return excess(end - off) > 0.0 > excess(end + off)


def test_a_saturated_table_with_an_empty_cell():
    """Exact: a cell of each class and category has its own log odds."""
    counts = {(0, 0): 12, (0, 1): 9, (0, 2): 15, (1, 1): 7, (1, 2): 11}  # none of (1, 0)
    x = np.repeat([float(cell[0]) for cell in counts], list(counts.values()))[:, None]
    y = np.repeat([cell[1] for cell in counts], list(counts.values()))
    found = inference(fit(x, y), x, y, reference=1, **PROFILE)
    assert found.classes == (0, 0, 2, 2)
    assert found.coef[0] == -math.inf
    odds = math.log(15 / 9)
    close(found.coef[1:], [math.log(12 / 9), math.log(11 / 7) - odds, odds], 1e-10)
    shares = [1 / 12 + 1 / 9, 1 / 7 + 1 / 11 + 1 / 9 + 1 / 15, 1 / 9 + 1 / 15]
    close(found.standard_errors[1:], np.sqrt(shares), 1e-10)
    close(found.cov[2, 3], -(1 / 9 + 1 / 15), 1e-10)
    close(found.cov[1, 3], 1 / 9, 1e-10)
    parts = [(12, 36), (9, 36), (15, 36), (7, 18), (11, 18)]
    close(found.log_likelihood, sum(a * math.log(a / n) for a, n in parts), 1e-12)
    from_other = inference(fit(x, y), x, y)  # the differences from class 0 all diverge
    assert from_other.coef[[0, 2]].tolist() == [math.inf, math.inf]
    close(from_other.coef[[1, 3]], [math.log(9 / 12), math.log(15 / 12)], 1e-10)
    low, high = found.intervals[0]
    assert low == -math.inf
    assert ends_at(high, with_ones(x), np.array([1, 0, 2])[y], 3, 0, -found.log_likelihood, -1)


def test_two_empty_cells_leave_a_sign_open():
    counts = {(0, 0): 12, (0, 1): 9, (0, 2): 15, (1, 2): 11}
    x = np.repeat([float(cell[0]) for cell in counts], list(counts.values()))[:, None]
    y = np.repeat([cell[1] for cell in counts], list(counts.values()))
    found = inference(fit(x, y), x, y, **PROFILE)
    assert np.isnan(found.coef[0])
    assert found.coef[2] == math.inf
    assert found.intervals[0].tolist() == [-math.inf, math.inf]
    close(found.coef[[1, 3]], [math.log(9 / 12), math.log(15 / 12)], 1e-10)


@pytest.mark.parametrize("covariance", ["model", "sandwich", "cluster"])
def test_rows_of_one_label_drop_out(covariance):
    """The limit is then an ordinary softmax model, here as statsmodels fits it."""
    sm = pytest.importorskip("statsmodels.api")
    X, y, rare = with_rare(3, labels=(1, 2))
    groups = np.arange(len(y)) % 40
    own = {"groups": groups} if covariance == "cluster" else {}
    with pytest.warns(UserWarning, match=r"infinity in x2 of 1, x3 of 1, x2 of 2, x3 of 2; the"):
        found = inference(fit(X, y), X, y, covariance=covariance, **own)
    model = sm.MNLogit(y[~rare], with_ones(X[~rare, :2]))
    kind = {"model": {}, "sandwich": {"cov_type": "HC0"}}.get(
        covariance,
        {"cov_type": "cluster", "cov_kwds": {"groups": groups[~rare], "use_correction": False}},
    )
    theirs = model.fit(disp=0, method="newton", tol=1e-15, **kind)
    finite = [0, 1, 4, 5, 6, 9]
    assert found.coef[[2, 8]].tolist() == [math.inf, math.inf]
    assert np.isnan(found.coef[[3, 7]]).all()  # nothing compares the other two classes
    close(found.coef[finite], theirs.params.T.ravel())
    close(found.cov[np.ix_(finite, finite)], theirs.cov_params())
    assert found.n == len(y)
    if covariance == "model":
        close(found.log_likelihood, theirs.llf)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.sampled(2)
def test_small_random_tables(seed):
    """Signs as linear programs, estimates, errors and ends as nearly unpenalised fits."""
    rng = np.random.default_rng(seed)
    k = 3 + seed % 2
    for _ in range(100):
        X = rng.integers(-1, 2, (9 + 4 * k, 2)).astype(float)
        y = np.r_[np.arange(k), rng.integers(0, k, len(X) - k)]
        extra = (rng.random(len(X)) < 0.25) & (y > seed % (k - 1))  # of some classes only
        X = np.column_stack([X, extra])
        signs = reached(with_ones(X), y, k)
        open_ = signs.any(axis=1)
        if 0 < open_.sum() < len(open_) - 2 and np.linalg.matrix_rank(with_ones(X)) == 4:
            break
    found = inference(fit(X, y), X, y, **PROFILE)
    both, up = (signs != 0.0).all(axis=1), signs[:, 1] > 0.0
    expected = np.where(both, np.nan, np.where(up, np.inf, -np.inf))[open_]
    np.testing.assert_array_equal(found.coef[open_], expected)
    theta, value = ridge_limit(with_ones(X), y, k)
    assert np.isfinite(found.coef[~open_]).all()
    np.testing.assert_allclose(
        found.coef[~open_], theta[~open_].astype(float), rtol=1e-7, atol=1e-8
    )
    assert -found.log_likelihood == pytest.approx(value, rel=1e-10)
    for number in np.flatnonzero(open_ & ~both)[:1]:
        side = 1 if up[number] else -1
        end = found.intervals[number][0 if side > 0 else 1]
        assert found.intervals[number][1 if side > 0 else 0] == side * math.inf
        if np.isfinite(end):
            assert ends_at(end, with_ones(X), y, k, number, value, side)
        else:  # at any value the losses come as near to their infimum as to matter
            far = ridge_limit(with_ones(X), y, k, (number, LONG(-30 * side)))[1]
            assert far - value < 0.5 * chi2.ppf(0.95, 1)


@pytest.mark.parametrize("reference", [0, 2])
def test_errors_are_those_of_each_row_among_its_rivals(reference):
    """A category without one class: its rows still compare the others; by brute force."""
    X, y, _ = with_rare(5, k=4, n=160, labels=())
    rare = np.zeros(len(y))
    rare[np.flatnonzero(y != 1)[:30]] = 1.0  # of classes 0, 2, 3
    X = np.column_stack([X, rare])
    found = inference(fit(X, y), X, y, reference=reference)
    Z, allowed = with_ones(X), np.ones((len(y), 4), bool)
    allowed[rare == 1.0, 1] = False
    others = [c for c in range(4) if c != reference]
    free = [
        (c, j) for c in others for j in range(4) if not (j == 2 and c == 1)
    ]  # x2 of class 1 is infinite

    def negative(u, value=True):
        W = np.zeros((4, 4))
        for (c, j), one in zip(free, u, strict=True):
            W[c, j] = one
        S = np.where(allowed, Z @ W.T, -np.inf)
        P = np.exp(S - S.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        if value:
            R = P - (y[:, None] == np.arange(4))
            loss = -np.log(P[np.arange(len(y)), y]).sum()
            return loss, np.array([(R[:, c] * Z[:, j]).sum() for c, j in free])
        return np.array(
            [[(P[:, a] * ((a == b) - P[:, b]) * Z[:, i] * Z[:, j]).sum() for b, j in free]
             for a, i in free]
        )  # fmt: skip

    best = minimize(negative, np.zeros(len(free)), jac=True, tol=1e-14).x
    for _ in range(5):
        best = best - np.linalg.solve(negative(best, False), negative(best)[1])
    at = [4 * others.index(c) + j for c, j in free]
    infinite = np.setdiff1d(np.arange(8), at)
    assert found.coef[infinite].tolist() == [-math.inf]
    close(found.coef[at], best, 1e-9)
    close(found.cov[np.ix_(at, at)], np.linalg.inv(negative(best, False)), 1e-8)


@pytest.mark.slow
def test_any_form_of_the_rows_has_the_same_limits():
    X, y, _ = with_rare(82, n=120)
    X[:, :2] = np.where(np.random.default_rng(1).random((120, 2)) < 0.3, 0.0, X[:, :2])
    expected = inference(fit(X, y), X, y, **PROFILE)
    for rows in (sp.csr_array(X), np.asfortranarray(X), X[::-1][::-1]):
        assert_same(inference(fit(rows, y), rows, y, **PROFILE), expected)
    parts = read(lambda: ((X[i : i + 50], y[i : i + 50]) for i in range(0, len(y), 50)))
    assert_same(inference(fit(parts), parts, **PROFILE), expected)
    assert_same(inference(fit(X, y, standardize=True), X, y, **PROFILE), expected)
    names = np.array(["b", "c", "a"])[y]
    assert_same(inference(fit(X, names), X, names, reference="b", **PROFILE), expected, [1, 0])
    weight = np.random.default_rng(2).integers(0, 3, len(y))
    whole = np.repeat(np.arange(len(y)), weight)
    expected = inference(fit(X[whole], y[whole]), X[whole], y[whole], **PROFILE)
    assert_same(inference(fit(X, y, weight), X, y, sample_weight=weight, **PROFILE), expected)


def assert_same(found, expected, order=(0, 1)):
    own = np.reshape(np.arange(len(found.coef)), (len(order), -1))[list(order)].ravel()
    for name in ("coef", "standard_errors", "intervals"):
        theirs = getattr(expected, name)
        np.testing.assert_allclose(getattr(found, name)[own], theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
@pytest.mark.sampled(2)
def test_units_do_not_matter(scale):
    X, y, _ = with_rare(9)
    expected = inference(fit(X, y), X, y)
    found = inference(fit(X * scale, y), X * scale, y)
    units = np.tile([scale, scale, scale, 1.0], 2)
    np.testing.assert_allclose(found.coef * units, expected.coef, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(
        found.standard_errors * units, expected.standard_errors, rtol=1e-7, atol=1e-10
    )


def test_many_classes():
    """Pairs of dense rows are then sparse."""
    X, y, rare = with_rare(11, k=9, n=400)
    found = inference(fit(X, y), X, y)
    own = LinearClassifier(**EXACT).fit(X[~rare, :2], y[~rare])
    expected = inference(own, X[~rare, :2], y[~rare])
    finite = np.delete(np.arange(32), np.arange(2, 32, 4))
    close(found.coef[finite], expected.coef)
    close(found.cov[np.ix_(finite, finite)], expected.cov)
    assert found.coef[2] == math.inf
    assert np.isnan(found.coef[6::4]).all()


def test_without_an_intercept_and_with_an_offset():
    X, y, rare = with_rare(83)
    offset = np.random.default_rng(7).standard_normal((len(y), 3))
    for options in ({"fit_intercept": False}, {"offset": offset}):
        given = {"offset": offset} if "offset" in options else {}
        found = inference(fit(X, y, **options), X, y, **given, **PROFILE)
        some = ~rare
        given = {"offset": offset[some]} if given else {}
        own = LinearClassifier(**EXACT, fit_intercept=bool(given))
        own.fit(X[some, :2], y[some], **given)
        expected = inference(own, X[some, :2], y[some], **given, **PROFILE)
        width = 3 + bool(given)
        finite = [j for j in range(2 * width) if j % width != 2]
        close(found.coef[finite], expected.coef)
        close(found.cov[np.ix_(finite, finite)], expected.cov)
        close(found.intervals[finite], expected.intervals, 1e-7)
        assert found.coef[2] == math.inf


def test_what_such_a_limit_does_not_have():
    X, y, _ = with_rare(84)
    found = inference(fit(X, y), X, y, features=["x0", "x2"])
    assert found.coef[1] == math.inf
    assert "inf" in str(found)
    for ask in (lambda: found.test("x0"), found.test_each):
        with pytest.raises(ValueError, match="no maximum"):
            ask()
    with pytest.raises(ValueError, match="coefficients are infinite"):
        found.predict_interval(X)


def test_no_finite_coefficient_is_refused():
    X, y, _ = with_rare(85)
    leak = np.column_stack([X, np.where(y == 1, 5.0, -5.0), np.where(y == 2, 5.0, -5.0)])
    with pytest.raises(ValueError, match=r"are separable, so .* at infinity in"):
        inference(fit(leak, y), leak, y)
    for same in (X[:, 0] + 1.0, np.full(len(y), 3.0)):
        more = np.column_stack([X, same])
        with pytest.raises(ValueError, match="not determined"):
            inference(fit(more, y), more, y)


def test_one_row_of_a_class():
    """Its rivals leave it only on the boundary of some pairs."""
    X, y, _ = with_rare(86, labels=())
    X, y = np.vstack([X, [40.0, 40.0]]), np.append(y, 3)
    found = inference(fit(X, y), X, y)
    own = LinearClassifier(**EXACT).fit(X[:-1], y[:-1])
    close(found.coef[:6], inference(own, X[:-1], y[:-1]).coef)
    assert not np.isfinite(found.coef[6:]).any()
