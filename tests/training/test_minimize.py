"""Stop rules, callbacks, clock and Ctrl-C."""

from __future__ import annotations

import copy
import importlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import count
from types import ModuleType

import numpy as np
import pytest
from conftest import CORNERS, LOGIC, overlapping
from processes import in_children
from scipy.optimize import minimize as scipy_minimize
from sklearn.datasets import load_iris

import separatrix
from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    CoordinateAscent,
    DualAscent,
    GradientDescent,
    LinearClassifier,
    Objective,
    Perceptron,
    Rosenblatt,
    Solver,
    Step,
    Stop,
    get_loss,
    loops,
    minimize,
)
from separatrix.training.pocket import Pocket

X, Y = overlapping(80, 4, seed=1)


def objective(loss="perceptron", l2=0.0, rows=CORNERS, labels=LOGIC["and"]):
    y = np.asarray(labels, dtype=float)
    return Objective(get_loss(loss), L2(l2), ArraySource(rows, y, np.array([-1, 1])))


def test_every_rule_has_its_name():
    run = {"shuffle": False, "patience": None}
    assert Perceptron(**run).fit(CORNERS, LOGIC["and"]).stop_ == "no mistakes"
    assert Perceptron(**run).fit(CORNERS, LOGIC["xor"]).stop_ == "cycle"
    assert Perceptron(3, **run).fit(CORNERS, LOGIC["and"]).stop_ == "max_iter"
    assert Perceptron(max_norm=4.0, **run).fit(CORNERS, LOGIC["and"]).stop_ == "max_norm"
    assert Perceptron(callbacks=[lambda s, i: i.iteration == 2]).fit(X, Y).stop_ == "callback"
    assert Perceptron(random_state=0).fit(X, Y).stop_ == "no progress"
    tol = Perceptron(tol=0.5, learning_rate=lambda t: 1.0 / t**2, patience=None, random_state=0)
    assert tol.fit(X, Y).stop_ == "tol"


def test_patience_counts_passes_without_fewer_mistakes():
    clf = Perceptron(patience=5, random_state=0).fit(X, Y)
    mistakes = clf.history_["mistakes"]
    assert clf.n_iter_ == int(np.argmin(mistakes)) + 1 + 5
    assert Perceptron(30, patience=None, random_state=0).fit(X, Y).stop_ == "max_iter"


def test_as_many_mistakes_again_are_no_progress():
    clf = Perceptron(patience=10, random_state=6).fit(CORNERS, LOGIC["xor"])
    mistakes = clf.history_["mistakes"]
    assert np.sum(mistakes == mistakes.min()) > 1
    assert (clf.stop_, clf.n_iter_) == ("no progress", int(np.argmin(mistakes)) + 1 + 10)


def test_a_clean_pass_wins_over_a_cycle():
    """At a fixed point without mistakes the weights repeat too."""
    clf = Perceptron(shuffle=False, start=[1.0, 1.0, -1.5]).fit(CORNERS, LOGIC["and"])
    assert (clf.stop_, clf.n_iter_) == ("no mistakes", 1)


def test_no_cycle_is_claimed_with_shuffling_or_a_falling_step():
    assert Perceptron(50, shuffle=True, patience=None).fit(CORNERS, LOGIC["xor"]).stop_ != "cycle"
    falling = Perceptron(50, shuffle=False, patience=None, learning_rate=lambda t: 1.0 / t)
    assert falling.fit(CORNERS, LOGIC["xor"]).stop_ != "cycle"


def test_long_cycles_are_found():
    rng = np.random.default_rng(1)
    rows, labels = rng.integers(-2, 3, (9, 2)).astype(float), np.array([-1, 1, 1] * 3)
    clf = Perceptron(20_000, shuffle=False, patience=None, keep="last").fit(rows, labels)
    assert clf.stop_ == "cycle"
    ends = [s.weights[0] for s in clf.trace_.replay(rows, labels) if s.mistakes is not None]
    assert any(np.array_equal(ends[-1], earlier) for earlier in [np.zeros(3), *ends[:-1]])


def test_a_small_change_of_the_objective_is_no_convergence():
    """Trap 11: on one row of the squared loss a step of 1 jumps between two points for ever."""
    problem = objective("squared", rows=np.zeros((1, 1)), labels=[1.0])
    result = minimize(
        problem,
        GradientDescent(learning_rate=1.0),
        stop=Stop(max_iter=50, tol=1e-6, cycle=False),
    )
    assert np.ptp(result.history["objective"]) == 0.0
    assert result.stop == "max_iter"


