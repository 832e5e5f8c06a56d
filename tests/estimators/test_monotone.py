"""LinearClassifier(monotone=...): weights of ordered categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bounded_problems import ORACLE, Problem, drawn, losses
from scipy.optimize import minimize

import separatrix
from separatrix import LinearClassifier


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["logistic", "squared_hinge", "squared"])
@pytest.mark.sampled(10)
def test_weights_in_order_reach_the_minimum_of_another_solver(seed, name):
    """There, the weights of the chain are sums of steps that are not negative."""
    rng, X, y, c, _, _ = drawn(seed)
    X = np.column_stack([X, rng.standard_normal((len(X), 2))])
    d, l2, low = X.shape[1], (1e-4, 1e-2, 1.0)[seed % 3], (-np.inf, 0.0, -0.1, -np.inf)[seed % 4]
    chain = rng.permutation(d)[: max(2, d // 2)].tolist()
    clf = LinearClassifier(
        name, l2=l2, monotone=[(chain[::-1], "decreasing")],
        bounds=(dict.fromkeys(chain, low), None), standardize=bool(seed % 2), tol=1e-10,
    ).fit(X, y, sample_weight=c)  # fmt: skip
    w = clf.coef_[0]
    assert clf.stop_ == "optimal"
    assert np.all(np.diff(w[chain]) >= 0.0)
    assert w[chain[0]] >= low
    scale = clf.scale_ if seed % 2 else 1.0
    problem = Problem(X, y, name, 0.0, l2, c, scale=scale)
    assert clf.objective_ == pytest.approx(problem.value(w, clf.intercept_[0]), rel=1e-11)
    T = np.eye(d + 1)
    for place, j in enumerate(chain):
        T[j, chain[:place]] = 1.0
    T /= np.sqrt(np.sum((np.append(np.sqrt(np.mean(X**2, axis=0)), 1.0)[:, None] * T) ** 2, axis=0))
    ends = [(None, None)] * (d + 1)
    for place, j in enumerate(chain):
        ends[j] = (0.0, None) if place else (low / T[j, j], None)

    def value(q):
        v = T @ q
        mean = problem.share @ losses(name, problem.sign * (X @ v[:-1] + v[-1]))[0]
        return mean + problem.l2 @ v[:-1] ** 2, T.T @ problem.slope(v[:-1], v[-1])

    start = np.zeros(d + 1)
    found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=ends, options=ORACLE)
    assert clf.objective_ <= found.fun + 1e-9 * (1.0 + found.fun)
    assert clf.objective_ - clf.gap_ <= found.fun * (1.0 + 1e-12)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    size, grade = rng.choice(["S", "M", "L", "XL"], 300), rng.integers(1, 6, 300)
    effect = {"S": 0.0, "M": 1.5, "L": 1.0, "XL": 3.0}
    score = np.array([effect[s] for s in size]) - 1.5 + 0.3 * rng.standard_normal(300)
    frame = pd.DataFrame({
        "size": size, "grade": pd.Categorical(grade), "member": rng.choice(["no", "yes"], 300),
        "age": rng.random(300) * 50.0,
    })  # fmt: skip
    return frame, (rng.random(300) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def weights_by_name(clf):
    return dict(zip(clf.coef_names_, clf.coef_[0], strict=True))


def test_categories_are_in_the_given_order(table):
    frame, y = table
    order = ["S", "M", "L", "XL"]
    clf = LinearClassifier(monotone={"size": order}, bounds={"age": (0, 0.001)}).fit(frame, y)
    found = weights_by_name(clf)
    levels = [found[f"size_{value}"] for value in order]
    assert clf.stop_ == "optimal"
    assert levels == sorted(levels)
    assert levels[1] == levels[2]  # the data has them the other way round
    assert 0.0 <= found["age"] <= 0.001
    down = weights_by_name(LinearClassifier(monotone={"grade": "decreasing"}).fit(frame, y))
    grades = [down[f"grade_{value}"] for value in range(1, 6)]
    assert grades == sorted(grades, reverse=True)
    ordered = frame.assign(size=pd.Categorical(frame["size"], categories=order, ordered=True))
    same = LinearClassifier(monotone={"size": "increasing"}, bounds={"age": (0, 0.001)})
    np.testing.assert_array_equal(same.fit(ordered, y).coef_, clf.coef_)


def test_of_two_categories_one_has_a_feature(table):
    frame, y = table
    yes = {}
    for order in (["no", "yes"], ["yes", "no"]):
        clf = LinearClassifier(monotone={"member": order}).fit(frame, y)
        yes[order[0]] = weights_by_name(clf)["member_yes"]
    free = weights_by_name(LinearClassifier().fit(frame, y))["member_yes"]
    assert yes["no"] >= 0.0 >= yes["yes"]
    assert 0.0 in yes.values()
    assert max(yes.values(), key=abs) == pytest.approx(free, abs=0.05)


def test_files_are_as_frames(table, tmp_path):
    frame, y = table
    frame.assign(y=y, grade=[f"g{value}" for value in frame["grade"]]).to_csv(
        tmp_path / "t.csv", index=False
    )
    source = separatrix.read(tmp_path / "t.csv", target="y")
    monotone = {"size": ["S", "M", "L", "XL"]}
    clf = LinearClassifier(monotone=monotone, bounds={"grade": (-0.1, None)}, standardize=True)
    clf.fit(source)
    found = weights_by_name(clf)
    levels = [found[f"size_{value}"] for value in monotone["size"]]
    assert clf.stop_ == "optimal"
    assert levels == sorted(levels)
    assert min(found[f"grade_g{value}"] for value in range(1, 6)) >= -0.1
    with pytest.raises(ValueError, match="words without an order"):
        LinearClassifier(monotone={"size": "increasing"}).fit(source)
    with pytest.raises(ValueError, match="without its category 'XL'"):
        LinearClassifier(monotone={"size": ["S", "M", "L"]}).fit(source)
    with pytest.raises(ValueError, match="'age', which is no column with a feature for each"):
        LinearClassifier(monotone={"age": "increasing"}).fit(source)


# ---- parameters --------------------------------------------------------------------------
