"""Runs that are cut and taken up again, bit for bit; and the file in between."""

from __future__ import annotations

import json
from datetime import timedelta

import numpy as np
import pytest
from conftest import overlapping, quiet
from run_states import Recorder, Resumed

from separatrix import (
    L2,
    LBFGS,
    ArraySource,
    BatchPerceptron,
    Checkpoint,
    CoordinateAscent,
    DualAscent,
    GradientDescent,
    InteriorPoint,
    LeastSquares,
    LinearProgram,
    Newton,
    Objective,
    Pegasos,
    ProximalPoint,
    Rosenblatt,
    Stop,
    get_loss,
    minimize,
)
from separatrix.training import checkpoint
from separatrix.training.checkpoint_file import CheckpointFile

X, SIGNS = overlapping(90, 4)
SIGNS = SIGNS.astype(np.float64)
THREE = np.arange(90) % 3
THREE = np.where(X[:, 0] > 0.3, 2, THREE)


def objective(loss, l2, classes):
    loss = get_loss(loss).for_classes(classes)
    if classes == 2:
        return Objective(loss, L2(l2), ArraySource(X, SIGNS, np.array([-1, 1])))
    return Objective(loss, L2(l2), ArraySource(X, THREE, np.arange(3)))


def same(one, other):
    assert one.stop == other.stop
    for name in ("weights", "last"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.history.keys() == other.history.keys()
    for name, column in one.history.items():
        if name != "seconds":
            np.testing.assert_array_equal(column, other.history[name])
    assert one.objective == other.objective
    assert (one.proof is None) == (other.proof is None)
    if one.proof is not None:
        assert one.proof.gap == other.proof.gap
    assert one.runaway == other.runaway


ROW, AUTO = GradientDescent(1), {"tol": 1e-8}
CASES = {
    "perceptron, auto": ("perceptron", 0.0, Rosenblatt(average=True), {"patience": 15}, "auto"),
    "perceptron, best": ("perceptron", 0.0, Rosenblatt(), {"patience": 15}, "best"),
    "perceptron, in order": ("perceptron", 0.0, Rosenblatt(shuffle=False), {}, "last"),
    "perceptron, Pegasos": ("perceptron", 0.1, Rosenblatt(Pegasos()), {"tol": 1e-3}, "last"),
    "batch perceptron": ("perceptron", 0.0, BatchPerceptron(0.1, average=True), {}, "auto"),
    "L-BFGS": ("logistic", 1e-4, LBFGS(), AUTO, "last"),
    "L-BFGS, not convex": ("tanh_squared", 1e-3, LBFGS(), AUTO, "last"),
    "Newton": ("logistic", 1e-4, Newton(), AUTO, "last"),
    "Newton, no penalty": ("logistic", 0.0, Newton(direct_weights=1), AUTO, "last"),
    "least squares": ("squared", 1e-3, LeastSquares(), AUTO, "last"),
    "LSMR": ("squared", 0.0, LeastSquares(direct_size=1), AUTO, "last"),
    "conjugate gradients": ("squared", 1e-3, LeastSquares(direct_size=1), AUTO, "last"),
    "descent": ("logistic", 1e-3, GradientDescent(), AUTO, "last"),
    "descent, constant": ("squared", 0.0, GradientDescent(learning_rate=0.1), AUTO, "last"),
    "descent, kink": ("hinge", 1e-2, GradientDescent(average=True), AUTO, "average"),
    "rows": ("hinge", 1e-2, ROW, AUTO, "last"),
    "rows, averaged": ("logistic", 1e-2, GradientDescent(7, average=True), AUTO, "average"),
    "linear program": ("hinge", 0.0, LinearProgram(), AUTO, "last"),
    "dual": ("hinge", 1e-3, DualAscent(), AUTO, "last"),
    "dual, columns": ("one_vs_rest_hinge", 1e-3, DualAscent(), AUTO, "last"),
    "proximal point": ("hinge", 1e-3, ProximalPoint(), AUTO, "last"),
    "coordinates": ("hinge", 1e-2, CoordinateAscent(), AUTO, "last"),
    "coordinates, smooth": ("squared_hinge", 1e-2, CoordinateAscent(), AUTO, "last"),
    "interior point": ("hinge", 1e-3, InteriorPoint(), AUTO, "last"),
}


@pytest.mark.sampled(3)
@quiet
@pytest.mark.parametrize("classes", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_run_cut_after_any_pass_goes_on_as_if_it_had_not_been(case, classes):
    loss, l2, solver, stop, keep = case
    settings = {"stop": Stop(**{"max_iter": 25, **stop}), "keep": keep, "seed": 5}
    recorder = Recorder()
    whole = minimize(objective(loss, l2, classes), solver, callbacks=[recorder], **settings)
    assert len(recorder.states) == len(whole.infos)
    for state in recorder.states:
        again = minimize(
            objective(loss, l2, classes), solver, callbacks=[Resumed(state)], **settings
        )
        same(whole, again)


@quiet
def test_sums_in_float32_before_the_cut_leave_no_trace():
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((60_000, 50)) * np.arange(1, 51)).astype(np.float32)
    y = np.where(rows @ rng.standard_normal(50) + 30 * rng.standard_normal(60_000) > 0, 1.0, -1.0)

    def run(callback):
        source = ArraySource(rows, y, np.array([-1, 1]))
        problem = Objective(get_loss("logistic"), L2(1e-6), source)
        assert problem.in_float32() is not None
        return minimize(problem, LBFGS(), stop=Stop(tol=1e-12), callbacks=[callback])

    recorder = Recorder()
    whole = run(recorder)
    for state in recorder.states[:3]:
        same(whole, run(Resumed(state)))


@pytest.mark.sampled(4)
@quiet
@pytest.mark.parametrize("most", range(1, 12))
def test_max_iter_may_grow(tmp_path, most):
    """A proof made only because passes were over is as if it had not been made."""
    solver = GradientDescent(7, average=True)

    def run(callbacks, most):
        stop = Stop(max_iter=most, tol=1e-3)
        problem = objective("hinge", 1e-2, 2)
        return minimize(problem, solver, stop=stop, keep="average", callbacks=callbacks)

    keep = Checkpoint(tmp_path / "run")
    first = run([keep], most)
    assert len(first.infos) == most
    same(run([keep], most), first)
    same(run([keep], 40), run([], 40))
    if most > 1:
        with pytest.raises(ValueError, match=r"passes are made already, and max_iter=1 allows"):
            run([Checkpoint(tmp_path / "run")], 1)


def test_begin_sees_the_whole_state_and_callbacks_may_keep_theirs():
    class Counter:
        count = 0

        def begin(self, run):
            self.passes = run.passes
            self.settings = run.settings

        def to_state(self):
            return {"count": self.count}

        def restore(self, state):
            self.count = state["count"]

        def __call__(self, step, info):
            self.count += 1

    counter, recorder = Counter(), Recorder()
    solver, stop = Rosenblatt(shuffle=False), Stop(max_iter=6, cycle=False)
    minimize(objective("perceptron", 0.0, 2), solver, stop=stop, callbacks=[counter, recorder])
    assert counter.passes == 0
    assert counter.settings["solver"] == solver.to_dict()
    assert json.dumps(counter.settings)
    again = Counter()
    calls = [again, Resumed(recorder.states[3])]
    minimize(objective("perceptron", 0.0, 2), solver, stop=stop, callbacks=calls)
    assert again.count == 6


# ---- what is refused ---------------------------------------------------------------------


@quiet
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"loss": "squared_hinge"}, r"loss\.loss was 'logistic' and is 'squared_hinge'"),
        ({"l2": 0.5}, r"penalty\.l2 was 0\.01 and is 0\.5"),
        ({"solver": GradientDescent(learning_rate=0.2)}, r"learning_rate was 0\.1 and is 0\.2"),
        ({"solver": Newton()}, r"solver\.solver was 'GradientDescent' and is 'Newton'"),
        ({"stop": Stop(5, tol=1e-3)}, r"stop\.tol was None and is 0\.001"),
        ({"seed": 3}, "seed was 0 and is 3"),
        ({"start": np.ones((1, 5))}, "the weights that the run starts from"),
        ({"rows": X + 1.0}, "the data"),
        ({"y": -SIGNS}, "the data"),
        ({"weight": np.arange(90.0)}, "the data"),
        ({"version": "0.0.1"}, "separatrix was .* and is '0.0.1'"),
    ],
)
def test_another_run_is_refused_and_the_difference_named(tmp_path, monkeypatch, change, named):
    def run(loss="logistic", l2=0.01, rows=X, y=SIGNS, weight=None, version=None, **settings):
        settings = {"solver": GradientDescent(learning_rate=0.1), "stop": Stop(5)} | settings
        if version:
            monkeypatch.setattr("separatrix.training.run.version", lambda _: version)
        source = ArraySource(rows, y, np.array([-1, 1]), weight)
        problem = Objective(get_loss(loss), L2(l2), source)
        keep = Checkpoint(tmp_path / "run", every=1)
        return minimize(problem, callbacks=[keep], **settings)

    run()
    before = (tmp_path / "run").read_bytes()
    with pytest.raises(ValueError, match=f"checkpoint of another run: .*{named}.*resume='never'"):
        run(**change)
    assert (tmp_path / "run").read_bytes() == before
    monkeypatch.undo()
    run()