@pytest.mark.parametrize("l2", [1.0, 1e-2, 1e-4])
def test_a_bound_tells_whether_weights_have_settled(l2):
    rows, kinds = (part[50:] for part in load_iris(return_X_y=True))
    problem = objective("hinge", l2, rows, np.where(kinds == 1, 1.0, -1.0))
    least = minimize(problem, DualAscent(), stop=Stop(tol=1e-9)).objective
    start = minimize(problem.with_penalty(L2(8 * l2)), DualAscent(), stop=Stop(tol=1e-9)).weights
    for tol in (1e-1, 1e-3, 1e-5):
        result = minimize(problem, DualAscent(), stop=Stop(tol=tol, prove=False), start=start)
        assert result.stop == "tol"
        assert problem.value(result.weights)[0] <= (1 + tol) * least


def test_tol_below_rounding_ends_all_the_same():
    for solver in (LBFGS(), "auto"):
        assert LinearClassifier(l2=0.01, tol=0.0, solver=solver).fit(X, Y).stop_ == "optimal"


def test_callbacks_see_steps_and_stop_the_clock():
    seen = []

    def watch(step, info):
        time.sleep(0.02)
        seen.append((step, info))

    began = time.perf_counter()
    clf = Perceptron(5, random_state=0, patience=None, callbacks=[watch]).fit(X, Y)
    wall = time.perf_counter() - began
    assert [info.iteration for _, info in seen] == [1, 2, 3, 4, 5]
    assert all(step.weights.shape == (1, 5) for step, _ in seen)
    assert 0.0 < clf.history_["seconds"][-1] <= wall - 5 * 0.02
    assert seen[-1][1].mistakes == clf.history_["mistakes"][-1]


def test_all_callbacks_are_called_even_if_the_first_stops():
    calls = []
    clf = Perceptron(callbacks=[lambda s, i: True, lambda s, i: calls.append(i)]).fit(X, Y)
    assert clf.stop_ == "callback"
    assert len(calls) == 1


def test_the_pocket_keeps_the_earliest_of_equals():
    """Whether they are counted in one read of the data or in two."""
    rng = np.random.default_rng(0)
    problem = objective(rows=X, labels=Y)
    signs = Y[:, None] * np.column_stack([X, np.ones(len(X))])
    for many in (1, 5, 31, 32, 33, 64, 65, 150):
        pocket = Pocket(problem)
        offered = [W.astype(float) for W in rng.integers(-1, 2, (many, 1, 5))]
        for W in offered:
            pocket.offer(W)
        mistakes = [int(np.sum(signs @ W[0] <= 0.0)) for W in offered]
        best, first = pocket.best(), mistakes.index(min(mistakes))
        assert best.weights is offered[first]
        assert (best.mistakes, best.iteration) == (min(mistakes), first + 1)
    pocket = Pocket(problem)
    alike = [scale * np.ones((1, 5)) for scale in range(1, 100)]  # as many mistakes each
    for W in alike:
        pocket.offer(W)
    assert pocket.best().weights is alike[0]


@pytest.mark.parametrize("keep", ["last", "best", "average", "auto"])
@pytest.mark.parametrize("passes", [3, 5, 12])
def test_what_is_proven_is_proven_of_the_weights_kept(keep, passes):
    """Whichever pass they come from, and whether or not a bound was asked for there."""
    rows, labels = overlapping(n=60, d=3)
    problem = objective("logistic", l2=0.01, rows=rows, labels=labels)
    solver = GradientDescent(batch_size=1, average=keep in ("average", "auto"))
    result = minimize(problem, solver, stop=Stop(max_iter=passes, tol=1e-12), keep=keep)

    def mean_loss(w):
        margins = labels * (rows @ w[:-1] + w[-1])
        return np.logaddexp(0.0, -margins).mean() + 0.01 * w[:-1] @ w[:-1]

    here, least = (
        mean_loss(result.weights[0]),
        scipy_minimize(mean_loss, np.zeros(4), tol=1e-10).fun,
    )
    assert result.objective == pytest.approx(here, rel=1e-12)
    assert result.proof.value == pytest.approx(here, rel=1e-12)
    assert here - least <= result.proof.gap + 1e-9
    assert result.proof.gap < 0.5 * here


def test_the_function_does_not_hide_the_module():
    assert isinstance(importlib.import_module("separatrix.training.minimize"), ModuleType)
    assert separatrix.training.minimize.minimize is minimize


@dataclass(frozen=True, repr=False)
class Hopeful(Solver):
    """Creeps down to J = 1, and expects a hundredth of what there is to gain."""

    def steps(self, objective, W, rng, state=None):
        for t in count():
            above = 1e-3 * 0.99**t
            weights = np.full(objective.shape, 1.0 + above)
            yield Step(weights, {}, 1.0 + above, 0.0, predicted_decrease=above / 100.0)


def test_a_solvers_own_estimate_is_not_believed_outright():
    result = minimize(objective(), Hopeful(), stop=Stop(max_iter=5000, tol=1e-5, prove=False))
    assert result.stop == "tol"
    assert result.history["objective"][-1] - 1.0 <= 1e-5


