"""Random problems for the engine of the page, and what the library says about each step.

Thousands of them, by hand and with Node: python tests/engine_problems.py 3000
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from separatrix import page
from separatrix.apps.playground.runs import PlaygroundRun
from separatrix.page.document import joined

NEAR = 1e-9  # of a tie or a kink: rounding may decide there
EXACT = 1e-12
STEPS = 60  # of a run that are compared one by one
NAMES = (
    "perceptron", "batch_perceptron", "gradient_descent", "newton", "least_squares",
    "kernel_perceptron", "radial_basis",
)  # fmt: skip
LOSSES = ("perceptron", "logistic", "squared", "tanh_squared", "hinge", "squared_hinge")
KINKS = {"perceptron": 0.0, "hinge": 1.0}
STARTS = [
    np.random.default_rng((seed, 2**32)).standard_normal(12).tolist() for seed in range(8)
]  # as Perceptron(start="random") draws them


def script():
    """The engine, and what the tests ask of it, as one script that sets ``oracle``."""
    texts = {name: path.read_text() for name, path in page.files().items()}
    texts["engine_oracle.js"] = (Path(__file__).parent / "engine_oracle.js").read_text()
    return joined(texts, "engine_oracle.js") + 'globalThis.oracle = modules["engine_oracle.js"];\n'


def points_of(rng, whole=False):
    """Points of two to four classes: on a grid of small integers, or anywhere."""
    n, classes = int(rng.integers(2, 30)), int(rng.choice([2, 2, 2, 3, 4]))
    kind = "whole" if whole else rng.choice(["normal", "whole", "far", "line", "uneven"])
    X = rng.normal(size=(n, 2))
    if kind == "whole":
        X = rng.integers(-4, 5, size=(n, 2)).astype(float)
    elif kind == "far":
        X += 30.0
    elif kind == "line":
        X[:, 1] = 2.0 * X[:, 0]
    elif kind == "uneven":
        X *= [1.0, 20.0]
    y = rng.integers(0, classes, size=n)
    if rng.random() < 0.5:  # often separable
        order = X @ rng.normal(size=2)
        y = np.searchsorted(np.quantile(order, np.linspace(0, 1, classes + 1)[1:-1]), order)
    y[:2] = [0, classes - 1]
    return [[*row, int(c)] for row, c in zip(np.round(X, 3).tolist(), y, strict=True)]


def method_of(rng, name, whole=False):
    """A method with random settings; with ``whole`` all numbers stay whole."""
    method = {
        "name": name, "fit_intercept": bool(rng.random() < 0.8), "seed": int(rng.integers(8)),
        "max_iter": int(rng.integers(1, 12)), "shuffle": bool(rng.random() < 0.5),
    }  # fmt: skip
    if whole:
        return method | {"learning_rate": 1.0, "kernel": "poly", "degree": 2}
    method |= {
        "loss": str(rng.choice(LOSSES)), "form": str(rng.choice(
            ["batch", "sequential", "stochastic", "mini-batch"])),
        "batch_size": int(rng.integers(1, 9)), "start": str(rng.choice(["zeros", "random", "sum"])),
        "learning_rate": float(rng.choice([1.0, 0.1, 0.03, 2.5])),
        "schedule": str(rng.choice(["constant", "constant", "inverse_scaling", "step_decay"])),
        "l2": float(rng.choice([0.0, 0.0, 0.01, 0.3])), "keep": str(rng.choice(
            ["last", "best", "average"])), "max_norm": float(rng.choice([0.0, 0.0, 5.0])),
        "kernel": str(rng.choice(["rbf", "poly", "linear"])),
        "gamma": float(rng.choice([1.0, 0.3])), "degree": int(rng.integers(1, 4)),
        "centers": int(rng.integers(1, 5)),
    }  # fmt: skip
    if name == "newton":
        method |= {"loss": str(rng.choice(["logistic", "squared", "squared_hinge"])),
                   "l2": float(rng.choice([0.01, 0.3, 2.0]))}  # fmt: skip
    if name == "radial_basis":
        method |= {"start": "zeros"}
    return method


def problem(seed, whole=False, name=None):
    """What the engine is given, with the library's run; None if the library refuses it."""
    rng = np.random.default_rng(seed)
    name = name or NAMES[seed % len(NAMES)]
    if whole:
        name = ("perceptron", "batch_perceptron", "kernel_perceptron")[seed % 3]
    asked = {"points": points_of(rng, whole), "method": method_of(rng, name, whole)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = PlaygroundRun.of(asked)
        except ValueError as error:
            return asked, None, str(error)
    return asked | {"given": given(run), "starts": STARTS}, run, ""


def given(run):
    """The states of the library's run, from which the engine makes each step."""
    columns = run.recording.columns
    count = min(len(columns), STEPS)
    if columns.weights is None:
        rate = run.method.learning_rate if run.method.schedule == "constant" else 1.0
        return {"kernel": {
            "visited": [int(rows[0]) for rows in columns.visited[:count]], "unit": rate,
            "coefficients": columns.coefficients[:count],
        }}  # fmt: skip
    rates = [1.0 if size is None else float(size) for size in columns.sizes[:count]]
    if run.method.name == "batch_perceptron":
        schedule = run.method._rate()
        rates = [schedule if isinstance(schedule, float) else float(schedule(t + 1))
                 for t in range(count)]  # fmt: skip
    elif run.method.name in ("perceptron", "radial_basis") and run.method.schedule == "constant":
        rates = [run.method.learning_rate] * count  # the library's runs from zero have step 1
    weights = columns.weights[: count + 1]
    if not np.isfinite(weights).all():
        count = int(np.argmin(np.isfinite(weights).all(axis=(1, 2)))) - 1
    return {"weights": weights[: max(count, 0)].tolist(), "steps": [
        {"rows": None if rows is None else rows.tolist(), "size": rate}
        for rows, rate in zip(columns.visited[: max(count, 0)], rates, strict=False)
    ]}  # fmt: skip


def ties(run):
    """For each step, how near a decision is to a tie or a kink: the smallest distance."""
    columns, loss = run.recording.columns, run.recording.method["loss"]
    near = np.full(len(columns), np.inf)
    if columns.weights is None:
        return np.abs([margins[0] for margins in columns.margins])
    newton = run.method.name == "newton" and loss == "squared_hinge"  # its second derivative jumps
    if loss not in KINKS and not newton:
        return near
    W, y = columns.weights, run.recording.y
    x = np.column_stack([run.recording.x, np.ones(len(y))])
    with np.errstate(all="ignore"):  # runs that diverge
        scores = np.einsum("nd,skd->snk", x, W[:-1])
        gaps = _gaps(scores, y, loss) / (1.0 + np.abs(scores).max(axis=2))
    for step, rows in enumerate(columns.visited):
        near[step] = (gaps[step] if rows is None else gaps[step, rows]).min()
    return near


def _gaps(scores, y, loss):
    """Distances (steps, rows) of margins from the kink of the loss."""
    k = scores.shape[2]
    if k == 1:
        return np.abs(np.where(y == 1, 1.0, -1.0) * scores[:, :, 0] - KINKS.get(loss, 1.0))
    if loss == "squared_hinge":  # one class against the rest
        signs = np.where(np.arange(k) == y[:, None], 1.0, -1.0)
        return np.abs(signs * scores - 1.0).min(axis=2)
    own = np.take_along_axis(scores, y[None, :, None], axis=2)
    others = scores.copy()
    np.put_along_axis(others, np.broadcast_to(y[None, :, None], own.shape), -np.inf, axis=2)
    best = np.sort(others, axis=2)  # the best rivals must not be near each other
    return np.minimum(np.abs(own[..., 0] - best[..., -1] - KINKS[loss]),
                      best[..., -1] - best[..., -2])  # fmt: skip


def tolerance(run, before):
    """Relative to the weights. Equations lose as many digits as their matrix has condition."""
    if run.method.name not in ("newton", "least_squares"):
        return EXACT
    x = run.X / np.where(run.X.std(axis=0) > 0, run.X.std(axis=0), 1.0)
    condition = np.linalg.cond(np.column_stack([x, np.ones(len(x))]))
    if run.method.name == "newton" and run.recording.evaluate is not None:
        objective = run.recording.evaluate.args[0]
        second = objective.hessian(before, objective.standardization)[1]
        scale = 1.0 / np.sqrt(np.diag(second))
        condition *= np.linalg.cond(second * scale * scale[:, None])
    return EXACT * max(1.0, float(condition))


# ---- comparing -----------------------------------------------------------------------------------

EXACT_COLUMNS = ("rows", "updated", "margins", "mistakes", "objective", "norm", "weights", "change",
                 "coefficients", "average", "best", "sentence", "arithmetic")  # fmt: skip
NUMBERS = ("margins", "mistakes", "objective", "norm", "weights", "average", "best")
WHOLE_RUN = 1e-7  # relative: rounding grows from step to step
SETTLED = 1e-12  # of the objective: a line search then decides by rounding


def compare(problem, run, answer, seen, whole=False):
    """Compare an answer of the engine with the library's run; count what was compared."""
    seen["problems"] += 1
    if run is None:  # the library refuses what overflows; the engine ends before
        assert "error" in answer or answer["stop"] == "diverged"
        seen["refused"] += 1
        return
    assert "error" not in answer, answer["error"]
    if run.features is not None and not np.allclose(answer["centres"], run.features.centers_):
        seen["k-means decided by a tie"] += 1
        return
    given, near = problem["given"], ties(run)
    for step in range(len(given.get("steps", ()))):
        compare_step(run, step, answer["steps"][step], near[step], seen)
    for step in range(len(given.get("kernel", {}).get("visited", ()))):
        compare_update(run, step, answer["kernel"][step], near[step], seen)
    if whole:
        compare_exactly(run, answer["recording"])
        seen["whole runs, bit for bit"] += 1
    elif near.min(initial=1.0) >= NEAR and not rests(run):
        compare_run(run, answer["recording"])
        seen["whole runs"] += 1


def rests(run):
    """Whether rounding decides where Newton's method goes: at its end, or in long valleys."""
    if run.method.name != "newton":
        return False
    values, weights = run.recording.columns.objective, run.recording.columns.weights
    settled = np.any(np.abs(np.diff(values)) <= SETTLED * np.abs(values[1:]))
    return bool(settled) or max(tolerance(run, W) for W in weights[:-1]) > NEAR


def compare_step(run, step, found, near, seen):
    """The weights after a step, computed from the library's weights before it."""
    columns = run.recording.columns
    before, after = columns.weights[step : step + 2]
    old, new = columns.objective[step : step + 2]
    if near < NEAR or (run.method.name == "newton" and abs(old - new) <= SETTLED * abs(new)):
        seen["steps near a tie"] += 1
        return
    size = max(1.0, np.abs(before).max(), np.abs(after).max())
    off = np.abs(np.array(found, float) - after).max() / size
    assert off <= tolerance(run, before), (run.method, step, off)
    seen["steps"] += 1


def compare_update(run, step, found, near, seen):
    """Which coefficients a step of the kernel perceptron changes, by the library's scores."""
    if near < NEAR:
        seen["steps near a tie"] += 1
        return
    changes = run.recording.columns.coefficients[step]
    if run.method.schedule != "constant":  # the oracle knows no step sizes
        changes = [(column, row, np.sign(amount)) for column, row, amount in changes]
    assert [tuple(change) for change in found["changes"]] == [tuple(one) for one in changes]
    seen["steps"] += 1


def compare_run(run, recording):
    """A whole run of the engine: every number of every step, as far as both go."""
    library = run.recording.to_dict()
    steps = min(library["total"], recording["total"])
    for name in ("rows", "updated"):
        assert library["steps"][name][:steps] == recording["steps"][name][:steps], name
    for name in NUMBERS:
        wanted, found = library["steps"][name], recording["steps"][name]
        assert (wanted is None) == (found is None), name
        if wanted is not None:
            np.testing.assert_allclose(
                _flat(found[:steps]), _flat(wanted[:steps]), rtol=WHOLE_RUN, atol=NEAR,
                err_msg=f"{name} of {run.method}",
            )  # fmt: skip


def compare_exactly(run, recording):
    """A run on small whole numbers: the same bits, words and end."""
    library = json.loads(run.recording.to_json())
    for name in ("total", "stop", "passes", "start", "data"):
        assert library[name] == recording[name], name
    for name in EXACT_COLUMNS:
        assert library["steps"][name] == recording["steps"][name], (name, run.method)


def _flat(values):
    if isinstance(values, list):
        return [one for value in values for one in _flat(value)]
    return [np.nan if values is None else float(values)]


def compare_all(first, count, evaluate, whole=False):
    """Compare problems from a seed on; ``evaluate`` runs the engine on a list of them."""
    seen: Counter = Counter()
    made = [problem(seed, whole) for seed in range(first, first + count)]
    answers = evaluate([given for given, _, _ in made])
    for (given_, run, _), answer in zip(made, answers, strict=True):
        compare(given_, run, answer, seen, whole)
    return seen


def by_node(problems):
    """The answers of the engine under Node."""
    with TemporaryDirectory() as folder:
        given_, found = Path(folder) / "given.json", Path(folder) / "found.json"
        given_.write_text(json.dumps(problems))
        end = (
            'const fs = require("fs");\n'
            f"const given = JSON.parse(fs.readFileSync({json.dumps(str(given_))}));\n"
            f"fs.writeFileSync({json.dumps(str(found))}, JSON.stringify(oracle.all(given)));\n"
        )
        script_ = Path(folder) / "engine.cjs"
        script_.write_text(script() + end)
        subprocess.run(["node", str(script_)], check=True)
        return json.loads(found.read_text())


if __name__ == "__main__":
    count = int(sys.argv[1])
    total: Counter = Counter()
    for first in range(0, count, 200):
        total += compare_all(first, min(200, count - first), by_node)
        total += compare_all(first, min(100, count - first), by_node, whole=True)
        print(dict(total), flush=True)