def test_what_has_no_name_is_refused(tmp_path):
    solver = GradientDescent(learning_rate=lambda t: 0.1 / t)
    keep = Checkpoint(tmp_path / "run")
    with pytest.raises(TypeError, match="cannot be converted to plain data"):
        minimize(objective("logistic", 0.1, 2), solver, callbacks=[keep])
    assert not list(tmp_path.iterdir())


def test_parameters_are_checked(tmp_path):
    for wrong in (0, -1, 1.5, timedelta(0), "5"):
        with pytest.raises(ValueError, match="every must be"):
            Checkpoint("run", every=wrong)
    with pytest.raises(ValueError, match="resume"):
        Checkpoint("run", resume="yes")
    for path in (tmp_path, tmp_path / "none" / "run"):
        with pytest.raises(ValueError, match="a checkpoint cannot be written to"):
            minimize(objective("logistic", 0.1, 2), Newton(), callbacks=[Checkpoint(path)])


# ---- time --------------------------------------------------------------------------------


def test_time_between_writes(tmp_path, monkeypatch):
    """As reported; longer where writing takes more than its share."""
    now, written, cost = [0.0], [], 10.0
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])

    def write(self, tree):
        written.append(now[0])
        now[0] += cost

    monkeypatch.setattr(CheckpointFile, "write", write)

    def tick(step, info):
        now[0] += 60.0

    solver, stop = Rosenblatt(), Stop(max_iter=100, cycle=False)
    keep = Checkpoint(tmp_path / "run")
    minimize(objective("perceptron", 0.0, 2), solver, stop=stop, callbacks=[tick, keep])
    assert written[0] == 300.0  # five minutes
    pauses = np.diff(written[:-1])  # without the last, at the end of the run
    assert len(pauses) >= 5
    assert np.all(cost <= 0.02 * pauses)
    assert np.all(pauses <= 600.0)