def test_minimize_by_itself():
    result = minimize(objective(), Rosenblatt(shuffle=False), stop=Stop(no_mistakes=True))
    np.testing.assert_array_equal(result.weights, [[3, 2, -4]])
    assert result.stop == "no mistakes"
    with pytest.raises(ValueError, match="needs a solver with average=True"):
        minimize(objective(), Rosenblatt(), keep="average")


# ---- Ctrl-C ------------------------------------------------------------------------------

BIG = """
import os, signal, sys, threading, time, warnings
import numpy as np, separatrix
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
rng = np.random.default_rng(0)
X = rng.standard_normal((300_000, 30)).astype(np.float32)
y = rng.random(300_000) < 0.5
times = [float(t) for t in sys.argv[2].split(",")]
def press():
    begun.wait()
    for t in times:
        time.sleep(t)
        os.kill(os.getpid(), signal.SIGINT)
begun = threading.Event()
threading.Thread(target=press, daemon=True).start()
mark = [0.0]
def callback(step, info):
    begun.set()
    mark[0] = time.perf_counter()
    time.sleep(float(sys.argv[3]))
clf = eval("separatrix." + sys.argv[1])
clf.set_params(callbacks=[callback])
try:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(X, y)
    print(clf.stop_, clf.n_iter_ >= 1, any("interrupted" in str(w.message) for w in caught))
    print(clf.predict(X[:2]).shape, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
except KeyboardInterrupt:
    print("KeyboardInterrupt", hasattr(clf, "coef_"))
"""


@pytest.mark.processes
def test_the_first_interrupt_keeps_the_model():
    """And a second raises."""
    once = [
        "Perceptron(10**6, patience=None, random_state=0)",
        "Perceptron(10**6, update='batch', patience=None, start='random', random_state=0)",
        "LinearClassifier('hinge', max_iter=10**6, tol=None, random_state=0)",
        "LinearClassifier(solver=separatrix.GradientDescent(learning_rate=1e-9), tol=None,"
        " max_iter=10**6)",
    ]
    twice = ["Perceptron(10**6, random_state=0)", "0.1,0.2", "5"]
    *first, second = in_children(BIG, [*([estimator, "0.3", "0"] for estimator in once), twice])
    for estimator, out in zip(once, first, strict=True):
        assert out == "interrupted True True\n(2,) True\n", estimator
    assert second == "KeyboardInterrupt False\n"


def test_an_interrupt_before_the_end_of_the_first_pass_is_an_interrupt():
    class Pressed(Rosenblatt):
        def steps(self, objective, W, rng, state=None):
            os.kill(os.getpid(), signal.SIGINT)
            yield from super().steps(objective, W, rng, state)

    problem = objective(rows=np.zeros((5000, 2)), labels=np.ones(5000))
    with pytest.raises(KeyboardInterrupt):
        minimize(problem, Pressed())
    assert not loops.stop_requested()


def test_a_programs_own_handler_stays_in_charge():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(True))
    try:
        os.kill(os.getpid(), signal.SIGINT)
        clf = Perceptron(
            3, patience=None, callbacks=[lambda s, i: os.kill(os.getpid(), signal.SIGINT)]
        ).fit(X, Y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert clf.stop_ == "max_iter"
    assert len(seen) == 4


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_makes_its_own_pool():
    big = np.random.default_rng(0).standard_normal((20_000, 20))
    labels = big[:, 0] > 0
    LinearClassifier(n_jobs=2, l2=0.1).fit(big, labels)
    code = (
        "import os, numpy as np, separatrix\n"
        "X = np.random.default_rng(0).standard_normal((20000, 20)); y = X[:, 0] > 0\n"
        "fit = lambda: separatrix.LinearClassifier(n_jobs=2, l2=0.1).fit(X, y).coef_\n"
        "first = fit()\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(0 if (fit() == first).all() else 1)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60, check=True)


@pytest.mark.parametrize(
    ("solver", "loss"),
    [
        (Rosenblatt(average=True), "perceptron"), (GradientDescent(1), "logistic"),
        (GradientDescent(7, learning_rate=0.1), "hinge"), (GradientDescent(), "logistic"),
        (LBFGS(), "logistic"), (CoordinateAscent(), "hinge"), (DualAscent(), "hinge"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_run_that_goes_on_draws_nothing(solver, loss):
    X, y = overlapping(40, 3)
    source = ArraySource(X, y, np.array([-1, 1]))
    objective = Objective(get_loss(loss), L2(0.0 if loss == "perceptron" else 0.1), source)
    W = np.zeros(objective.shape)
    run = solver.steps(objective, W, np.random.default_rng(3))
    first, second = next(run), next(run)
    state = {name: copy.deepcopy(value) for name, value in first.state.items()}
    resumed = next(solver.steps(objective, W, None, state))
    np.testing.assert_array_equal(resumed.weights, second.weights)
